"""The next problem for a judge: what was given back, then what is fresh, in order."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.utils import timezone

from winosmith.web.judge.models import Slot
from winosmith.web.judge.seen import unseen

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


def returned(person: Person, now: datetime) -> QuerySet[Slot]:
    """Return the slots whose lease ran out and that the person may take, the longest ago first."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=False, lease_until__lte=now)
    return rows.filter(unseen(person), gold=False).order_by("lease_until")


def fresh(person: Person, after: int) -> QuerySet[Slot]:
    """Return the slots that nobody ever took and the person may take, from a place on."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=True, place__gt=after)
    return rows.filter(unseen(person)).order_by("place")


def next_slot(person: Person, cursor: int, *, lock: bool = False) -> Slot | None:
    """Return the slot that a person gets next, with its problem; None where nothing is left.

    Everyone walks the queue in the same order, so that a problem that was begun is soon decided;
    who has come to its end starts once from the beginning, for what others gave up.

    Args:
        person: the judge.
        cursor: the place that they have come to.
        lock: nobody else may get it until the transaction ends. On PostgreSQL those that others
            are taking at this moment are passed over; on SQLite there is one writer at a time.
    """

    def first(rows: QuerySet[Slot]) -> Slot | None:
        if lock:
            rows = rows.select_for_update(of=("self",), skip_locked=True)
        return rows.select_related("problem").first()

    return (
        first(returned(person, timezone.now()))
        or first(fresh(person, cursor))
        or first(fresh(person, 0))
    )
