"""The depth of a solver's errors in families, and the kinds of edits associated with errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.lineage import depths
from winosmith.metrics import _proportion
from winosmith.metrics._graded import Graded
from winosmith.problem import BLANK
from winosmith.results import Result
from winosmith.text import tokenize

DepthKind = Literal["declared", "lineage", "edit"]
DEPTH_KINDS: tuple[DepthKind, ...] = ("declared", "lineage", "edit")
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def error_depth(
    depths: npt.ArrayLike, wrong: npt.ArrayLike, kind: Literal["mean", "first"] = "mean"
) -> float | None:
    """Return the mean or minimum depth of errors on perturbed problems; None if there are none.

    EvoGrad's equation 2 is garbled in the published paper. The text says "before the model produces
    its first incorrect prediction", which corresponds to the kind "first". The example, (5 + 6 + 5)
    / 3, and the numbers in table 4 are means, so "mean" is the default.

    Because only errors are included, guessing has an expected error depth of about the mean depth
    of the problems. Compare error depths with this value; see `measure_stability`.

    Args:
        depths: Shape (n,). The depth of each perturbed problem, without roots.
        wrong: Shape (n,). Whether each answer is incorrect; for a tie, the probability, 0–1, that a
            fair draw among the tied options is incorrect. The result is then an expected value.
        kind: "mean" for the mean depth of the errors, "first" for the minimum.

    Raises:
        DataError: The lengths differ, a depth is missing or negative, or the kind is unknown.

    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True])  # EvoGrad, table 3
    5.333333333333333
    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True], kind="first")
    5.0
    >>> error_depth([1, 2], [False, False]) is None
    True
    """
    if kind not in ("mean", "first"):
        raise DataError(f"unknown kind {kind!r}; use 'mean' or 'first'")
    each, errors = np.asarray(depths, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if each.ndim != 1 or each.shape != errors.shape:
        raise DataError(
            f"depths and errors must have the same length; they have the shapes {each.shape} and "
            f"{errors.shape}"
        )
    if not bool(np.all(each >= 0)):
        raise DataError("a depth is missing or negative; remove problems of unknown depth")
    if not errors.any():
        return None
    if kind == "mean":
        return float(np.average(each, weights=errors))
    levels, fine = compute_error_free_probabilities(each, errors)
    first_error = np.concatenate([[1.0], np.cumprod(fine)[:-1]]) * (1 - fine)
    return float(np.average(levels, weights=first_error))


def compute_error_free_probabilities(
    depths: npt.NDArray[Any], wrong: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the distinct depths, ascending, and the probability of no error at each of them."""
    levels, of = np.unique(depths, return_inverse=True)
    fine = np.ones(len(levels))
    np.multiply.at(fine, of, 1 - wrong)
    return levels, fine


Ending = tuple[int, bool, float]
"""One way in which a family ends: the depth, whether it is an error, and the probability (0–1)."""


@dataclass(frozen=True)
class Family:
    """A solver's results on one family of problems.

    Attributes:
        root: The id of the root.
        cluster: The cluster number; families that are twins or duplicates share a cluster.
        root_credit: The credit for the root's answer, 0–1; None if the root is not in the data.
        root_tied: Whether the root's answer is a tie.
        root_chance: The probability of guessing the root's answer; 1 if the root is not in the
            data.
        depths: Shape (n,). The known depths of the perturbed problems.
        wrong: Shape (n,). Whether each answer is incorrect: 0 or 1, or for a tie the probability
            that a fair draw among the tied options is incorrect.
        tied: Shape (n,). Whether each answer is a tie.
        chance: Shape (n,). The probability of guessing each problem correctly.
        copies: Shape (n,). A number that each problem shares with its copies.
        root_copy: A number that the root shares with its copies; None if the root is not in the
            data.
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
    copies: Ints
    root_copy: int | None

    @property
    def contents(self) -> Hashable:
        """The problems with their depths; families with the same contents are copies."""
        return self.root_copy, frozenset(
            zip(self.copies.tolist(), self.depths.tolist(), strict=True)
        )

    @property
    def mean(self) -> float | None:
        """The mean depth of the errors; None if there are none."""
        return error_depth(self.depths, self.wrong, "mean")

    @property
    def first(self) -> float | None:
        """The minimum depth of the errors; None if there are none.

        With ties, this is an expected value.
        """
        return error_depth(self.depths, self.wrong, "first")

    @property
    def endings(self) -> tuple[Ending, ...]:
        """The possible endings: the first error's depth or, without errors, the maximum depth.

        An incorrectly answered root is an error at depth 0. Without ties there is one ending with
        probability 1; with ties there are several, each with its probability.
        """
        root = 0.0 if self.root_credit is None else 1 - self.root_credit
        levels, fine = compute_error_free_probabilities(self.depths, self.wrong)
        before = (1 - root) * np.concatenate([[1.0], np.cumprod(fine)])
        ends = [(0, True, root)]
        ends += [
            (int(level), True, float(before[at] * (1 - fine[at])))
            for at, level in enumerate(levels)
        ]
        ends.append((int(levels[-1]), False, float(before[-1])))
        return tuple(end for end in ends if end[2] > 0)

    def record(self) -> dict[str, Any]:
        """Return the family as a JSON record."""
        credit = self.root_credit
        return {
            "root": self.root,
            "root_right": credit == 1 if credit in (0, 1) else credit,
            "n": len(self.depths),
            "wrong": _proportion.round_count(float(self.wrong.sum())),
            "mean": self.mean,
            "first": self.first,
            "deepest": int(self.depths.max()),
            **({"ties": int(self.tied.sum())} if self.tied.any() else {}),
        }


def group_families(
    graded: Graded, depth_kind: DepthKind | None = None
) -> tuple[DepthKind, tuple[Family, ...], int]:
    """Group perturbed problems into families, using a single kind of depth.

    If `depth_kind` is None, it is the kind that most perturbed problems have; if several kinds are
    equally frequent, it is the first of them in `DEPTH_KINDS`. Families without a perturbed problem
    of known depth are omitted. The last item returned is the number of perturbed problems of
    unknown depth.
    """
    if depth_kind is not None and depth_kind not in DEPTH_KINDS:
        raise DataError(f"unknown depth {depth_kind!r}; use one of {', '.join(DEPTH_KINDS)}")
    dataset = graded.dataset
    found = depths(dataset)
    perturbed = [row for row, d in enumerate(found) if dataset[row].lineage or d.lineage is None]
    if not perturbed:
        raise DataError(
            "no problem has a lineage, so depths are unknown; perturbed problems need a "
            "root and a parent"
        )
    known = {
        name: sum(getattr(found[r], name) is not None for r in perturbed) for name in DEPTH_KINDS
    }
    most = max(DEPTH_KINDS, key=lambda name: known[name])  # `max` returns the first maximum
    kind: DepthKind = most if depth_kind is None else depth_kind
    if not known[kind]:
        others = " and ".join(f"{n:,} have {name} depth" for name, n in known.items() if n)
        advice = f"; {others}" if others else ""
        raise DataError(f"no perturbed problem has a known {kind} depth{advice}")
    rows: dict[str, list[int]] = {}
    for row in perturbed:
        if getattr(found[row], kind) is not None:
            rows.setdefault(dataset[row].root, []).append(row)
    place = {problem.id: row for row, problem in enumerate(dataset)}
    families = []
    for root, of in rows.items():
        of_depths = [getattr(found[row], kind) for row in of]
        at = place.get(root)
        if at in of:  # the lineage has a cycle, or the problem has only a depth
            at = None
        families.append(
            Family(
                root,
                int(graded.clusters[of[0]]),
                None if at is None else float(graded.credit[at]),
                at is not None and bool(graded.tied[at]),
                1.0 if at is None else float(graded.chances[at]),
                np.array(of_depths, dtype=np.int64),
                1 - graded.credit[of],
                graded.tied[of],
                graded.chances[of],
                graded.copies[of],
                None if at is None else int(graded.copies[at]),
            )
        )
    return kind, tuple(families), len(perturbed) - known[kind]


MIN_CLUSTERS = 5
"""Minimum number of clusters with an error (or edit) for a bootstrap interval. With fewer, too few
draws are distinct."""

NULL_DRAWS = 2_000
"""Number of draws from each null distribution, which is smooth with more than 30 families."""

Sums = npt.NDArray[np.float64]
"""Sums over families, shape (…, 5): the depths of all errors, the number of errors, the mean error
depths of the families, the depths of their first errors, and the number of families with an error.
Ties add their expected values under fair draws."""

Errors = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""The number of errors at each depth, and the probability of no error; both are (draws, levels)."""

_RATIO_COLUMNS = ((0, 1), (2, 4), (3, 4))
"""Pairs of `Sums` columns whose ratios are the pooled mean, family mean and mean first error."""


@dataclass(frozen=True, slots=True)
class DepthNull:
    """The error depth expected if depth had no influence on errors.

    Attributes:
        coin: The expected error depth of random answers; for pooled errors, the problems' mean
            depth.
        coin_interval: The 95 % interval for random answers (`null_interval`).
        shuffled: The expected error depth if errors are moved to random problems of the same
            family, and together in families of one cluster; None if there are no errors.
        shuffled_interval: The 95 % interval of `shuffled` (`null_interval`); None if there are no
            errors.
        p_value: Twice the probability that a shuffle is at least as early, or at least as late, as
            the observed error depth, whichever is smaller. So the p-value is at most 0.05 if the
            error depth is outside `shuffled_interval`, and is not small if errors are merely
            frequent. It is None if there are no errors.
    """

    coin: float
    coin_interval: tuple[float, float]
    shuffled: float | None
    shuffled_interval: tuple[float, float] | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class ErrorDepth(Result):
    """An error depth with its interval and null distribution.

    Attributes:
        value: The error depth, 0 or more; None if there are no errors.
        interval: The 95 % interval from the bootstrap over families, expanded to account for few
            families with an error; None if fewer than 5 clusters of families have one.
        errors: The number of errors, or of families with errors, over which the mean is taken. This
            is an integer unless there are ties.
        null: The error depth expected if depth had no influence on errors.
    """

    value: float | None
    interval: tuple[float, float] | None
    errors: float
    null: DepthNull


def measure_depths(
    families: Sequence[Family], seed: int, draws: int
) -> tuple[ErrorDepth, ErrorDepth, ErrorDepth]:
    """Return three means of error depth: pooled, averaged over families, and of first errors."""
    totals = np.empty((len(families), 5))
    for at, family in enumerate(families):
        levels, of = np.unique(family.depths, return_inverse=True)
        _, fine = compute_error_free_probabilities(family.depths, family.wrong)
        wrong = np.bincount(of, family.wrong)
        totals[at] = _compute_totals(levels, wrong[None], fine[None])[0]
    observed = totals.sum(axis=0)
    clusters = np.array([family.cluster for family in families])
    of_clusters = _proportion.sum_by_cluster(totals, clusters)
    number = int(np.count_nonzero(of_clusters[:, 1]))
    drawn = _proportion.resample(of_clusters, seed, draws=draws)
    coins = _simulate_errors(families, _simulate_guessing, np.random.default_rng([seed, 1]))
    shuffles = _simulate_errors(
        families, _shuffle_errors, np.random.default_rng([seed, 2]), together=True
    )
    depths = np.concatenate([family.depths for family in families])
    risk = 1 - np.concatenate([family.chance for family in families])
    exact = float(np.average(depths, weights=risk)), None, None
    found = []
    for (above, below), expected in zip(_RATIO_COLUMNS, exact, strict=True):
        of_coins = _compute_ratios(coins, above, below)
        coin = float(of_coins.mean()) if expected is None else expected
        coin_interval = _proportion.null_interval(of_coins)
        if not observed[below]:
            null = DepthNull(coin, coin_interval, None, None, None)
            found.append(ErrorDepth(None, None, 0, null))
            continue
        value = float(observed[above] / observed[below])
        of_shuffles = _compute_ratios(shuffles, above, below)
        centre = float(of_shuffles.mean())
        as_far = [int((s * (of_shuffles - value) >= -1e-9).sum()) for s in (1, -1)]
        p_value = min(1.0, 2 * (1 + min(as_far)) / (1 + len(of_shuffles)))
        shuffled = _proportion.null_interval(of_shuffles)
        interval = None
        if number >= MIN_CLUSTERS:
            ratios = _compute_ratios(drawn, above, below)
            interval = _proportion.compute_percentile_interval(ratios, clusters=number)
        errors = _proportion.round_count(float(observed[below]))
        null = DepthNull(coin, coin_interval, centre, shuffled, p_value)
        found.append(ErrorDepth(value, interval, errors, null))
    pooled, mean, first = found
    return pooled, mean, first


def _compute_ratios(sums: Sums, above: int, below: int) -> Floats:
    kept = sums[sums[:, below] > 0]
    return np.asarray(kept[:, above] / kept[:, below])


def _simulate_errors(
    families: Sequence[Family],
    draw_errors: Callable[[Family, Floats, Ints, Ints, np.random.Generator], Errors],
    rng: np.random.Generator,
    *,
    together: bool = False,
) -> Sums:
    """Return the `Sums` of `NULL_DRAWS` simulated solvers with random errors, shape (draws, 5).

    Copies move together, so only problems with equally many copies exchange their errors. With
    `together`, so do the families of a cluster (halves of a twin, or copies): all of them have
    their earliest errors in the same draws. The spread of their sum is then at least as large as
    for any other dependence between them. Only shuffles allow this, because they change no number
    of errors.
    """
    sums = np.zeros((NULL_DRAWS, 5))
    families_of = Counter(family.cluster for family in families if together)
    orders = {of: rng.permutation(NULL_DRAWS) for of, n in families_of.items() if n > 1}
    for family in families:
        levels, level_of = np.unique(family.depths, return_inverse=True)
        wrong, fine = np.zeros((NULL_DRAWS, len(levels))), np.ones((NULL_DRAWS, len(levels)))
        _, first, text, sizes = np.unique(
            np.column_stack([family.copies, family.depths]),
            return_index=True,
            return_inverse=True,
            return_counts=True,
            axis=0,
        )
        share = np.bincount(text.reshape(-1), family.wrong) / sizes
        no_error = np.ones(len(sizes))  # in all copies, which may have different answers
        np.multiply.at(no_error, text.reshape(-1), 1 - family.wrong)
        for size in np.unique(sizes):
            some = sizes == size
            part = replace(family, wrong=share[some], chance=family.chance[first[some]])
            level = level_of[first[some]]
            counts = np.bincount(level, minlength=len(levels))
            drawn = draw_errors(part, no_error[some], counts, level, rng)
            wrong, fine = wrong + size * drawn[0], fine * drawn[1]
        totals = _compute_totals(levels, wrong, fine)
        if family.cluster in orders:
            totals = np.sort(totals, axis=0)[orders[family.cluster]]
        sums += totals
    return sums


def _compute_totals(levels: Ints, wrong: npt.NDArray[Any], no_error: npt.NDArray[Any]) -> Sums:
    """Return a family's (draws, 5) contribution to `Sums`.

    Args:
        levels: Shape (m,). The distinct depths of the family's problems, ascending.
        wrong: Shape (draws, m). The number of errors at each depth.
        no_error: Shape (draws, m). The probability of no error at each depth.
    """
    number = wrong.sum(axis=1)
    depth = wrong @ levels
    lasting = np.cumprod(no_error, axis=1)
    first = np.concatenate([np.ones((len(no_error), 1)), lasting[:, :-1]], axis=1) * (1 - no_error)
    some = 1.0 - lasting[:, -1]
    mean = np.divide(depth, number, out=np.zeros(len(number)), where=number > 0)
    return np.stack([depth, number, mean * some, first @ levels, some], axis=1)


def _simulate_guessing(
    family: Family, _: Floats, counts: Ints, level: Ints, rng: np.random.Generator
) -> Errors:
    wrong = np.zeros((NULL_DRAWS, len(counts)), dtype=np.int64)
    for chance in np.unique(family.chance):
        at_risk = np.bincount(level[family.chance == chance], minlength=len(counts))
        wrong += rng.binomial(at_risk, 1 - chance, size=wrong.shape)
    return wrong, wrong == 0


def _shuffle_errors(
    family: Family, no_error: Floats, counts: Ints, level: Ints, rng: np.random.Generator
) -> Errors:
    sure = int((family.wrong == 1).sum())
    wrong = rng.multivariate_hypergeometric(counts, sure, size=NULL_DRAWS)
    partly = (family.wrong > 0) & (family.wrong < 1)  # ties, and copies with different answers
    if not partly.any():
        return wrong, wrong == 0
    left, fine, mass = counts - wrong, (wrong == 0).astype(float), wrong.astype(float)
    # Each of these is assigned to a remaining problem.
    for share, right in zip(family.wrong[partly], no_error[partly], strict=True):
        ends = np.cumsum(left, axis=1)
        drawn = rng.integers(ends[:, -1])
        at = np.arange(len(ends)), (ends > drawn[:, None]).argmax(axis=1)
        left[at] -= 1
        mass[at] += share
        fine[at] *= right
    return mass, fine


MOST_FREQUENT = 3
"""Number of kinds to report, starting with the most frequent, as in EvoGrad's figure 3."""

Tags = Mapping[str, Sequence[str]]
Bools = npt.NDArray[np.bool_]


def _make_error_record(errors: _proportion.Proportion | None) -> dict[str, Any] | None:
    """Return the record of a fraction of errors, whose counted cases are incorrect."""
    if errors is None:
        return None
    return {"incorrect" if key == "correct" else key: of for key, of in errors.record().items()}


@dataclass(frozen=True, slots=True)
class EditKind(Result):
    """One kind of token edit, such as an inserted noun (`+NN`) or a deleted one (`-NN`).

    Attributes:
        kind: "+" or "-" and a Penn Treebank tag; `_` for the blank itself.
        edits: The number of token edits of this kind in the perturbed problems.
        wrong_edits: The number of these edits in problems with an incorrect answer, which EvoGrad's
            table 5 prints as if they were predictions. A tie counts as 1 minus its credit.
        errors: The fraction of incorrect answers among problems with such an edit, with a
            family-robust interval. Its `right` is the number of incorrect answers.
        excess: `errors` minus the same fraction among all perturbed problems, −1 to 1.
        interval: The 95 % interval of the excess from resampling families, with two pseudo-clusters
            of the mean size; None if fewer than five families have such an edit.
    """

    kind: str
    edits: int
    wrong_edits: float
    errors: _proportion.Proportion = field(metadata={"json": _make_error_record})
    excess: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class EditKinds(Result):
    """The distribution of a solver's errors over the kinds of edits.

    Attributes:
        errors: The fraction of incorrect answers among all perturbed problems, the base rate; None
            if no problem differs from its root.
        left_out: The number of perturbed problems that are omitted because their root is missing.
        kinds: The kinds of edits, sorted by descending number of edits in incorrect predictions.
    """

    errors: _proportion.Proportion | None = field(metadata={"json": _make_error_record})
    left_out: int
    kinds: tuple[EditKind, ...]

    @property
    def most_frequent(self) -> tuple[EditKind, ...]:
        """The three kinds with the most edits in incorrect predictions."""
        return tuple(kind for kind in self.kinds[:MOST_FREQUENT] if kind.wrong_edits)


def count_edit_kinds(graded: Graded, tags: Tags, seed: int = 0) -> EditKinds:
    """Count the token edits between perturbed problems and their roots, by kind and correctness.

    The edits form a shortest edit script from the tokens of the root to those of the problem.
    Therefore, reverted changes are not counted, and the length of the script is the edit depth. An
    inserted token counts as "+" and its tag in the problem, a deleted token as "-" and its tag in
    the root, and a replacement as both, because EvoGrad has no sign for replacements.

    Token edits are counted, as in EvoGrad's figure 3 and table 5: "+NN (150)" next to 80 errors
    can't be a number of predictions. (Three cells of the table, 92, 62 and 61, are copies of each
    other.) Errors are also counted by prediction: a sentence with three new nouns is one error.
    Because frequent edits are also frequent in errors, each kind's fraction of errors is shown next
    to that of all perturbed problems.

    Args:
        graded: The graded answers, from `grade`.
        tags: The Penn tags of the tokens of each sentence (`winosmith.text.tokenize`), by problem
            id, from `winosmith.language.tag`.
        seed: The random seed of the bootstrap.

    Raises:
        DataError: A sentence does not have one tag per token.

    >>> from winosmith import Lineage, Prediction, Problem
    >>> from winosmith.metrics import grade
    >>> root = Problem("r", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    >>> child = Problem("c", "The jar hit the jug and the _ broke.", ("jar", "jug"), 1,
    ...                 lineage=Lineage("r", "r"))
    >>> tags = ("DT", "NN", "VBD", "DT", "NN", "CC", "DT", "NN", "VBD", ".")
    >>> found = grade(Dataset([root, child]), [Prediction("r", 1), Prediction("c", 0)])
    >>> [(k.kind, k.wrong_edits) for k in count_edit_kinds(found, {"r": tags, "c": tags}).kinds]
    [('+NN', 1), ('-NN', 1)]
    """
    perturbed = [row for row, problem in enumerate(graded.dataset) if problem.lineage]
    ids = set(graded.dataset.ids)
    known = [row for row in perturbed if graded.dataset[row].root in ids]
    left_out = len(perturbed) - len(known)
    counts = [_count_edits(graded.dataset, row, tags) for row in known]
    rows = [row for row, edits in zip(known, counts, strict=True) if edits]
    counts = [edits for edits in counts if edits]
    if not rows:
        return EditKinds(None, left_out, ())
    wrong, tied, clusters = 1 - graded.credit[rows], graded.tied[rows], graded.clusters[rows]
    copies = graded.copies[rows]
    names = sorted({kind for edits in counts for kind in edits})
    table = np.array([[edits[name] for name in names] for edits in counts])
    intervals = [_compute_excess_interval(of > 0, wrong, clusters, seed) for of in table.T]
    found = []
    for name, edits_of, interval in zip(names, table.T, intervals, strict=True):
        has = edits_of > 0
        share = _proportion.proportion(
            wrong[has], clusters[has], copies=copies[has], ties=int(tied[has].sum())
        )
        number = _proportion.round_count(float(edits_of @ wrong))
        excess = share.value - float(wrong.mean())
        found.append(EditKind(name, int(edits_of.sum()), number, share, excess, interval))
    found.sort(key=lambda kind: (-kind.wrong_edits, -kind.edits, kind.kind))
    errors = _proportion.proportion(wrong, clusters, copies=copies, ties=int(tied.sum()))
    return EditKinds(errors, left_out, tuple(found))


def _count_edits(dataset: Dataset, row: int, tags: Tags) -> Counter[str]:
    pairs = []
    for problem in (dataset[dataset.row(dataset[row].root)], dataset[row]):
        cut, own = tokenize(problem.sentence), tags.get(problem.id)
        if own is None or len(own) != len(cut):
            has = "no tags" if own is None else f"{len(own)} tags"
            raise DataError(f"the sentence of {problem.id!r} has {has} for its {len(cut)} tokens")
        tagged = zip(cut, own, strict=True)
        pairs.append([(token, BLANK if token == BLANK else tag) for token, tag in tagged])
    old, new = pairs
    found: Counter[str] = Counter()
    for op in Levenshtein.editops([token for token, _ in old], [token for token, _ in new]):
        if op.tag != "insert":
            found[f"-{old[op.src_pos][1]}"] += 1
        if op.tag != "delete":
            found[f"+{new[op.dest_pos][1]}"] += 1
    return found


def _compute_excess_interval(
    edited: Bools, wrong: Floats, clusters: npt.NDArray[np.int64], seed: int
) -> tuple[float, float] | None:
    columns = np.column_stack([wrong, np.ones(len(wrong)), edited * wrong, edited])
    totals = _proportion.sum_by_cluster(columns, clusters)
    if np.count_nonzero(totals[:, 3]) < MIN_CLUSTERS:
        return None
    # Half a pseudo-cluster has only wrong answers to edited problems, and half only correct ones.
    # They move the draws towards 0, so the draws are moved back to the excess.
    sizes = (totals[:, [1, 3]] ** 2).sum(axis=0) / totals[:, [1, 3]].sum(axis=0)
    size, edited_size, base = max(sizes), sizes[1], float(wrong.mean())
    prior = [
        [0.5, edited_wrong + base * (size - edited_size), size, edited_wrong, edited_size]
        for edited_wrong in (edited_size, 0)
    ]
    sums = _proportion.resample(totals, seed, prior=np.array(prior))
    sums = sums[sums[:, 3] > 0]
    drawn = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    drawn += float(wrong[edited].mean()) - base - drawn.mean()
    return _proportion.compute_percentile_interval(np.clip(drawn, -1, 1))
