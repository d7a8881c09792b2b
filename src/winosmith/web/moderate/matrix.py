"""How far judges agree pair by pair: a picture, a table, and the pairs that stand out.

Two accounts of one person agree more than two people do; who answers by other rules than everybody
else agrees less. What "more" and "less" is measured by is what both of them agree with *all others*
(`_expected`), since two who read with care agree often and have done nothing wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Count, F, Q, QuerySet

from winosmith.metrics import holm, wilson_interval
from winosmith.outputs import guarded
from winosmith.web._background import cached
from winosmith.web.judge.models import Slot
from winosmith.web.pages import csv_lines, whole_percent
from winosmith.web.people.models import Person, pseudonym

LEAST = 20
"""Problems that two judges both judged, for a cell. From so many on, the 95 % interval of a pair
that agrees on half of them reaches 20 points to each side (Wilson's); with fewer, a cell would be
read as a figure and be luck."""

MOST = 40
"""Judges in one picture: 780 pairs."""

LEVEL = 0.05
"""The chance that any pair of honest judges stands out at all, after Holm's correction."""

TUKEY = 4.685
"""Standard errors from which on a pair has no weight in what is expected of others (Beaton & Tukey
1974; 95 % efficient where errors are normal): accounts of one person set nobody's measure."""

ROUNDS = 100
"""Of each of the two fits in `_expected`; they move by less than 1e-6 long before."""

CELL, LABEL = 36, 160
"""Sizes in the drawing: of a cell, and of what stands before each row."""

Floats = npt.NDArray[np.float64]
Two = tuple[int, int]
Table = Mapping[tuple[Any, Any], int]
"""Of one pair: how many problems they gave each pair of answers."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two judges, and the problems that both judged.

    Attributes:
        one, other: their keys.
        n: how many problems.
        same: on how many they chose the same option, or both none.
        waits: on how many a vote of theirs waits for a moderator or a market.
        interval: of the share, Wilson's of 95 %.
        wide: the same at 95 % for all the pairs of the picture together (Bonferroni).
        chance: the share on which two would agree who give as many of each answer, but by lot.
        expected: the share that was to be expected from how each agrees with all others; None where
            one of them shares enough problems with nobody else.
        p_value: of `same` where `expected` holds, after Holm's correction for all pairs.
    """

    one: int
    other: int
    n: int
    same: int
    waits: int
    interval: tuple[float, float]
    wide: tuple[float, float]
    chance: float
    expected: float | None
    p_value: float | None

    @property
    def share(self) -> float:
        """0–1."""
        return self.same / self.n

    @property
    def kappa(self) -> float | None:
        """Cohen's (1960), up to 1; None where both gave one answer alone."""
        return self._beyond(self.share)

    @property
    def kappa_interval(self) -> tuple[float, float] | None:
        """What `kappa` is at the ends of `interval`, with `chance` taken as it is."""
        low, high = (self._beyond(end) for end in self.interval)
        return None if low is None or high is None else (low, high)

    @property
    def stands(self) -> str:
        """Tell whether they agree "more" or "less" than was to be expected; "" for neither."""
        if self.p_value is None or self.expected is None or self.p_value >= LEVEL:
            return ""
        return "more" if self.share > self.expected else "less"

    def _beyond(self, share: float) -> float | None:
        return None if self.chance >= 1 else (share - self.chance) / (1 - self.chance)


@dataclass(frozen=True, slots=True)
class Found:
    """What is kept for a while.

    Attributes:
        order: the judges of the picture, those who agree beside each other.
        pairs: those with LEAST problems, the least likely first.
        problems: how many votes were compared.
    """

    order: Sequence[int]
    pairs: Sequence[Pair]
    problems: int


@dataclass(frozen=True, slots=True)
class Cell:
    """A pair in the drawing; `depth` is how dark it is, as SVG has it."""

    x: int
    y: int
    text: str
    depth: str
    stands: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """The picture.

    Attributes:
        judges: (pseudonym, whether votes wait, the place of their row), in order.
        pairs: (pseudonym, pseudonym, pair), the least likely first.
        cells: of the drawing; a pair with fewer problems than LEAST has none.
    """

    judges: Sequence[tuple[str, bool, int]]
    pairs: Sequence[tuple[str, str, Pair]]
    cells: Sequence[Cell]
    label: int = LABEL
    cell: int = CELL

    @property
    def size(self) -> tuple[int, int]:
        """The width and height of the drawing."""
        return LABEL + CELL * len(self.judges) + 2, CELL * len(self.judges) + 2

    def standing(self, how: str) -> list[tuple[str, str, Pair]]:
        """Return the pairs that agree "more", or "less", than was to be expected."""
        return [row for row in self.pairs if row[2].stands == how]

    @property
    def more(self) -> list[tuple[str, str, Pair]]:
        """The pairs that agree more."""
        return self.standing("more")

    @property
    def less(self) -> list[tuple[str, str, Pair]]:
        """The pairs that agree less."""
        return self.standing("less")


def matrix(who: Person | None = None) -> Matrix:
    """Return the picture of the MOST judges who judged most; that of a large site is kept a while.

    Args:
        who: of this judge instead, with those who judged most of the same problems.
    """
    key = 0 if who is None else who.pk
    found = cached(f"moderate.matrix.{key}", lambda: _found(who))
    people = Person.objects.in_bulk(found.order)
    names = {key: pseudonym(person) for key, person in people.items()}
    place = {key: at for at, key in enumerate(key for key in found.order if key in names)}
    pairs = [pair for pair in found.pairs if pair.one in names and pair.other in names]
    late = _votes().filter(holder__in=names, provisional=True).values_list("holder", flat=True)
    waiting = set(late.distinct().order_by())
    return Matrix(
        [(names[key], key in waiting, at * CELL) for key, at in place.items()],
        [(names[pair.one], names[pair.other], pair) for pair in pairs],
        [_cell(pair, *sorted((place[pair.one], place[pair.other]))) for pair in pairs],
    )


def _cell(pair: Pair, column: int, row: int) -> Cell:
    mark = {"more": "+", "less": "−"}.get(pair.stands, "")
    depth = f"{0.55 * max(0.0, 2 * pair.share - 1):.2f}"  # nothing at half, and ink is read on all
    text = f"{whole_percent(pair.share)}{mark}"
    return Cell(LABEL + CELL * column, CELL * row, text, depth, pair.stands)


COLUMNS = (
    "judge", "other_judge", "both_judged", "same", "share", "low", "high", "chance", "kappa",
    "kappa_low", "kappa_high", "expected", "p_value", "stands_out", "waiting",
)  # fmt: skip
"""Of the CSV. Shares are 0–1, `p_value` is after Holm's correction, `stands_out` is "more", "less"
or empty, `waiting` counts the problems on which a vote waits."""


def lines(found: Matrix) -> Iterator[str]:
    """Yield the pairs as CSV; no cell is a formula to a spreadsheet."""
    yield from csv_lines([COLUMNS])
    for one, other, pair in found.pairs:
        ends = pair.kappa_interval or (None, None)
        figures = (pair.share, *pair.interval, pair.chance, pair.kappa, *ends, pair.expected)
        row = (
            guarded(one),
            guarded(other),
            pair.n,
            pair.same,
            *("" if figure is None else f"{figure:.4f}" for figure in figures),
            "" if pair.p_value is None else f"{pair.p_value:.3g}",
            pair.stands,
            pair.waits,
        )
        yield from csv_lines([row])


def _votes() -> QuerySet[Slot]:
    """Return the votes that are, or may become, part of the count."""
    return Slot.objects.votes().filter(excluded=False, holder__erased=None)


def _found(who: Person | None) -> Found:
    return paired(*_tables(_judges(who)))


def _judges(who: Person | None) -> list[int]:
    """Return whose picture it is."""
    if who is None:
        rows = _votes().values("holder").annotate(n=Count("pk")).order_by("-n", "holder")
        return [key for key, _n in rows.values_list("holder", "n")[:MOST]]
    theirs = _votes().filter(holder=who).values("problem")
    rows = _votes().filter(problem__in=theirs).exclude(holder=who)
    rows = rows.values("holder").annotate(n=Count("pk")).order_by("-n", "holder")
    return [who.pk, *(key for key, _n in rows.values_list("holder", "n")[: MOST - 1])]


def _tables(judges: Sequence[int]) -> tuple[dict[Two, Table], dict[Two, int]]:
    """Return what each pair answered to what both judged, and on how many of it a vote waits."""
    theirs = {
        "holder__in": judges,
        "holder__gt": F("holder"),
        "gold": False,
        "open": False,
        "excluded": False,
        "answered_at__isnull": False,
    }
    beside = {f"problem__slots__{name}": value for name, value in theirs.items()}
    rows = _votes().filter(holder__in=judges, **beside).order_by()
    told = rows.values_list("holder", "problem__slots__holder", "choice", "problem__slots__choice")
    waiting = Q(provisional=True) | Q(problem__slots__provisional=True)
    told = told.annotate(n=Count("pk"), waits=Count("pk", filter=waiting))
    tables: dict[Two, Counter[tuple[Any, Any]]] = defaultdict(Counter)
    waits: Counter[Two] = Counter()
    for one, other, chosen, beside_it, n, late in told:
        tables[one, other][chosen, beside_it] += n
        waits[one, other] += late
    return dict(tables), dict(waits)


def paired(tables: Mapping[Two, Table], waits: Mapping[Two, int] | None = None) -> Found:
    """Return the pairs with what was to be expected of them, and judges in order.

    Args:
        tables: of pairs of judges, each pair once: how many problems got each pair of answers.
        waits: of pairs, on how many of these a vote waits.
    """
    enough = {pair: table for pair, table in tables.items() if sum(table.values()) >= LEAST}
    judges = sorted({judge for pair in enough for judge in pair})
    votes = sum(sum(table.values()) for table in tables.values())
    if not enough:
        return Found([], [], votes)
    at = {judge: place for place, judge in enumerate(judges)}
    n, same, chance = (np.zeros((len(judges), len(judges))) for _ in range(3))
    for (one, other), table in enough.items():
        for here in ((at[one], at[other]), (at[other], at[one])):
            n[here] = sum(table.values())
            same[here] = sum(count for (a, b), count in table.items() if a == b)
            chance[here] = _by_chance(table)
    expected, variance = _expected(n, same, chance)
    here = tuple(np.array([(at[a], at[b]) for a, b in enough]).T)
    p = _tails(same[here], n[here], expected[here], variance[here])
    tested = ~np.isnan(p)
    if tested.any():
        p[tested] = holm(p[tested])
    pairs = [
        Pair(
            one,
            other,
            int(n[at[one], at[other]]),
            int(same[at[one], at[other]]),
            (waits or {}).get((one, other), 0),
            wilson_interval(same[at[one], at[other]], n[at[one], at[other]], 1 - LEVEL),
            wilson_interval(same[at[one], at[other]], n[at[one], at[other]], 1 - LEVEL / len(p)),
            float(chance[at[one], at[other]]),
            float(expected[at[one], at[other]]) if tested[i] else None,
            float(p[i]) if tested[i] else None,
        )
        for i, (one, other) in enumerate(enough)
    ]
    pairs.sort(key=_unlikely)
    return Found([judges[place] for place in _order(n, same)], pairs, votes)


def _unlikely(pair: Pair) -> tuple[float, int, int]:
    """Return where a pair stands in lists: the least likely first, what is not tested last."""
    return 2.0 if pair.p_value is None else pair.p_value, pair.one, pair.other


def _by_chance(table: Table) -> float:
    """Return the share on which two agree who give as many of each answer, but by lot."""
    total = sum(table.values())
    ours: Counter[Hashable] = Counter()
    theirs: Counter[Hashable] = Counter()
    for (a, b), count in table.items():
        ours[a] += count
        theirs[b] += count
    return sum(ours[answer] * theirs[answer] for answer in ours) / total**2


def _order(n: Floats, same: Floats) -> list[int]:
    """Return judges so that those who agree stand together.

    They are joined by average linkage of 1 − agreement, and each join is turned so that neighbours
    agree most (Bar-Joseph et al. 2001). Pairs with too few problems are as far apart as the mean.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(n) < 3:
        return list(range(len(n)))
    upper = np.triu_indices(len(n), 1)
    known = n[upper] > 0
    apart = np.zeros(len(known))
    apart[known] = 1 - same[upper][known] / n[upper][known]
    apart[~known] = apart[known].mean()
    return [int(one) for one in leaves_list(linkage(apart, "average", optimal_ordering=True))]


def _expected(n: Floats, same: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """Return the share on which each pair was to agree, and its variance; nan for not known.

    Each judge j has a care s_j, 1 for who always finds what there is to find and 0 for who draws
    lots. Two who err on their own agree beyond chance (kappa) in s_a · s_b, however hard problems
    are as long as these are as hard for both. The s are fitted to the kappas of all pairs: by
    medians, which a group of up to half of somebody's partners does not move, then by least squares
    with Tukey's weights. For a pair itself, the s of both come from their *other* pairs. The
    variance is the error that these leave, and by how much pairs scatter more than votes would by
    chance (by the median): "far more" is far more than other pairs do.

    Args:
        n: (judges, judges), symmetric like the others; 0 where a pair has too few problems.
        same: on how many both chose the same.
        chance: the share of them that lots would give.
    """
    usable = (n > 0) & (chance < 1)
    total = np.where(usable, n, 1.0)
    room = np.where(usable, 1 - chance, 1.0)
    kappa = np.where(usable, (same / total - chance) / room, 0.0)
    if not usable.any():
        return np.full_like(n, np.nan), np.full_like(n, np.nan)
    care = np.full(len(n), np.sqrt(max(0.05, np.median(kappa[usable]))))
    for _ in range(ROUNDS):
        seen = np.where(usable, kappa / np.maximum(care, 0.05), np.nan)
        middle = [
            np.nanmedian(row) if here.any() else 0 for row, here in zip(seen, usable, strict=True)
        ]
        care = np.clip((care + middle) / 2, 0, 1)
    for _ in range(ROUNDS):
        fitted = np.outer(care, care)
        share = (np.clip(chance + room * fitted, 0, 1) * total + 1) / (total + 2)
        error = np.sqrt(share * (1 - share) / total) / room
        off = np.abs(kappa - fitted)
        beyond = (1.4826 * np.median(off[usable])) ** 2 - np.median(error[usable] ** 2)
        scatter = max(0.0, beyond)
        error = np.sqrt(error**2 + scatter)
        kept_as = np.maximum(0, 1 - (off / (TUKEY * error)) ** 2) ** 2
        weights = np.where(usable, kept_as / error**2, 0.0)
        below = weights @ care**2
        found = np.divide((weights * kappa) @ care, below, out=care.copy(), where=below > 1e-9)
        care = np.clip((care + found) / 2, -1, 1)
    top = weights * kappa * care
    below = weights * care**2
    spread = weights**2 * care**2 * error**2
    rest = below.sum(1, keepdims=True) - below
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(rest > 1e-9, (top.sum(1, keepdims=True) - top) / rest, np.nan)
        unsure = np.where(rest > 1e-9, (spread.sum(1, keepdims=True) - spread) / rest**2, np.nan)
    others = np.clip(others, -1, 1)
    expected = chance + room * others * others.T
    variance = room**2 * (others.T**2 * unsure + others**2 * unsure.T)
    variance += room**2 * scatter
    return np.where(usable, expected, np.nan), np.where(usable, variance, np.nan)


def _tails(same: Floats, n: Floats, expected: Floats, variance: Floats) -> Floats:
    """Return how likely a count as far off as this is, both ways; nan where nothing is expected.

    The count is beta-binomial: binomial with a share that is itself known with an error only.
    """
    from scipy.special import betaln, gammaln

    found = np.full(len(n), np.nan)
    for i in np.flatnonzero(~np.isnan(expected)):
        share = min(max(expected[i], 0.5 / (n[i] + 1)), 1 - 0.5 / (n[i] + 1))
        weight = np.clip(share * (1 - share) / max(variance[i], 1e-12) - 1, 1.0, 1e7)
        a, b = share * weight, (1 - share) * weight
        k = np.arange(n[i] + 1)
        ways = gammaln(n[i] + 1) - gammaln(k + 1) - gammaln(n[i] - k + 1)
        chances = np.exp(ways + betaln(k + a, n[i] - k + b) - betaln(a, b))
        hit = int(same[i])
        found[i] = min(1.0, 2 * min(chances[: hit + 1].sum(), chances[hit:].sum()))
    return found
