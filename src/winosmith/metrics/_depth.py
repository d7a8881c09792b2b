"""How deep in their families a solver's errors lie, beside chance, and which edits go with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.lineage import Depths, depths
from winosmith.metrics import _proportion
from winosmith.metrics._graded import Graded
from winosmith.metrics._proportion import Proportion
from winosmith.problem import BLANK, Problem
from winosmith.results import Result
from winosmith.text import tokens

DepthKind = Literal["declared", "lineage", "edit"]
DEPTHS: tuple[DepthKind, ...] = ("declared", "lineage", "edit")
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def error_depth(
    depths: npt.ArrayLike, wrong: npt.ArrayLike, kind: Literal["mean", "first"] = "mean"
) -> float | None:
    """Return the error depth of perturbed problems; None if no error was made.

    EvoGrad's equation 2 is lost in print. Its prose says "before the model produces its first
    incorrect prediction", which is `first`; its example is a mean, (5 + 6 + 5) / 3, and so are the
    numbers of its table 4: `mean` is the default.

    It is conditional on being wrong: a guesser has about the mean depth of the problems, so
    the figure says something only next to that null; see `stability`.

    Args:
        depths: of each perturbed problem, (n,); roots are no perturbed problems.
        wrong: whether each was answered wrongly, (n,); of a tie, the probability, 0–1, that a fair
            draw is wrong: the depth is then the one expected where there is an error.
        kind: the mean depth of the errors, or the least.

    Raises:
        DataError: the lengths differ, a depth is missing or negative, or the kind is unknown.

    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True])  # EvoGrad, table 3
    5.333333333333333
    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True], kind="first")
    5.0
    >>> error_depth([1, 2], [False, False]) is None
    True
    """
    if kind not in ("mean", "first"):
        raise DataError(f"an error depth is of the kind 'mean' or 'first', not {kind!r}")
    each, errors = np.asarray(depths, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if each.ndim != 1 or each.shape != errors.shape:
        raise DataError(
            f"there are depths for {each.shape} problems, and errors for {errors.shape}"
        )
    if not bool(np.all(each >= 0)):
        raise DataError("a depth is missing or negative; leave out problems of unknown depth")
    if not errors.any():
        return None
    if kind == "mean":
        return float(np.average(each, weights=errors))
    levels, fine = without_errors(each, errors)
    here = np.concatenate([[1.0], np.cumprod(fine)[:-1]]) * (1 - fine)
    return float(np.average(levels, weights=here))


def without_errors(
    depths: npt.NDArray[Any], wrong: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the depths that occur, ascending, and how probably each has no error, 0–1."""
    levels, of = np.unique(depths, return_inverse=True)
    fine = np.ones(len(levels))
    np.multiply.at(fine, of, 1 - wrong)
    return levels, fine


Ending = tuple[int, bool, float]
"""The end of a family: the depth, whether with an error, and its probability, 0–1."""


@dataclass(frozen=True)
class Family:
    """What a solver made of one family.

    Attributes:
        root: the id of its root.
        cluster: the number of its cluster; families of twins and copies share one.
        root_credit: what the root's answer is worth, 0–1; None when it is not in the data.
        root_tied: whether that is a tie.
        root_chance: the probability of guessing the root rightly; 1 when it is not in the data.
        depths: of its perturbed problems whose depth is known, (n,).
        wrong: whether each of them was answered wrongly, (n,): 0 or 1, and between them for a tie,
            the probability that a fair draw of what is tied is wrong.
        tied: whether each is a tie, (n,).
        chance: the probability of guessing each rightly, (n,).
    """

    root: str
    cluster: int
    root_credit: float | None
    root_tied: bool
    root_chance: float
    depths: Ints
    wrong: Floats
    tied: npt.NDArray[np.bool_]
    chance: Floats

    @property
    def mean(self) -> float | None:
        """The mean depth of its errors; None without any."""
        return error_depth(self.depths, self.wrong, "mean")

    @property
    def first(self) -> float | None:
        """The least depth of its errors, with ties expected; None without any."""
        return error_depth(self.depths, self.wrong, "first")

    @property
    def lasted(self) -> tuple[Ending, ...]:
        """How far it gets: an error at its first one, or the greatest depth without: censored.

        A root that was answered wrongly is an error at depth 0. Without ties there is one ending,
        of the weight 1; with them several, with how probable each is.
        """
        root = 0.0 if self.root_credit is None else 1 - self.root_credit
        levels, fine = without_errors(self.depths, self.wrong)
        before = (1 - root) * np.concatenate([[1.0], np.cumprod(fine)])
        ends = [(0, True, root)]
        ends += [
            (int(level), True, float(before[at] * (1 - fine[at])))
            for at, level in enumerate(levels)
        ]
        ends.append((int(levels[-1]), False, float(before[-1])))
        return tuple(end for end in ends if end[2] > 0)

    @property
    def all_right(self) -> float:
        """Whether all its problems, the root included where it is here, were answered rightly.

        1 or 0, and between them with ties: how probable it is.
        """
        root = 1.0 if self.root_credit is None else self.root_credit
        return float(root * (1 - self.wrong).prod())

    def record(self) -> dict[str, Any]:
        """Return the family as JSON can hold it."""
        return {
            "root": self.root,
            "root_right": None if self.root_credit is None else _right(self.root_credit),
            "n": len(self.depths),
            "wrong": _proportion.counted(float(self.wrong.sum())),
            "mean": self.mean,
            "first": self.first,
            "deepest": int(self.depths.max()),
            **({"ties": int(self.tied.sum())} if self.tied.any() else {}),
        }


class Families(NamedTuple):
    """The families of a data set in which something was perturbed.

    Attributes:
        kind: the depth that is used.
        families: those with a perturbed problem whose depth is known.
        unknown: how many perturbed problems are omitted because their depth is not known.
    """

    kind: DepthKind
    families: tuple[Family, ...]
    unknown: int


def families_of(graded: Graded, wanted: DepthKind | None = None) -> Families:
    """Return the families of perturbed problems with their depths of one kind.

    Args:
        graded: from `grade`.
        wanted: which depth; when None, the one that most perturbed problems have, and the first
            of declared, lineage and edit where several have as many.

    Raises:
        DataError: nothing is perturbed, the kind is unknown, or no problem has such a depth.
    """
    if wanted is not None and wanted not in DEPTHS:
        raise DataError(f"there is no depth {wanted!r}; take one of {', '.join(DEPTHS)}")
    dataset = graded.dataset
    found = depths(dataset)
    perturbed = [row for row, of in enumerate(found) if _is_perturbed(dataset[row], of)]
    if not perturbed:
        raise DataError(
            "no problem has a lineage, so there is no depth to measure by; perturbed problems "
            "name their root and parent, and the original stands at depth 0"
        )
    known = {
        kind: sum(getattr(found[row], kind) is not None for row in perturbed) for kind in DEPTHS
    }
    most = max(DEPTHS, key=lambda name: known[name])  # of equals, the first
    kind: DepthKind = most if wanted is None else wanted
    if not known[kind]:
        raise DataError(_no_depth(kind, known))
    rows: dict[str, list[int]] = {}
    for row in perturbed:
        if getattr(found[row], kind) is not None:
            rows.setdefault(dataset[row].root, []).append(row)
    place = {problem.id: row for row, problem in enumerate(dataset)}
    families = tuple(
        _family(graded, root, place.get(root), of, [getattr(found[row], kind) for row in of])
        for root, of in rows.items()
    )
    return Families(kind, families, len(perturbed) - known[kind])


def _right(credit: float) -> bool | float:
    """Return a credit as JSON has it: true, false, or the fraction of a tie."""
    return credit if 0 < credit < 1 else credit == 1


def _is_perturbed(problem: Problem, of: Depths) -> bool:
    return problem.lineage is not None or of.lineage is None


def _no_depth(kind: str, known: dict[DepthKind, int]) -> str:
    other = [name for name in DEPTHS if known[name]]
    advice = (
        f"; {' and '.join(f'{known[name]:,} have {name} depth' for name in other)}" if other else ""
    )
    return f"no perturbed problem has a known {kind} depth{advice}"


def _family(graded: Graded, root: str, place: int | None, rows: list[int], of: list[int]) -> Family:
    chance = [1 / len(graded.dataset[row].options) for row in rows]
    if place in rows:  # a cycle, or a problem of which only its depth is known
        place = None
    return Family(
        root,
        int(graded.clusters[rows[0]]),
        None if place is None else float(graded.credit[place]),
        place is not None and bool(graded.tied[place]),
        1.0 if place is None else 1 / len(graded.dataset[place].options),
        np.array(of, dtype=np.int64),
        1 - graded.credit[rows],
        graded.tied[rows],
        np.array(chance),
    )


LEAST_CLUSTERS = 5
"""With fewer, a bootstrap has so few different draws that its ends mean nothing."""

NULL_DRAWS = 2_000
"""Draws of each null; more than 30 families, or problems, make them smooth enough."""

Sums = npt.NDArray[np.float64]
"""What families add up to, (…, 5): depths of errors, errors, mean depths of the families' errors,
depths of their first errors, families with an error. With ties, what is expected of each when a
fair draw settles them."""

Errors = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""Errors at each depth, and how probably there is none, both (draws, levels)."""

_FIGURES = ((0, 1), (2, 4), (3, 4))
"""Which sums are divided for the pooled mean, the mean over families, and the first error."""


@dataclass(frozen=True, slots=True)
class DepthNull:
    """What the error depth would be if depth did not matter.

    Attributes:
        coin: that of a coin flipper, expected; for the pooled mean, the mean depth of the set.
        coin_interval: 95 % of coin flippers are in it (`null_interval`).
        shuffled: that of the solver's own errors when those of each family fall on random
            problems of that family, expected; None without errors.
        shuffled_interval: 95 % of such shuffles are in it (`null_interval`); None without errors.
        p_value: how probable a shuffle at least as far from `shuffled`, on either side, is: small
            when errors come early or late, not just often; None without errors.
    """

    coin: float
    coin_interval: tuple[float, float]
    shuffled: float | None
    shuffled_interval: tuple[float, float] | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class ErrorDepth(Result):
    """One error depth.

    Attributes:
        value: 0 or more; None when no error was made.
        interval: 95 %, by the bootstrap over families, expanded as these are few; None without
            errors, and with fewer than 5 clusters of families, which tell next to nothing.
        errors: of how many it is the mean: problems answered wrongly, or families with one; whole
            except for ties.
        null: what it would be if depth did not matter.
    """

    value: float | None
    interval: tuple[float, float] | None
    errors: float
    null: DepthNull


def error_depths(
    families: Sequence[Family], seed: int, draws: int
) -> tuple[ErrorDepth, ErrorDepth, ErrorDepth]:
    """Return the pooled mean, the mean over families, and that of the families' first errors."""
    totals = np.array([_observed(family) for family in families])
    observed = totals.sum(axis=0)
    clusters = np.array([family.cluster for family in families])
    drawn, number = _bootstrap(totals, clusters, seed, draws), len(np.unique(clusters))
    coins = _simulated(families, _coin, np.random.default_rng([seed, 1]))
    shuffles = _simulated(families, _shuffle, np.random.default_rng([seed, 2]))
    depths = np.concatenate([family.depths for family in families])
    risk = 1 - np.concatenate([family.chance for family in families])
    exact = float(np.average(depths, weights=risk)), None, None
    pooled, mean, first = (
        _figure(observed, drawn, number, coins, shuffles, place, expected)
        for place, expected in zip(_FIGURES, exact, strict=True)
    )
    return pooled, mean, first


def _observed(family: Family) -> Floats:
    levels, of = np.unique(family.depths, return_inverse=True)
    wrong = np.bincount(of, family.wrong)
    _, fine = without_errors(family.depths, family.wrong)
    found: Floats = _totals(levels, wrong[None], fine[None])[0]
    return found


def _bootstrap(totals: Floats, clusters: Ints, seed: int, draws: int) -> Sums | None:
    if len(np.unique(clusters)) < LEAST_CLUSTERS:
        return None
    return _proportion.resample(_proportion.cluster_totals(totals, clusters), seed, draws=draws)


def _figure(
    observed: Floats,
    drawn: Sums | None,
    clusters: int,
    coins: Sums,
    shuffles: Sums,
    place: tuple[int, int],
    expected: float | None,
) -> ErrorDepth:
    above, below = place
    of_coins = _ratios(coins, place)
    coin = float(of_coins.mean()) if expected is None else expected
    if not observed[below]:
        null = DepthNull(coin, _proportion.null_interval(of_coins), None, None, None)
        return ErrorDepth(None, None, 0, null)
    value = float(observed[above] / observed[below])
    errors = _proportion.counted(float(observed[below]))
    of_shuffles = _ratios(shuffles, place)
    centre = float(of_shuffles.mean())
    as_far = np.abs(of_shuffles - centre) >= abs(value - centre) - 1e-9
    null = DepthNull(
        coin,
        _proportion.null_interval(of_coins),
        centre,
        _proportion.null_interval(of_shuffles),
        float((1 + as_far.sum()) / (1 + len(as_far))),
    )
    interval = (
        None
        if drawn is None
        else _proportion.percentile_interval(_ratios(drawn, place), clusters=clusters)
    )
    return ErrorDepth(value, interval, errors, null)


def _ratios(sums: Sums, place: tuple[int, int]) -> Floats:
    """Return the figure of each draw; draws without an error have none, and are omitted."""
    kept = sums[sums[:, place[1]] > 0]
    ratios: Floats = kept[:, place[0]] / kept[:, place[1]]
    return ratios


def _simulated(
    families: Sequence[Family],
    draw: Callable[[Family, Ints, Ints, np.random.Generator], Errors],
    rng: np.random.Generator,
) -> Sums:
    """Return the sums of `NULL_DRAWS` solvers whose errors fall as `draw` says, (draws, 5)."""
    sums = np.zeros((NULL_DRAWS, 5))
    for family in families:
        levels, of, counts = np.unique(family.depths, return_inverse=True, return_counts=True)
        sums += _totals(levels, *draw(family, counts, of, rng))
    return sums


def _totals(levels: Ints, wrong: npt.NDArray[Any], fine: npt.NDArray[Any]) -> Sums:
    """Return what a family adds to the sums in each draw, (draws, 5).

    Args:
        levels: the depths that its problems have, ascending, (m,).
        wrong: how many errors it has at each, (draws, m).
        fine: how probably it has none there, (draws, m).
    """
    number = wrong.sum(axis=1)
    depth = wrong @ levels
    lasting = np.cumprod(fine, axis=1)
    first = np.concatenate([np.ones((len(fine), 1)), lasting[:, :-1]], axis=1) * (1 - fine)
    some = 1.0 - lasting[:, -1]
    mean = np.divide(depth, number, out=np.zeros(len(number)), where=number > 0)
    return np.stack([depth, number, mean * some, first @ levels, some], axis=1)


def _coin(family: Family, counts: Ints, of: Ints, rng: np.random.Generator) -> Errors:
    """Return errors at each depth when each problem is guessed."""
    wrong = np.zeros((NULL_DRAWS, len(counts)), dtype=np.int64)
    for chance in np.unique(family.chance):
        there = np.bincount(of[family.chance == chance], minlength=len(counts))
        wrong += rng.binomial(there, 1 - chance, size=wrong.shape)
    return wrong, wrong == 0


def _shuffle(family: Family, counts: Ints, of: Ints, rng: np.random.Generator) -> Errors:
    """Return errors at each depth when as many as there are, and the ties, fall anywhere."""
    sure = int((family.wrong == 1).sum())
    wrong = rng.multivariate_hypergeometric(counts, sure, size=NULL_DRAWS)
    ties = family.wrong[(family.wrong > 0) & (family.wrong < 1)]
    if not len(ties):
        return wrong, wrong == 0
    left, fine, mass = counts - wrong, (wrong == 0).astype(float), wrong.astype(float)
    for share in ties:  # each in turn falls on one of the problems that are left
        ends = np.cumsum(left, axis=1)
        drawn = rng.integers(ends[:, -1])
        at = np.arange(len(ends)), (ends > drawn[:, None]).argmax(axis=1)
        left[at] -= 1
        mass[at] += share
        fine[at] *= 1 - share
    return mass, fine


MOST_FREQUENT = 3
"""How many kinds are named first (EvoGrad, figure 3)."""

Tags = Mapping[str, Sequence[str]]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EditKind(Result):
    """One kind of token edit, such as a noun put in (`+NN`) or taken out (`-NN`).

    Attributes:
        kind: "+" or "-" and a Penn Treebank tag; `_` for the blank itself.
        edits: how many token edits of the kind the perturbed problems have.
        wrong_edits: how many of these are in problems with a wrong prediction: what EvoGrad's
            table 5 prints as if it counted predictions. A tie is wrong for what it is not worth.
        errors: the fraction of the problems with such an edit that are wrong; its interval knows of
            families, and `right` of it counts the wrong.
        excess: that share minus the fraction of all perturbed problems that are wrong, −1 to 1.
        interval: 95 % of the excess, by drawing families again, expanded for those that have the
            kind; None if fewer than five do.
    """

    kind: str
    edits: int
    wrong_edits: float
    errors: Proportion
    excess: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class EditKinds(Result):
    """How a solver's errors fall on the kinds of edits.

    Attributes:
        errors: the fraction of all perturbed problems that are wrong, the base rate; None when no
            problem differs from its root.
        left_out: how many perturbed problems have no root in the data set, and are not counted.
        kinds: those with the most edits in wrong predictions first.
    """

    errors: Proportion | None
    left_out: int
    kinds: tuple[EditKind, ...]

    @property
    def most_frequent(self) -> tuple[EditKind, ...]:
        """The three kinds with the most edits in wrong predictions."""
        return tuple(kind for kind in self.kinds[:MOST_FREQUENT] if kind.wrong_edits)


def edit_kinds(graded: Graded, tagged: Tags, seed: int = 0) -> EditKinds:
    """Count the token edits between each perturbed problem and its root, by kind and error.

    The edits are those of a shortest script between the tokens of the root and of the problem, so
    that what was changed and changed back is none, and what it costs is the depth `edit`. A token
    put in counts as "+" and its tag in the problem; one taken out as "-" and its tag in the root;
    one that replaces another as both (EvoGrad names no third sign).

    Counts are given per token edit, as in EvoGrad's figure 3 and table 5 ("+NN (150)" next to 80
    errors can't count predictions; and three of the cells there, 92, 62 and 61, are copies of one
    another), and per prediction: a sentence with three new nouns is one error. An edit that is
    frequent is frequent in errors too, so each kind's fraction of errors stands next to that of all
    perturbed problems.

    Args:
        graded: from `grade`.
        tagged: the Penn tag of each token of a sentence (`winosmith.text.tokens`), by the id of
            its problem; `winosmith.language.tag` makes them.
        seed: of the bootstrap.

    Raises:
        DataError: a sentence has no tags, or not one for each token.

    >>> from winosmith import Lineage, Prediction, Problem
    >>> from winosmith.metrics import grade
    >>> root = Problem("r", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    >>> child = Problem("c", "The jar hit the jug and the _ broke.", ("jar", "jug"), 1,
    ...                 lineage=Lineage("r", "r"))
    >>> tags = ("DT", "NN", "VBD", "DT", "NN", "CC", "DT", "NN", "VBD", ".")
    >>> found = grade(Dataset([root, child]), [Prediction("r", 1), Prediction("c", 0)])
    >>> [(k.kind, k.wrong_edits) for k in edit_kinds(found, {"r": tags, "c": tags}).kinds]
    [('+NN', 1), ('-NN', 1)]
    """
    known, left_out = _rows(graded.dataset)
    counts = [_edits(graded.dataset, row, tagged) for row in known]
    rows = [row for row, edits in zip(known, counts, strict=True) if edits]
    counts = [edits for edits in counts if edits]
    if not rows:
        return EditKinds(None, left_out, ())
    wrong, tied, clusters = 1 - graded.credit[rows], graded.tied[rows], graded.clusters[rows]
    names = sorted({kind for edits in counts for kind in edits})
    table = np.array([[edits[name] for name in names] for edits in counts])
    intervals = _intervals(table > 0, wrong, clusters, seed)
    found = [
        _kind(name, table[:, at], wrong, tied, clusters, intervals[at])
        for at, name in enumerate(names)
    ]
    found.sort(key=lambda kind: (-kind.wrong_edits, -kind.edits, kind.kind))
    errors = _proportion.proportion(wrong, clusters, ties=int(tied.sum()))
    return EditKinds(errors, left_out, tuple(found))


def _rows(dataset: Dataset) -> tuple[list[int], int]:
    """Return the perturbed problems whose root is here, and how many have none."""
    perturbed = [row for row, problem in enumerate(dataset) if problem.lineage]
    there = set(dataset.ids)
    rows = [row for row in perturbed if dataset[row].root in there]
    return rows, len(perturbed) - len(rows)


def _edits(dataset: Dataset, row: int, tagged: Tags) -> Counter[str]:
    """Return how many edits of each kind part a problem from its root."""
    before, after = dataset[dataset.row(dataset[row].root)], dataset[row]
    old, new = (list(_with_tags(p.id, p.sentence, tagged)) for p in (before, after))
    found: Counter[str] = Counter()
    for op in Levenshtein.editops([token for token, _ in old], [token for token, _ in new]):
        if op.tag != "insert":
            found[f"-{old[op.src_pos][1]}"] += 1
        if op.tag != "delete":
            found[f"+{new[op.dest_pos][1]}"] += 1
    return found


def _with_tags(problem_id: str, sentence: str, tagged: Tags) -> Iterator[tuple[str, str]]:
    cut = tokens(sentence)
    tags = tagged.get(problem_id)
    if tags is None or len(tags) != len(cut):
        has = "no tags" if tags is None else f"{len(tags)} tags"
        raise DataError(f"the sentence of {problem_id!r} has {has} for its {len(cut)} tokens")
    for token, tag in zip(cut, tags, strict=True):
        yield token, BLANK if token == BLANK else tag


def _kind(
    name: str,
    edits: npt.NDArray[np.int64],
    wrong: Floats,
    tied: Bools,
    clusters: npt.NDArray[np.int64],
    interval: tuple[float, float] | None,
) -> EditKind:
    having = edits > 0
    errors = _proportion.proportion(wrong[having], clusters[having], ties=int(tied[having].sum()))
    excess = errors.value - float(wrong.mean())
    return EditKind(
        name, int(edits.sum()), _proportion.counted(float(edits @ wrong)), errors, excess, interval
    )


def _intervals(
    having: Bools, wrong: Floats, clusters: npt.NDArray[np.int64], seed: int
) -> list[tuple[float, float] | None]:
    """Return the interval of each kind's excess, from the same draws of families."""
    of_all = np.column_stack([wrong, np.ones(len(wrong))])
    sums = _proportion.resample(
        _proportion.cluster_totals(np.hstack([of_all, having, having * wrong[:, None]]), clusters),
        seed,
    )
    base = sums[:, 0] / sums[:, 1]
    number = having.shape[1]
    with np.errstate(invalid="ignore"):
        excess = sums[:, 2 + number :] / sums[:, 2 : 2 + number] - base[:, None]
    families = [len(np.unique(clusters[column])) for column in having.T]
    return [
        _proportion.percentile_interval(drawn[~np.isnan(drawn)], clusters=number)
        if number >= LEAST_CLUSTERS
        else None
        for drawn, number in zip(excess.T, families, strict=True)
    ]
