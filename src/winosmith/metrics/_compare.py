"""Compare solvers with each other, before and after training, and on problems and their roots.

The module also computes the smallest difference between two solvers that a data set can detect.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from winosmith import formats, report
from winosmith.blocks import copies
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, SameInputError
from winosmith.metrics import _proportion
from winosmith.metrics._graded import Graded, find_columns, find_solver_input, grade_models
from winosmith.metrics._proportion import Proportion
from winosmith.prediction import Prediction
from winosmith.problem import MAX_OPTIONS, Scalar
from winosmith.report import (
    Signature,
    percent,
    points,
    points_span,
    probability,
    signature_of,
    to_fixed,
)
from winosmith.results import Result, computed, shown
from winosmith.seen import build_inputs

Tested = TypeVar("Tested", "Pair", "RootComparison")

_MAX_EXACT_SUM, _DRAWS = 2_000_000, 20_000
"""Maximum total of the clusters' sums, in credit units, for which the distribution is computed
exactly, and number of random draws above it. Ties among 17, 19 and 23 options exceed it."""

CREDIT_UNITS = math.lcm(*range(1, MAX_OPTIONS + 1))
"""Number of units per credit: every credit and every difference of credits is a whole number."""

COUNT_FORMAT = ",.7g"
"""Format of a count, which is fractional if there are ties (57.5)."""


@dataclass(frozen=True, slots=True)
class Pair(Result):
    """A pair of solvers, compared on the same problems.

    Attributes:
        first, second: The names of the solvers.
        both, only_first, only_second, neither: The numbers of problems answered correctly by both,
            by only one or by neither; with ties, the expected numbers under fair draws.
        difference: The first solver's accuracy minus the second's, −1 to 1.
        interval: The 95 % interval of the difference, from the cluster bootstrap.
        mcnemar: The p-value of McNemar's exact test, which treats problems as independent. It is
            commonly reported, but too small if the answers to twins are correlated. If there are
            ties, a permutation test is used instead; see `paired_p_value`.
        p_value: The p-value of the exact test that keeps clusters together; see `paired_p_value`.
        adjusted: The `p_value` after Holm's correction for all pairs that were compared.
        agreement: The agreement between the choices of the two solvers.
    """

    first: str = field(metadata=shown("1st solver"))
    second: str = field(metadata=shown("2nd solver"))
    both: float = field(metadata=shown("both right", COUNT_FORMAT))
    only_first: float = field(metadata=shown("1st", COUNT_FORMAT))
    only_second: float = field(metadata=shown("2nd", COUNT_FORMAT))
    neither: float = field(metadata=shown("both wrong", COUNT_FORMAT))
    difference: float = field(metadata=shown("points", points))
    interval: tuple[float, float] = field(metadata=shown("95 %", points_span))
    mcnemar: float = field(metadata=shown("McNemar", probability))
    p_value: float = field(metadata=shown("p", probability))
    adjusted: float = field(metadata=shown("Holm", probability))
    agreement: Agreement


@dataclass(frozen=True)
class Comparison(Result):
    """The comparison of two or more solvers on the same problems.

    Attributes:
        accuracies: The accuracy of each solver by name.
        pairs: Each pair of solvers, or each solver with the baseline.
        against_scores: The number of choices without the best score, for each solver with any.
        invalid: The number of answers that match no option, for each solver that has any.
        missing: The number of problems without a prediction, for each solver that has any.
        signature: The signature of the data and the predictions.
    """

    accuracies: Mapping[str, Proportion]
    pairs: tuple[Pair, ...] = field(metadata={"rows": True})
    against_scores: Mapping[str, int]
    invalid: Mapping[str, int]
    missing: Mapping[str, int]
    signature: Signature

    def sentences(self) -> list[str]:
        """Return sentences with each difference, its interval and p-value, and the conditions."""
        scores = [f"{name} {own}" for name, own in self.accuracies.items()]
        return [
            f"Accuracy in percent, with its 95 % interval: {'; '.join(scores)}.",
            *(
                f"{pair.first} − {pair.second}: {points(pair.difference)} points (95 % interval "
                f"{points_span(pair.interval)}; {report.p_value(pair.p_value)}, "
                f"{probability(pair.adjusted)} after Holm's correction)."
                for pair in self.pairs
            ),
            "The exact test swaps the models in each block of twins, families and copies.",
            f"Conditions: {self.signature}.",
        ]

    def charts(self) -> list[report.Svg]:
        """Return a chart of the accuracies with their intervals."""
        rows = [
            report.FractionWithInterval(name, own.value, *own.interval)
            for name, own in self.accuracies.items()
        ]
        return [report.draw_accuracies(rows)]


def compare(
    answers: Any,
    data: Dataset | formats.Readable | None = None,
    *,
    baseline: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare solvers pairwise on the same problems.

    Args:
        answers: The graded answers of two or more solvers on the same data set, by solver name; or
            any input of `answers.read`.
        data: The problems, if the answers are not graded.
        baseline: The name of the solver with which all others are compared; by default every pair
            is compared, which requires a stronger correction for multiple tests.
        seed: The random seed of the bootstrap.

    Raises:
        DataError: There is only one solver, the data sets differ, or the baseline is unknown.
    """
    solvers = grade_models(answers, data)
    if len(solvers) < 2:
        raise DataError("a comparison needs the predictions of two or more solvers")
    if baseline is not None and baseline not in solvers:
        known = ", ".join(map(repr, solvers))
        raise DataError(f"unknown baseline {baseline!r}; use one of {known}")
    first = next(iter(solvers.values()))
    other = next((n for n, g in solvers.items() if g.dataset.digest != first.dataset.digest), None)
    if other is not None:
        raise DataError(
            f"{other!r} answered a different data set; compare solvers on the same problems"
        )
    names = [name for name in solvers if name != baseline]
    pairs = [(n, baseline) for n in names] if baseline else list(combinations(names, 2))
    found = [_compare_pair(a, b, solvers[a], solvers[b], seed) for a, b in pairs]
    digests = "+".join(graded.digest[:6] for graded in solvers.values())
    return Comparison(
        {n: graded.measure_accuracy(clusters=first.clusters) for n, graded in solvers.items()},
        _adjust_p_values(found),
        {name: n for name, graded in solvers.items() if (n := graded.score_conflict_count)},
        {name: n for name, graded in solvers.items() if (n := graded.invalid_count)},
        {name: graded.missing for name, graded in solvers.items() if graded.missing},
        signature_of(first.dataset, seed, predictions=digests, draws=_proportion.DRAWS),
    )


def paired_p_value(
    first: npt.ArrayLike, second: npt.ArrayLike, clusters: npt.NDArray[np.int64]
) -> float:
    """Return the exact two-sided p-value for equal accuracy, with clusters kept together.

    Under the null hypothesis, the solvers are exchangeable: in each cluster, all their answers may
    be swapped together with probability 1/2. A cluster in which the first solver has d more correct
    answers than the second then contributes +d or −d; the distribution of the sum is exact.

    This is the permutation test of paired differences (Fisher 1935, section 21; Pitman 1937), which
    allows differences of any size: if one answer is correct and the other is a tie between two
    options, the difference is one half. If every cluster has one problem and there is no tie, it is
    McNemar's exact test (Edwards 1948: the binomial test of the discordant pairs). If ties among
    many different numbers of options allow too many possible sums, signs are drawn 20,000 times,
    and p = (1 + #) / (1 + 20,000).

    Args:
        first: Shape (n,). The first solver's credits, 0–1; 1 / (options tied) for a tie.
        second: Shape (n,). The second solver's credits.
        clusters: Shape (n,). The label of each problem's cluster.

    >>> singles, twins = np.arange(10), np.arange(10) // 2
    >>> [round(paired_p_value([1] * 10, [0] * 10, labels), 4) for labels in (singles, twins)]
    [0.002, 0.0625]
    """
    gained = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return sign_flip_p_value(
        _proportion.sum_by_cluster(np.rint(gained * CREDIT_UNITS)[:, None], clusters)[:, 0]
    )


def sign_flip_p_value(sums: npt.ArrayLike) -> float:
    """Return the probability that random signs give a total at least as far from 0 as observed.

    The test is two-sided. If all sums are 1 or -1, it is the binomial test, such as McNemar's test
    on the items that only one of two models answers correctly. The result is exact even for tiny p:
    because a Fourier transform rounds at 1e-16, the signs are tilted so that the mean is the
    observed total, and the result is reweighted (Esscher 1932). If the largest possible total
    exceeds `_MAX_EXACT_SUM`, signs are drawn 20,000 times, and p = (1 + #) / (1 + 20,000).

    Args:
        sums: Shape (blocks,). The integer sum of each block.

    >>> round(sign_flip_p_value([1] * 9 + [-1] * 3), 4), sign_flip_p_value([2, -2])
    (0.146, 1.0)
    >>> round(sign_flip_p_value([3] * 100) / 2.0**-99, 9)
    1.0
    """
    from scipy.optimize import brentq
    from scipy.special import expit
    from scipy.stats import binom

    flips = np.rint(sums).astype(np.int64)
    if not flips.sum():
        return 1.0
    flips //= np.gcd.reduce(flips)
    observed, flips = abs(int(flips.sum())), abs(flips[flips != 0])
    largest = int(flips.sum())
    if largest > _MAX_EXACT_SUM:
        return _estimate_p_value(flips, observed)
    sizes, counts = np.unique(flips, return_counts=True)
    # For the largest possible sum the odds would be infinite; half a step less is close enough.
    least = int(sizes[0])
    aim, most = min(observed, largest - least / 2), np.log(4 * largest / least) / (2 * least)
    tilt = brentq(lambda t: counts @ (sizes * np.tanh(t * sizes)) - aim, 0.0, most)
    spread = np.ones(1)  # the distribution of the total of the positive sums
    for size, count, odds in zip(sizes, counts, expit(2 * tilt * sizes), strict=True):
        spread = _convolve_spaced(spread, int(size), binom.pmf(np.arange(count + 1), count, odds))
    at = (largest + observed) // 2
    above = tilt * (2 * np.arange(at, largest + 1) - largest)
    back = counts @ (np.logaddexp(tilt * sizes, -tilt * sizes) - np.log(2))
    tail = spread[at:] * np.exp(back - above)
    return float(min(1.0, 2 * tail.sum()))


_MAX_DIRECT_LENGTH = 64
"""Maximum length for which direct convolution is faster than a Fourier transform."""


def _convolve_spaced(
    distribution: npt.NDArray[Any], step: int, counts: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    from scipy.signal import fftconvolve

    length = len(distribution) + step * (len(counts) - 1)
    if min(len(counts), len(distribution)) > _MAX_DIRECT_LENGTH:
        spaced = np.zeros(length - len(distribution) + 1)
        spaced[::step] = counts
        return np.asarray(np.maximum(fftconvolve(distribution, spaced), 0.0))
    added = np.zeros(length)
    if len(distribution) <= len(counts):
        for place, weight in enumerate(distribution):
            added[place : place + length - len(distribution) + 1 : step] += weight * counts
    else:
        for place, weight in enumerate(counts):
            added[step * place :][: len(distribution)] += weight * distribution
    return added


def _estimate_p_value(sizes: npt.NDArray[np.int64], observed: int) -> float:
    rng = np.random.default_rng(0)
    reached = 0
    for at in range(0, _DRAWS, 500):
        signs = rng.integers(0, 2, (min(500, _DRAWS - at), len(sizes)), np.int8).astype(np.int64)
        reached += int((np.abs((2 * signs - 1) @ sizes) >= observed).sum())
    return (1 + reached) / (1 + _DRAWS)


def _compare_pair(first: str, second: str, a: Graded, b: Graded, seed: int) -> Pair:
    return Pair(
        first,
        second,
        *cross_tabulate(a.credit, b.credit),
        **_test_difference(a.credit, b.credit, a.clusters, seed),
        agreement=measure_agreement(a, b, seed),
    )


def _test_difference(
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    clusters: npt.NDArray[np.int64],
    seed: int,
) -> dict[str, Any]:
    """Return the fields of `Pair` and `RootComparison` with the difference and its tests."""
    p_value = paired_p_value(first, second, clusters)
    return {
        "difference": float((first - second).sum()) / len(first),
        "interval": difference_interval(first, second, clusters, seed),
        "mcnemar": paired_p_value(first, second, np.arange(len(first))),
        "p_value": p_value,
        "adjusted": p_value,
    }


def cross_tabulate(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Count the problems that both, only the first, only the second or neither answered correctly.

    >>> cross_tabulate(np.array([1, 1, 0, 0.5]), np.array([1, 0, 0, 0.5]))
    (1.25, 1.25, 0.25, 1.25)
    """
    both, only, other = first * second, first * (1 - second), (1 - first) * second
    neither = (1 - first) * (1 - second)
    counts = [_proportion.round_count(float(part.sum())) for part in (both, only, other, neither)]
    return counts[0], counts[1], counts[2], counts[3]


def difference_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.NDArray[np.int64],
    seed: int,
    *,
    draws: int = _proportion.DRAWS,
) -> tuple[float, float]:
    """Return the 95 % cluster-bootstrap interval of a paired difference of accuracies.

    Pseudo-clusters with a total weight of two are added, as in Agresti & Min (2005, section 3):
    half a cluster with only the first solver correct, half with only the second, and one without a
    difference. Without pseudo-clusters, the interval for solvers that never differ has zero width.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return _proportion.bootstrap_interval(
        difference, clusters, seed, (1, -1, 0), weights=_proportion.DIFFERENCE_WEIGHTS, draws=draws
    )


def correct_by_holm(p_values: npt.ArrayLike) -> list[float]:
    """Return p-values with Holm's (1979) correction for multiple tests.

    >>> correct_by_holm([0.04, 0.01])
    [0.04, 0.02]
    """
    # Not from statsmodels, which runs a full garbage collection in each call.
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty_like(p)
    found[order] = np.minimum(corrected, 1)
    return [float(one) for one in found]


def _adjust_p_values(results: Sequence[Tested]) -> tuple[Tested, ...]:
    adjusted = correct_by_holm([one.p_value for one in results])
    return tuple(replace(one, adjusted=p) for one, p in zip(results, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """The agreement of two sets of predictions.

    Attributes:
        equal: The number of problems with the same choice in both sets; with ties, the expected
            number under fair draws.
        n: The number of problems.
        kappa: Brennan and Prediger's (1981) kappa of the choices: 1 for identical choices, 0 for
            two random choices. Kappa assumes that all options of a problem are equally probable by
            chance. Cohen's (1960) kappa uses the frequency of each position, which is only
            meaningful if the order of the options matters.
        kappa_interval: The 95 % interval of kappa, from the cluster bootstrap with two
            pseudo-clusters, one with full agreement and one without any agreement.
        same_wrong: The number of problems for which both choose the same incorrect option.
    """

    equal: float
    n: int
    kappa: float = field(metadata=shown("kappa", partial(report.format_value, form=".2f")))
    kappa_interval: tuple[float, float] = field(
        metadata=shown(
            "95 %", lambda ends: " to ".join(report.format_value(end, ".2f") for end in ends)
        )
    )
    same_wrong: float = field(metadata=shown("alike", COUNT_FORMAT))

    @property
    @computed(**shown("same", percent, json=False))
    def share(self) -> float:
        """The fraction of problems with the same choice, 0–1."""
        return self.equal / self.n


def measure_agreement(first: Graded, second: Graded, seed: int = 0) -> Agreement:
    """Measure the agreement of two solvers on the same problems.

    A kappa near 0 means no agreement beyond chance. Accurate solvers agree because they are often
    correct. `seed` is the random seed of the bootstrap.

    Raises:
        DataError: The solvers answered different problems.
    """
    if first.dataset.ids != second.dataset.ids:
        raise DataError("agreement needs two sets of predictions for the same problems")
    pairs = zip(first.predictions, second.predictions, strict=True)
    same = np.array([compute_agreement_probability(a, b) for a, b in pairs])
    chance = first.chances
    columns = np.stack([same - chance, 1 - chance, np.ones(len(same))], axis=1)
    totals = _proportion.sum_by_cluster(columns, first.clusters)
    above, most, _ = totals.sum(axis=0)
    guess = float(chance.mean())
    ends = [[1 - guess, 1 - guess, 1], [-guess, 1 - guess, 1]]
    drawn = _proportion.resample(
        totals, seed, prior=_proportion.make_pseudo_clusters(totals[:, 2], ends)
    )
    return Agreement(
        _proportion.round_count(float(same.sum())),
        len(same),
        float(above / most),
        _proportion.percentile_interval(drawn[:, 0] / drawn[:, 1]),
        _proportion.round_count(float((same - first.credit * second.credit).sum())),
    )


def compute_agreement_probability(first: Prediction, second: Prediction) -> float:
    """Return the probability that two predictions choose the same option, 0–1.

    A tied prediction chooses one of its options at random. Invalid answers never agree.
    """
    one, other = set(first.chosen), set(second.chosen)
    return len(one & other) / (len(one) * len(other)) if one and other else 0.0


@dataclass(frozen=True)
class Forgetting(Result):
    """What a solver forgot and learned during further training (EvoGrad, table 4).

    Attributes:
        before, after: The accuracies.
        change: The accuracy after training minus the accuracy before, −1 to 1.
        interval: The paired 95 % interval of the change, from the cluster bootstrap.
        p_value: The paired, clustered p-value for no change; see `paired_p_value`.
        forgotten: The number of problems answered correctly before and incorrectly after training;
            an integer unless there are ties.
        learned: The number of problems answered incorrectly before and correctly after training.
        signature: The signature of the data and both predictions.
    """

    before: Proportion
    after: Proportion
    change: float
    interval: tuple[float, float]
    p_value: float
    forgotten: float
    learned: float
    signature: Signature


def measure_forgetting(before: Graded, after: Graded, *, seed: int = 0) -> Forgetting:
    """Measure how much a solver forgot during further training.

    Args:
        before: The answers before training, from `grade`, to data that the solver should remember.
        after: The answers after the training, on the same data set.
        seed: The random seed of the bootstrap.

    Raises:
        DataError: The data sets differ.

    >>> from winosmith import Prediction
    >>> from winosmith.metrics import grade
    >>> from winosmith.testing import make_twins
    >>> data = make_twins(10)
    >>> knew = grade(data, [Prediction(p.id, p.answer) for p in data])
    >>> found = measure_forgetting(knew, grade(data, [Prediction(p.id, 0) for p in data]))
    >>> found.change, found.forgotten, found.learned, round(found.p_value, 3)
    (-0.5, 10, 0, 0.002)
    """
    if before.dataset.digest != after.dataset.digest:
        raise DataError("forgetting is measured on one data set, but these answers are for two")
    compared = compare({"after": after, "before": before}, seed=seed)
    pair: Pair = compared.pairs[0]
    return Forgetting(
        compared.accuracies["before"],
        compared.accuracies["after"],
        pair.difference,
        pair.interval,
        pair.p_value,
        pair.only_second,
        pair.only_first,
        compared.signature,
    )


Pairs = list[tuple[int, int]]
"""The rows of a perturbed problem and of its root."""


def _format_percent(rate: Proportion) -> str:
    return _proportion.format_rate(rate).replace(" %", "", 1)


@dataclass(frozen=True, slots=True)
class RootComparison(Result):
    """A solver's accuracy on one kind of perturbed problems, compared with their roots.

    Attributes:
        value: The value of the field that these problems share ("tense").
        accuracy: The accuracy on the perturbed problems.
        roots: The accuracy on the roots, each counted once per perturbed problem.
        difference: The accuracy on the perturbed problems minus that on the roots, −1 to 1.
        interval: The 95 % interval of the difference, from the cluster bootstrap.
        lost: The number of pairs in which only the root is answered correctly.
        won: The number of pairs in which only the perturbed problem is answered correctly.
        mcnemar: The p-value of McNemar's exact test, which treats pairs as independent.
        p_value: The p-value of the exact test that keeps blocks together (`paired_p_value`).
        adjusted: The `p_value` after Holm's correction for all values of the field.
        consistent: The fraction of pairs in which both or neither are answered correctly; with
            ties, the expected fraction under fair draws.
        kept: The fraction of correct answers if the root is answered correctly; None if no root is.
        unchanged: The number of problems that give this solver the same input as their root: only
            the pronoun changed and the solver saw the blank, or the change is before the local
            context. If the solver's input is unknown, pronouns are compared, too.
    """

    value: str = field(metadata=shown("value"))
    accuracy: Proportion = field(metadata=shown("n", _proportion.SIZE, ("right", _format_percent)))
    roots: Proportion
    difference: float = field(metadata=shown("points", points))
    interval: tuple[float, float] = field(metadata=shown("95 %", points_span))
    lost: float
    won: float
    mcnemar: float = field(metadata=shown("McNemar", probability))
    p_value: float
    adjusted: float = field(metadata=shown("Holm", probability))
    consistent: Proportion = field(metadata=shown("same", lambda rate: to_fixed(100 * rate.value)))
    kept: Proportion | None
    unchanged: int = 0


def compare_with_roots(graded: Graded, field: str, seed: int = 0) -> tuple[RootComparison, ...]:
    """Compare the accuracies on perturbed problems and on their roots for each value of a field.

    The eight kinds of perturbation of Abdou et al. (2020) are the values of `perturbed_wsc.kind`;
    the values of `origin.source` distinguish human-written from generated problems. Problems whose
    root is not in the data are omitted.

    Args:
        graded: The graded answers, from `grade`.
        field: The name of a field, as for `score`.
        seed: The random seed of the bootstrap.

    Raises:
        DataError: The field is unknown, or no perturbed problem has its root in the data.
        SameInputError: Every perturbed problem gives the solver the same input as its root.
    """
    pairs = _pair_with_roots(graded, find_columns(graded.dataset, [field])[field])
    if not pairs:
        raise DataError("no perturbed problem has its root in the data set")
    sees, local = find_solver_input(graded)
    seen = build_inputs(graded.dataset, sees or "pronoun", local)
    same = {
        value: sum(seen[row] == seen[root] for row, root in rows) for value, rows in pairs.items()
    }
    if all(same[value] == len(rows) for value, rows in pairs.items()):
        raise SameInputError(
            f"perturbed problems can't be compared with their roots by {field}: for this solver, "
            f"all {sum(same.values()):,} inputs equal those of their roots. Use a solver whose "
            "input contains the change"
        )
    found = [_compare_value_with_roots(value, graded, rows, seed) for value, rows in pairs.items()]
    return _adjust_p_values([replace(one, unchanged=same[one.value]) for one in found])


def _pair_with_roots(graded: Graded, column: Sequence[Scalar]) -> dict[str, Pairs]:
    row_of = {problem.id: row for row, problem in enumerate(graded.dataset)}
    found: dict[str, Pairs] = {}
    for row, problem in enumerate(graded.dataset):
        root = row_of.get(problem.lineage.root) if problem.lineage else None
        if root is not None and root != row:
            value = "—" if column[row] is None else str(column[row])
            found.setdefault(value, []).append((row, root))
    return found


def _compare_value_with_roots(
    value: str, graded: Graded, pairs: Pairs, seed: int
) -> RootComparison:
    rows, roots = (np.array(side) for side in zip(*pairs, strict=True))
    clusters = graded.clusters[rows]
    now, before = graded.credit[rows], graded.credit[roots]
    kept = before == 1
    tied, either = graded.tied[roots], int((graded.tied[rows] | graded.tied[roots]).sum())
    _, won, lost, _ = cross_tabulate(now, before)
    same = now * before + (1 - now) * (1 - before)
    return RootComparison(
        value,
        graded.measure_accuracy(rows),
        _proportion.proportion(before, clusters, ties=int(tied.sum())),
        lost=lost,
        won=won,
        **_test_difference(now, before, clusters, seed),
        consistent=_proportion.proportion(same, clusters, ties=either),
        kept=graded.measure_accuracy(rows[kept]) if kept.any() else None,
    )


PSI = (0.1, 0.2, 0.3, 0.5)
"""Assumed fractions of problems that only one of two models answers correctly."""


def compute_detectable_difference(n: int, psi: float, *, design: float = 1.0) -> float | None:
    """Return the smallest difference between two models that n items can detect, or None.

    A difference is detected if the exact test (`paired_p_value`; McNemar's for independent items)
    is significant at 0.05 (two-sided) with a power of 0.8. The power is exact (Duffy 1984): it is a
    sum over the number of items that only one model answers correctly, which is binomial (n, ψ).
    The number of these items that the better model answers correctly is binomial with probability
    (1 + δ/ψ) / 2. The number of items is first divided by the design effect.

    Args:
        n: The number of items.
        psi: The fraction of items that only one of the models answers correctly, 0 < ψ ≤ 1.
        design: The design effect: the variance relative to independent items, 1 or more.

    Raises:
        DataError: `psi` or `n` is out of range.

    >>> round(compute_detectable_difference(1000, 0.3), 3), compute_detectable_difference(20, 0.1)
    (0.049, None)
    """
    from scipy.optimize import brentq
    from scipy.stats import binom

    if n < 1 or not 0 < psi <= 1:
        raise DataError(f"n is {n} and psi is {psi}; use n ≥ 1 and 0 < psi ≤ 1")
    size = max(1, int(n / max(1.0, design) + 1e-9))
    low, high = binom.ppf([_TAIL, 1 - _TAIL], size, psi)
    differ = np.arange(low, high + 1)
    weights, limits = binom.pmf(differ, size, psi), binom.isf(_ALPHA / 2, differ, 0.5)

    def find_excess(difference: float) -> float:
        powers = binom.sf(limits, differ, (1 + difference / psi) / 2)
        return float(weights @ powers) - _POWER

    return float(brentq(find_excess, 0.0, psi, xtol=1e-9)) if find_excess(psi) >= 0 else None


_ALPHA, _POWER = 0.05, 0.8
_TAIL = 1e-9
"""Total probability of the tails that the power calculation omits."""


def compute_detectable_differences(dataset: Dataset) -> tuple[tuple[float, float | None], ...]:
    """Return the detectable difference for each fraction of items on which models differ.

    Duplicates are counted once, because models give the same answer to all of them. Twins and
    families are treated as independent, because only answers can reveal their dependence.

    Args:
        dataset: The problems; in an empty data set, no difference is detectable.

    Returns:
        Each fraction with its smallest detectable difference; see `compute_detectable_difference`.

    >>> from winosmith.testing import make_twins
    >>> [round(least or 1, 3) for _, least in compute_detectable_differences(make_twins(500))]
    [0.029, 0.04, 0.049, 0.064]
    """
    if not len(dataset):
        return tuple((psi, None) for psi in PSI)
    n = len(dataset)
    design = 1 + sum(len(rows) ** 2 - len(rows) for rows in copies(dataset)) / n
    return tuple((psi, compute_detectable_difference(n, psi, design=design)) for psi in PSI)


_RULE = re.compile(r"worse(?:=(\d+(?:\.\d+)?)(?:pt)?)?")


def parse_rules(rules: str) -> list[float | None]:
    """Parse rules of `find_regressions` into thresholds, 0–1; None for a plain "worse".

    Raises:
        InputError: A rule is unknown.

    >>> parse_rules("worse, worse=2pt")
    [None, 0.02]
    """
    limits = []
    for rule in filter(None, map(str.strip, rules.split(","))):
        found = _RULE.fullmatch(rule)
        if found is None:
            raise InputError(f"unknown rule {rule!r}; use worse or worse=2pt, separated by commas")
        limits.append(float(found[1]) / 100 if found[1] else None)
    return limits


def find_regressions(comparison: Comparison, rules: str) -> list[str]:
    """Return a sentence for each rule that a model breaks in a comparison with a baseline.

    Args:
        comparison: The result of `compare` with a baseline, the second solver of each pair.
        rules: Rules separated by commas: "worse" is broken if the 95 % interval of the difference
            from the baseline is below 0; "worse=2pt" if the accuracy is at least 2 points lower.

    Raises:
        InputError: A rule is unknown.
    """
    broken = []
    parsed = parse_rules(rules)
    for pair in comparison.pairs:
        names = f"{pair.first!r} is worse than {pair.second!r}"
        difference = f"{points(-abs(pair.difference))} points"
        for least in parsed:
            if least is None and pair.interval[1] < 0:
                broken.append(f"{names}: {difference} ({points_span(pair.interval)})")
            elif least is not None and pair.difference <= -least + 1e-12 and pair.difference < 0:
                broken.append(f"{names} by {100 * least:g} points or more: {difference}")
    return broken
