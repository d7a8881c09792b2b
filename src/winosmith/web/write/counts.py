"""Counts: what somebody wrote, how it stands, and how far the site has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from winosmith.web.problems.models import Problem, State, Twin
from winosmith.web.problems.public import public_problems

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["Counts", "counts"]


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
    site, goal = public_problems().count(), settings.RULES.goal
    if person is None:
        return Counts(0, 0, 0, 0, site, goal)
    mine = Twin.objects.filter(contributor=person)
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)

    def having(state: Any) -> QuerySet[Twin]:
        return mine.filter(Exists(halves.filter(state=state)))

    valid = having(State.VALID).exclude(Exists(halves.exclude(state=State.VALID)))
    return Counts(
        mine.filter(Exists(halves), created__gte=midnight).count(),
        having(State.HELD).count(),
        having(State.JUDGING).count(),
        valid.count(),
        site,
        goal,
    )
