"""Counts: what somebody wrote, how it stands, and how far the site has come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from winosmith.web._prepared import Given, Prepared, PreparedCount
from winosmith.web.problems.models import Problem, State, Twin
from winosmith.web.problems.public import public_problems

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["Counts", "counts"]

MANY, FRESH = 1000, 10.0
"""Problems from which on their number, counted row by row, is told as it was these seconds ago."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many.

    Attributes:
        today: twins that the person wrote since midnight, in the site's time.
        waiting: twins of theirs of which a half awaits a moderator.
        judging: of which a half is being judged.
        valid: of which both halves were found valid.
        site: public problems of the site.
        goal: how many valid problems the site wants; 0 for none.
    """

    today: int
    waiting: int
    judging: int
    valid: int
    site: int
    goal: int

    @property
    def share(self) -> int:
        """How much of the goal is reached, in per cent, 0–100."""
        return min(100, self.site * 100 // self.goal) if self.goal else 0


def counts(person: Person | None) -> Counts:
    """Return the counts of a person; None for somebody who has not written yet."""
    site, goal = _public(), settings.RULES.goal
    if person is None:
        return Counts(0, 0, 0, 0, site, goal)
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    mine: Sequence[int] = _MINE.first(person=person.pk, midnight=midnight) or (0, 0, 0, 0)
    today, waiting, judging, valid = mine
    return Counts(today, waiting, judging, valid, site, goal)


def _public() -> int:
    """Return how many problems everyone may see; where there are many, as of a moment ago."""
    count, until = _KEPT.get("site", (0, 0.0))
    if time.monotonic() >= until:
        count = _PUBLIC()
        _KEPT["site"] = count, time.monotonic() + FRESH if count > MANY else 0.0
    return count


_KEPT: dict[str, tuple[int, float]] = {}
_PUBLIC = PreparedCount(public_problems)


def _mine() -> QuerySet[Twin]:
    """Return a row of four counts of a person's twins, in the order of `Counts`."""
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    having = {
        state: Exists(halves.filter(state=state))
        for state in (State.HELD, State.JUDGING, State.VALID)
    }
    all_valid = having[State.VALID] & ~Exists(halves.exclude(state=State.VALID))
    asked = (
        Exists(halves) & Q(created__gte=Given("midnight")),
        having[State.HELD],
        having[State.JUDGING],
        all_valid,
    )
    counted = {f"n{number}": Count("pk", filter=one) for number, one in enumerate(asked)}
    mine = Twin.objects.filter(contributor=Given("person"))
    return mine.values("contributor").annotate(**counted).values_list(*counted)


_MINE = Prepared(_mine)
