"""How far judges agree, for the whole site."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, QuerySet

from winosmith.metrics import Reliability, answer_table, krippendorff_alpha
from winosmith.web._kept import kept
from winosmith.web.judge.models import Gold, Slot, Verdict
from winosmith.web.problems.models import Problem

__all__ = ["Figures", "figures"]

LAST = 10_000
"""Problems that alpha is taken over: the last that were decided."""

CHUNK = 500
"""Problems whose votes are read at once."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Agreement of the site's judges.

    Attributes:
        problems: how many were decided by votes.
        valid: how many of these were found valid.
        unanimous: on how many every judge chose the same.
        pairs: the share of pairs of judges of one problem who chose the same; None without any.
        alpha: Krippendorff's, over the last LAST problems, by the options' own order.
        alpha_of: over how many problems alpha was taken.
        gold: right answers to gold questions, and how many were given.
    """

    problems: int
    valid: int
    unanimous: int
    pairs: float | None
    alpha: Reliability | None
    alpha_of: int
    gold: tuple[int, int]


def figures() -> Figures:
    """Return the figures; those of a large site are kept for a while.

    Counts come from one row a problem that its verdict wrote, grouped by the index on how the
    votes fell; nothing reads the votes again but alpha, over the last problems alone.
    """
    return kept("judge.agreement", _figures)


def _figures() -> Figures:
    verdicts = _told()
    groups = verdicts.values("counts").annotate(n=Count("pk")).order_by("counts")
    total = unanimous = same = pairs = 0
    for group in groups:
        counts = [int(count) for count in group["counts"].split(",")]
        judges, n = sum(counts), group["n"]
        total += n
        unanimous += n * (len(counts) == 1)
        same += n * sum(count * (count - 1) for count in counts)
        pairs += n * judges * (judges - 1)
    alpha, of = _alpha()
    asked = Gold.objects.filter(retired=False).values("pk")
    gold = Slot.objects.filter(problem__in=asked, gold=True, open=False, provisional=False)
    return Figures(
        total,
        verdicts.filter(valid=True).count(),
        unanimous,
        same / pairs if pairs else None,
        alpha,
        of,
        (gold.filter(right=True).count(), gold.exclude(answered_at=None).count()),
    )


def _told() -> QuerySet[Verdict]:
    """Return the verdicts, but for the few that wait for the other half of their twin."""
    return Verdict.objects.exclude(pk__in=Problem.objects.filter(waits=True).values("pk"))


def _alpha() -> tuple[Reliability | None, int]:
    """Return alpha over the last problems that were decided, and how many these are."""
    last = list(_told().order_by("-at").values_list("pk", flat=True)[:LAST])
    chosen: dict[int, list[int | None]] = {key: [] for key in last}
    for start in range(0, len(last), CHUNK):
        rows = Slot.objects.filter(problem__in=last[start : start + CHUNK], excluded=False)
        rows = rows.filter(gold=False, open=False, provisional=False).exclude(answered_at=None)
        for key, choice in rows.values_list("problem_id", "choice"):
            chosen[key].append(choice)
    if not last:
        return None, 0
    return krippendorff_alpha(answer_table(chosen.values())), len(last)
