"""Predictions with the answers, clusters and groups of problems, and checks of comparability."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import formats
from winosmith.answers import Answers, read as read_answers
from winosmith.blocks import blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, OtherDataError
from winosmith.metrics._proportion import Proportion, proportion
from winosmith.prediction import Prediction, align, first_ids
from winosmith.problem import Origin, Problem, Scalar
from winosmith.records import canonical
from winosmith.results import HIDDEN, Result
from winosmith.seen import Input, Sees, inputs

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def clusters(dataset: Dataset) -> Labels:
    """Return the (n,) number, from 0, of each problem's cluster.

    A cluster is a block (`winosmith.blocks`): the halves of a twin, a family of perturbed
    problems, copies of one sentence. Answers to its problems depend on each other, so they are
    never counted as independent.

    >>> from winosmith.testing import made_twins
    >>> clusters(made_twins(2, singles=1)).tolist()
    [0, 0, 1, 1, 2]
    """
    labels = np.zeros(len(dataset), dtype=np.int64)
    for number, rows in enumerate(blocks(dataset)):
        labels[rows] = number
    return labels


@dataclass(frozen=True)
class Graded(Result):
    """A solver's answers, with the correct ones.

    A tie has the credit 1 / (tied options) if the correct option is among them, and 0 otherwise. So
    every count and fraction is the expectation under fair draws.

    Attributes:
        dataset: The problems, all with their answers.
        predictions: One prediction per problem, in the order of the problems.
        known_clusters: The result of `clusters`, if known.
        parameters: The solver's parameters according to its file; `sees` is its input.
        missing: The number of problems that the solver was not asked, which are not in `dataset`.
    """

    dataset: Dataset = field(metadata={"key": "data", "json": lambda data: data.digest})
    predictions: tuple[Prediction, ...] = field(metadata={"rows": True})
    known_clusters: Labels | None = field(default=None, metadata=HIDDEN)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    missing: int = 0

    @property
    def invalid(self) -> int:
        """The number of answers that match no option; they are incorrect."""
        return sum(prediction.choice is None for prediction in self.predictions)

    @cached_property
    def credit(self) -> Floats:
        """The (n,) credit of each answer, 0–1.

        It is 1 or 0 for an answer without a tie; see `Prediction.credit`.
        """
        return np.array(
            [
                prediction.credit(problem.answer)
                for problem, prediction in zip(self.dataset, self.predictions, strict=True)
            ]
        )

    @cached_property
    def tied(self) -> Bools:
        """The (n,) mask of answers that are ties."""
        return np.array([len(prediction.chosen) > 1 for prediction in self.predictions], np.bool_)

    @property
    def ties(self) -> int:
        """The number of ties."""
        return int(self.tied.sum())

    @cached_property
    def against_scores(self) -> int:
        """The number of answers that don't choose their best score; the choice counts."""
        return sum(prediction.against_scores for prediction in self.predictions)

    @cached_property
    def clusters(self) -> Labels:
        """The (n,) number of each problem's cluster; see `clusters`."""
        return clusters(self.dataset) if self.known_clusters is None else self.known_clusters

    def measure_accuracy(
        self, rows: npt.ArrayLike | None = None, chance: float | None = None
    ) -> Proportion:
        """Return the accuracy on some or all rows, with an interval that is robust to clusters.

        Args:
            rows: Row numbers or a mask.
            chance: The accuracy of guessing, stored with the result.
        """
        some = slice(None) if rows is None else np.asarray(rows)
        ties = int(self.tied[some].sum())
        return proportion(self.credit[some], self.clusters[some], chance=chance, ties=ties)

    @property
    def scored(self) -> bool:
        """Whether every prediction has scores."""
        return all(prediction.scores for prediction in self.predictions)

    @cached_property
    def digest(self) -> str:
        """A SHA-256 of every choice and score in order, as 64 hexadecimal digits.

        Scores are rounded to nine digits, so that it does not depend on the machine's rounding.
        """
        state = hashlib.sha256()
        for prediction in self.predictions:
            scores = [f"{score:.9g}" for score in prediction.scores]
            tied = [list(prediction.tied)] if prediction.tied else []
            record = [prediction.problem_id, prediction.choice, scores, *tied]
            state.update(canonical({"prediction": record}).encode("utf-8", "surrogatepass"))
        return state.hexdigest()


def grade(
    dataset: Dataset,
    predictions: Sequence[Prediction],
    known_clusters: Labels | None = None,
    parameters: Mapping[str, Any] | None = None,
    missing: int = 0,
) -> Graded:
    """Match predictions with the answers of the problems by their ids.

    Args:
        dataset: The problems with their answers.
        predictions: One prediction per problem, in any order.
        known_clusters: The result of `clusters`, to share it between solvers.
        parameters: The solver's parameters; without `sees`, it is unknown whether the solver saw
            the pronouns.
        missing: The number of further problems that the solver was not asked.

    Raises:
        DataError: An answer is withheld; a problem has no prediction, or two; a prediction has no
            problem (with their number and the first three ids) or does not fit its options.

    >>> from winosmith.testing import made_twins
    >>> data = made_twins(2)
    >>> grade(data, [Prediction(problem.id, 0) for problem in data]).credit.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    withheld = [problem.id for problem in dataset if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answers of {len(withheld):,} of {len(dataset):,} problems are withheld "
            f"({first_ids(withheld)}); scoring needs all answers"
        )
    if not len(dataset):
        raise DataError("there are no problems to score")
    aligned = align(predictions, dataset)
    return Graded(dataset, aligned, known_clusters, parameters or {}, missing)


def grade_models(
    given: Any, data: Dataset | formats.Readable | None = None, *, partial: bool | None = False
) -> dict[str, Graded]:
    """Return the graded answers of each model, by its name.

    Args:
        given: the answers: any input (a path, a table …) or the result of `answers.read`; or graded
            answers, which are returned unchanged.
        data: the problems with their answers: a data set or any input of `formats.read`; None if
            the answers are graded.
        partial: whether to allow problems without a prediction, and predictions without a problem,
            with a warning. None is like False, but the error does not mention this argument.

    Raises:
        DataError: predictions don't fit the data set.
        InputError: the problems are missing.
    """
    models = given if isinstance(given, Mapping) else {getattr(given, "solver", ""): given}
    if models and all(isinstance(own, Graded) for own in models.values()):
        return dict(models)
    if data is None:
        raise InputError("the problems are missing; give them as the second argument")
    dataset = formats.dataset_of(data)
    if not all(isinstance(own, Answers) for own in models.values()):
        models = read_answers(given, dataset)
    found: dict[str, Graded] = {}
    shared, known = None if partial else clusters(dataset), {*dataset.ids}
    for name, own in models.items():
        try:
            asked, fitting = own.shared(dataset) if partial else (dataset, own.of(dataset))
        except OtherDataError as error:
            if partial is None or not error.common:
                raise
            raise DataError(f"{error} (`partial=True` measures the problems of both)") from None
        missing = len(dataset) - len(asked)
        unknown = sum(one not in known for one in own.by_id)
        notes = [
            f"{missing:,} of {len(dataset):,} problems have no prediction and are omitted; "
            f"{unknown:,} predictions have no problem"
        ] * bool(missing or unknown)
        if own.data not in (None, asked.blind().digest) and not partial:
            notes.append("the answers are for data with another digest: the ids fit, but sentences "
                         "may differ")  # fmt: skip
        for note in notes:
            warnings.warn(f"{name}: {note}", formats.ReadingNote, stacklevel=3)
        found[name] = grade(asked, fitting.predictions, shared, own.parameters, missing)
    return found


def iterate_columns(dataset: Dataset) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield the name and the values of each field, None if a problem lacks it.

    The fields are the row number, the ids, the pronoun, the known parts of origin and lineage, and
    every key of `extra`; fields with the same value in all problems are omitted.
    """
    yield "row number", list(range(1, len(dataset) + 1))
    for name, get in _FIELDS.items():
        column = [get(problem) for problem in dataset]
        if len(set(column)) > 1:
            yield name, column
    for key in sorted({key for problem in dataset for key in problem.extra}):
        column = [problem.extra.get(key) for problem in dataset]
        if len(set(column)) > 1:
            yield key, column


def find_columns(dataset: Dataset, wanted: Iterable[str]) -> dict[str, list[Scalar]]:
    """Return the values of each wanted field by name; raises DataError if one is unknown."""
    known = dict(iterate_columns(dataset))
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None:
        raise DataError(
            f"no field {unknown!r} differs between problems; the data set has {', '.join(known)}"
        )
    return known


def _get_from(part: str, name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(getattr(problem, part), name, None)


_FIELDS: dict[str, Callable[[Problem], Scalar]] = {
    "id": lambda problem: problem.id,
    "twin_id": lambda problem: problem.twin_id,
    "pronoun": lambda problem: problem.pronoun,
    **{f"origin.{field.name}": _get_from("origin", field.name) for field in fields(Origin)},
    **{f"lineage.{name}": _get_from("lineage", name) for name in ("root", "parent", "declared")},
    "embargo": lambda problem: problem.embargo,
}


SCORE_TOLERANCE = 1e-4
"""Scores that differ by less are equal, because batches may change the scores of one input by
this."""

NOTE_FRACTION = 0.5
"""The fraction of equal inputs of two groups from which a note reports their number."""


@dataclass(frozen=True, slots=True)
class Comparability:
    """Whether a comparison of groups is about the solver.

    Attributes:
        refused: Why the comparison is refused: two groups have the same input, so that a difference
            between them is not a property of the solver; None otherwise.
        note: A note for readers, or None.
    """

    refused: str | None = None
    note: str | None = None


def check_comparable(graded: Graded, field: str, column: Sequence[Scalar]) -> Comparability:
    """Return whether the values of a field can be compared for a solver.

    Two groups are the same input if the solver was given the same sentences and options in both,
    such as the female and male sentences of Winogender for a solver that sees the blank in place of
    the pronoun. If a file does not state the solver's input, equal predictions for all versions
    that differ only in the pronoun are refused as well; otherwise a note says that the input is
    unknown.

    Args:
        graded: The graded answers, from `grade`; its parameters may state what the solver `sees`.
        field: The name of the field, for messages.
        column: The field's value for each problem; None for a problem of no group.
    """
    sees, local = find_solver_input(graded)
    for one, other, shared, size in _find_overlaps(
        inputs(graded.dataset, "pronoun", local), column
    ):
        if shared == size:
            return Comparability(_explain_refusal(field, (one, other), size, _SAME_PROBLEMS))
    if sees == "pronoun":
        return Comparability()
    blank = inputs(graded.dataset, "blank", local)
    notes: list[str] = []
    for one, other, shared, size in _find_overlaps(blank, column):
        if shared < NOTE_FRACTION * size:
            continue
        same = f"{shared:,} of {size:,} inputs of {str(one)!r} and {str(other)!r} are the same"
        if sees == "blank":
            if shared == size:
                return Comparability(_explain_refusal(field, (one, other), size, _PRONOUN_UNSEEN))
            notes.append(f"{same}, as the solver saw the blank in the pronoun's place")
            continue
        equal, of = _count_equal_answers(graded, blank, [value in (one, other) for value in column])
        if shared == size and equal == of:
            return Comparability(_explain_refusal(field, (one, other), size, _ANSWERS_UNCHANGED))
        notes.append(
            f"{same} if the solver did not see the pronoun, which its file does not state "
            f"({equal:,} of {of:,} got the same answer with every pronoun)"
        )
    return Comparability(note="; ".join(notes) or None)


def find_solver_input(graded: Graded) -> tuple[Sees | None, int | None]:
    """Return the solver's input, or None if unknown, and the number of words before the blank."""
    run = graded.parameters
    sees, local = run.get("sees"), run.get("local_context", run.get("local"))
    return sees if sees in ("blank", "pronoun") else None, local if type(local) is int else None


_ADVICE = (
    "let it see the pronoun (`winosmith solve --sees pronoun`); train an encoder to see it with "
    "`winosmith train --sees pronoun`"
)
_SAME_PROBLEMS = "they are the same problems", "compare groups whose problems differ"
_PRONOUN_UNSEEN = "the solver saw the blank in the pronoun's place", _ADVICE
_ANSWERS_UNCHANGED = (
    "they differ only in the pronoun, which changed no answer",
    _ADVICE,
)
"""Why two groups are the same input, and how to change this."""


def _explain_refusal(
    field: str, groups: tuple[Scalar, Scalar], size: int, reason: tuple[str, str]
) -> str:
    one, other = map(str, groups)
    why, instead = reason
    return (
        f"{field} can't be compared: the {size:,} inputs of {one!r} and {other!r} are the same, as "
        f"{why}; so a difference between their results is not due to the solver ({instead})"
    )


def _find_overlaps(
    seen: Sequence[Input], column: Sequence[Scalar]
) -> Iterator[tuple[Scalar, Scalar, int, int]]:
    sizes: Counter[Scalar] = Counter(value for value in column if value is not None)
    groups: dict[Input, Counter[Scalar]] = defaultdict(Counter)
    for own, value in zip(seen, column, strict=True):
        if value is not None:
            groups[own][value] += 1
    shared: Counter[tuple[Scalar, Scalar]] = Counter()
    for of in groups.values():
        for one, other in combinations(sorted(of, key=str), 2):
            shared[one, other] += min(of[one], of[other])
    for (one, other), count in sorted(shared.items(), key=str):
        yield one, other, count, max(sizes[one], sizes[other])


def _count_equal_answers(
    graded: Graded, seen: Sequence[Input], inside: Sequence[bool]
) -> tuple[int, int]:
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, own in enumerate(seen):
        if inside[row]:
            rows[own].append(row)
    several = [own for own in rows.values() if len(own) > 1]
    return sum(_has_same_answers(graded, own) for own in several), len(several)


def _has_same_answers(graded: Graded, rows: Sequence[int]) -> bool:
    given = [_score_by_option(graded, row) for row in rows]
    return all(
        options.keys() == given[0].keys()
        and all(
            abs(a - b) <= SCORE_TOLERANCE
            for option in options
            for a, b in zip(options[option], given[0][option], strict=False)
        )
        for options in given[1:]
    )


def _score_by_option(graded: Graded, row: int) -> dict[str, tuple[float, ...]]:
    prediction = graded.predictions[row]
    scores: Sequence[tuple[float, ...]] = [(score,) for score in prediction.scores]
    options = [" ".join(option.split()) for option in graded.dataset[row].options]
    return {
        option: (float(at in prediction.chosen), *(scores[at] if scores else ()))
        for at, option in enumerate(options)
    }
