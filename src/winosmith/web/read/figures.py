"""The public figures: how many problems, twins and people; what judges let through.

Only what has been decided is counted, and nothing under embargo: a figure tells no more than the
public problems do, and how many were not found valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min

from winosmith.web._kept import kept
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.public import public_problems

__all__ = ["Figures", "figures"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What the site has.

    Attributes:
        problems: public ones.
        twins: of which both halves are public.
        singles: public originals whose other half is not.
        perturbed: public problems that were perturbed from others; `families` of them have one
            root each.
        contributors: who wrote them, imported ones aside.
        judged: problems that judges have decided about, none of them under embargo, nor waiting
            for the other half of its twin.
        domains: how many public problems of each domain; "" for none.
        since, until: the days on which the first and the last were written.
    """

    problems: int
    twins: int
    singles: int
    contributors: int
    judged: int
    domains: dict[str, int]
    since: Any = None
    until: Any = None
    perturbed: int = 0
    families: int = 0

    @property
    def rejected(self) -> int:
        """How many were judged and not found valid."""
        return self.judged - self.problems

    @property
    def share(self) -> float | None:
        """Valid problems in percent of the judged; None before the first."""
        return 100 * self.problems / self.judged if self.judged else None

    @property
    def lost(self) -> float | None:
        """Problems that were not found valid, in percent of the judged."""
        return 100 * self.rejected / self.judged if self.judged else None


def figures() -> Figures:
    """Return the figures; those of a large site are kept for a while."""
    return kept("read.figures", _figures)


def _figures() -> Figures:
    public = public_problems().select_related(None).order_by()
    totals = public.aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        contributors=Count("twin__contributor", distinct=True),
        since=Min("twin__created"),
        until=Max("twin__created"),
    )
    twins = totals["problems"] - totals["groups"]
    perturbed = public.filter(version__parent__isnull=False).aggregate(
        problems=Count("id"),
        groups=Count("twin", distinct=True),
        families=Count("version__root", distinct=True),
    )
    single = 2 * perturbed["groups"] - perturbed["problems"]
    rejected = Problem.objects.filter(state=State.REJECTED, embargo=False, gold=False, waits=False)
    judged = totals["problems"] + rejected.count()
    domains = public.values_list("twin__domain").annotate(n=Count("id")).order_by("-n")
    return Figures(
        problems=totals["problems"],
        twins=twins,
        singles=totals["problems"] - 2 * twins - single,
        contributors=totals["contributors"],
        judged=judged,
        domains=dict(domains),
        since=totals["since"],
        until=totals["until"],
        perturbed=perturbed["problems"],
        families=perturbed["families"],
    )
