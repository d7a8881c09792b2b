"""Counts: what somebody wrote, how it stands, and how far the site has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from winosmith.web._kept import kept
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
    """Return the counts of a person; None for somebody who has not written yet.

    Where there are many problems, or many of the person, the counts are those of a moment ago.
    """
    site, goal = (
        kept("write.public", lambda: _Counted(public_problems().count())).problems,
        settings.RULES.goal,
    )
    if person is None:
        return Counts(0, 0, 0, 0, site, goal)
    mine = kept(f"write.counts.{person.pk}", lambda: _mine_now(person))
    today, waiting, judging, valid = mine.counts
    return Counts(today, waiting, judging, valid, site, goal)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is kept: over how many problems was counted, and the counts of a person's twins."""

    problems: int
    counts: Sequence[int] = ()


def _mine_now(person: Person) -> _Counted:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    halves = Problem.objects.filter(twin=OuterRef("pk"), gold=False)
    having = {
        state: Exists(halves.filter(state=state))
        for state in (State.HELD, State.JUDGING, State.VALID)
    }
    all_valid = having[State.VALID] & ~Exists(halves.exclude(state=State.VALID))
    found = Twin.objects.filter(contributor=person).aggregate(
        today=Count("pk", filter=Exists(halves) & Q(created__gte=midnight)),
        waiting=Count("pk", filter=having[State.HELD]),
        judging=Count("pk", filter=having[State.JUDGING]),
        valid=Count("pk", filter=all_valid),
        twins=Count("pk"),
    )
    twins = found.pop("twins")
    return _Counted(2 * twins, tuple(found.values()))
