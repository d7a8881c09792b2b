"""How long somebody worked, by the times that are stored."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise

from winosmith.web.judge.models import Skip, Slot
from winosmith.web.market.models import JUDGE, WRITE, Participation, Study
from winosmith.web.problems.models import Twin

__all__ = ["IDLE", "seconds_of", "worked"]

IDLE = {JUDGE: timedelta(minutes=5), WRITE: timedelta(minutes=30)}
"""The longest that counts between two traces of work: who leaves no trace for longer was away.
A problem takes seconds; a twin, which leaves one trace when it is sent, takes many minutes."""


def worked(times: Iterable[datetime], idle: timedelta) -> int:
    """Return the seconds between the first and the last of some times, gaps of `idle` at most.

    >>> from datetime import datetime, timedelta
    >>> at = [datetime(2026, 1, 1, 12, minute) for minute in (0, 1, 31)]
    >>> worked(at, timedelta(minutes=5))
    360
    """
    gaps = (min(later - earlier, idle) for earlier, later in pairwise(sorted(times)))
    return round(sum(gaps, timedelta()).total_seconds())


def seconds_of(part: Participation) -> int:
    """Return how many seconds somebody worked in a study, from when they began."""
    times = [part.began]
    if part.study.kind == WRITE:
        rows = Twin.objects.filter(contributor=part.person_id, created__gte=part.began)
        times += rows.values_list("created", flat=True)
    else:
        slots = Slot.objects.filter(holder=part.person_id).exclude(answered_at=None)
        for found in slots.values_list("taken_at", "local_at", "answered_at"):
            times += filter(None, found)
        times += Skip.objects.filter(person=part.person_id).values_list("at", flat=True)
    return worked(times, IDLE[Study.Kind(part.study.kind)])
