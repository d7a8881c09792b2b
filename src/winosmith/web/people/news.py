"""News since a person's last visit, work that waits for them, and the site's emails.

Each area adds functions to the lists below when the site starts. Only the time of the last visit is
stored; news is computed from other rows.

The site sends mail if the operator configured a server: a link for a new password, and a link that
confirms an address. An address is optional. It is stored once its owner has opened the link sent to
it, is visible to nobody else, and is deleted on request or by an erasure.
Neither the response nor its time reveals whether an address is known: the worker does all work that
depends on the address. The worker's job contains the address but no link, and is deleted when the
email is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPNotSupportedError, SMTPRecipientsRefused
from typing import Any

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
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
from winosmith.web._lock import limit_write_waits, writing
from winosmith.web.jobs import MAIL, Job, Progress, UnavailableError, queue_job
from winosmith.web.people.accounts import create_emailed_reset_link, get_reset_links
from winosmith.web.people.addresses import get_client_address, get_network
from winosmith.web.people.gates import COUNT_WAIT, rate_limit
from winosmith.web.people.models import Person, check_still_active, decrypt, encrypt

MAX_ITEMS = 99
"""Maximum number of news items of one kind, both on the page and on the badge."""

NEWS_SPAN = timedelta(days=30)
"""Time for which the page shows news that was already seen."""

BADGE_SECONDS = 60
"""Seconds for which the number on the badge is cached."""


@dataclass(frozen=True, slots=True)
class Item:
    """An event in a person's news.

    Attributes:
        url: The URL of the page with details.
        sentence: The sentence that the event is about, or "".
        reason: The stored reason, or "".
    """

    at: datetime
    text: str
    url: str
    sentence: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Pending work of a person: a message with the amount of work, and the URL of its page."""

    text: str
    url: str


news_sources: list[Callable[[Person, datetime], Iterable[Item]]] = []
"""Functions that return a person's news since a given time, at most MAX_ITEMS items."""

work_sources: list[Callable[[Person], Iterable[Work]]] = []
"""Functions that return a person's pending work."""


def get_last_visit(person: Person) -> datetime:
    return person.news_seen or person.joined


def list_news(person: Person, after: datetime) -> list[Item]:
    found = [item for area in news_sources for item in area(person, after)]
    return sorted(found, key=lambda item: item.at, reverse=True)


def count_unread(person: Person) -> int:
    after = get_last_visit(person)
    key = f"news.{person.pk}.{after.timestamp()}"
    found = cache.get_or_set(key, lambda: len(list_news(person, after)), BADGE_SECONDS)
    return min(MAX_ITEMS, int(found))


def mark_read(person: Person) -> None:
    """Record that a person has seen their news, unless the database can't be written to."""
    with suppress(OperationalError), limit_write_waits(_lock.MAX_WAIT - COUNT_WAIT), writing():
        Person.objects.filter(pk=person.pk).update(news_seen=timezone.now())


def badge_context(request: HttpRequest) -> dict[str, Any]:
    person = getattr(request, "user", None)  # missing if the request was rejected earlier
    if person is None or not person.is_authenticated or person.hired:
        return {}
    return {"unheard": SimpleLazyObject(lambda: count_unread(person))}


LINK_SECONDS = 24 * 3600
"""Seconds for which a link that confirms an address works."""

MAX_MAILS_NETWORK, MAX_MAILS_ADDRESS, MAX_MAILS_PERSON = 60, 5, 10
"""Maximum number of emails per hour for one network, for one address, and for one person."""

RESET_MINUTES = 60
"""Minutes for which a link for a new password works."""

LINK_PURPOSE = "people.mail"
"""The `purpose` from which the keys and digests of confirmation links are derived."""


def sends_mail() -> bool:
    return settings.RULES.mail is not None


def get_site_url(request: HttpRequest) -> str:
    """Return the site's URL, without a trailing slash."""
    return settings.SITE.public_url or f"{request.scheme}://{request.get_host()}"


class ResetForm(PasswordResetForm):
    """Django's form for password-reset links; the worker emails the link after the response."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("Email address")

    def get_users(self, email: str) -> Any:
        return (one for one in super().get_users(email) if not (one.anonymous or one.hired))

    def save(self, *, request: HttpRequest) -> None:
        network = get_network(get_client_address(request))
        rate_limit(f"network {network}", "reset", MAX_MAILS_NETWORK)
        rate_limit(f"mail {self.cleaned_data['email'].lower()}", "reset", MAX_MAILS_ADDRESS)
        _queue_mail(request, email=self.cleaned_data["email"])


def send_address_link(person: Person, email: str, request: HttpRequest) -> None:
    """Send a confirmation link to an address, which is stored when its owner opens the link."""
    try:
        validate_email(email)
    except ValidationError:
        raise InputError(_("This is not an email address.")) from None
    rate_limit(person, "mail", MAX_MAILS_PERSON)
    rate_limit(f"mail {email.lower()}", "mail", MAX_MAILS_ADDRESS)
    _queue_mail(request, person=person.pk, email=email)


def _queue_mail(request: HttpRequest, **asked: Any) -> None:
    queue_job(MAIL, there=get_site_url(request), language=get_language(), **asked)


STALE = timedelta(hours=1)
"""Age after which an unsent email is no longer sent. An email gets this old if the site or the mail
server was down, or if its row comes from a backup."""


class MailError(WinosmithError):
    """The mail server rejected an email."""


class TemporaryMailError(MailError):
    """The mail server rejected an email, but a later attempt may succeed."""


def send_mail(job: Job, _progress: Progress) -> None:
    if job.at < timezone.now() - STALE:
        raise MailError("The email was not sent, because it had waited for more than an hour.")
    try:
        _send_link(job)
    except TemporaryMailError:
        raise UnavailableError(job.pk) from None


def _send_link(job: Job) -> None:
    asked, email = job.asked, job.asked["email"]
    with translation.override(asked["language"]):
        if "person" in asked:
            for person in Person.objects.filter(pk=asked["person"], is_active=True):
                token = make_address_token(person, email)
                page = {"link": asked["there"] + reverse("people:mail_confirm", args=[token])}
                subject = _("Confirm your email address for %s") % settings.RULES.title
                _deliver(subject, "people/mail_confirm.txt", page, email)
            return
        subject = _("Set a new password for %(title)s") % {"title": settings.RULES.title}
        for person in ResetForm().get_users(email):
            if person.pk not in asked.get("sent", ()):
                page = {
                    "link": asked["there"] + create_emailed_reset_link(person, RESET_MINUTES),
                    "user": person,
                }
                _deliver(subject, "people/mail_reset.txt", page, person.email)
                asked["sent"] = [*asked.get("sent", ()), person.pk]  # the next mail may be rejected
                with writing():
                    job.save(update_fields=["asked"])


def make_address_token(person: Person, email: str) -> str:
    """Return the token that confirms an address; encryption keeps the address out of logs."""
    return encrypt(LINK_PURPOSE, [_compute_owner_digest(person), email])


def confirm_address(person: Person, token: str) -> None:
    try:
        whose, email = decrypt(LINK_PURPOSE, token, LINK_SECONDS)
    except InvalidToken:
        whose = ""
    if whose != _compute_owner_digest(person):
        raise InputError(_("This link no longer works; enter your address again."))
    _store_address(person, email)


def _compute_owner_digest(person: Person) -> str:
    """Return a digest that changes with the person's password, log-in and address.

    Any such change therefore revokes the link with the digest. The digest reveals none of these
    values to a reader of the email.
    """
    state = f"{person.pk}:{person.get_session_auth_hash()}:{person.email}"
    return str(salted_hmac(LINK_PURPOSE, state, algorithm="sha256").hexdigest())


def delete_address(person: Person) -> None:
    _store_address(person, "")


def _store_address(person: Person, email: str) -> None:
    """Store an address, or delete the stored address if `email` is "".

    Links emailed to the previous address stop working.
    """
    with writing():
        check_still_active(person)
        if email != person.email:
            get_reset_links(person).update(used=timezone.now())
        person.email = email
        person.save(update_fields=["email"])


def _deliver(subject: str, template: str, page: dict[str, Any], email: str) -> None:
    """Send an email, or raise MailError; the log does not contain the address."""
    text = render_to_string(template, {**page, "rules": settings.RULES})
    try:
        EmailMessage(" ".join(subject.split()), text, to=[email]).send()
    except (OSError, ValueError) as error:
        codes = [getattr(error, "smtp_code", None)]
        if isinstance(error, SMTPRecipientsRefused):
            codes = [code for code, _reply in error.recipients.values()]
        permanent = isinstance(error, (ValueError, SMTPNotSupportedError)) or any(
            code is not None and code >= 500 for code in codes
        )
        shown = " ".join(map(str, (type(error).__name__, *filter(None, codes))))
        logging.getLogger(__name__).error("a mail could not be sent: %s", shown)
        reason = f"The mail server rejected the mail: {shown}."
        kind = MailError if permanent else TemporaryMailError
        raise kind(reason) from None  # its cause has the address
