"""The slots of a problem: as many as people shall judge it, no more."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db.models import Max, Q
from django.utils import timezone

from winosmith.web._lock import writing
from winosmith.web.judge.models import Slot
from winosmith.web.problems.models import Problem

CHUNK = 500
"""Slots that are added by one statement."""

WIDTH = 1000
"""Places that a problem has in the queue: more than judges it ever gets."""


def tally(problem: Problem) -> tuple[int, int]:
    """Return how many votes on a problem are awaited, and how many count.

    Those are awaited whose slot is open, and those that a market has yet to confirm.
    """
    slots = Slot.objects.filter(problem=problem, gold=False, excluded=False)
    rows = list(slots.values_list("open", "provisional", "answered_at"))
    return (
        sum(is_open or provisional for is_open, provisional, _ in rows),
        sum(at is not None and not provisional for _, provisional, at in rows),
    )


def place_of(problem: Problem) -> int:
    """Return the place of a problem's first slot in the queue."""
    return problem.pk * WIDTH


def locked(key: int) -> Problem:
    """Return a problem as it is now; it stays so until the transaction ends."""
    rows = Problem.objects.select_related("twin__contributor")
    return rows.select_for_update(of=("self",), no_key=True).get(pk=key)


def counted(problem: Problem) -> int:
    """Return how many votes a problem has, with those that a market has yet to confirm.

    Those that were taken out of the count are none.
    """
    return Slot.objects.votes().filter(problem=problem, excluded=False).count()


def open_slots(problem: Problem) -> None:
    """Open a problem to judges; call it where the problem becomes JUDGING.

    The first time it gets k slots (`SiteRules.judges`). Held back and let through again, it gets
    those that were still open. Where everybody had voted, a moderator wants it judged anew: it
    gets k + 1 more, an even number, so that the votes in all stay odd and can't be tied, and
    enough to overrule the k before.
    """
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        rows.filter(open=False, answered_at=None).update(open=True, **_given_back())
        missing = settings.RULES.judges - counted(problem) - rows.filter(open=True).count()
        if missing > 0:
            add_slots(problem, missing)
        elif not rows.filter(Q(open=True) | Q(provisional=True, excluded=False)).exists():
            add_slots(problem, settings.RULES.judges + 1)


def open_new(problems: Iterable[Problem]) -> None:
    """Open many problems to judges at once that never had a slot, as `open_slots` does one by one.

    Their twins are loaded already.
    """
    numbers = range(1, settings.RULES.judges + 1)
    slots = [_slot(problem, n) for problem in problems for n in numbers]
    Slot.objects.bulk_create(slots, batch_size=CHUNK)


def _slot(problem: Problem, n: int, lease_until: datetime | None = None) -> Slot:
    return Slot(
        problem=problem,
        n=n,
        place=place_of(problem) + n,
        twin_id=problem.twin_id,
        contributor_id=problem.twin.contributor_id,
        lease_until=lease_until,
    )


def add_slots(problem: Problem, count: int) -> None:
    """Add slots to a problem; the first ones wait in the queue, later ones come first."""
    last = Slot.objects.filter(problem=problem).aggregate(last=Max("n"))["last"] or 0
    lease_until = timezone.now() if last else None
    Slot.objects.bulk_create(
        _slot(problem, n, lease_until) for n in range(last + 1, last + 1 + count)
    )


def close_slots(problem: Problem) -> None:
    """Close a problem to judges; call it where the problem leaves JUDGING. Votes stay."""
    with writing():
        Slot.objects.filter(problem=problem, gold=False, open=True).update(open=False)


def _given_back() -> dict[str, object]:
    """Return the columns of a slot that anybody may take, before all fresh ones."""
    return {
        "holder": None,
        "taken_at": None,
        "lease_until": timezone.now(),
        "local_choice": None,
        "local_at": None,
        "local_seconds": None,
    }


def give_back(slot: Slot) -> None:
    """Take a slot from its holder, so that others get it before all fresh ones.

    One on a gold question is nobody else's: it is closed.
    """
    Slot.objects.filter(pk=slot.pk).update(open=not slot.gold, **_given_back())
