"""Mail, where the operator named a server: a way back in, an address of one's own, news once a day.

An address is given of one's own accord, stored once its owner has opened the link that was sent
there, seen by nobody else, and gone with an empty form or an erasure. What is answered, and how
long that takes, tells nobody whether an address is known: whatever depends on that is done in a
thread, after the answer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import connection
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.gates import address, network, rate_limit
from winosmith.web.people.models import Person
from winosmith.web.people.news import happened, heard

LASTS = 24 * 3600
"""Seconds for which the link to an address works."""

ASKED_NETWORK, ASKED_ADDRESS, GIVEN = 60, 5, 10
"""Mails an hour that one network, or anybody for one address, may ask for; that a person may."""

_SALT = "people.mail"


def on() -> bool:
    """Tell whether the site sends mail."""
    return settings.RULES.mail is not None


def later(work: Callable[[], object]) -> threading.Thread:
    """Do something after the answer, in a thread of its own; what fails is logged."""
    language = translation.get_language()

    def run() -> None:
        try:
            with translation.override(language):
                work()
        except Exception:
            logging.getLogger(__name__).exception("a mail could not be sent")
        finally:
            connection.close()

    thread = threading.Thread(target=run, name="mail", daemon=True)
    thread.start()
    return thread


def site_address(request: HttpRequest) -> str:
    """Return where the site is reached, without a slash at the end."""
    return settings.SITE.public_url or f"{request.scheme}://{request.get_host()}"


class ResetForm(PasswordResetForm):
    """Django's form for a link to a new password; it is sent after the answer, or nothing is."""

    def get_users(self, email: str) -> Any:
        """Return the accounts that have the address, and a password."""
        return (one for one in super().get_users(email) if not (one.anonymous or one.hired))

    def save(self, *, request: HttpRequest, **options: Any) -> None:
        """Send the link to whoever has the address.

        Raises:
            TooMany: too many were asked for from this network, or for this address.
        """
        rate_limit(f"network {network(address(request))}", "reset", ASKED_NETWORK)
        rate_limit(f"mail {self.cleaned_data['email'].lower()}", "reset", ASKED_ADDRESS)
        there = urlsplit(site_address(request))
        options |= {"domain_override": there.netloc, "use_https": there.scheme == "https"}
        options["extra_email_context"] = {"rules": settings.RULES}
        later(lambda: super(ResetForm, self).save(**options))


def offer(person: Person, email: str, news: bool, request: HttpRequest) -> None:
    """Send a link to an address; who opens it, logged in, makes the address theirs.

    Raises:
        InputError: it is no address.
        TooMany: too many were asked for.
    """
    try:
        validate_email(email)
    except ValidationError:
        raise InputError(_("This is no e-mail address.")) from None
    rate_limit(person, "mail", GIVEN)
    rate_limit(f"mail {email.lower()}", "mail", ASKED_ADDRESS)
    token = signing.dumps([*_whose(person), email, news], salt=_SALT)
    link = site_address(request) + reverse("people:mail_confirm", args=[token])
    text = render_to_string("people/mail_confirm.txt", {"link": link, "rules": settings.RULES})
    subject = _("Your address at %s") % settings.RULES.title
    later(lambda: _message(subject, text, email).send())


def confirm(person: Person, token: str) -> None:
    """Make an address a person's, by the token that was sent there.

    Raises:
        InputError: the token is none, too old, another person's, or something changed since.
    """
    try:
        *whose, email, news = signing.loads(token, salt=_SALT, max_age=LASTS)
    except (signing.BadSignature, ValueError):
        whose = []
    if whose != _whose(person):
        raise InputError(_("This link works no more; give your address again."))
    _keep(person, email, news=news)


def _whose(person: Person) -> list[Any]:
    """Return what a link hangs on: it ends with the password, the log-ins, or another address."""
    return [person.pk, person.get_session_auth_hash()[:16], person.email]


def forget(person: Person) -> None:
    """Forget a person's address."""
    _keep(person, "", news=False)


def _keep(person: Person, email: str, *, news: bool) -> None:
    person.email, person.mail_news, person.mailed = email, news, timezone.now()
    with writing():
        person.save(update_fields=["email", "mail_news", "mailed"])


def _message(subject: str, text: str, email: str) -> EmailMessage:
    return EmailMessage(" ".join(subject.split()), text, to=[email])


def send_news() -> int:
    """Mail their news to those who want that, and have some since the last mail; once a day.

    The mail says how many there are, and none of them: they are read on the site.
    """
    there, sent = settings.SITE.public_url, 0
    if not on() or not there:
        return 0
    rows = Person.objects.filter(mail_news=True, is_active=True).exclude(email="")
    for person in rows.order_by("pk"):
        items = happened(person, max(heard(person), person.mailed or person.joined))
        if items:
            page = {
                "n": len(items),
                "link": there + reverse("people:news"),
                "rules": settings.RULES,
            }
            text = render_to_string("people/mail_news.txt", page)
            subject = _("News at %s") % settings.RULES.title
            _keep(person, person.email, news=True)
            _message(subject, text, person.email).send()
            sent += 1
    return sent
