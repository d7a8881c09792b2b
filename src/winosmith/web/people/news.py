"""News: what somebody has not heard of, and the work that waits for them; and what the site mails.

Each area tells of its own, by functions that its application adds to the lists below when the site
starts. Nothing is stored but when somebody looked last: what happened is told from what there is.

There is mail where the operator named a server: a way back in, an address of one's own, news once a
day. An address is given of one's own accord, stored once its owner has opened the link that was
sent there, seen by nobody else, and gone with an empty form or an erasure. The answer, and its
time, reveal to nobody whether an address is known: the worker does all that depends on it. The row
by which it is asked holds the address and no link, and is deleted when the mail is sent.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPNotSupportedError, SMTPRecipientsRefused
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.core import signing
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import OperationalError
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.crypto import salted_hmac
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language, gettext as _

from winosmith.errors import InputError, WinosmithError
from winosmith.web import _lock
from winosmith.web._lock import since, writing
from winosmith.web.jobs import MAIL, Job, NotNowError, Progress, later
from winosmith.web.people.accounts import way_in, ways_back
from winosmith.web.people.addresses import address, network
from winosmith.web.people.gates import SOON, rate_limit
from winosmith.web.people.models import Person, stop_if_gone

MOST = 99
"""Items of one kind that are reported at once; the badge says no more, either."""

SHOWN = timedelta(days=30)
"""How far back the page tells what was heard of already."""

FRESH = 60
"""Seconds for which the number on the badge is good."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that happened.

    Attributes:
        at: when.
        text: what, for the reader.
        to: the address that tells more.
        sentence: which it is about; "" for none.
        reason: why, as it was written down; "" for none.
    """

    at: datetime
    text: str
    to: str
    sentence: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Work that waits for somebody: how much of what, and where it is done."""

    text: str
    to: str


happenings: list[Callable[[Person, datetime], Iterable[Item]]] = []
"""Each returns what happened after a time that concerns somebody, MOST items at most."""

works: list[Callable[[Person], Iterable[Work]]] = []
"""Each returns what waits for somebody now."""


def heard(person: Person) -> datetime:
    """Return when somebody looked last; before the first time, when they joined."""
    return person.news_seen or person.joined


def happened(person: Person, after: datetime) -> list[Item]:
    """Return what happened after a time, the newest first."""
    found = [item for area in happenings for item in area(person, after)]
    return sorted(found, key=lambda item: item.at, reverse=True)


def unheard(person: Person) -> int:
    """Return how much happened since somebody looked, 0–MOST; a minute old at most."""
    after = heard(person)

    def count() -> int:
        return min(MOST, len(happened(person, after)))

    return int(cache.get_or_set(f"news.{person.pk}.{after.timestamp()}", count, FRESH))


def note_heard(person: Person) -> None:
    """Write down that somebody looked now; not if nothing can be written."""
    with suppress(OperationalError), since(_lock.PATIENCE - SOON), writing():
        Person.objects.filter(pk=person.pk).update(news_seen=timezone.now())


def badge(request: HttpRequest) -> dict[str, Any]:
    """Return what the top of each page shows next to "News", counted where it is shown."""
    person = getattr(request, "user", None)  # none of a request that is refused before that
    if person is None or not person.is_authenticated or person.hired:
        return {}
    return {"unheard": SimpleLazyObject(lambda: unheard(person))}


LASTS = 24 * 3600
"""Seconds for which the link to an address works."""

ASKED_NETWORK, ASKED_ADDRESS, GIVEN = 60, 5, 10
"""Mails an hour that one network, or anybody for one address, may ask for; that a person may."""

WAY_IN = 60
"""Minutes for which the link to a new password works."""

_SALT = "people.mail"


def sends_mail() -> bool:
    """Return whether the site sends mail."""
    return settings.RULES.mail is not None


def site_address(request: HttpRequest) -> str:
    """Return where the site is reached, without a slash at the end."""
    return settings.SITE.public_url or f"{request.scheme}://{request.get_host()}"


class ResetForm(PasswordResetForm):
    """Django's form for a link to a new password; it is sent after the answer, or nothing is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("E-mail address")

    def get_users(self, email: str) -> Any:
        """Return the accounts that have the address, and a password."""
        return (one for one in super().get_users(email) if not (one.anonymous or one.hired))

    def save(self, *, request: HttpRequest) -> None:
        """Send the link to anyone who has the address.

        Raises:
            TooMany: too many were asked for from this network, or for this address.
        """
        rate_limit(f"network {network(address(request))}", "reset", ASKED_NETWORK)
        rate_limit(f"mail {self.cleaned_data['email'].lower()}", "reset", ASKED_ADDRESS)
        later(
            MAIL,
            email=self.cleaned_data["email"],
            there=site_address(request),
            language=get_language(),
        )


def offer_address(person: Person, email: str, news: bool, request: HttpRequest) -> None:
    """Send a link to an address; who opens it, logged in, makes the address theirs.

    Raises:
        InputError: it is no address.
        TooMany: too many were asked for.
    """
    try:
        validate_email(email)
    except ValidationError:
        raise InputError(_("This is not an e-mail address.")) from None
    rate_limit(person, "mail", GIVEN)
    rate_limit(f"mail {email.lower()}", "mail", ASKED_ADDRESS)
    later(
        MAIL,
        person=person.pk,
        email=email,
        news=news,
        there=site_address(request),
        language=get_language(),
    )


STALE = timedelta(hours=1)
"""After which nobody waits for a mail: the site or the mail server was down, or the row comes from
a backup."""


class MailError(WinosmithError):
    """The mail server did not take a mail; it may take it later if `is_temporary`."""

    def __init__(self, message: str, is_temporary: bool) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


def send_mail(job: Job, _progress: Progress) -> None:
    """Send the link that somebody asked for, to an address or to a new password.

    Raises:
        NotNowError: the mail server may take it later.
        MailError: it won't, or the mail has waited for longer than `STALE`.
    """
    if job.at < timezone.now() - STALE:
        raise MailError("It waited for more than an hour, so it was not sent.", is_temporary=False)
    try:
        _send_link(job)
    except MailError as error:
        if error.is_temporary:
            raise NotNowError(job.pk) from None
        raise


def _send_link(job: Job) -> None:
    asked, email = job.asked, job.asked["email"]
    with translation.override(asked["language"]):
        if "person" in asked:
            for person in Person.objects.filter(pk=asked["person"], is_active=True):
                token = address_token(person, email, asked["news"])
                page = {"link": asked["there"] + reverse("people:mail_confirm", args=[token])}
                subject = _("Your address at %s") % settings.RULES.title
                _send(subject, "people/mail_confirm.txt", page, email)
            return
        subject = _("A new password at %(title)s") % {"title": settings.RULES.title}
        for person in ResetForm().get_users(email):
            if person.pk not in asked.get("sent", ()):
                page = {"link": asked["there"] + way_in(person, WAY_IN), "user": person}
                _send(subject, "people/mail_reset.txt", page, person.email)
                asked["sent"] = [*asked.get("sent", ()), person.pk]  # the next may be refused
                with writing():
                    job.save(update_fields=["asked"])


def address_token(person: Person, email: str, news: bool) -> str:
    """Return what makes an address a person's, and shows it to nobody who reads logs of links."""
    nonce = secrets.token_urlsafe()
    told = [_whose(person), nonce, _veiled(email.encode(), nonce).hex(), news]
    return signing.dumps(told, salt=_SALT)


def confirm_address(person: Person, token: str) -> None:
    """Make an address a person's, by the token that was sent there.

    Raises:
        InputError: the token is none, too old, another person's, or something changed since.
    """
    try:
        whose, nonce, veiled, news = signing.loads(token, salt=_SALT, max_age=LASTS)
    except (signing.BadSignature, ValueError):
        whose = ""
    if whose != _whose(person):
        raise InputError(_("This link no longer works; enter your address again."))
    _keep(person, _veiled(bytes.fromhex(veiled), nonce).decode(), news=news)


def _veiled(text: bytes, nonce: str) -> bytes:
    """Return a text added to a stream of the site's key and a nonce, or one that was, as it was."""
    key = f"{_SALT}:{settings.SECRET_KEY}:{nonce}".encode()
    stream = hashlib.shake_256(key).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))


def _whose(person: Person) -> str:
    """Return what a link hangs on: it ends with the password, the log-ins, or another address.

    Anyone who gets the mail reads none of these in it.
    """
    bound = f"{person.pk}:{person.get_session_auth_hash()}:{person.email}"
    return str(salted_hmac(_SALT, bound, algorithm="sha256").hexdigest())


def choose_news(person: Person, news: bool) -> None:
    """Mail a person their news from now on, or no more, at the address that is theirs already."""
    with writing():  # and no address: another one may be confirmed at this moment
        stop_if_gone(person)
        person.mail_news, person.mailed = news, timezone.now()
        person.save(update_fields=["mail_news", "mailed"])


def forget_address(person: Person) -> None:
    """Forget a person's address."""
    _keep(person, "", news=False)


def _keep(person: Person, email: str, *, news: bool) -> None:
    """Store an address, or none; what was sent to another one lets nobody in any more."""
    with writing():
        stop_if_gone(person)
        if email != person.email:
            ways_back(person).update(used=timezone.now())
        person.email, person.mail_news, person.mailed = email, news, timezone.now()
        person.save(update_fields=["email", "mail_news", "mailed"])


def _send(subject: str, template: str, page: dict[str, Any], email: str) -> None:
    """Send a mail; log what is wrong, without the address.

    Raises:
        MailError: the server did not take it.
    """
    text = render_to_string(template, {**page, "rules": settings.RULES})
    try:
        EmailMessage(" ".join(subject.split()), text, to=[email]).send()
    except (OSError, ValueError) as error:
        codes = [getattr(error, "smtp_code", None)]
        if isinstance(error, SMTPRecipientsRefused):
            codes = [code for code, _reply in error.recipients.values()]
        lasting = isinstance(error, (ValueError, SMTPNotSupportedError)) or any(
            code is not None and code >= 500 for code in codes
        )
        shown = " ".join(map(str, (type(error).__name__, *filter(None, codes))))
        logging.getLogger(__name__).error("a mail could not be sent: %s", shown)
        reason = f"The mail server did not take it: {shown}."
        raise MailError(reason, is_temporary=not lasting) from None  # `error` may spell the address


def send_news() -> int:
    """Mail their news to those who want that, and have some since the last mail; once a day.

    The mail says how many there are, and none of them: they are read on the site. One that the
    server does not take keeps nobody else's back, and is tried again the next day.
    """
    there, sent = settings.SITE.public_url, 0
    if not sends_mail() or not there:
        return 0
    rows = Person.objects.filter(mail_news=True, is_active=True).exclude(email="")
    for person in rows.order_by("pk"):
        items = happened(person, max(heard(person), person.mailed or person.joined))
        wishes = rows.filter(pk=person.pk, email=person.email)
        if not items or not wishes.exists():  # others' mails take long: somebody may have left
            continue
        page = {"n": len(items), "link": there + reverse("people:news")}
        subject = _("News at %s") % settings.RULES.title
        with suppress(MailError):
            _send(subject, "people/mail_news.txt", page, person.email)
            with writing():
                wishes.update(mailed=timezone.now())
            sent += 1
    return sent
