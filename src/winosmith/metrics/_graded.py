"""Graded predictions, clusters of dependent problems, and checks whether groups are comparable."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith import formats
from winosmith.answers import Answers, read as read_answers
from winosmith.blocks import find_blocks, find_copies
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError, PredictionMismatchError, join_ids
from winosmith.metrics._proportion import Proportion, proportion
from winosmith.prediction import Prediction, align
from winosmith.problem import Origin, Problem, Scalar
from winosmith.records import dump_json
from winosmith.results import HIDDEN, Result
from winosmith.seen import Input, Sees, build_inputs
from winosmith.text import format_count

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def find_clusters(dataset: Dataset) -> Labels:
    """Return each problem's cluster number, counted from 0; shape (n,).

    A cluster is a block (`winosmith.blocks`): the halves of a twin, a family of perturbed
    problems, or copies of one sentence. Answers within a cluster depend on each other, so they are
    never treated as independent.

    >>> from winosmith.testing import make_twins
    >>> find_clusters(make_twins(2, singles=1)).tolist()
    [0, 0, 1, 1, 2]
    """
    labels = np.zeros(len(dataset), dtype=np.int64)
    for number, rows in enumerate(find_blocks(dataset)):
        labels[rows] = number
    return labels


def number_copies(dataset: Dataset) -> Labels:
    """Return a number that each problem shares with its copies, which are one observation.

    The shape is (n,); see `winosmith.blocks.find_copies`.
    """
    labels = np.arange(len(dataset))
    for rows in find_copies(dataset):
        labels[rows] = rows[0]
    return labels


@dataclass(frozen=True)
class Graded(Result):
    """A solver's predictions, matched with the correct answers.

    The credit of a tie is 1 / (tied options) if the correct option is among the tied options,
    otherwise 0. So every count and fraction is an expected value for ties broken at random.

    Attributes:
        dataset: The problems, all of which have an answer.
        predictions: One prediction per problem, in the same order as the problems.
        known_clusters: The precomputed result of `find_clusters`, if any.
        parameters: The solver's parameters, as stated in its file; `sees` is the kind of input.
        missing: The number of problems without a prediction, which are not in `dataset`.
    """

    dataset: Dataset = field(metadata={"key": "data", "json": lambda data: data.digest})
    predictions: tuple[Prediction, ...] = field(metadata={"rows": True})
    known_clusters: Labels | None = field(default=None, metadata=HIDDEN)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    missing: int = 0

    @property
    def invalid_count(self) -> int:
        """The number of answers that match no option and are therefore incorrect."""
        return sum(prediction.choice is None for prediction in self.predictions)

    @cached_property
    def credit(self) -> Floats:
        """The credit of each answer, 0–1; shape (n,).

        The credit is 1 or 0 unless the answer is a tie; see `Prediction.credit`.
        """
        pairs = zip(self.dataset, self.predictions, strict=True)
        return np.array([prediction.credit(problem.answer) for problem, prediction in pairs])

    @cached_property
    def chances(self) -> Floats:
        """The probability of guessing each answer, 1 / (number of options); shape (n,)."""
        return np.array([1 / len(problem.options) for problem in self.dataset])

    @cached_property
    def tied(self) -> Bools:
        """The mask of tied answers, shape (n,); answers graded as incorrect are not ties."""
        wrong = [{*range(len(problem.options))} - {problem.answer} for problem in self.dataset]
        tied = (
            len(given.chosen) > 1 and (bool(given.scores) or {*given.chosen} != rest)
            for given, rest in zip(self.predictions, wrong, strict=True)
        )
        return np.fromiter(tied, np.bool_)

    @property
    def ties(self) -> int:
        """The number of ties."""
        return int(self.tied.sum())

    @cached_property
    def score_conflict_count(self) -> int:
        """The number of answers whose option does not have the highest score."""
        return sum(prediction.contradicts_scores for prediction in self.predictions)

    @cached_property
    def clusters(self) -> Labels:
        """The cluster number of each problem, shape (n,); see `find_clusters`."""
        return find_clusters(self.dataset) if self.known_clusters is None else self.known_clusters

    @cached_property
    def copies(self) -> Labels:
        """A number that each problem shares with its copies, shape (n,); see `number_copies`."""
        return number_copies(self.dataset)

    def measure_accuracy(
        self,
        rows: npt.ArrayLike | None = None,
        *,
        with_chance: bool = False,
        clusters: Labels | None = None,
    ) -> Proportion:
        """Return the accuracy with a cluster-robust interval.

        Args:
            rows: The row numbers or a mask of the rows to measure; by default all.
            with_chance: Whether to store the accuracy of guessing with the result.
            clusters: The cluster number of each problem, shape (n,); by default `clusters`.
        """
        some = slice(None) if rows is None else np.asarray(rows)
        ties = int(self.tied[some].sum())
        chance = float(self.chances[some].mean()) if with_chance else None
        labels = self.clusters if clusters is None else clusters
        return proportion(
            self.credit[some], labels[some], copies=self.copies[some], chance=chance, ties=ties
        )

    @property
    def scored(self) -> bool:
        """Whether every prediction has scores for its options."""
        return all(prediction.scores for prediction in self.predictions)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all choices and scores in order, as 64 hexadecimal digits.

        Scores are rounded to nine digits, so that the digest does not depend on the machine.
        """
        state = hashlib.sha256()
        for prediction in self.predictions:
            scores = [f"{score:.9g}" for score in prediction.scores]
            tied = [list(prediction.tied)] if prediction.tied else []
            record = [prediction.problem_id, prediction.choice, scores, *tied]
            state.update(dump_json({"prediction": record}).encode("utf-8", "surrogatepass"))
        return state.hexdigest()


def grade(
    dataset: Dataset,
    predictions: Sequence[Prediction],
    known_clusters: Labels | None = None,
    parameters: Mapping[str, Any] | None = None,
    missing: int = 0,
) -> Graded:
    """Match predictions with problems by id, to compare them with the answers.

    Args:
        dataset: The problems with their answers.
        predictions: One prediction per problem, in any order.
        known_clusters: The result of `find_clusters`, if already computed for another solver.
        parameters: The solver's parameters; if `sees` is missing, the kind of input is unknown.
        missing: The number of additional problems that have no prediction.

    Raises:
        DataError: An answer is withheld; a problem has no prediction or several; a prediction
            matches no problem or does not fit the problem's options.

    >>> from winosmith.testing import make_twins
    >>> data = make_twins(2)
    >>> grade(data, [Prediction(problem.id, 0) for problem in data]).credit.tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    _check_answers(dataset)
    aligned = align(predictions, dataset)
    return Graded(dataset, aligned, known_clusters, parameters or {}, missing)


def _check_answers(dataset: Dataset) -> None:
    withheld = [problem.id for problem in dataset if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answers of {len(withheld):,} of {len(dataset):,} problems are withheld "
            f"({join_ids(withheld)}); scoring needs all answers"
        )
    if not len(dataset):
        raise DataError("there are no problems to score")


def grade_models(
    answers: Any, data: Dataset | formats.Readable | None = None, *, partial: bool | None = False
) -> dict[str, Graded]:
    """Grade the answers of each model, and return the graded answers by model name.

    Args:
        answers: Any input of `answers.read` (a path, a table …), or its result, or graded answers,
            which are returned unchanged.
        data: The problems with their answers, as a data set or any input of `formats.read`. None if
            `answers` are already graded.
        partial: Whether to allow problems without a prediction, and predictions without a problem,
            with a warning. None acts like False, but the error message does not mention `partial`.

    Raises:
        DataError: The predictions don't fit the data set.
        InputError: The problems are missing.
    """
    models = answers if isinstance(answers, Mapping) else {getattr(answers, "solver", ""): answers}
    if models and all(isinstance(own, Graded) for own in models.values()):
        return dict(models)
    if data is None:
        raise InputError("the problems are missing; give them as the second argument")
    dataset = formats.as_dataset(data)
    if not all(isinstance(own, Answers) for own in models.values()):
        models = read_answers(answers, dataset)
    found: dict[str, Graded] = {}
    shared, known = None if partial else find_clusters(dataset), {*dataset.ids}
    for name, own in models.items():
        try:
            asked, fitting = (
                own.select_answered(dataset) if partial else (dataset, own.align_with(dataset))
            )
        except PredictionMismatchError as error:
            if partial is None or not error.common:
                raise
            scored = format_count(error.common, "problem")
            link = " If not," if str(error).endswith("?") else ";"
            raise DataError(f"{error}{link} add `partial=True` to score only {scored}") from None
        missing = len(dataset) - len(asked)
        unknown = sum(one not in known for one in own.by_id)
        notes = [
            f"{missing:,} of {len(dataset):,} problems have no prediction and are omitted"
        ] * bool(missing)
        if unknown:
            notes.append(f"omitted {format_count(unknown, 'prediction')} with an unknown id")
        if own.data not in (None, asked.blind().digest) and not partial:
            notes.append("the answers are for data with a different digest: the ids match, but "
                         "sentences may differ")  # fmt: skip
        if own.parameters.get("train") == dataset.digest[:12]:
            notes.append("the solver was trained on these problems")
        for note in notes:
            warnings.warn(f"{name}: {note}", formats.ReadingNote, stacklevel=3)
        _check_answers(asked)
        found[name] = Graded(asked, fitting.predictions, shared, own.parameters, missing)
    return found


def iterate_columns(dataset: Dataset) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield the name of each field, and its value (or None) for each problem.

    The fields are the row number, the ids, the pronoun, the parts of origin and lineage, the
    embargo, and every key of `extra`. Fields with the same value in all problems are omitted.
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


def get_checked_columns(dataset: Dataset, names: Iterable[str]) -> dict[str, list[Scalar]]:
    """Return all columns of a data set by name.

    A column of the user's file may be named without its prefix and, if unambiguous, in another
    case: `Level` or `level` for `questions.Level`.
    Raises a DataError if one of `names` is not a column, or has the same value in all problems.
    """
    names, known = [*names], dict(iterate_columns(dataset))
    for name in [name for name in names if name not in known]:
        own = {key: key.partition(".")[2] for key in known.keys() - _FIELDS.keys()}
        near = [key for key in own if own[key].casefold() == name.casefold()]
        full = [key for key in near if own[key] == name] or near
        known |= {name: known[full[0]]} if len(full) == 1 else {}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise DataError(
            f"{unknown!r} is not a field that differs between problems; use {', '.join(known)}"
        )
    return known


def _make_getter(part: str, name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(getattr(problem, part), name, None)


_FIELDS: dict[str, Callable[[Problem], Scalar]] = {
    "id": lambda problem: problem.id,
    "twin_id": lambda problem: problem.twin_id,
    "pronoun": lambda problem: problem.pronoun,
    **{f"origin.{field.name}": _make_getter("origin", field.name) for field in fields(Origin)},
    **{f"lineage.{name}": _make_getter("lineage", name) for name in ("root", "parent", "declared")},
    "embargo": lambda problem: problem.embargo,
}


SCORE_TOLERANCE = 1e-4
"""Maximum difference between scores that are treated as equal, because batching changes scores."""

NOTE_FRACTION = 0.5
"""A note is added if at least this fraction of the inputs in two groups is equal."""


@dataclass(frozen=True, slots=True)
class Comparability:
    """Whether a solver's results on groups of problems can be compared.

    Attributes:
        refused: The reason for refusing the comparison, or None. A comparison is refused if two
            groups have the same input, because the solver can't cause a difference then.
        note: A caveat about the comparison, or None.
    """

    refused: str | None = None
    note: str | None = None


def check_comparable(graded: Graded, field: str, column: Sequence[Scalar]) -> Comparability:
    """Check whether a solver's results for the values of a field can be compared.

    Two groups have the same input if the solver got the same sentences and options in both. For
    example, the female and male sentences of Winogender are the same for a solver that sees the
    blank instead of the pronoun. If the solver's file does not state its input, a comparison of
    versions that differ only in the pronoun is refused if all predictions are equal; otherwise, a
    note points out that the input is unknown.

    Args:
        graded: The graded answers, from `grade`; its parameters may state what the solver `sees`.
        field: The name of the field, for messages.
        column: The field's value for each problem; None if the problem is in no group.
    """
    sees, local = find_solver_input(graded)
    for one, other, shared, size in _find_equal_inputs(
        build_inputs(graded.dataset, "pronoun", local), column
    ):
        if shared == size:
            return Comparability(_explain_refusal(field, (one, other), size, _SAME_PROBLEMS))
    if sees == "pronoun":
        return Comparability()
    blank = build_inputs(graded.dataset, "blank", local)
    notes: list[str] = []
    for one, other, shared, size in _find_equal_inputs(blank, column):
        if shared < NOTE_FRACTION * size:
            continue
        same = f"{shared:,} of {size:,} inputs of {str(one)!r} and {str(other)!r} are the same"
        if sees == "blank":
            if shared == size:
                return Comparability(_explain_refusal(field, (one, other), size, _PRONOUN_UNSEEN))
            notes.append(f"{same}, because the solver saw the blank instead of the pronoun")
            continue
        rows: dict[Input, list[int]] = defaultdict(list)
        for row, value in enumerate(column):
            if value in (one, other):
                rows[blank[row]].append(row)
        several = [own for own in rows.values() if len(own) > 1]
        equal, of = sum(_has_same_answers(graded, own) for own in several), len(several)
        if shared == size and equal == of:
            return Comparability(_explain_refusal(field, (one, other), size, _ANSWERS_UNCHANGED))
        notes.append(
            f"{same} if the solver did not see the pronoun, which its file does not state "
            f"({equal:,} of {of:,} got the same answer with every pronoun)"
        )
    return Comparability(note="; ".join(notes) or None)


def find_solver_input(graded: Graded) -> tuple[Sees | None, int | None]:
    """Return the part that the solver sees, and the number of words before the blank that it sees.

    Each is None if unknown.
    """
    run = graded.parameters
    sees, local = run.get("sees"), run.get("local_context", run.get("local"))
    return sees if sees in ("blank", "pronoun") else None, local if type(local) is int else None


_SEE_PRONOUN = (
    "let it see the pronoun (`winosmith solve --sees pronoun`); train an encoder to see it with "
    "`winosmith train --sees pronoun`"
)
_SAME_PROBLEMS = "they are the same problems", "compare groups whose problems differ"
_PRONOUN_UNSEEN = "the solver saw the blank instead of the pronoun", _SEE_PRONOUN
_ANSWERS_UNCHANGED = "they differ only in the pronoun, which changed no answer", _SEE_PRONOUN
"""Reasons why two groups have the same input, each with advice."""


def _explain_refusal(
    field: str, groups: tuple[Scalar, Scalar], size: int, reason: tuple[str, str]
) -> str:
    one, other = map(str, groups)
    why, instead = reason
    return (
        f"{field} can't be compared: the {size:,} inputs of {one!r} and {other!r} are the same, "
        f"because {why}; so a difference between their results is not due to the solver ({instead})"
    )


def _find_equal_inputs(
    inputs: Sequence[Input], column: Sequence[Scalar]
) -> Iterator[tuple[Scalar, Scalar, int, int]]:
    sizes: Counter[Scalar] = Counter(value for value in column if value is not None)
    groups: dict[Input, Counter[Scalar]] = defaultdict(Counter)
    for own, value in zip(inputs, column, strict=True):
        if value is not None:
            groups[own][value] += 1
    shared: Counter[tuple[Scalar, Scalar]] = Counter()
    for of in groups.values():
        for one, other in combinations(sorted(of, key=str), 2):
            shared[one, other] += min(of[one], of[other])
    for (one, other), count in sorted(shared.items(), key=str):
        yield one, other, count, max(sizes[one], sizes[other])


def _has_same_answers(graded: Graded, rows: Sequence[int]) -> bool:
    given = []
    for row in rows:
        chosen, scores = graded.predictions[row].chosen, graded.predictions[row].scores
        options = enumerate(graded.dataset[row].options)
        own = {" ".join(text.split()): (at in chosen, *scores[at : at + 1]) for at, text in options}
        given.append(own)
    return all(
        own.keys() == given[0].keys()
        and all(
            abs(a - b) <= SCORE_TOLERANCE
            for option in own
            for a, b in zip(own[option], given[0][option], strict=False)
        )
        for own in given[1:]
    )
