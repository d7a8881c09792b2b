"""Gates that a request passes: its session, permissions, rate limits, and forms that act once.

The database stores the sessions with their people. The cookie has a key of 165 random bits, the
table its SHA-256: a reader of the database, or of a backup, can't use it. A visitor has an account,
or is known only by their session.

The database also counts for the limits, for all processes together: by account, or by network for
visitors. It stores only digests that need the site's key.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth import SESSION_KEY, login as log_in
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import OperationalError
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from winosmith.errors import InputError, WinosmithError
from winosmith.web import _lock
from winosmith.web._lock import since, writing
from winosmith.web.people.addresses import address, network
from winosmith.web.people.models import (
    Done,
    Hits,
    Person,
    Session,
    keyed,
    pseudonym,
    stop_if_gone,
    token_digest,
)
from winosmith.web.people.privacy import missing

WRITER = "writer"
"""The session's entry for a person who writes without an account."""


class SessionStore(DatabaseStore):
    """Django's store in the database, with digests of keys; its writes wait in the site's queue."""

    _written: tuple[str | None, bytes] | None = None
    """The key and the data that were written last."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """Return the model of the rows."""
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        """Return the row of a session, with its person in a column."""
        row: Session = super().create_model_instance(data)
        row.session_key = token_digest(row.session_key)
        person = data.get(SESSION_KEY) or data.get(WRITER)
        row.person_id = int(person) if person else None
        return row

    def exists(self, session_key: str | None) -> bool:
        """Return whether a key has a session."""
        return bool(super().exists(token_digest(session_key or "")))

    def load(self) -> dict[str, Any]:
        """Return what the session holds; nothing, and a new key with the next save, for none."""
        key = token_digest(self.session_key or "")
        rows = Session.objects.filter(session_key=key, expire_date__gt=timezone.now())
        for data in rows.values_list("session_data", flat=True):
            held: dict[str, Any] = self.decode(data)
            return held
        self._session_key = None
        return {}

    def save(self, must_create: bool = False) -> None:
        """Write the session; it is on the disk when this returns.

        Unchanged data is not written again: after a log-in the middleware only sets the cookie.
        """
        held = self.serializer().dumps(self._get_session(no_load=must_create))
        if not must_create and self._written == (self.session_key, held):
            return
        with writing():
            super().save(must_create)
        self._written = (self.session_key, held)

    def delete(self, session_key: str | None = None) -> None:
        """End the session of a key, by default this one."""
        with writing():
            super().delete(token_digest(session_key or self.session_key or ""))


def begin_session(request: HttpRequest, person: Person) -> None:
    """Start a log-in session in the caller's transaction; the session before it ends."""
    request.session.flush()
    log_in(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.save()


def existing_writer(request: HttpRequest) -> Person | None:
    """Return the person of a session; None before their first contribution."""
    if request.user.is_authenticated:
        return cast(Person, request.user)
    number = request.session.get(WRITER)
    if number is None:
        return None
    return Person.objects.filter(pk=number, anonymous=True, is_active=True).first()


def writer(request: HttpRequest) -> Person:
    """Return the person of a session; without an account, a new person for this session.

    Raises:
        InputError: the site requires an account, and there is none.
    """
    found = existing_writer(request)
    if found is not None:
        return found
    if not settings.RULES.anonymous:
        raise InputError(_("You need an account to write on this site; log in or sign up."))
    with writing():
        person = Person.objects.create_anonymous()
    request.session[WRITER] = person.pk
    return person


HOUR = timedelta(hours=1)

SOON = 1.0
"""Seconds for which a read request waits to be counted."""


class RateLimitError(WinosmithError):
    """Somebody did something more often than the site allows; `again` is when they may again."""

    def __init__(self, what: str, again: datetime):
        self.what, self.again = what, again
        super().__init__(f"too many in an hour ({what}); come again at {again:%H:%M} UTC")

    @property
    def seconds(self) -> int:
        """How long to wait, at least 1."""
        return max(1, round((self.again - timezone.now()).total_seconds()))

    @property
    def minutes(self) -> int:
        """The same in minutes, at least 1."""
        return -(-self.seconds // 60)


def _limit_key(somebody: HttpRequest | Person | str) -> str:
    if isinstance(somebody, HttpRequest):
        if not somebody.user.is_authenticated:
            return keyed("network", network(address(somebody)))
        somebody = somebody.user
    return keyed("limit", somebody if isinstance(somebody, str) else f"person {somebody.pk}")


def rate_limit(somebody: HttpRequest | Person | str, what: str, most: int) -> None:
    """Count an action; refuse it if the limit of the last hour is reached.

    The last hour is this clock hour and a proportional part of the one before.

    Args:
        somebody: a request (counts for its account, or its network), a person, or any text.
        what: a word of at most 20 letters; each is counted separately.
        most: the limit within an hour.

    Raises:
        RateLimitError: the limit is reached; nothing was counted.
    """
    now = timezone.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    who = _limit_key(somebody)
    with writing():
        rows = Hits.objects.select_for_update().filter(who=who, what=what)
        both = {row.hour: row for row in rows.filter(hour__gte=hour - HOUR).order_by("hour")}
        row = both.get(hour) or rows.get_or_create(who=who, what=what, hour=hour)[0]
        before = both[hour - HOUR].count if hour - HOUR in both else 0
        # Of the hour before counts the share into which the last sixty minutes reach.
        if row.count + 1 + before * (1 - (now - hour) / HOUR) <= most:
            rows.filter(pk=row.pk).update(count=row.count + 1)
            return
    raise RateLimitError(what, _again(before, row.count, most, hour, now))


def rate_limit_reading(somebody: HttpRequest | Person | str, what: str, most: int) -> None:
    """Count a read request as `rate_limit` does, unless the database can't be written.

    Raises:
        RateLimitError: the limit is reached.
    """
    with suppress(OperationalError), since(_lock.PATIENCE - SOON):
        rate_limit(somebody, what, most)


TYPED = 100
"""Checks, and saves, while typing for each text that may be sent. Typing without a pause needs
about 50 for a twin: the form checks after 0.3 seconds, and saves after 0.7."""


def rate_limit_typing(somebody: HttpRequest | Person, what: str, sent: int) -> None:
    """Count a check or save of a form while somebody types; a check only reads.

    Args:
        somebody: as in `rate_limit`.
        what: "check" or "save".
        sent: the number of texts of that form that may be sent within an hour.

    Raises:
        RateLimitError: TYPED for each of these are done.
    """
    rate_limit_reading(somebody, what, TYPED * sent)


def _again(before: int, count: int, most: int, hour: datetime, now: datetime) -> datetime:
    """Return when the next action fits: the hits of an hour fade evenly over the next hour."""
    if count + 1 <= most:
        return max(now, hour + HOUR * (1 - (most - count - 1) / max(1, before)))
    return hour + HOUR + HOUR * (1 - max(0, most - 1) / max(1, count))


def uncount(somebody: HttpRequest | Person | str, what: str) -> None:
    """Undo the last count of `rate_limit`, for an action that was harmless."""
    with writing():
        rows = Hits.objects.filter(who=_limit_key(somebody), what=what, count__gt=0)
        newest = rows.order_by("-hour").values("pk")[:1]
        Hits.objects.filter(pk__in=list(newest.values_list("pk", flat=True))).update(
            count=F("count") - 1
        )


def wants_page(request: HttpRequest) -> bool:
    """Return whether a refusal should be a page: programs that load files don't accept HTML."""
    accepted = request.headers.get("Accept", "text/html")
    return "text/html" in accepted or bool(getattr(request, "htmx", False))


def answer_too_many(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer requests over a limit with status 429 and the time to wait (middleware)."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, RateLimitError):
            return None
        if wants_page(request):
            page = render(request, "429.html", {"wait": error.minutes}, status=429)
        else:
            text = f"429: this is no data, but {error}, after {error.seconds} seconds.\n"
            page = HttpResponse(text, status=429, content_type="text/plain; charset=utf-8")
        page.headers["Retry-After"] = str(error.seconds)
        return page

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


def paused_part(request: HttpRequest, many: RateLimitError) -> HttpResponse:
    """Return the part of a page that says until when typed text is not checked (429)."""
    part = render(request, "partials/rest.html", {"wait": many.minutes}, status=429)
    part.headers["Retry-After"] = str(many.seconds)
    return part


class KeyReusedError(InputError):
    """The key was used by another form."""


def new_key() -> str:
    """Return a key for one form: 32 hex digits."""
    return secrets.token_hex(16)


def act_once(
    person: Person, key: str, form: str, act: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], bool]:
    """Carry out the first form with a key; return its result for repeated ones.

    Args:
        person: the sender; other people's keys don't matter.
        key: of the form, from `new_key`.
        form: the name of the form, such as its path; a key is valid for one form.
        act: writes, and returns a result for JSON. It runs in the same transaction as the record
            that it ran: both are on the disk, or neither.

    Returns:
        The result with the name of the form, and whether `act` ran now.

    Raises:
        InputError: the key is not valid, or the person was erased in the meantime.
        KeyReusedError: another form was sent with it.
    """
    if not 16 <= len(key) <= 64 or not key.isalnum():
        raise InputError(_("the form has no key; open the page again"))
    with writing():
        stop_if_gone(person)  # the lock on the person makes two forms with one key take turns
        results = Done.objects.filter(person=person, key=key).values_list("result", flat=True)
        if result := next(iter(results), None):
            if result.get("form") != form:
                raise KeyReusedError(
                    _("This form was already used for something else; open the page again.")
                )
            return result, False
        result = {**act(), "form": form}
        Done.objects.create(person=person, key=key, result=result)
        return result, True


def result_of(person: Person | None, key: str) -> dict[str, Any]:
    """Return what came of a form that somebody sent with this key; nothing if none was sent."""
    rows = Done.objects.filter(person=person, key=key) if person and key else Done.objects.none()
    return rows.values_list("result", flat=True).first() or {}


def form_once(
    request: HttpRequest, person: Person, act: Callable[[], object], part: str = ""
) -> dict[str, Any]:
    """Carry out a form by its key, as `act_once` does; return the result of the first time.

    Args:
        request: with the form; its path names the form.
        person: the sender.
        act: writes, and may return a result for JSON.
        part: of the page, if one address takes several forms.

    Raises:
        InputError: the key is not valid, or belongs to another form.
    """

    def acted() -> dict[str, Any]:
        made = act()
        return made if isinstance(made, dict) else {}

    form = f"{request.path} {part}" if part else request.path
    return act_once(person, request.POST.get("key", ""), form, acted)[0]


P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_judge(person: Person | None) -> bool:
    """Return whether somebody may judge: with an account, and the role if the site requires it."""
    if person is None or person.anonymous or not person.is_active or person.erased:
        return False
    return settings.RULES.open_judging or person.is_judge


def accounts_only(view: View[P]) -> View[P]:
    """Admit only people with an account; visitors log in first."""
    return _gate(view, lambda person: person.is_active and not person.anonymous)


def judges_only(view: View[P]) -> View[P]:
    """Admit only people who may judge."""
    return _gate(view, may_judge)


def moderators_only(view: View[P]) -> View[P]:
    """Admit only moderators and admins."""
    return _gate(view, lambda person: person.moderates)


def admins_only(view: View[P]) -> View[P]:
    """Admit only admins."""
    return _gate(view, lambda person: person.is_active and person.is_superuser)


def agreed(view: View[P]) -> View[P]:
    """Ask for consent before a contribution, and return; a new version is asked again."""
    return _agreed(view, judging=False)


def agreed_to_judge(view: View[P]) -> View[P]:
    """Ask for consent before judging; paid judges have a text of their own."""
    return _agreed(view, judging=True)


def _agreed(view: View[P], *, judging: bool) -> View[P]:
    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        person = existing_writer(request)
        if person is None and not settings.RULES.anonymous:
            return send_to(request, "people:login")
        if missing(person, judging=judging):
            return send_to(request, "people:consent")
        return view(request, *args, **kwargs)

    return gated


def shown_documents(request: HttpRequest) -> set[int]:
    """Return the keys of the texts that were shown with a form, from its `shown`."""
    keys = request.POST.getlist("shown")
    return {int(key) for key in keys if key.isdecimal() and len(key) <= 9}


def _gate(view: View[P], may: Callable[[Person], bool]) -> View[P]:
    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return send_to(request, "people:login")
        if not may(request.user):
            return render(request, "403.html", status=403)
        return view(request, *args, **kwargs)

    return gated


def send_to(request: HttpRequest, name: str) -> HttpResponse:
    """Redirect to another page that leads back here, with or without htmx."""
    to = f"{reverse(name)}?{urlencode({'next': page_of(request)})}"
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(status=204, headers={"HX-Redirect": to})
    return redirect(to)


def page_of(request: HttpRequest) -> str:
    """Return the page that somebody is on; for a form, the page that it was sent from, if known."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    before = request.headers.get("Referer", "")
    return before if _is_ours(request, before) else reverse("read:home")


def entrance(request: HttpRequest) -> dict[str, Any]:
    """Return the account whose page it is, where logging in leads back, and `new_key`.

    A context processor; each `{{ new_key }}` in a template is a key of its own.
    """
    user = getattr(request, "user", None)  # none of a request that is refused before that
    if user is not None and user.is_authenticated:
        return {"account": pseudonym(user), "new_key": new_key}
    doors = {reverse("people:login"), reverse("people:join")}
    back = safe_next(request) if request.path in doors else page_of(request)
    return {"account": "", "back": back, "new_key": new_key}


def _is_ours(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )


def safe_next(request: HttpRequest) -> str:
    """Return where a form leads: `next` if it is on this site, otherwise the first page."""
    to = request.POST.get("next") or request.GET.get("next") or ""
    # A word without a slash would be taken for the name of a page, and there may be none.
    return to if "/" in to and _is_ours(request, to) else reverse("read:home")


def leads_to_writing(to: str) -> bool:
    """Return whether people write on a page; paid judges need more texts for it."""
    with suppress(Resolver404):
        return resolve(urlsplit(to).path).namespace in {"write", "perturb"}
    return False
