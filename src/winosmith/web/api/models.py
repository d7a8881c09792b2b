"""Tokens: what a program shows in place of the person whose it is; made, known again, revoked."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Person, token_digest


class Tokens(models.QuerySet["Token"]):
    """Tokens, by what they are good for."""

    def live(self) -> Tokens:
        """Return those that work, as far as their owners may do anything."""
        return self.filter(expires__gt=timezone.now(), revoked=None)


class Token(models.Model):
    """That anyone who shows a certain text reads what a person can see.

    Only a digest of the text is kept: anyone who reads the database, or a backup, can't use it.

    Attributes:
        name: what its owner calls it ("the nightly download").
        start: its first characters, by which its owner knows it again.
        used: the day on which it was last used; no more is kept of when.
        revoked: when its owner took it back, or it ended with all that opened their account.
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
"""How every token begins, so that one that strayed into a file is known for what it is."""

SECRET = 32
"""Random bytes of a token: 256 bits."""

SHOWN = len(PREFIX) + 5
"""Characters that stay readable: 30 of its 256 bits."""

DAYS, LONGEST = 90, 366
"""How many days a token works, unless its owner says otherwise; and at most."""

MOST = 20
"""Tokens of one person that work at the same time."""


def may_have(person: Person) -> bool:
    """Return whether tokens of a person work; asked again at every call."""
    return person.is_active and not (person.anonymous or person.erased)


def make(person: Person, name: str, days: int = DAYS) -> tuple[Token, str]:
    """Make a token.

    Args:
        person: with an account.
        name: by which its owner knows it, 1 to 60 characters.
        days: how long it works, 1 to LONGEST.

    Returns:
        The row, and the token itself, which nobody can read anywhere again.

    Raises:
        InputError: an argument is out of its range, or the person has MOST tokens.
    """
    name = " ".join(name.split())
    if not may_have(person):
        raise InputError(_("Only accounts have tokens; sign up, or log in."))
    if not 1 <= len(name) <= 60:
        raise InputError(_("Give the token a name of 1 to 60 characters."))
    if not 1 <= days <= LONGEST:
        raise InputError(_("A token works for 1 to %d days.") % LONGEST)
    text = PREFIX + secrets.token_urlsafe(SECRET)
    with writing():
        if person.tokens.live().count() >= MOST:
            raise InputError(_("You have %d tokens; revoke one first.") % MOST)
        token = Token.objects.create(
            person=person,
            name=name,
            digest=token_digest(text),
            start=text[:SHOWN],
            expires=timezone.now() + timedelta(days=days),
        )
    return token, text


def find(text: str) -> Token | None:
    """Return the token of a text, with its person, while both are good; otherwise None.

    That it was used today is written down with the first use of the day.
    """
    if not text.startswith(PREFIX):
        return None
    found = Token.objects.live().select_related("person").filter(digest=token_digest(text)).first()
    if found is None or not may_have(found.person):
        return None
    today = timezone.now().date()
    if found.used != today:
        with writing():
            Token.objects.filter(pk=found.pk).update(used=today)
    return found


def tokens_of(person: Person) -> list[Token]:
    """Return a person's tokens that work, the newest first."""
    return list(person.tokens.live().order_by("-pk"))


def revoke(person: Person, number: int) -> bool:
    """Let one of a person's own tokens work no more; tell whether it did until now."""
    with writing():
        return bool(person.tokens.live().filter(pk=number).update(revoked=timezone.now()))


def revoke_all(person: Person) -> int:
    """Let none of a person's tokens work any more; return how many did."""
    with writing():
        return int(person.tokens.live().update(revoked=timezone.now()))


def drop_dead_tokens(_now: datetime, before: datetime) -> int:
    """Delete what ran out or was revoked before a time; return how many there were."""
    dead = models.Q(expires__lt=before) | models.Q(revoked__lt=before)
    with writing():
        return int(Token.objects.filter(dead).delete()[0])


def drop_tokens(person: Person, _texts: bool) -> None:
    """Delete the tokens of somebody who is erased."""
    Token.objects.filter(person=person).delete()
