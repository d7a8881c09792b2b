"""Predictions beside the answers, and which problems can't count as independent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.answers import Prediction
from winosmith.blocks import blocks
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.metrics._intervals import Proportion, proportion
from winosmith.records import canonical

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
class Graded:
    """What a solver answered, beside what is right.

    A tie is worth 1 / (options tied) where the right option is among them, and 0 otherwise. So
    every count and share is what one would get on average if a fair draw settled each tie.

    Attributes:
        dataset: the problems, all with their answers.
        predictions: one for each problem, in its order.
        known_clusters: the result of `clusters`, where it is known already.
        parameters: what the solver was run with, as its file says; `sees` is what it saw.
    """

    dataset: Dataset
    predictions: tuple[Prediction, ...]
    known_clusters: Labels | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

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
            chance: what guessing gives, kept beside it.
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
) -> Graded:
    """Lay predictions beside the answers of the problems, by their ids.

    Args:
        dataset: the problems with their answers.
        predictions: one for each of them, in any order.
        known_clusters: the result of `clusters`, to share it between solvers.
        parameters: what the solver was run with; without its `sees` it is not known whether the
            solver saw the pronouns.

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
            f"({_first(withheld)}); nothing can be scored without them"
        )
    if not len(dataset):
        raise DataError("there is no problem to score")
    by_id = {prediction.problem_id: prediction for prediction in predictions}
    missing = [problem.id for problem in dataset if problem.id not in by_id]
    known = set(dataset.ids)
    extra = [key for key in by_id if key not in known]
    if missing:
        raise DataError(
            f"{len(missing):,} of {len(dataset):,} problems have no prediction ({_first(missing)})"
        )
    if extra:
        raise DataError(f"{len(extra):,} predictions have no problem ({_first(extra)})")
    if len(by_id) < len(predictions):
        raise DataError(f"{len(predictions) - len(by_id):,} problems have two predictions or more")
    aligned = tuple(by_id[problem.id] for problem in dataset)
    for problem, prediction in zip(dataset, aligned, strict=True):
        options, last = len(problem.options), max((prediction.choice, *prediction.tied))
        if last >= options or len(prediction.scores) not in (0, options):
            raise DataError(
                f"the prediction for {problem.id!r} can't be for {options} options: choice "
                f"{last}, {len(prediction.scores)} scores"
            )
    return Graded(dataset, aligned, known_clusters, parameters or {})


def _first(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
