"""Compare solvers with each other, before and after training, and on problems and their roots."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from winosmith import formats, report
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, SameInputError
from winosmith.metrics import _proportion
from winosmith.metrics._graded import Graded, find_solver_input, get_checked_columns, grade_models
from winosmith.metrics._paired import compute_difference_interval, correct_by_holm, paired_p_value
from winosmith.metrics._proportion import Floats, Proportion
from winosmith.prediction import Prediction
from winosmith.results import Result, computed, shown
from winosmith.seen import build_inputs

Tested = TypeVar("Tested", "Pair", "RootComparison")

COUNT_FORMAT = ",.7g"
"""Format of a count, which is fractional if there are ties (57.5)."""


@dataclass(frozen=True, slots=True)
class Pair(Result):
    """A pair of solvers, compared on the same problems.

    Attributes:
        first, second: The names of the solvers.
        both, only_first, only_second, neither: The numbers of problems answered correctly by both
            solvers, by only one of them or by neither; with ties, the numbers expected under fair
            draws.
        difference: The first solver's accuracy minus the second's, −1 to 1.
        interval: The 95 % interval of the difference, from the cluster bootstrap.
        mcnemar: The p-value of McNemar's exact test, which treats problems as independent. This
            p-value is commonly reported, but it is too small if the answers to twins are
            correlated. If there are ties, a permutation test is used instead; see `paired_p_value`.
        p_value: The p-value of the exact test that keeps clusters together; see `paired_p_value`.
        adjusted: The `p_value` after Holm's correction for all pairs that were compared.
        agreement: The agreement between the choices of the two solvers.
    """

    first: str = field(metadata=shown("1st solver"))
    second: str = field(metadata=shown("2nd solver"))
    both: float = field(metadata=shown("both correct", COUNT_FORMAT))
    only_first: float = field(metadata=shown("1st", COUNT_FORMAT))
    only_second: float = field(metadata=shown("2nd", COUNT_FORMAT))
    neither: float = field(metadata=shown("both incorrect", COUNT_FORMAT))
    difference: float = field(metadata=shown("points", report.points))
    interval: tuple[float, float] = field(metadata=shown("95 %", report.points_span))
    mcnemar: float = field(metadata=shown("McNemar", report.probability))
    p_value: float = field(metadata=shown("p", report.probability))
    adjusted: float = field(metadata=shown("Holm", report.probability))
    agreement: Agreement


@dataclass(frozen=True)
class Comparison(Result):
    """The comparison of two or more solvers on the same problems.

    Attributes:
        accuracies: The accuracy of each solver by name.
        pairs: Each pair of solvers, or each solver with the baseline.
        against_scores: For each solver with any, the number of choices that lack the best score.
        invalid: The number of answers that match no option, for each solver that has any.
        missing: The number of problems that are not compared, because this or (with
            `compare --partial`) another solver has no prediction; for each solver that has any.
        signature: The signature of the data and the predictions.
    """

    accuracies: Mapping[str, Proportion]
    pairs: tuple[Pair, ...] = field(metadata={"rows": True})
    against_scores: Mapping[str, int]
    invalid: Mapping[str, int]
    missing: Mapping[str, int]
    signature: report.Signature

    def sentences(self) -> list[str]:
        """Return sentences with each difference, its interval and p-value, and the conditions."""
        scores = [f"{name} {own}" for name, own in self.accuracies.items()]
        return [
            f"Accuracy in percent, with its 95 % interval: {'; '.join(scores)}.",
            *(
                f"{pair.first} − {pair.second}: {report.points(pair.difference)} points (95 % "
                f"interval {report.points_span(pair.interval)}; {report.p_value(pair.p_value)}, "
                f"{report.p_value(pair.adjusted)} after Holm's correction)."
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
    found = []
    for a, b in pairs:
        one, two = solvers[a], solvers[b]
        counts = cross_tabulate(one.credit, two.credit)
        tests = _test_difference(one.credit, two.credit, one.clusters, seed)
        found.append(Pair(a, b, *counts, **tests, agreement=measure_agreement(one, two, seed)))
    digests = "+".join(graded.digest[:6] for graded in solvers.values())
    return Comparison(
        {n: graded.measure_accuracy(clusters=first.clusters) for n, graded in solvers.items()},
        _adjust_p_values(found),
        {name: n for name, graded in solvers.items() if (n := graded.score_conflict_count)},
        {name: n for name, graded in solvers.items() if (n := graded.invalid_count)},
        {name: graded.missing for name, graded in solvers.items() if graded.missing},
        report.signature_of(first.dataset, seed, predictions=digests, draws=_proportion.DRAWS),
    )


def _test_difference(
    first: Floats, second: Floats, clusters: npt.NDArray[np.int64], seed: int
) -> dict[str, Any]:
    """Return the fields that `Pair` and `RootComparison` share: the difference and its tests."""
    p_value = paired_p_value(first, second, clusters)
    return {
        "difference": float((first - second).sum()) / len(first),
        "interval": compute_difference_interval(first, second, clusters, seed),
        "mcnemar": paired_p_value(first, second, np.arange(len(first))),
        "p_value": p_value,
        "adjusted": p_value,
    }


def cross_tabulate(first: Floats, second: Floats) -> tuple[float, float, float, float]:
    """Count the problems that both, only the first, only the second or neither answered correctly.

    >>> cross_tabulate(np.array([1, 1, 0, 0.5]), np.array([1, 0, 0, 0.5]))
    (1.25, 1.25, 0.25, 1.25)
    """
    both, only, other = first * second, first * (1 - second), (1 - first) * second
    neither = (1 - first) * (1 - second)
    counts = [_proportion.round_count(float(part.sum())) for part in (both, only, other, neither)]
    return counts[0], counts[1], counts[2], counts[3]


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
            chance. Cohen's (1960) kappa uses the frequency of each position, which is meaningful
            only if the order of the options matters.
        kappa_interval: The 95 % interval of kappa, from the cluster bootstrap with two
            pseudo-clusters, one with full agreement and one without any agreement.
        same_wrong: The number of problems for which both sets choose the same incorrect option.
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
    @computed(**shown("same", report.percent, json=False))
    def share(self) -> float:
        """The fraction of problems with the same choice, 0–1."""
        return self.equal / self.n


def measure_agreement(first: Graded, second: Graded, seed: int = 0) -> Agreement:
    """Measure the agreement of two solvers on the same problems.

    A kappa near 0 means no agreement beyond chance. Two accurate solvers agree with each other
    because both are often correct. `seed` is the random seed of the bootstrap.

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
        _proportion.compute_percentile_interval(drawn[:, 0] / drawn[:, 1]),
        _proportion.round_count(float((same - first.credit * second.credit).sum())),
    )


def compute_agreement_probability(first: Prediction, second: Prediction) -> float:
    """Return the probability, 0–1, that two predictions choose the same option.

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
        forgotten: The number of problems answered correctly before and incorrectly after training.
            This is an integer unless there are ties.
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
    signature: report.Signature


def measure_forgetting(before: Graded, after: Graded, *, seed: int = 0) -> Forgetting:
    """Measure how much a solver forgot during further training.

    Args:
        before: The answers before training, from `grade`, on data that the solver should remember.
        after: The answers after training, on the same data set.
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


@dataclass(frozen=True, slots=True)
class RootComparison(Result):
    """A solver's accuracy on one kind of perturbed problems, compared with their roots.

    Attributes:
        value: The value that these problems have in the field ("tense").
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
        kept: The accuracy on the problems whose root is answered correctly; None if there are none.
        unchanged: The number of problems that give this solver the same input as their root,
            because only the pronoun changed and the solver saw the blank, or because the change is
            before the local context. If the solver's input is unknown, pronouns are compared, too.
    """

    value: str = field(metadata=shown("value"))
    accuracy: Proportion = field(
        metadata=shown(
            "n",
            _proportion.SIZE,
            ("correct", lambda rate: _proportion.format_rate(rate).replace(" %", "", 1)),
        )
    )
    roots: Proportion
    difference: float = field(metadata=shown("points", report.points))
    interval: tuple[float, float] = field(metadata=shown("95 %", report.points_span))
    lost: float
    won: float
    mcnemar: float = field(metadata=shown("McNemar", report.probability))
    p_value: float
    adjusted: float = field(metadata=shown("Holm", report.probability))
    consistent: Proportion = field(
        metadata=shown("same", lambda rate: report.to_fixed(100 * rate.value))
    )
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
    column = get_checked_columns(graded.dataset, [field])[field]
    row_of = {problem.id: row for row, problem in enumerate(graded.dataset)}
    pairs: dict[str, list[tuple[int, int]]] = {}  # the rows of perturbed problems and their roots
    for row, problem in enumerate(graded.dataset):
        root = row_of.get(problem.lineage.root) if problem.lineage else None
        if root is not None and root != row:
            value = "—" if column[row] is None else str(column[row])
            pairs.setdefault(value, []).append((row, root))
    if not pairs:
        raise DataError("no perturbed problem has its root in the data set")
    sees, local = find_solver_input(graded)
    seen = build_inputs(graded.dataset, sees or "pronoun", local)
    same = {value: sum(seen[row] == seen[root] for row, root in of) for value, of in pairs.items()}
    if all(same[value] == len(of) for value, of in pairs.items()):
        raise SameInputError(
            f"perturbed problems can't be compared with their roots by {field}: for this solver, "
            f"all {sum(same.values()):,} inputs equal those of their roots. Use a solver whose "
            "input contains the change"
        )
    found = []
    for value, of in pairs.items():
        rows, roots = np.array(of).T
        clusters, tied = graded.clusters[rows], graded.tied[roots]
        now, before = graded.credit[rows], graded.credit[roots]
        kept = before == 1
        either = int((graded.tied[rows] | tied).sum())
        _, won, lost, _ = cross_tabulate(now, before)
        both_or_neither = now * before + (1 - now) * (1 - before)
        found.append(
            RootComparison(
                value,
                graded.measure_accuracy(rows),
                _proportion.proportion(
                    before, clusters, copies=graded.copies[rows], ties=int(tied.sum())
                ),
                lost=lost,
                won=won,
                **_test_difference(now, before, clusters, seed),
                consistent=_proportion.proportion(
                    both_or_neither, clusters, copies=graded.copies[rows], ties=either
                ),
                kept=graded.measure_accuracy(rows[kept]) if kept.any() else None,
                unchanged=same[value],
            )
        )
    return _adjust_p_values(found)


_RULE = re.compile(r"worse(?:=(\d+(?:\.\d+)?)(?:pt)?)?")


def parse_rules(rules: str) -> list[float | None]:
    """Parse the rules of `find_regressions` into thresholds, 0–1, or None for a plain "worse".

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
            from the baseline is below 0; "worse=2pt" is broken if the accuracy is at least 2 points
            lower.

    Raises:
        InputError: A rule is unknown.
    """
    broken = []
    parsed = parse_rules(rules)
    for pair in comparison.pairs:
        names = f"{pair.first!r} is worse than {pair.second!r}"
        difference = f"{report.points(-abs(pair.difference))} points"
        for least in parsed:
            if least is None and pair.interval[1] < 0:
                broken.append(f"{names}: {difference} ({report.points_span(pair.interval)})")
            elif least is not None and pair.difference <= -least + 1e-12 and pair.difference < 0:
                broken.append(f"{names} by {100 * least:g} points or more: {difference}")
    return broken
