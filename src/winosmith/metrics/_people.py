"""The accuracy of people, and their agreement on the same items.

Accuracy is measured on people who took a test, never on people who validated the problems. Accuracy
is measured for the majority of several people, for a single person, and for each person on
perturbed problems. Agreement is measured by Krippendorff's alpha and Fleiss' kappa. Alpha is
implemented here because the krippendorff package (0.9) is under the GPL, and a bootstrap with
nltk's loops takes minutes. Tests compare the implementation with nltk and published examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics import _proportion
from winosmith.metrics._depth import error_depth
from winosmith.metrics._graded import find_clusters, number_copies
from winosmith.metrics._proportion import INTERVAL, SIZE, Proportion, format_rate
from winosmith.report import to_fixed
from winosmith.response import Response
from winosmith.results import Result, shown
from winosmith.text import normalize_name

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HumanAccuracy(Result):
    """The accuracy of the majority of subjects (WinoGrande, section 4.1: 94.1 dev, 94.0 test).

    Attributes:
        accuracy: The fraction of counted problems that the majority answered correctly, 0–1.
        interval: The cluster-robust 95 % interval of the accuracy; see `proportion`.
        right: The number of problems that the majority answered correctly.
        problems: The number of counted problems, which have an answer and enough subjects.
        left_out: The number of problems that have responses, but too few subjects or no known
            answer.
    """

    accuracy: float
    interval: tuple[float, float]
    right: int
    problems: int
    left_out: int


def measure_human_accuracy(
    dataset: Dataset, responses: Iterable[Response], subjects: int = 3
) -> HumanAccuracy:
    """Measure the accuracy of the majority vote of people who had not seen the problems.

    Only responses with the purpose "test" are counted. Validation votes would give 100 % by
    construction, because a problem is kept only if its votes are correct. The majority is correct
    if more than half of a problem's subjects choose the correct option; a tie is incorrect.

    Args:
        dataset: The problems with their answers.
        responses: The responses, with any purpose.
        subjects: The minimum number of distinct subjects per problem.

    Raises:
        DataError: No problem has enough test responses; or a subject is not fresh, because they
            validated or wrote that problem, or answered it twice.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> given = [Response("a", who, "test", choice) for who, choice in zip("xyz", (1, 1, 0))]
    >>> measure_human_accuracy(data, given).accuracy
    1.0
    """
    tests = group_unseen_responses(dataset, responses)
    counted = {
        row: given
        for row, given in tests.items()
        if len(given) >= subjects and dataset[row].answer is not None
    }
    if not counted:
        raise DataError(
            f"no problem has test responses from {subjects} people or more. Validation votes are "
            "not used, because they determined which problems were kept"
        )
    right = [
        2 * sum(response.choice == dataset[row].answer for response in given) > len(given)
        for row, given in counted.items()
    ]
    labels = find_clusters(dataset)[list(counted)]
    copies = number_copies(dataset)[list(counted)]
    return HumanAccuracy(
        sum(right) / len(counted),
        _proportion.proportion(right, labels, copies=copies).interval,
        sum(right),
        len(counted),
        len(tests) - len(counted),
    )


def group_unseen_responses(
    dataset: Dataset, responses: Iterable[Response]
) -> dict[int, list[Response]]:
    """Group test responses by row.

    Raises a DataError if a subject wrote the problem, or answered it before.
    """
    tests: dict[int, list[Response]] = {}
    rows = {problem.id: row for row, problem in enumerate(dataset)}
    mine = [(rows[one.problem_id], one) for one in responses if one.problem_id in rows]
    seen = {(row, response.participant) for row, response in mine if response.purpose != "test"}
    for row, response in mine:
        if response.purpose != "test":
            continue
        origin, who = dataset[row].origin, (row, response.participant)
        author = (origin and origin.author) or ""
        wrote = normalize_name(author) == normalize_name(response.participant)
        if wrote or who in seen:
            what = "wrote it" if wrote else "had answered it before"
            raise DataError(
                f"{response.participant!r} can't be a subject for the problem "
                f"{response.problem_id!r}: they {what}; remove the response"
            )
        seen.add(who)
        tests.setdefault(row, []).append(response)
    return tests


@dataclass(frozen=True, slots=True)
class PersonAccuracy(Result):
    """The accuracy of a single person.

    Attributes:
        accuracy: The fraction of correct test responses. The interval accounts for the dependence
            between a person's answers, and between the answers to the halves of a twin.
        people: The number of distinct subjects.
        problems: The number of problems that the subjects answered.
        spread: The standard deviation of the subjects' accuracies (n − 1), 0–1; None if there is
            only one subject.
    """

    accuracy: Proportion = field(metadata={"json": "flat"})
    people: int
    problems: int
    spread: float | None


def measure_person_accuracy(dataset: Dataset, responses: Iterable[Response]) -> PersonAccuracy:
    """Measure the accuracy of a single person, as opposed to the majority of several.

    Only responses with the purpose "test" are counted, and a response without a choice is
    incorrect. The majority (`measure_human_accuracy`) is usually more accurate, so compare a model
    that answers once with a single person. The interval generalises to other people and other
    problems, and keeps twins together; see `crossed_proportion`.

    Args:
        dataset: The problems with their answers.
        responses: The responses, with any purpose.

    Raises:
        DataError: There is no test response to a problem with an answer, or a subject is not fresh.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> given = [Response("a", who, "test", choice) for who, choice in zip("wxyz", (1, 1, 1, 0))]
    >>> measure_person_accuracy(data, given).accuracy.value
    0.75
    """
    found = [
        (row, response.participant, response.choice == dataset[row].answer)
        for row, given in group_unseen_responses(dataset, responses).items()
        for response in given
        if dataset[row].answer is not None
    ]
    if not found:
        raise DataError(
            "there is no test response. Validation votes are not used, because they determined "
            "which problems were kept"
        )
    rows, people, right = zip(*found, strict=True)
    by_problem = find_clusters(dataset)[list(rows)]
    person = np.unique(people, return_inverse=True)[1]
    own = np.bincount(person, right) / np.bincount(person)
    accuracy = _proportion.crossed_proportion(right, person, by_problem)
    spread = float(own.std(ddof=1)) if len(own) > 1 else None
    return PersonAccuracy(accuracy, len(own), len(set(rows)), spread)


_format_depth = partial(to_fixed, form=".2f")


@dataclass(frozen=True, slots=True)
class Annotator(Result):
    """The results of one annotator.

    Attributes:
        participant: The annotator's pseudonym.
        accuracy: The fraction of correct answers; an answer without a choice is incorrect.
        errors: The number of incorrectly answered perturbed problems of known depth.
        mean, first: The mean and the minimum depth of these errors; None if there are none.
        coin: The mean depth of the perturbed problems that the annotator answered, which is the
            expected mean error depth of guessing; None if no depth is known.
    """

    participant: str = field(metadata=shown("person"))
    accuracy: Proportion = field(
        metadata=shown("answers", SIZE, ("accuracy", format_rate), INTERVAL)
    )
    errors: int = field(metadata=shown("errors"))
    mean: float | None = field(metadata=shown("mean", _format_depth))
    first: float | None = field(metadata=shown("first", _format_depth))
    coin: float | None = field(metadata=shown("guessing", _format_depth))


@dataclass(frozen=True)
class Annotators(Result):
    """The results of several annotators on the same problems.

    Attributes:
        people: The results of each annotator, sorted by pseudonym.
        accuracy: The mean of the annotators' accuracies, 0–1.
        kappa: Fleiss' kappa on the problems with the most common number of answers.
        alpha: Krippendorff's alpha on all problems with two answers or more.
    """

    people: tuple[Annotator, ...]
    accuracy: float
    kappa: Reliability
    alpha: Reliability


def measure_annotators(
    dataset: Dataset,
    responses: Iterable[Response],
    depths: Sequence[int | None] | None = None,
    seed: int = 0,
) -> Annotators:
    """Measure each annotator's accuracy and error depth, and the agreement between annotators.

    EvoGrad (2024, section 4) reports mean accuracies of three annotators (95.2 % and 92.8 %), but
    no error depth. For annotators with errors, the error depth is computed as for a solver.

    Annotators agree if they choose the same option by position; making no choice is a separate
    category. Kappa needs the same number of answers for each problem. If these numbers differ,
    kappa uses only the problems with the most common number, while alpha uses all problems.

    Args:
        dataset: The problems with their answers.
        responses: The responses. Only those with the purpose "test" are used; their participants
            must not have seen the problem before.
        depths: The depth of each problem (one kind of `winosmith.lineage.depths`); None for a root
            or an unknown depth. If `depths` is omitted, error depths are None.
        seed: The random seed of the bootstraps.

    Raises:
        DataError: There is no test response to a problem with an answer, a subject is not fresh, or
            there is not one depth per problem.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> found = measure_annotators(data, [Response("a", who, "test", 1) for who in "xyz"])
    >>> found.accuracy, found.alpha.value, found.alpha.reason.partition(",")[0]
    (1.0, None, 'all answers are the same')
    """
    far = [None] * len(dataset) if depths is None else list(depths)
    if len(far) != len(dataset):
        raise DataError(
            f"there are {len(far)} depths for {len(dataset)} problems; give one per problem"
        )
    answers = {
        row: {response.participant: response.choice for response in given}
        for row, given in sorted(group_unseen_responses(dataset, responses).items())
        if dataset[row].answer is not None
    }
    if not answers:
        raise DataError(
            "no test response is for a problem that has an answer. Validation votes are not used, "
            "because they determined which problems were kept"
        )
    labels, copies = find_clusters(dataset), number_copies(dataset)
    people = []
    for name in sorted({name for given in answers.values() for name in given}):
        rows = [row for row, given in answers.items() if name in given]
        right = np.array([answers[row][name] == dataset[row].answer for row in rows])
        known = np.array([far[row] for row in rows if far[row] is not None])
        wrong = ~right[[far[row] is not None for row in rows]]
        accuracy = _proportion.proportion(right, labels[rows], copies=copies[rows])
        mean, first = error_depth(known, wrong), error_depth(known, wrong, "first")
        coin = float(known.mean()) if len(known) else None
        people.append(Annotator(name, accuracy, int(wrong.sum()), mean, first, coin))
    average = float(np.mean([person.accuracy.value for person in people]))
    rows = list(answers)
    none = max(len(dataset[row].options) for row in rows)
    said = [[none if choice is None else choice for choice in answers[r].values()] for r in rows]
    table = count_answers(said, none + 1)
    given = [int(number) for number in table.sum(axis=1)]
    usual = max(Counter(given).items(), key=lambda count: (count[0] > 1, count[1], count[0]))[0]
    whole, of = np.array(given) == usual, labels[rows]
    kappa = fleiss_kappa(table[whole], clusters=of[whole], seed=seed)
    alpha = krippendorff_alpha(table, clusters=of, seed=seed)
    return Annotators(tuple(people), average, kappa, alpha)


@dataclass(frozen=True, slots=True)
class Reliability(Result):
    """A coefficient of agreement beyond chance between people who answered the same items.

    Attributes:
        value: The coefficient: 1 for full agreement, 0 for chance agreement, negative for less than
            that; None if undefined.
        interval: The 95 % interval from resampling items or clusters of items; None if undefined.
        reason: Why the coefficient is undefined; an empty string if it is defined.
        items: The number of items with at least two answers; only these items are used.
        answers: The number of answers to these items.
    """

    value: float | None = field(metadata=shown("value", partial(to_fixed, form=".3f")))
    interval: tuple[float, float] | None = field(
        metadata=shown("95 %", lambda ends: " to ".join(to_fixed(end, ".3f") for end in ends))
    )
    reason: str
    items: int = field(metadata=shown("problems"))
    answers: int = field(metadata=shown("answers"))


def count_answers(answers: Iterable[Sequence[int | None]], categories: int | None = None) -> Ints:
    """Count the people who gave each answer; return an (items, categories) table.

    Args:
        answers: The answers to each item, as numbers from 0; None is a missing answer.
        categories: The number of columns; by default the highest answer plus 1.

    Raises:
        DataError: An answer is not an integer from 0 to `categories` − 1.

    >>> count_answers([(0, 0, 1), (1, None, 1)]).tolist()
    [[2, 1], [0, 2]]
    """
    given = [[answer for answer in item if answer is not None] for item in answers]
    highest = max((answer for item in given for answer in item), default=0)
    columns = highest + 1 if categories is None else categories
    wrong = next((a for item in given for a in item if not 0 <= a < columns), None)
    if wrong is not None:
        raise DataError(f"the answer {wrong} is out of range; use 0 to {columns - 1}")
    table = np.zeros((len(given), columns), dtype=np.int64)
    for row, item in enumerate(given):
        np.add.at(table[row], item, 1)
    return table


def krippendorff_alpha(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Krippendorff's alpha for nominal answers, with an interval by resampling items.

    Alpha is 1 − D_o / D_e. D_o is the fraction of differing pairs among answers to the same item,
    and D_e the fraction among all answers. See Krippendorff (2011), "Computing Krippendorff's
    Alpha-Reliability", part C.

        α = 1 − (n − 1) Σ_u Σ_{c≠k} n_uc n_uk / (m_u − 1)  /  Σ_{c≠k} n_c n_k

    Here m_u is the number of answers to item u, n_uc the number of answers c among them, n_c the
    number of answers c to all items, and n the number of all answers. Items with fewer than two
    answers are not counted. Alpha is undefined, with a reason, if no items are counted or everybody
    always gave the same answer. The interval comes from resampling items. The interval of
    Krippendorff's own bootstrap is narrower, because it resamples pairs of answers as if they were
    independent. Two pseudo-clusters of the mean size are added, one with full and one with chance
    agreement; in both, the answers that occur are equally frequent. Without them, ten unanimous
    items would give a zero-width interval, and rare answers one that is too narrow.

    Args:
        table: The (items, categories) number of people who gave each answer to each item, from
            `count_answers`; missing answers are not counted.
        clusters: Shape (items,). The label of each item's cluster, such as its twin, which is
            resampled as a whole; None if every item is its own cluster.
        seed: The random seed of the bootstrap.

    Raises:
        DataError: The table does not contain counts.

    >>> found = krippendorff_alpha([[3, 0], [0, 3], [2, 0], [1, 2], [1, 0]])
    >>> round(found.value, 3), found.items, found.answers
    (0.667, 4, 11)
    >>> krippendorff_alpha([[3, 0], [2, 0]]).reason
    'all answers are the same, so agreement beyond chance is undefined'
    """
    counts, labels, reason = _check_table(table, clusters)
    if reason:
        return Reliability(None, None, reason, len(counts), int(counts.sum()))
    answers = counts.sum(axis=1)
    differing = (answers**2 - (counts**2).sum(axis=1)) / (answers - 1)
    totals = np.column_stack([answers, differing, counts])
    return _make_reliability(counts, totals, labels, seed, _compute_alpha, lambda same: 1 - same)


def _compute_alpha(sums: Floats) -> Floats:
    """Compute alpha from sums over items of answers, differing pairs, and answers per category."""
    n, pairs = sums[:, 0], sums[:, 0] ** 2 - (sums[:, 2:] ** 2).sum(axis=1)
    alpha = np.full(len(sums), np.nan)
    np.divide((n - 1) * sums[:, 1], pairs, out=alpha, where=pairs > 1e-9)
    return 1 - alpha


def fleiss_kappa(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Fleiss' kappa (1971), with an interval by resampling items.

    Kappa is (P − P_e) / (1 − P_e). P is the mean fraction of pairs of people who agree on an item,
    and P_e the fraction expected if everybody drew from the same pool of answers. For options, the
    category is the position; if positions are random, P_e is about 1 / (number of options). Tests
    compare the value with statsmodels, which computes no interval.

    Kappa is undefined, with a reason, if the items have different numbers of answers (unlike
    `krippendorff_alpha`), or if everybody always gave the same answer.

    The arguments and errors are those of `krippendorff_alpha`.

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1], [1, 2]]).value, 3)
    0.333
    """
    counts, labels, reason = _check_table(table, clusters)
    raters = counts.sum(axis=1)
    if not reason and raters.min() < raters.max():
        reason = (
            f"the items have {raters.min()} to {raters.max()} answers; Fleiss' kappa needs "
            "the same number for each"
        )
    if reason:
        return Reliability(None, None, reason, len(counts), int(counts.sum()))
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    totals = np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])
    return _make_reliability(counts, totals, labels, seed, _compute_kappa, lambda same: same)


def _compute_kappa(sums: Floats) -> Floats:
    """Compute kappa from sums whose columns are items, agreeing pairs and fractions per answer."""
    means = sums[:, 1:] / sums[:, :1]
    observed, expected = means[:, 0], (means[:, 1:] ** 2).sum(axis=1)
    kappa = np.full(len(sums), np.nan)
    np.divide(observed - expected, 1 - expected, out=kappa, where=expected < 1 - 1e-12)
    return kappa


def _check_table(table: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Ints, Ints, str]:
    """Return the counts and clusters of items with two or more answers, and a reason.

    The reason states why the coefficient is undefined; it is empty if the coefficient is defined.
    """
    counts = np.asarray(table)
    whole = counts.ndim == 2 and counts.size and np.all(np.isfinite(counts))
    if not whole or np.any(counts < 0) or np.any(counts != np.round(counts)):
        is_table = counts.ndim == 2 and counts.size
        fault = "cells that are not counts" if is_table else f"the shape {counts.shape}"
        raise DataError(
            "agreement needs an (items, categories) table of the number of people who gave each "
            f"answer; this one has {fault}"
        )
    labels = np.arange(len(counts)) if clusters is None else np.asarray(clusters)
    if labels.shape != (len(counts),):
        raise DataError(
            f"there are {labels.size} clusters for {len(counts)} items; give one per item"
        )
    several = counts.sum(axis=1) >= 2
    counts, reason = counts[several].astype(np.int64), ""
    if not len(counts):
        reason = "no item has two answers or more"
    elif np.count_nonzero(counts.sum(axis=0)) < 2:
        reason = "all answers are the same, so agreement beyond chance is undefined"
    return counts, labels[several], reason


def _make_reliability(
    counts: Ints,
    totals: Floats,
    clusters: Ints,
    seed: int,
    coefficient: Callable[[Floats], Floats],
    convert: Callable[[float], float],
) -> Reliability:
    """Compute a coefficient from sums over items, with an interval from resampling clusters.

    `totals` are the items' contributions to the sums, (items, q), with the size in column 1.
    `coefficient` converts (draws, q) sums to (draws,) values, which are NaN if undefined.
    `convert` converts a fraction of agreeing pairs to the contribution in column 2.
    """
    value = float(coefficient(totals.sum(axis=0)[None])[0])
    of = _proportion.sum_by_cluster(totals, clusters)
    pools = np.eye(counts.shape[1])[counts.any(axis=0)]  # each answer by itself
    number = len(pools)
    full = [[1.0, convert(1.0), *pool] for pool in pools]
    chance = [1.0, convert(1 / number), *pools.mean(axis=0)]
    weights = [*[1 / number] * number, 1.0]
    prior = _proportion.make_pseudo_clusters(of[:, 0], [*full, chance], weights)
    drawn = coefficient(_proportion.resample(of, seed, prior=prior))
    known = drawn[~np.isnan(drawn)]
    interval = _proportion.compute_percentile_interval(known)
    if len(of) == 1:  # all draws with full agreement have only one answer, and are undefined
        interval = interval[0], 1.0
    return Reliability(value, interval, "", len(counts), int(counts.sum()))
