"""`Answers`, the answers of a model from any source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import join_ids
from winosmith.prediction import Prediction, align
from winosmith.report import percent
from winosmith.results import HIDDEN, IF_ANY, Result


@dataclass(frozen=True)
class Log(Result):
    """Facts about a model's answers from the log of an evaluation harness.

    Attributes:
        status: why the log is incomplete, such as "the run was cancelled after 9 of 20"; None if
            it is complete.
        filter: the filter, scorer or epoch whose answers were read; None if the log has only one.
        filters: the names of all filters, scorers or epochs in the log, if there are several.
        used: the names of the filter, scorer and epoch that were read, even if there are no others.
        keys_differ: ids of the items for which the log and the data have different keys.
        keys_compared: number of items whose keys were compared.
        scores_differ: ids of the items whose score in the log contradicts the answer: an answer
            other than the log's key is scored as correct, or the reverse. Ties are excluded.
        reported: the harness's own accuracies by name, 0–1, such as `acc` and `acc_norm`.
    """

    status: str | None = field(default=None, metadata=IF_ANY)
    filter: str | None = field(default=None, metadata=IF_ANY)
    filters: tuple[str, ...] = field(default=(), metadata=IF_ANY)
    used: tuple[str, ...] = field(default=(), metadata=HIDDEN)
    keys_differ: tuple[str, ...] = field(default=(), metadata=IF_ANY)
    keys_compared: int = field(default=0, metadata=IF_ANY)
    scores_differ: tuple[str, ...] = field(default=(), metadata=IF_ANY)
    reported: Mapping[str, float] = field(default_factory=dict, metadata=IF_ANY)

    def notes(self) -> list[str]:
        """Return phrases about the log's irregularities, to print after the model's name."""
        notes = [self.status] if self.status else []
        if self.filter is not None:
            others = ", ".join(repr(name) for name in self.filters if name != self.filter)
            notes.append(f"{self.filter!r} is used; choose another with `filters=` ({others})")
        if self.keys_differ:
            differ = len(self.keys_differ)
            count = f"all {differ:,}" if differ == self.keys_compared else f"{differ:,}"
            notes.append(
                f"in {count} item{'s' * (differ > 1)} the log's key differs from the data's "
                f"({join_ids(self.keys_differ, 10)}); the data's key is used"
            )
        if self.scores_differ:
            differ = len(self.scores_differ)
            notes.append(
                f"in {differ:,} item{'s' * (differ > 1)} the log's score contradicts the logged "
                f"answer ({join_ids(self.scores_differ, 10)}); the answer is used"
            )
        if self.reported:
            means = ", ".join(f"{name} {percent(value)}" for name, value in self.reported.items())
            notes.append(f"the harness reports: {means}")
        return notes


@dataclass(frozen=True)
class Answers(Result):
    """The answers of one model.

    If the model was not asked an item, the item has no prediction. An answer that matches no option
    becomes a prediction without a choice; see `winosmith.Prediction`.

    Attributes:
        predictions: one prediction per item, in the order of the source.
        solver: the name of the model or solver, or of the file if the source doesn't name a model.
        parameters: the run's parameters; empty if unknown.
        data: the digest of the problems without their answers; None if unknown.
        log: facts from the harness's log.
    """

    predictions: tuple[Prediction, ...] = field(metadata={"rows": True})
    solver: str
    parameters: Mapping[str, Any] = field(default_factory=dict, metadata=IF_ANY)
    data: str | None = field(default=None, metadata=IF_ANY)
    log: Log = field(default_factory=Log)

    @cached_property
    def by_id(self) -> Mapping[str, Prediction]:
        """The predictions by item id."""
        return {prediction.problem_id: prediction for prediction in self.predictions}

    def align_with(self, dataset: Dataset) -> Answers:
        """Return the answers with one prediction per problem, in the order of the data set.

        Raises:
            PredictionMismatchError: a problem has no prediction, or a prediction has no problem.
                The message states the number of ids and the first three.
            DataError: a prediction does not fit the problem's options.
        """
        status = f"{self.log.status}; " if self.log.status else ""
        return replace(
            self, predictions=align(self.predictions, dataset, f"{self.solver}: {status}")
        )

    def select_answered(self, dataset: Dataset) -> tuple[Dataset, Answers]:
        """Return the problems that have a prediction, and their predictions in the same order.

        Raises:
            DataError: no problem has a prediction, or a prediction does not fit the problem's
                options.
        """
        asked = dataset.select(
            row for row, problem in enumerate(dataset) if problem.id in self.by_id
        )
        if not asked:
            self.align_with(dataset)
        aligned = [self.by_id[name] for name in asked.ids]
        return asked, replace(self, predictions=align(aligned, asked, f"{self.solver}: "))


def from_choices(chosen: Mapping[str, Mapping[str, int | None]]) -> dict[str, Answers]:
    """Make `Answers` for each model from the options that it chose.

    Args:
        chosen: the 0-based index of each chosen option, by model name and item id; None for an
            invalid answer.

    >>> from_choices({"gpt": {"q1": 2, "q2": None}})["gpt"].by_id["q1"].choice
    2
    """
    return {
        model: Answers(tuple(Prediction(name, choice) for name, choice in choices.items()), model)
        for model, choices in chosen.items()
    }
