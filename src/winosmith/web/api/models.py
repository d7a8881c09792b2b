"""Access tokens, with which programs read the data of the token's owner."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Person, digest_token


class Tokens(models.QuerySet["Token"]):
    def active(self) -> Tokens:
        return self.filter(expires__gt=timezone.now(), revoked=None)


class Token(models.Model):
    """A token with which a program reads the data that its owner can see.

    Only a digest is stored, so that readers of the database or a backup can't use the token.

    Attributes:
        start: The first characters, by which the owner recognises the token.
        used: The day of the last use; the time is not stored.
        revoked: The time when the token, or all access to the account, was revoked.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    start = models.CharField(max_length=12)
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField(db_index=True)
    used = models.DateField(null=True)
    revoked = models.DateTimeField(null=True, db_index=True)
    objects = Tokens.as_manager()

    def __str__(self) -> str:
        return f"{self.name} ({self.start}…)"


PREFIX = "ws_"
"""Prefix of every token, by which a leaked token can be recognised."""

TOKEN_BYTES = 32
"""Number of random bytes in a token: 256 bits."""

VISIBLE_LENGTH = len(PREFIX) + 5
"""Number of a token's characters that stay visible: 30 of its 256 bits."""

DAYS, MAX_DAYS = 90, 366
"""Default and maximum number of days for which a token works."""

MAX_TOKENS = 20
"""Maximum number of active tokens per person."""


def may_have_tokens(person: Person) -> bool:
    """Return whether a person may have tokens; if not, existing tokens don't work."""
    return person.is_active and not (person.anonymous or person.erased)


def create_token(person: Person, name: str, days: int = DAYS) -> tuple[Token, str]:
    """Create a token; return its row and its text, which is not stored."""
    name = " ".join(name.split())
    if not may_have_tokens(person):
        raise InputError(_("Only accounts have tokens; sign up, or log in."))
    if not 1 <= len(name) <= 60:
        raise InputError(_("Give the token a name of 1 to 60 characters."))
    if not 1 <= days <= MAX_DAYS:
        raise InputError(_("A token must be valid for 1 to %d days.") % MAX_DAYS)
    text = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with writing():
        if person.tokens.active().count() >= MAX_TOKENS:
            raise InputError(_("You have %d tokens; revoke one first.") % MAX_TOKENS)
        token = Token.objects.create(
            person=person,
            name=name,
            digest=digest_token(text),
            start=text[:VISIBLE_LENGTH],
            expires=timezone.now() + timedelta(days=days),
        )
    return token, text


def find_token(text: str) -> Token | None:
    """Return the active token with the given text and its owner, or None.

    The first use on each day stores the date.
    """
    if not text.startswith(PREFIX):
        return None
    tokens = Token.objects.active().select_related("person")
    found = tokens.filter(digest=digest_token(text)).first()
    if found is None or not may_have_tokens(found.person):
        return None
    today = timezone.now().date()
    if found.used != today:
        with writing():
            Token.objects.filter(pk=found.pk).update(used=today)
    return found


def list_tokens(person: Person) -> list[Token]:
    return list(person.tokens.active().order_by("-pk"))


def revoke_token(person: Person, number: int) -> bool:
    with writing():
        return bool(person.tokens.active().filter(pk=number).update(revoked=timezone.now()))


def revoke_all_tokens(person: Person) -> int:
    with writing():
        return int(person.tokens.active().update(revoked=timezone.now()))


def delete_inactive_tokens(_now: datetime, before: datetime) -> int:
    dead = models.Q(expires__lt=before) | models.Q(revoked__lt=before)
    with writing():
        return int(Token.objects.filter(dead).delete()[0])


def delete_tokens(person: Person, _texts: bool) -> None:
    Token.objects.filter(person=person).delete()
