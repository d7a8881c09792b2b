"""Predictions next to the answers, clusters and groups of problems, and what can be compared."""

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
    """Return the number of the cluster that each problem belongs to, (n,), from 0.

    A cluster is a block (`winosmith.blocks`): the halves of a twin, a family of perturbed
    problems, copies of one sentence. Its problems are right or wrong together more often than
    others, so they are never counted as independent.

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
    """What a solver answered, next to what is right.

    A tie is worth 1 / (options tied) where the right option is among them, and 0 otherwise. So
    every count and share is what one would get on average if a fair draw settled each tie.

    Attributes:
        dataset: the problems, all with their answers.
        predictions: one for each problem, in its order.
        known_clusters: the result of `clusters`, where it is known already.
        parameters: what the solver was run with, as its file says; `sees` is what it saw.
        missing: number of problems that the solver was not asked, which are not in `dataset`.
    """

    dataset: Dataset = field(metadata={"key": "data", "json": lambda data: data.digest})
    predictions: tuple[Prediction, ...] = field(metadata={"rows": True})
    known_clusters: Labels | None = field(default=None, metadata=HIDDEN)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    missing: int = 0

    @property
    def invalid(self) -> int:
        """The number of answers that are none of the options; they are incorrect."""
        return sum(prediction.choice is None for prediction in self.predictions)

    @cached_property
    def credit(self) -> Floats:
        """What each answer is worth, (n,), 0–1: 1 / (options tied) with the right one among them.

        An answer without a tie is worth 1 or 0; see `Prediction.credit`.
        """
        return np.array(
            [
                prediction.credit(problem.answer)
                for problem, prediction in zip(self.dataset, self.predictions, strict=True)
            ]
        )

    @cached_property
    def tied(self) -> Bools:
        """Whether each answer is a tie, (n,)."""
        return np.array([len(prediction.chosen) > 1 for prediction in self.predictions], np.bool_)

    @property
    def ties(self) -> int:
        """How many answers are ties."""
        return int(self.tied.sum())

    @cached_property
    def against_scores(self) -> int:
        """How many answers don't choose their best score; the choice counts."""
        return sum(prediction.against_scores for prediction in self.predictions)

    @cached_property
    def clusters(self) -> Labels:
        """The number of each problem's cluster, (n,); see `clusters`."""
        return clusters(self.dataset) if self.known_clusters is None else self.known_clusters

    def share(self, rows: npt.ArrayLike | None = None, chance: float | None = None) -> Proportion:
        """Return the accuracy on some rows, or on all; its interval knows the clusters.

        Args:
            rows: indices, or a mask.
            chance: what guessing gives, kept next to it.
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
        """A SHA-256 over every choice and score in order, as 64 hexadecimal digits.

        Scores enter with nine digits, so that a machine that rounds otherwise has the same.
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
    """Lay predictions next to the answers of the problems, by their ids.

    Args:
        dataset: the problems with their answers.
        predictions: one for each of them, in any order.
        known_clusters: the result of `clusters`, to share it between solvers.
        parameters: what the solver was run with; without its `sees` it is not known whether the
            solver saw the pronouns.
        missing: number of further problems that the solver was not asked.

    Raises:
        DataError: an answer is withheld; a problem has no prediction, or two; a prediction has no
            problem (how many, and the first three ids); or it does not fit the options.

    >>> from winosmith.testing import made_twins
    >>> data = made_twins(2)
    >>> grade(data, [Prediction(problem.id, 0) for problem in data]).credit.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    withheld = [problem.id for problem in dataset if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answers of {len(withheld):,} of {len(dataset):,} problems are withheld "
            f"({first_ids(withheld)}); nothing can be scored without them"
        )
    if not len(dataset):
        raise DataError("there is no problem to score")
    aligned = align(predictions, dataset)
    return Graded(dataset, aligned, known_clusters, parameters or {}, missing)


def grade_models(
    given: Any, data: Dataset | formats.Readable | None = None, *, partial: bool | None = False
) -> dict[str, Graded]:
    """Return the graded answers of each model, by its name.

    Args:
        given: the answers, as `answers.read` takes them (a path, a table …), or as it returns them;
            or answers that are graded already, which are returned as they are.
        data: the problems with their answers, as a data set or as `formats.read` takes them; None
            if the answers are graded.
        partial: allow problems without a prediction, and predictions without a problem, and warn
            of them. None does not name this argument in the error.

    Raises:
        DataError: predictions don't fit the data set.
        InputError: there are no problems to grade the answers with.
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


def columns(dataset: Dataset) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield the name and the values of each field, None if a problem lacks it.

    Yielded are the row number, the ids, the pronoun, what is known of origin and lineage, and
    every key of `extra`; omitted are fields that are the same everywhere.
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
    """Return the values of each field by its name; raises DataError where a wanted one is none."""
    known = dict(columns(dataset))
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None:
        raise DataError(
            f"there is no field {unknown!r} that differs between problems; the data set has "
            f"{', '.join(known)}"
        )
    return known


def _of_origin(name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(problem.origin, name) if problem.origin else None


def _of_lineage(name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(problem.lineage, name) if problem.lineage else None


_FIELDS: dict[str, Callable[[Problem], Scalar]] = {
    "id": lambda problem: problem.id,
    "twin_id": lambda problem: problem.twin_id,
    "pronoun": lambda problem: problem.pronoun,
    **{f"origin.{field.name}": _of_origin(field.name) for field in fields(Origin)},
    **{f"lineage.{name}": _of_lineage(name) for name in ("root", "parent", "declared")},
    "embargo": lambda problem: problem.embargo,
}


CLOSE = 1e-4
"""Scores that differ by less are the same: so far apart may batches put those of one input."""

MENTIONED = 0.5
"""The fraction of two groups from which it is said how many of their inputs are the same."""


@dataclass(frozen=True, slots=True)
class Comparability:
    """Whether a comparison of groups is about the solver.

    Attributes:
        refused: why there is none to be told: two groups are the same input, so that what differs
            between them is no property of the solver; None if there is.
        note: what a reader must know of it; None for nothing.
    """

    refused: str | None = None
    note: str | None = None


def check_comparable(graded: Graded, field: str, column: Sequence[Scalar]) -> Comparability:
    """Return whether the values of a field can be compared for a solver.

    Two groups are the same input when the solver was given the same sentences and options in both:
    so it is with the female and male sentences of Winogender for a solver that sees the blank in
    the pronoun's place. Where a file does not say what its solver saw, equal predictions for all
    versions that differ in nothing but the pronoun are refused likewise; with others it is said
    that this is not known.

    Args:
        graded: from `grade`; its parameters may tell what the solver `sees`.
        field: the name of the field, for messages.
        column: its value for each problem; None for a problem of no group.
    """
    sees, local = seen_by(graded)
    for one, other, shared, size in _overlaps(inputs(graded.dataset, "pronoun", local), column):
        if shared == size:
            return Comparability(_refusal(field, (one, other), size, _COPIES))
    if sees == "pronoun":
        return Comparability()
    blank = inputs(graded.dataset, "blank", local)
    notes: list[str] = []
    for one, other, shared, size in _overlaps(blank, column):
        if shared < MENTIONED * size:
            continue
        same = f"{shared:,} of {size:,} inputs of {str(one)!r} and {str(other)!r} are the same"
        if sees == "blank":
            if shared == size:
                return Comparability(_refusal(field, (one, other), size, _UNSEEN))
            notes.append(f"{same}, as the solver saw the blank in the pronoun's place")
            continue
        equal, of = _equal_answers(graded, blank, [value in (one, other) for value in column])
        if shared == size and equal == of:
            return Comparability(_refusal(field, (one, other), size, _UNMOVED))
        notes.append(
            f"{same} if the solver did not see the pronoun, which its file does not tell "
            f"({equal:,} of {of:,} got the same answer whatever their pronoun)"
        )
    return Comparability(note="; ".join(notes) or None)


def seen_by(graded: Graded) -> tuple[Sees | None, int | None]:
    """Return what a solver saw, None if that is not told, and the words ahead of the blank."""
    run = graded.parameters
    sees, local = run.get("sees"), run.get("local_context", run.get("local"))
    return sees if sees in ("blank", "pronoun") else None, local if type(local) is int else None


_INSTEAD = (
    "let it see the pronoun (`winosmith solve --sees pronoun`); train an encoder to see it with "
    "`winosmith train --sees pronoun`"
)
_COPIES = "they are the same problems", "compare groups whose problems differ"
_UNSEEN = "the solver saw the blank in the pronoun's place", _INSTEAD
_UNMOVED = (
    "they differ in nothing but the pronoun, and that made no difference to any answer",
    _INSTEAD,
)
"""Why two groups are the same input, and what to do."""


def _refusal(field: str, groups: tuple[Scalar, Scalar], size: int, reason: tuple[str, str]) -> str:
    one, other = map(str, groups)
    why, instead = reason
    return (
        f"{field} can't be compared: the {size:,} inputs of {one!r} and {other!r} are the same, as "
        f"{why}; so no difference between their figures is the solver's ({instead})"
    )


def _overlaps(
    seen: Sequence[Input], column: Sequence[Scalar]
) -> Iterator[tuple[Scalar, Scalar, int, int]]:
    """Yield the pairs of groups with inputs in common: how many, and of how many in the larger."""
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


def _equal_answers(
    graded: Graded, seen: Sequence[Input], inside: Sequence[bool]
) -> tuple[int, int]:
    """Return how many inputs that occur more than once got the same answers each time, of all."""
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for row, own in enumerate(seen):
        if inside[row]:
            rows[own].append(row)
    several = [own for own in rows.values() if len(own) > 1]
    return sum(_same(graded, own) for own in several), len(several)


def _same(graded: Graded, rows: Sequence[int]) -> bool:
    """Tell whether the same was chosen in problems with the same options, with the same scores."""
    given = [_by_option(graded, row) for row in rows]
    return all(
        options.keys() == given[0].keys()
        and all(
            abs(a - b) <= CLOSE
            for option in options
            for a, b in zip(options[option], given[0][option], strict=False)
        )
        for options in given[1:]
    )


def _by_option(graded: Graded, row: int) -> dict[str, tuple[float, ...]]:
    """Return each option's score, if there is one, after whether it was chosen (1 or 0)."""
    prediction = graded.predictions[row]
    scores: Sequence[tuple[float, ...]] = [(score,) for score in prediction.scores]
    options = [" ".join(option.split()) for option in graded.dataset[row].options]
    return {
        option: (float(at in prediction.chosen), *(scores[at] if scores else ()))
        for at, option in enumerate(options)
    }
