"""Checks of each request: sessions, permissions, rate limits, and repeated forms.

The database stores each session with its person. The cookie contains a key of 165 random bits. The
table contains only the key's SHA-256, so that readers of the database, or of a backup, can't use
it. A visitor without an account is known only by their session.

The database also stores the counts for rate limits, which all processes share: by account, or by
network for visitors. Accounts and networks are stored only as digests that depend on the site's
key.
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
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError, WinosmithError
from winosmith.web import _lock
from winosmith.web._lock import limit_write_waits, writing
from winosmith.web.pages import is_site_url
from winosmith.web.people.addresses import get_client_address, get_network
from winosmith.web.people.models import (
    Done,
    Hits,
    Person,
    Session,
    check_still_active,
    digest_token,
    get_pseudonym,
    make_digest,
)
from winosmith.web.people.privacy import get_pending_documents

WRITER = "writer"
"""Session key of the person who writes without an account."""


class SessionStore(DatabaseStore):
    """Django's database session store, with hashed keys and the site's write queue."""

    _written: tuple[str | None, bytes] | None = None
    """The key and the data of the last write."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row: Session = super().create_model_instance(data)
        row.session_key = digest_token(row.session_key)
        person = data.get(SESSION_KEY) or data.get(WRITER)
        row.person_id = int(person) if person else None
        return row

    def exists(self, session_key: str | None) -> bool:
        return bool(super().exists(digest_token(session_key or "")))

    def load(self) -> dict[str, Any]:
        """Return the session's data; if there is none, return {} and let `save` use a new key."""
        key = digest_token(self.session_key or "")
        # Each request needs this query, and `raw` takes half the time of `filter`.
        query = "SELECT * FROM people_session WHERE session_key = %s"
        for row in Session.objects.raw(query, [key]):
            if row.expire_date > timezone.now():
                return cast(dict[str, Any], self.decode(row.session_data))
        self._session_key = None
        return {}

    def save(self, must_create: bool = False) -> None:
        """Write the session to the database.

        Unchanged data is not written again: after a log-in, the middleware only sets the cookie.
        """
        data = self.serializer().dumps(self._get_session(no_load=must_create))
        if not must_create and self._written == (self.session_key, data):
            return
        with writing():
            super().save(must_create)
        self._written = (self.session_key, data)

    def delete(self, session_key: str | None = None) -> None:
        with writing():
            super().delete(digest_token(session_key or self.session_key or ""))


def begin_session(request: HttpRequest, person: Person) -> None:
    """Start a log-in session in the caller's transaction, and end the previous session."""
    request.session.flush()
    log_in(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.save()


def get_current_writer(request: HttpRequest) -> Person | None:
    """Return the contributor of this session, or None if they have not contributed yet."""
    if request.user.is_authenticated:
        return cast(Person, request.user)
    number = request.session.get(WRITER)
    if number is None:
        return None
    return Person.objects.filter(pk=number, anonymous=True, is_active=True).first()


def get_or_create_writer(request: HttpRequest) -> Person:
    found = get_current_writer(request)
    if found is not None:
        return found
    if not settings.RULES.anonymous:
        raise InputError(_("You need an account to write on this site; log in or sign up."))
    with writing():
        person = Person.objects.create_anonymous()
    request.session[WRITER] = person.pk
    return person


HOUR = timedelta(hours=1)

COUNT_WAIT = 1.0
"""Maximum number of seconds for which a read request waits to write its count."""


class RateLimitError(WinosmithError):
    """An action exceeded the site's rate limit; `again` is the time when it is allowed again."""

    def __init__(self, what: str, again: datetime):
        self.again = again
        super().__init__(f"too many requests in an hour ({what}); try again at {again:%H:%M} UTC")

    @property
    def seconds(self) -> int:
        """Number of seconds to wait, at least 1."""
        return max(1, round((self.again - timezone.now()).total_seconds()))

    @property
    def minutes(self) -> int:
        """Number of minutes to wait, rounded up."""
        return -(-self.seconds // 60)


def _make_limit_key(actor: HttpRequest | Person | str) -> str:
    if isinstance(actor, HttpRequest):
        if not actor.user.is_authenticated:
            return make_digest("network", get_network(get_client_address(actor)))
        actor = actor.user
    return make_digest("limit", actor if isinstance(actor, str) else f"person {actor.pk}")


def rate_limit(actor: HttpRequest | Person | str, action: str, limit: int) -> None:
    """Count an action, or raise RateLimitError if the hourly limit is reached.

    The count covers this clock hour and a proportional part of the previous one.

    Args:
        actor: A request (counted for its account, or its network), a person, or any string.
        action: The kind of action, in at most 20 letters; each kind is counted separately.
        limit: The limit per hour.
    """
    now = timezone.now()
    hour, who = now.replace(minute=0, second=0, microsecond=0), _make_limit_key(actor)
    convert = Hits._meta.get_field("hour").get_db_prep_value
    hours = [convert(start, connection) for start in (hour, hour - HOUR)]
    with writing(), connection.cursor() as cursor:
        cursor.execute(_COUNT_HIT, [who, action, *hours])
        count, before = cursor.fetchone()
        # The previous hour counts in proportion to its overlap with the last sixty minutes.
        if count + before * (1 - (now - hour) / HOUR) <= limit:
            return
        # Wait until the previous hour's part, or in the next hour this hour's, is small enough.
        if count <= limit:
            again = max(now, hour + HOUR * (1 - (limit - count) / max(1, before)))
        else:
            again = hour + HOUR + HOUR * (1 - max(0, limit - 1) / max(1, count - 1))
        raise RateLimitError(action, again)  # which undoes the count


_COUNT_HIT = """
    INSERT INTO people_hits (who, what, hour, count) VALUES (%s, %s, %s, 1)
    ON CONFLICT (who, what, hour) DO UPDATE SET count = people_hits.count + 1
    RETURNING count, COALESCE((SELECT last.count FROM people_hits last
        WHERE last.who = people_hits.who AND last.what = people_hits.what AND last.hour = %s), 0)
"""
"""Count an action; return the counts of this hour and of the previous one."""


def rate_limit_reading(actor: HttpRequest | Person | str, action: str, limit: int) -> None:
    """Apply `rate_limit` to a read request, unless the database can't be written to."""
    with suppress(OperationalError), limit_write_waits(_lock.MAX_WAIT - COUNT_WAIT):
        rate_limit(actor, action, limit)


TYPING_FACTOR = 100
"""Number of checks, and of saves, allowed for each text that may be submitted. Typing a twin takes
about 50: the form is checked after 0.3 seconds, and saved after 0.7."""


def rate_limit_typing(actor: HttpRequest | Person, action: str, limit: int) -> None:
    """Limit the checks and the autosaves (action "save") while the user types into a form.

    The limit per hour is `TYPING_FACTOR` checks, and as many saves, for each of the `limit` texts
    that may be submitted with the form.
    """
    rate_limit_reading(actor, action, TYPING_FACTOR * limit)


def undo_rate_limit_count(actor: HttpRequest | Person | str, action: str) -> None:
    with writing():
        rows = Hits.objects.filter(who=_make_limit_key(actor), what=action, count__gt=0)
        if newest := rows.order_by("-hour").first():
            rows.filter(pk=newest.pk).update(count=F("count") - 1)


def accepts_html(request: HttpRequest) -> bool:
    accepted = request.headers.get("Accept", "text/html")
    return "text/html" in accepted or bool(getattr(request, "htmx", False))


def refusal_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Explain why an action was refused (middleware).

    A request over a rate limit gets status 429 and the time to wait. A form whose view does not
    handle its InputError gets status 409, the reason, and a link to the page with the form.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, InputError) and request.method == "POST":
            context = {"reason": str(error), "again": get_current_page(request)}
            return render(request, "409.html", context, status=409)
        if not isinstance(error, RateLimitError):
            return None
        if accepts_html(request):
            page = render(request, "429.html", {"wait": error.minutes}, status=429)
        else:
            text = f"429: this file has no data: {error}, in {error.seconds} seconds.\n"
            page = HttpResponse(text, status=429, content_type="text/plain; charset=utf-8")
        page.headers["Retry-After"] = str(error.seconds)
        return page

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


def render_paused_part(request: HttpRequest, error: RateLimitError) -> HttpResponse:
    """Render a note on when the typed text will be checked again (status 429)."""
    part = render(request, "partials/rest.html", {"wait": error.minutes}, status=429)
    part.headers["Retry-After"] = str(error.seconds)
    return part


def new_key() -> str:
    return secrets.token_hex(16)


def process_once(
    person: Person, key: str, form: str, act: Callable[[], object]
) -> tuple[dict[str, Any], bool]:
    """Process a form at most once per key; repeated submissions get the stored result.

    Args:
        person: The sender; different people's keys are independent.
        key: The form's key, from `new_key`.
        form: The name of the form, such as its path; a key is valid for one form.
        act: A function that writes to the database, and may return a JSON-serializable dict. It
            runs in the transaction that stores the result, so that the changes and the result are
            stored together or not at all.

    Returns:
        The result with the name of the form, and whether this call ran `act`.
    """
    if not 16 <= len(key) <= 64 or not key.isalnum():
        raise InputError(_("The form is incomplete; open the page again."))
    with writing():
        check_still_active(person)
        try:
            with transaction.atomic():
                done = Done.objects.create(person=person, key=key, result={"form": form})
        except IntegrityError:
            result = get_stored_result(person, key)
            if result["form"] != form:
                raise InputError(
                    _("Another form was already submitted from this page; open the page again.")
                ) from None
            return result, False
        if isinstance(made := act(), dict) and made:
            done.result = {**made, "form": form}
            done.save(update_fields=["result"])
        return done.result, True


def get_stored_result(person: Person | None, key: str) -> dict[str, Any]:
    rows = Done.objects.filter(person=person, key=key) if person and key else Done.objects.none()
    return rows.values_list("result", flat=True).first() or {}


def process_form(
    request: HttpRequest, person: Person, act: Callable[[], object], part: str = ""
) -> dict[str, Any]:
    """Process a form at most once per key, like `process_once`; repetitions get the first result.

    The form's name is the request's path, followed by `part` if one URL accepts several forms.
    """
    form = f"{request.path} {part}" if part else request.path
    return process_once(person, request.POST.get("key", ""), form, act)[0]


P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def may_judge(person: Person | None) -> bool:
    if person is None or person.anonymous or not person.is_active or person.erased:
        return False
    return settings.RULES.open_judging or person.is_judge


def accounts_only(view: View[P]) -> View[P]:
    return _require_permission(view, lambda person: person.is_active and not person.anonymous)


def judges_only(view: View[P]) -> View[P]:
    return _require_permission(view, may_judge)


def moderators_only(view: View[P]) -> View[P]:
    return _require_permission(view, lambda person: person.can_moderate)


def admins_only(view: View[P]) -> View[P]:
    return _require_permission(view, lambda person: person.is_active and person.is_superuser)


def consent_required(view: View[P]) -> View[P]:
    """Ask for consent to the current texts before a contribution, then return to the page."""
    return _require_consent(view, judging=False)


def judging_consent_required(view: View[P]) -> View[P]:
    """Ask for consent before judging; paid judges have a separate text."""
    return _require_consent(view, judging=True)


def _require_consent(view: View[P], *, judging: bool) -> View[P]:
    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        person = get_current_writer(request)
        if person is None and not settings.RULES.anonymous:
            return redirect_to(request, "people:login")
        if get_pending_documents(person, judging=judging):
            return redirect_to(request, "people:consent")
        return view(request, *args, **kwargs)

    return wrapper


def read_shown_documents(request: HttpRequest) -> set[int]:
    keys = request.POST.getlist("shown")
    return {int(key) for key in keys if key.isdecimal() and len(key) <= 9}


def _require_permission(view: View[P], is_allowed: Callable[[Person], bool]) -> View[P]:
    @wraps(view)
    def wrapper(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to(request, "people:login")
        if not is_allowed(request.user):
            return render(request, "403.html", status=403)
        return view(request, *args, **kwargs)

    return wrapper


def redirect_to(request: HttpRequest, name: str) -> HttpResponse:
    """Redirect to a page that later returns to the current page."""
    to = f"{reverse(name)}?{urlencode({'next': get_current_page(request)})}"
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(status=204, headers={"HX-Redirect": to})
    return redirect(to)


def get_current_page(request: HttpRequest) -> str:
    """Return the URL of the current page or, for a submitted form, of the page with the form."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    before = request.headers.get("Referer", "")
    return before if is_site_url(request, before) else reverse("read:home")


def account_context(request: HttpRequest) -> dict[str, Any]:
    """Return the template variables for the account; each `{{ new_key }}` is a new key."""
    user = getattr(request, "user", None)  # missing if the request was rejected earlier
    if user is not None and user.is_authenticated:
        return {"account": get_pseudonym(user), "new_key": new_key}
    entry_pages = {reverse("people:login"), reverse("people:join")}
    back = get_safe_next(request) if request.path in entry_pages else get_current_page(request)
    return {"account": "", "back": back, "new_key": new_key}


def get_safe_next(request: HttpRequest) -> str:
    to = request.POST.get("next") or request.GET.get("next") or ""
    # Django would read a word without a slash as the name of a view, which may not exist.
    return to if "/" in to and is_site_url(request, to) else reverse("read:home")


def is_writing_page(url: str) -> bool:
    """Return whether a page is for writing; paid judges must agree to more documents there."""
    with suppress(Resolver404):
        return resolve(urlsplit(url).path).namespace in {"write", "perturb"}
    return False
