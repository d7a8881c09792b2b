"""Tokens that nobody can use any more go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q

from winosmith.web.api.models import Token
from winosmith.web.people.models import Person

__all__ = ["drop_dead_tokens", "drop_tokens"]


def drop_dead_tokens(sender: Any, before: datetime, **_: Any) -> int:
    """Delete what ran out or was revoked before a time; return how many there were."""
    dead = Q(expires__lt=before) | Q(revoked__lt=before)
    return int(Token.objects.filter(dead).delete()[0])


def drop_tokens(sender: Any, person: Person, **_: Any) -> None:
    """Delete the tokens of somebody who is erased."""
    Token.objects.filter(person=person).delete()
