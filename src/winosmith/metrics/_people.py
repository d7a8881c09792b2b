"""How well people do, and how much those who answered the same items agree.

How well is asked of those who took a test, never of those who validated it: by the majority of a
few, singly, and each on perturbed problems beside the others. Agreement is Krippendorff's alpha and
Fleiss' kappa. Alpha is written here because the package that has it (krippendorff 0.9) is under the
GPL, and nltk's loops take minutes for a bootstrap; tests hold it to nltk's and to the published
examples.
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
from winosmith.metrics._graded import clusters
from winosmith.metrics._proportion import INTERVAL, SIZE, Proportion, rate
from winosmith.report import fixed
from winosmith.response import Response
from winosmith.results import Result, shown

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HumanAccuracy(Result):
    """The accuracy of the majority of subjects (WinoGrande, section 4.1: 94.1 dev, 94.0 test).

    Attributes:
        accuracy: the fraction of the problems counted on which the majority is right, 0–1.
        interval: its 95 % interval, which knows which problems go together; see `proportion`.
        right: how many problems the majority got right.
        problems: how many were counted: those with an answer and enough subjects.
        left_out: how many had a response, but an answer withheld or too few subjects.
    """

    accuracy: float
    interval: tuple[float, float]
    right: int
    problems: int
    left_out: int


def human_accuracy(
    dataset: Dataset, responses: Iterable[Response], subjects: int = 3
) -> HumanAccuracy:
    """Return the accuracy of the majority vote of fresh people.

    Only responses with the purpose "test" are counted. Votes that validated a problem can't be:
    the problem was kept because they were right, so they would give 100 % by construction. More
    than half of a problem's subjects must choose the right option; a tie is wrong.

    Args:
        dataset: the problems with their answers.
        responses: of any purpose.
        subjects: how many distinct subjects a problem needs to be counted.

    Raises:
        DataError: no problem has enough test responses, or a subject is not fresh: they validated
            that problem, wrote it, or answered it twice.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "test", choice) for who, choice in zip("xyz", (1, 1, 0))]
    >>> human_accuracy(data, said).accuracy
    1.0
    """
    asked = fresh_tests(dataset, responses)
    counted = {
        row: said
        for row, said in asked.items()
        if len(said) >= subjects and dataset[row].answer is not None
    }
    if not counted:
        raise DataError(
            f"no problem has the test responses of {subjects} people or more; votes that validated "
            "a problem can't serve, because it was kept for their being right"
        )
    right = [
        2 * sum(response.choice == dataset[row].answer for response in said) > len(said)
        for row, said in counted.items()
    ]
    return HumanAccuracy(
        sum(right) / len(counted),
        _proportion.proportion(right, clusters(dataset)[list(counted)]).interval,
        sum(right),
        len(counted),
        len(asked) - len(counted),
    )


def fresh_tests(dataset: Dataset, responses: Iterable[Response]) -> dict[int, list[Response]]:
    """Return the test responses to each row; raises DataError when a subject is not fresh."""
    asked: dict[int, list[Response]] = {}
    known: set[tuple[int, str]] = set()
    rows = {problem.id: row for row, problem in enumerate(dataset)}
    mine = [response for response in responses if response.problem_id in rows]
    for response in mine:
        if response.purpose != "test":
            known.add((rows[response.problem_id], response.participant))
    for response in mine:
        if response.purpose == "test":
            _check_fresh(response, dataset, rows[response.problem_id], known)
            asked.setdefault(rows[response.problem_id], []).append(response)
    return asked


def _check_fresh(
    response: Response, dataset: Dataset, row: int, known: set[tuple[int, str]]
) -> None:
    origin = dataset[row].origin
    who = (row, response.participant)
    wrote = origin is not None and origin.author == response.participant
    if wrote or who in known:
        what = "wrote it" if wrote else "had answered it before"
        raise DataError(
            f"{response.participant!r} can't be a subject for the problem "
            f"{response.problem_id!r}: they {what}; take the response out"
        )
    known.add(who)


@dataclass(frozen=True, slots=True)
class PersonAccuracy(Result):
    """The accuracy of single people.

    Attributes:
        accuracy: the fraction of test responses that are right; its interval knows that a person's
            answers go together, and so do the answers to a twin.
        people: how many distinct subjects there are.
        problems: how many problems they answered.
        spread: the standard deviation of the subjects' own accuracies (n − 1), 0–1; None for one.
    """

    accuracy: Proportion = field(metadata={"json": "flat"})
    people: int
    problems: int
    spread: float | None


def person_accuracy(dataset: Dataset, responses: Iterable[Response]) -> PersonAccuracy:
    """Return how well a single person does, next to `human_accuracy` by the majority of three.

    Only responses with the purpose "test" are counted, and a response without a choice is wrong.
    The majority's accuracy is higher than this; a model that answers once is fairly compared with
    a single person. The interval holds for other people and other problems, twins together; see
    `crossed_proportion`.

    Args:
        dataset: the problems with their answers.
        responses: of any purpose.

    Raises:
        DataError: no test response to a problem with an answer, or a subject is not fresh: they
            validated that problem, wrote it, or answered it twice.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> said = [Response("a", who, "test", choice) for who, choice in zip("wxyz", (1, 1, 1, 0))]
    >>> person_accuracy(data, said).accuracy.value
    0.75
    """
    found = [
        (row, response.participant, response.choice == dataset[row].answer)
        for row, said in fresh_tests(dataset, responses).items()
        for response in said
        if dataset[row].answer is not None
    ]
    if not found:
        raise DataError(
            "there is no test response; votes that validated a problem can't serve, because it was "
            "kept for their being right"
        )
    rows, people, right = zip(*found, strict=True)
    by_problem = clusters(dataset)[list(rows)]
    person = np.unique(people, return_inverse=True)[1]
    own = np.bincount(person, right) / np.bincount(person)
    return PersonAccuracy(
        _proportion.crossed_proportion(right, person, by_problem),
        len(own),
        len(set(rows)),
        float(own.std(ddof=1)) if len(own) > 1 else None,
    )


Answers = dict[int, dict[str, int | None]]
"""Row → person → the option that they chose; None for none of them."""


_DEPTH = partial(fixed, form=".2f")


@dataclass(frozen=True, slots=True)
class Annotator(Result):
    """What one person made of the problems that they were given.

    Attributes:
        participant: their pseudonym.
        accuracy: the fraction of right answers; no choice is wrong.
        errors: how many perturbed problems of a known depth they got wrong.
        mean, first: the mean depth and the least depth of these; None without errors.
        coin: the mean depth of those that they were given, which guessing would have for a mean;
            None without any.
    """

    participant: str = field(metadata=shown("person"))
    accuracy: Proportion = field(metadata=shown("answers", SIZE, ("accuracy", rate), INTERVAL))
    errors: int = field(metadata=shown("errors"))
    mean: float | None = field(metadata=shown("mean", _DEPTH))
    first: float | None = field(metadata=shown("first", _DEPTH))
    coin: float | None = field(metadata=shown("guessing", _DEPTH))


@dataclass(frozen=True)
class Annotators(Result):
    """Several people on the same problems.

    Attributes:
        people: each of them, in order of their pseudonyms.
        accuracy: the mean of their accuracies, 0–1.
        kappa: Fleiss' kappa on the problems with the most common number of answers.
        alpha: Krippendorff's alpha on all problems with two answers or more.
    """

    people: tuple[Annotator, ...]
    accuracy: float
    kappa: Reliability
    alpha: Reliability


def annotators(
    dataset: Dataset,
    responses: Iterable[Response],
    depths: Sequence[int | None] | None = None,
    seed: int = 0,
) -> Annotators:
    """Return each annotator's accuracy and error depth, and how much they agree.

    EvoGrad (2024, section 4) reports the mean accuracies of three annotators, 95.2 % and 92.8 %,
    and that they had no error depth. Everybody with an error has one; here it is computed,
    in the same way as for a solver.

    Agreement is that of the options chosen, by their place; to choose none is an answer of its own.
    Kappa needs as many answers for each problem; where their number differs, the most common one
    is taken, and the others are left to alpha.

    Args:
        dataset: the problems with their answers.
        responses: those with the purpose "test" count, and must be from fresh people.
        depths: of each problem, of the kind that is wanted (`winosmith.lineage.depths`); None for
            a root, or where it is not known. Without it nobody has an error depth.
        seed: of the bootstraps.

    Raises:
        DataError: no test response to a problem with an answer; a subject who is not fresh; or
            depths that are not one a problem.

    >>> from winosmith import Problem
    >>> data = Dataset([Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)])
    >>> found = annotators(data, [Response("a", who, "test", 1) for who in "xyz"])
    >>> found.accuracy, found.alpha.value, found.alpha.reason.partition(",")[0]
    (1.0, None, 'everybody always gave the same one answer')
    """
    far = [None] * len(dataset) if depths is None else list(depths)
    if len(far) != len(dataset):
        raise DataError(f"there are {len(far)} depths for {len(dataset)} problems; one is needed")
    answers = _answers(dataset, responses)
    if not answers:
        raise DataError(
            "there is no test response to a problem with an answer; votes that validated a problem "
            "can't serve, because it was kept for their being right"
        )
    labels = clusters(dataset)
    names = sorted({name for said in answers.values() for name in said})
    people = tuple(_annotator(name, dataset, answers, far, labels) for name in names)
    return Annotators(
        people,
        float(np.mean([person.accuracy.value for person in people])),
        *_agreement(dataset, answers, labels, seed),
    )


def _answers(dataset: Dataset, responses: Iterable[Response]) -> Answers:
    return {
        row: {response.participant: response.choice for response in said}
        for row, said in sorted(fresh_tests(dataset, responses).items())
        if dataset[row].answer is not None
    }


def _annotator(
    name: str,
    dataset: Dataset,
    answers: Answers,
    depths: Sequence[int | None],
    labels: npt.NDArray[np.int64],
) -> Annotator:
    rows = [row for row, said in answers.items() if name in said]
    right = np.array([answers[row][name] == dataset[row].answer for row in rows])
    far = [depths[row] for row in rows]
    known = np.array([depth for depth in far if depth is not None])
    wrong = ~right[[depth is not None for depth in far]]
    return Annotator(
        name,
        _proportion.proportion(right, labels[rows]),
        int(wrong.sum()),
        error_depth(known, wrong),
        error_depth(known, wrong, "first"),
        float(known.mean()) if len(known) else None,
    )


def _agreement(
    dataset: Dataset, answers: Answers, labels: npt.NDArray[np.int64], seed: int
) -> tuple[Reliability, Reliability]:
    """Return Fleiss' kappa and Krippendorff's alpha of the places that were chosen."""
    rows = list(answers)
    none = max(len(dataset[row].options) for row in rows)
    table = answer_table(
        [[none if choice is None else choice for choice in answers[row].values()] for row in rows],
        none + 1,
    )
    given = [int(number) for number in table.sum(axis=1)]
    usual = max(Counter(given).items(), key=lambda count: (count[0] > 1, count[1], count[0]))[0]
    whole = np.array(given) == usual
    of = labels[rows]
    return (
        fleiss_kappa(table[whole], clusters=of[whole], seed=seed),
        krippendorff_alpha(table, clusters=of, seed=seed),
    )


@dataclass(frozen=True, slots=True)
class Reliability(Result):
    """Agreement beyond chance, between people who answered the same items.

    Attributes:
        value: 1 where all agree, 0 for what chance gives, below 0 for less than that; None if
            it is not defined.
        interval: its 95 % interval, by drawing items (or clusters of them) again; None with
            `value`.
        reason: why it is not defined; empty if it is.
        items: how many items count: those with two answers or more.
        answers: how many answers they have.
    """

    value: float | None = field(metadata=shown("value", partial(fixed, form=".3f")))
    interval: tuple[float, float] | None = field(
        metadata=shown("95 %", lambda ends: " to ".join(fixed(end, ".3f") for end in ends))
    )
    reason: str
    items: int = field(metadata=shown("problems"))
    answers: int = field(metadata=shown("answers"))


def answer_table(answers: Iterable[Sequence[int | None]], categories: int | None = None) -> Ints:
    """Count how many people gave each answer to each item: (items, categories).

    Args:
        answers: for each item the answers it got, as numbers from 0; None is a missing one.
        categories: how many columns; by default as many as occur.

    Raises:
        DataError: an answer that is no number from 0, or one of `categories` or more.

    >>> answer_table([(0, 0, 1), (1, None, 1)]).tolist()
    [[2, 1], [0, 2]]
    """
    given = [[answer for answer in item if answer is not None] for item in answers]
    highest = max((answer for item in given for answer in item), default=0)
    columns = highest + 1 if categories is None else categories
    wrong = next((a for item in given for a in item if not 0 <= a < columns), None)
    if wrong is not None:
        raise DataError(f"the answer {wrong} is not a number from 0 to {columns - 1}")
    table = np.zeros((len(given), columns), dtype=np.int64)
    for row, item in enumerate(given):
        np.add.at(table[row], item, 1)
    return table


def krippendorff_alpha(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Krippendorff's alpha for nominal answers, with an interval by drawing items again.

    1 − D_o / D_e (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C): of all
    pairs of answers to one item, how many differ, next to how many of all pairs of answers do.

        α = 1 − (n − 1) Σ_u Σ_{c≠k} n_uc n_uk / (m_u − 1)  /  Σ_{c≠k} n_c n_k,

    where m_u answers were given to item u, n_uc of them c, and n is the number of answers to items
    with two or more. It is not defined, and says why, when there is no such item or everybody
    always gave the same one answer. The interval draws items; Krippendorff's own bootstrap draws
    pairs of answers as if they were independent, and comes out narrower. Two more clusters of the
    mean size join the urn, one that agrees throughout and one that agrees as chance would have it:
    without them, ten items on which all agree would be certain to agree everywhere.

    Args:
        table: how many people gave each answer to each item, (items, categories); missing answers
            are just not counted. `answer_table` makes it.
        clusters: the label of each item's cluster, such as its twin, drawn again as a whole;
            (items,). None when every item is one of its own.
        seed: of the bootstrap.

    Raises:
        DataError: the table is not one of counts.

    >>> found = krippendorff_alpha([[3, 0], [0, 3], [2, 0], [1, 2], [1, 0]])
    >>> round(found.value, 3), found.items, found.answers
    (0.667, 4, 11)
    >>> krippendorff_alpha([[3, 0], [2, 0]]).reason
    'everybody always gave the same one answer, so that nothing is left to chance'
    """
    counts, labels = _checked(table, clusters)
    reason = _why_undefined(counts)
    if reason:
        return _undefined(counts, reason)
    answers = counts.sum(axis=1)
    differing = (answers**2 - (counts**2).sum(axis=1)) / (answers - 1)
    pool = counts.sum(axis=0) / counts.sum()
    ends = [0.0, *pool], [1 - float(pool @ pool), *pool]
    totals = np.column_stack([answers, differing, counts])
    return _with_interval(counts, totals, labels, seed, _alpha, ends)


def _alpha(sums: Floats) -> Floats:
    """Return alpha of sums over items of (answers, the pairs that differ, answers by category)."""
    n, pairs = sums[:, 0], sums[:, 0] ** 2 - (sums[:, 2:] ** 2).sum(axis=1)
    alpha = np.full(len(sums), np.nan)
    np.divide((n - 1) * sums[:, 1], pairs, out=alpha, where=pairs > 1e-9)
    return 1 - alpha


def fleiss_kappa(
    table: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, seed: int = 0
) -> Reliability:
    """Return Fleiss' kappa (1971) with an interval by the bootstrap over items, as alpha's.

    (P − P_e) / (1 − P_e): the mean share of pairs of people who agree on an item, beside what they
    would share if all drew from the same pool of answers. For options, the category is their
    place; where it is random, P_e is about one over their number. Tests hold the value to that of
    statsmodels, which has no interval.

    It is not defined, and says why, when the items have different numbers of answers
    (`krippendorff_alpha` is, then), or when everybody always gave the same one answer.

    Args:
        table: how many people gave each answer to each item, (items, categories); items with
            fewer than two answers are omitted. `answer_table` makes it.
        clusters: the label of each item's cluster, such as its twin, drawn again as a whole;
            (items,). None when every item is one of its own.
        seed: of the bootstrap.

    Raises:
        DataError: the table is not one of counts.

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1], [1, 2]]).value, 3)
    0.333
    """
    counts, labels = _checked(table, clusters)
    reason = _why_undefined(counts)
    raters = counts.sum(axis=1)
    if not reason and raters.min() < raters.max():
        reason = (
            f"the items have {raters.min()} to {raters.max()} answers; Fleiss' kappa needs as many "
            "for each"
        )
    if reason:
        return _undefined(counts, reason)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    pool = counts.sum(axis=0) / counts.sum()
    ends = [1.0, *pool], [float(pool @ pool), *pool]
    totals = np.column_stack([np.ones(len(counts)), agreeing, counts / raters[:, None]])
    return _with_interval(counts, totals, labels, seed, _kappa, ends)


def _kappa(sums: Floats) -> Floats:
    """Return kappa of sums over items of (1, the share of agreeing pairs, the shares by answer)."""
    means = sums[:, 1:] / sums[:, :1]
    observed, expected = means[:, 0], (means[:, 1:] ** 2).sum(axis=1)
    kappa = np.full(len(sums), np.nan)
    np.divide(observed - expected, 1 - expected, out=kappa, where=expected < 1 - 1e-12)
    return kappa


def _checked(table: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[Ints, Ints]:
    """Return the counts, and the cluster of each item, of the items with two answers or more.

    Raises:
        DataError: the table is not one of counts, or the clusters are not one an item.
    """
    counts = np.asarray(table)
    whole = counts.ndim == 2 and counts.size and np.all(np.isfinite(counts))
    if not whole or np.any(counts < 0) or np.any(counts != np.round(counts)):
        raise DataError(
            "agreement is counted from a table (items, categories) of how many people gave each "
            f"answer; this one has the shape {counts.shape}, or cells that are no counts"
        )
    labels = np.arange(len(counts)) if clusters is None else np.asarray(clusters)
    if labels.shape != (len(counts),):
        raise DataError(f"there are {labels.size} clusters for {len(counts)} items; one is needed")
    several = counts.sum(axis=1) >= 2
    return counts[several].astype(np.int64), labels[several]


def _with_interval(
    counts: Ints,
    totals: Floats,
    clusters: Ints,
    seed: int,
    coefficient: Callable[[Floats], Floats],
    ends: Sequence[Sequence[float]],
) -> Reliability:
    """Return a coefficient of sums over items, and its interval by drawing clusters again.

    Args:
        counts: the table of the items that count.
        totals: what each item adds to the sums, (items, q), the first of them its size.
        clusters: the cluster of each item.
        seed: of the draws.
        coefficient: sums (draws, q) → values (draws,), NaN if they are not defined.
        ends: what full agreement and that of chance add for each of the size, (2, q − 1).
    """
    value = float(coefficient(totals.sum(axis=0)[None])[0])
    of = _proportion.cluster_totals(totals, clusters)
    prior = _proportion.pseudo_clusters(of[:, 0], [[1.0, *end] for end in ends])
    drawn = coefficient(_proportion.resample(of, seed, prior=prior))
    interval = _proportion.percentile_interval(drawn[~np.isnan(drawn)])
    return Reliability(value, interval, "", len(counts), int(counts.sum()))


def _undefined(counts: Ints, reason: str) -> Reliability:
    """Return a coefficient that is not defined, and why."""
    return Reliability(None, None, reason, len(counts), int(counts.sum()))


def _why_undefined(counts: Ints) -> str:
    """Return why no agreement beyond chance can be told from these counts; empty if it can."""
    if not len(counts):
        return "no item has two answers or more"
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return "everybody always gave the same one answer, so that nothing is left to chance"
    return ""
