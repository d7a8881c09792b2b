"""Why nothing is left for a judge, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Min
from django.utils import timezone

from winosmith.web.judge.models import Slot
from winosmith.web.judge.seen import unseen

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

MOST = 1000
"""Slots that are counted; more than these is told as "1000"."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """What stands in a judge's way to the problems that await somebody.

    Attributes:
        own: open places on problems of the judge's own twins.
        seen: open places on problems that they have read, or whose other half they have.
        held: places that they could take, and that others hold.
        until: when the first of these comes back; None where none is held.
    """

    own: int
    seen: int
    held: int
    until: datetime | None


def why_nothing(person: Person) -> Nothing:
    """Return why a person gets no problem now; each number is MOST at most."""
    rows = Slot.objects.filter(open=True, gold=False).exclude(holder=person)
    held = rows.filter(unseen(person), lease_until__gt=timezone.now())
    own = rows.filter(contributor=person)
    seen = rows.exclude(contributor=person).exclude(unseen(person))
    return Nothing(
        own[:MOST].count(),
        seen[:MOST].count(),
        held[:MOST].count(),
        held.aggregate(until=Min("lease_until"))["until"],
    )
