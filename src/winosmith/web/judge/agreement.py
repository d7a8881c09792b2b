"""How far judges agree: on the whole site, and each one with the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from winosmith.metrics import Reliability, answer_table, krippendorff_alpha, wilson_interval
from winosmith.web._cache import cached
from winosmith.web.judge.models import Gold, Slot, Verdict
from winosmith.web.problems.models import Problem

LAST = 10_000
"""Problems that alpha is taken over: the last that were decided."""

LAST_OF_ONE = 200
"""Votes of one judge that their agreement with the others is taken over: the newest."""

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
    return cached("judge.agreement", _figures)


def _figures() -> Figures:
    verdicts = _verdicts()
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


def _verdicts() -> QuerySet[Verdict]:
    """Return the verdicts, but for the few that wait for the other half of their twin."""
    return Verdict.objects.exclude(pk__in=Problem.objects.filter(waits=True).values("pk"))


def _alpha() -> tuple[Reliability | None, int]:
    """Return alpha over the last problems that were decided, and how many these are."""
    last = list(_verdicts().order_by("-at").values_list("pk", flat=True)[:LAST])
    chosen: dict[int, list[int | None]] = {key: [] for key in last}
    for start in range(0, len(last), CHUNK):
        rows = Slot.objects.filter(problem__in=last[start : start + CHUNK]).counting()
        for key, choice in rows.values_list("problem_id", "choice"):
            chosen[key].append(choice)
    if not last:
        return None, 0
    return krippendorff_alpha(answer_table(chosen.values())), len(last)


@dataclass(frozen=True, slots=True)
class Agreed:
    """How often a judge chooses what most of the others chose on the same problem.

    Attributes:
        same, of: votes that are what more than half of the others chose, and how many could be.
        ties: further votes on problems where the others chose evenly; they say nothing.
        chance: the share that would be the same if the judge's choices met the others' by chance.
    """

    same: int
    of: int
    ties: int
    chance: float

    @property
    def share(self) -> float:
        """0–1."""
        return self.same / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's of 95 %."""
        return wilson_interval(self.same, self.of)


def with_others(judges: Iterable[int]) -> dict[int, Agreed]:
    """Return how far each judge agrees with the others, over their last LAST_OF_ONE votes.

    The judge's own vote is none of those that it is compared with, and only problems count on which
    two others or more voted. Votes that wait for a moderator are compared, never compared with.
    Judges without any such problem have no figure.
    """
    mine: dict[int, dict[int, int | None]] = {}
    for judge in judges:
        rows = _answered().filter(holder=judge).order_by("-answered_at")
        mine[judge] = dict(rows.values_list("problem", "choice")[:LAST_OF_ONE])
    chosen: dict[int, dict[int, int | None]] = defaultdict(dict)
    keys = list({problem for votes in mine.values() for problem in votes})
    for start in range(0, len(keys), CHUNK):
        rows = _answered().filter(problem__in=keys[start : start + CHUNK], provisional=False)
        for problem, holder, choice in rows.values_list("problem", "holder", "choice"):
            chosen[problem][holder] = choice
    found = {judge: _agreed(judge, votes, chosen) for judge, votes in mine.items()}
    return {judge: agreed for judge, agreed in found.items() if agreed is not None}


def _agreed(
    judge: int, mine: dict[int, int | None], chosen: dict[int, dict[int, int | None]]
) -> Agreed | None:
    pairs: list[tuple[int | None, int | None]] = []
    ties = 0
    for problem, choice in mine.items():
        others = Counter(other for who, other in chosen[problem].items() if who != judge)
        if others.total() < 2:
            continue
        most, n = others.most_common(1)[0]
        if 2 * n > others.total():
            pairs.append((choice, most))
        else:
            ties += 1
    if not pairs:
        return None
    ours, theirs = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(ours[choice] * theirs[choice] for choice in ours) / len(pairs) ** 2
    return Agreed(sum(a == b for a, b in pairs), len(pairs), ties, chance)


def _answered() -> QuerySet[Slot]:
    return Slot.objects.votes().filter(excluded=False)
