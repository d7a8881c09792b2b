"""The next problem for a judge: what was given back, then what is fresh, in order."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from winosmith.web._prepared import Given, Prepared
from winosmith.web.judge.models import Slot
from winosmith.web.judge.seen import unseen

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["fresh", "next_slot", "returned"]


def returned(person: object, now: object) -> QuerySet[Slot]:
    """Return the slots whose lease ran out and that the person may take, the longest ago first."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=False, lease_until__lte=now)
    return rows.filter(unseen(person), gold=False).order_by("lease_until")


def fresh(person: object, after: object) -> QuerySet[Slot]:
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
    given_back, never_taken = _prepared(settings.RULES.both_halves, lock)
    if slot := given_back.first(person=person.pk, now=timezone.now()):
        return slot
    for after in (cursor, 0):
        if slot := never_taken.first(person=person.pk, after=after):
            return slot
    return None


@cache
def _prepared(both_halves: bool, lock: bool) -> tuple[Prepared, Prepared]:
    """Return both queries for a lock or none; what one may read (`unseen`) is a setting."""

    def first(query: QuerySet[Slot]) -> Any:
        query = query.select_related("problem")[:1]
        if lock and connection.features.has_select_for_update_skip_locked:
            query = query.select_for_update(of=("self",), skip_locked=True)
        return query

    return (
        Prepared(lambda: first(returned(Given("person"), Given("now")))),
        Prepared(lambda: first(fresh(Given("person"), Given("after")))),
    )
