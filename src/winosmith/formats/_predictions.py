"""Prediction files: who answered what, a header first.

Our own are JSON Lines. The header says what was run on what; then comes one line a problem:

    {"predictions":"majority","parameters":{…},"data":"9f2c…","n":1267,"version":"0.1.0"}
    {"id":"3FCO4VKO…-2","choice":1,"scores":[-0.71,-0.68]}
    {"id":"3FCO4VKO…-1","choice":0,"scores":[-0.7,-0.7],"tied":[0,1]}

`tied` names the options that the solver could not decide between.
`data` is the digest of the problems as the solver saw them, without their answers: it can be
published beside a test set, and it fits whether the reader has the answers or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith._version import __version__
from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.outputs import write_aside
from winosmith.records import canonical

__all__ = [
    "Predictions",
    "check_fit",
    "prediction_header",
    "prediction_record",
    "write_predictions",
]


@dataclass(frozen=True)
class Predictions:
    """What one solver answered.

    Attributes:
        predictions: one a problem, in the order of the file, or of the data set it was read with.
        solver: the name of the solver; for a file without a header, that of the file.
        parameters: what it was run with; empty when the file does not say.
        data: the digest of the problems without their answers; None when the file does not say.
        version: of winosmith, that wrote the file; None for a file of somebody else's.
    """

    predictions: tuple[Prediction, ...]
    solver: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None
    version: str | None = None

    def of(self, dataset: Dataset) -> Predictions:
        """Return the same with one prediction for each problem of `dataset`, in its order.

        Raises:
            DataError: problems without a prediction, predictions without a problem (how many, and
                the first three ids), or a prediction that does not fit the problem's options.
        """
        by_id = {prediction.problem_id: prediction for prediction in self.predictions}
        missing = [problem.id for problem in dataset if problem.id not in by_id]
        known = set(dataset.ids)
        extra = [key for key in by_id if key not in known]
        if missing or extra:
            raise DataError(f"{self.solver}: {_unmatched(missing, extra, len(dataset))}")
        aligned = tuple(by_id[problem.id] for problem in dataset)
        for problem, prediction in zip(dataset, aligned, strict=True):
            check_fit(prediction, len(problem.options), self.solver)
        return Predictions(aligned, self.solver, self.parameters, self.data, self.version)


def prediction_header(dataset: Dataset, solver: str, parameters: Mapping[str, Any]) -> str:
    """Return the first line of a file of predictions for `dataset`, without its line end."""
    header = {
        "predictions": solver,
        "parameters": dict(parameters),
        "data": dataset.blind().digest,
        "n": len(dataset),
        "version": __version__,
    }
    return canonical(header)


def prediction_record(prediction: Prediction) -> str:
    """Return the line of one prediction, without its line end."""
    record: dict[str, Any] = {"id": prediction.problem_id, "choice": prediction.choice}
    if prediction.scores:
        record["scores"] = list(prediction.scores)
    if prediction.tied:
        record["tied"] = list(prediction.tied)
    return canonical(record)


def write_predictions(
    predictions: Iterable[Prediction],
    path: str | Path,
    dataset: Dataset,
    *,
    solver: str,
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Write predictions for all of `dataset`, in its order; the file appears when it is complete.

    Args:
        predictions: one for each problem.
        path: the file, `.jsonl` by custom.
        dataset: what was asked; the header takes its digest without answers.
        solver: the solver's name.
        parameters: what it was run with, as JSON can hold it.

    Raises:
        DataError: the predictions don't fit the data set; see `Predictions.of`.
        OutputError: the file can't be written.
    """
    aligned = Predictions(tuple(predictions), solver).of(dataset).predictions
    header = prediction_header(dataset, solver, parameters or {})
    with write_aside(path) as file:
        file.writelines(f"{line}\n" for line in (header, *map(prediction_record, aligned)))


def check_fit(prediction: Prediction, options: int, where: str) -> None:
    """Refuse a choice, or a number of scores, that the problem's options have no place for."""
    scores, last = len(prediction.scores), max((prediction.choice, *prediction.tied))
    if last >= options or scores not in (0, options):
        what = f"{scores} scores" if scores not in (0, options) else f"choice {last}"
        raise DataError(
            f"{where}: the {what} of {prediction.problem_id!r} can't be for {options} options"
        )


def _unmatched(missing: Sequence[str], extra: Sequence[str], problems: int) -> str:
    parts = []
    if missing:
        parts.append(f"{len(missing):,} of {problems:,} problems have no prediction")
        parts[-1] += f" ({_first(missing)})"
    if extra:
        parts.append(f"{len(extra):,} predictions have no problem ({_first(extra)})")
    return "; ".join(parts) + "; was it made for another data set?"


def _first(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
