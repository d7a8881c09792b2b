"""Agreement between pairs of judges: Cohen's kappa with its interval.

Two accounts of one person agree more than accounts of two people; a judge who follows different
rules agrees less. Kappa can't distinguish careful judging from these causes, so the site takes no
action based on kappa. Moderators read it together with pace, gold questions and judged problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Q

from winosmith.metrics import wilson_interval
from winosmith.web._cache import get_cached_stats
from winosmith.web.judge.models import Slot
from winosmith.web.judge.votes import compute_chance_agreement
from winosmith.web.people.models import Person, get_pseudonym

MIN_SHARED = 20
"""Minimum number of shared problems for a pair of judges to be listed.

With this number, if a pair agrees on half of the problems, the 95 % interval (Wilson's) extends 20
percentage points in each direction. With fewer problems, chance could be mistaken for a result.
"""

MAX_JUDGES = 40
"""Maximum number of judges on a page, who form 780 pairs."""

JudgePair = tuple[int, int]
Table = Mapping[tuple[Any, Any], int]
"""Contingency table of two judges: the number of problems for each combination of their answers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges, and the problems that both judged.

    Attributes:
        one, other: The primary keys of the judges.
        n: The number of problems that both judged.
        same: The number of these problems on which both chose the same option, or "neither".
        waits: The number of these problems with a vote that waits for a moderator or a market.
        chance: The agreement expected by chance, 0–1, given how often each judge gives each answer.
    """

    one: int
    other: int
    n: int
    same: int
    waits: int
    chance: float

    @property
    def share(self) -> float:
        """Return the fraction of equal choices, 0–1."""
        return self.same / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % Wilson interval of `share`."""
        return wilson_interval(self.same, self.n)

    @property
    def kappa(self) -> float | None:
        """Return Cohen's kappa, at most 1; None if only one answer was ever given.

        See Cohen (1960).
        """
        return self._correct_for_chance(self.share)

    @property
    def kappa_interval(self) -> tuple[float, float] | None:
        """Return a 95 % interval of kappa, computed from `interval` with `chance` held fixed.

        The usual interval contains a kappa of 0.9 in only 63 % of samples of 20; this interval does
        in 93 %. See Fleiss, Cohen and Everitt (1969) for the usual interval.
        """
        low, high = (self._correct_for_chance(end) for end in self.interval)
        return None if low is None or high is None else (low, high)

    def _correct_for_chance(self, fraction: float) -> float | None:
        return None if self.chance >= 1 else (fraction - self.chance) / (1 - self.chance)


def list_pairs(judge: Person | None = None) -> list[tuple[str, str, Pair]]:
    """Return pairs of judges with their pseudonyms, highest kappa first; cached on large sites.

    Both judges of a pair have judged at least `MIN_SHARED` common problems. Without `judge`, the
    pairs are among the `MAX_JUDGES` judges with the most votes. With `judge`, each pair consists of
    this judge and one of those who share the most problems.
    """
    key = 0 if judge is None else judge.pk
    found = get_cached_stats(f"moderate.agreement.{key}", lambda: _compute_pairs(judge))
    people = Person.objects.in_bulk({key for pair in found for key in (pair.one, pair.other)})
    names = {key: get_pseudonym(person) for key, person in people.items()}
    return [(names[pair.one], names[pair.other], pair) for pair in found]


COLUMNS = (
    "judge", "other_judge", "both_judged", "same", "share", "low", "high", "chance", "kappa",
    "kappa_low", "kappa_high", "waiting",
)  # fmt: skip
"""Columns of the CSV file. Fractions are 0–1; `waiting` counts problems with a pending vote."""


def iter_csv_rows(pairs: Sequence[tuple[str, str, Pair]]) -> Iterator[Sequence[object]]:
    yield COLUMNS
    for one, other, pair in pairs:
        ends = pair.kappa_interval or (None, None)
        numbers = (pair.share, *pair.interval, pair.chance, pair.kappa, *ends)
        shown = ("" if number is None else f"{number:.4f}" for number in numbers)
        yield (one, other, pair.n, pair.same, *shown, pair.waits)


def _compute_pairs(judge: Person | None) -> tuple[int, list[Pair]]:
    votes = Slot.objects.votes().filter(excluded=False, holder__erased=None)
    judges, others_votes = [], votes
    if judge is not None:
        theirs, judges = votes.filter(holder=judge).values("problem"), [judge.pk]
        others_votes = votes.filter(problem__in=theirs).exclude(holder=judge)
    most = others_votes.values("holder").annotate(n=Count("pk")).order_by("-n", "holder")
    judges += most.values_list("holder", flat=True)[: MAX_JUDGES - len(judges)]
    conditions = {
        "holder__in": judges,
        "holder__gt": F("holder"),
        "gold": False,
        "open": False,
        "excluded": False,
        "answered_at__isnull": False,
    }
    others = {f"problem__slots__{name}": value for name, value in conditions.items()}
    rows = votes.filter(holder__in=judges, **others).order_by()
    found = rows.values_list("holder", "problem__slots__holder", "choice", "problem__slots__choice")
    waiting = Q(provisional=True) | Q(problem__slots__provisional=True)
    found = found.annotate(n=Count("pk"), waits=Count("pk", filter=waiting))
    tables: dict[JudgePair, Counter[tuple[Any, Any]]] = defaultdict(Counter)
    waits: Counter[JudgePair] = Counter()
    for one, other, choice, others_choice, n, waiting_n in found:
        tables[one, other][choice, others_choice] += n
        waits[one, other] += waiting_n
    return sum(table.total() for table in tables.values()), rank_pairs(tables, waits)


def rank_pairs(tables: Mapping[JudgePair, Table], waits: Mapping[JudgePair, int]) -> list[Pair]:
    """Return the pairs with `MIN_SHARED` problems or more, highest kappa first.

    `waits` maps each pair to the number of problems with a pending vote.
    """
    pairs = [
        Pair(
            *judges,
            sum(table.values()),
            sum(count for (a, b), count in table.items() if a == b),
            waits.get(judges, 0),
            compute_chance_agreement(table),
        )
        for judges, table in tables.items()
        if sum(table.values()) >= MIN_SHARED
    ]
    return sorted(
        pairs, key=lambda pair: (pair.kappa is None, -(pair.kappa or 0.0), pair.one, pair.other)
    )
