"""News: what somebody has not heard of yet, and the work that waits for them.

Each area tells of its own, by functions that its application adds to the lists below when the site
starts. Nothing is stored but when somebody looked last: what happened is told from what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db import OperationalError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from winosmith.web import _lock
from winosmith.web._lock import since, writing
from winosmith.web.people.gates import SOON
from winosmith.web.people.models import Person

MOST = 99
"""Items of one kind that are told at once; the badge says no more, either."""

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
    """Write down that somebody looked now; not where nothing can be written."""
    with suppress(OperationalError), since(_lock.PATIENCE - SOON), writing():
        Person.objects.filter(pk=person.pk).update(news_seen=timezone.now())


def badge(request: HttpRequest) -> dict[str, Any]:
    """Return what the top of each page shows beside "News", counted where it is shown."""
    person = getattr(request, "user", None)  # none of a request that is refused before that
    if person is None or not person.is_authenticated or person.hired:
        return {}
    return {"unheard": SimpleLazyObject(lambda: unheard(person))}
