"""Winosmith's own files of predictions: JSON Lines with an optional header.

The header describes the run and its data, and is followed by one line per problem:

    {"predictions":"majority","parameters":{…},"data":"9f2c…","n":1267,"version":"0.1.0"}
    {"id":"3FCO4VKO…-2","choice":1,"scores":[-0.71,-0.68]}
    {"id":"3FCO4VKO…-1","choice":0,"scores":[-0.7,-0.7],"tied":[0,1]}
    {"id":"3FCO4VKO…-3","choice":null}

`tied` lists the options that the solver could not decide between. If `choice` is missing, the
option with the best score is chosen. If `choice` is null, the answer was invalid. `data` is the
digest of the problems as the solver saw them, without their answers. The digest can therefore be
published with a test set, and users can check it even if they don't have the answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from winosmith import data, formats
from winosmith._version import __version__
from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._rules import check_first_id, refuse_unclear_numbers
from winosmith.data import Place, Record
from winosmith.dataset import Dataset
from winosmith.errors import ProblemError
from winosmith.outputs import atomic_write
from winosmith.prediction import Prediction, find_best_options
from winosmith.records import dump_json


def prediction_header(dataset: Dataset, solver: str, parameters: Mapping[str, Any]) -> str:
    """Return the header line of a file of predictions for `dataset`, without a newline."""
    header = {
        "predictions": solver,
        "parameters": dict(parameters),
        "data": dataset.blind().digest,
        "n": len(dataset),
        "version": __version__,
    }
    return dump_json(header)


def prediction_record(prediction: Prediction) -> str:
    """Return a prediction as a line of a file of predictions, without a newline."""
    record: dict[str, Any] = {"id": prediction.problem_id, "choice": prediction.choice}
    if prediction.scores:
        record["scores"] = list(prediction.scores)
    if prediction.tied:
        record["tied"] = list(prediction.tied)
    return dump_json(record)


def write_predictions(
    predictions: Iterable[Prediction],
    path: str | Path,
    dataset: Dataset,
    *,
    solver: str,
    parameters: Mapping[str, Any] | None = None,
) -> None:
    """Write one prediction per problem to a file, in the order of the data set.

    The file appears only when it is complete.

    Args:
        predictions: one prediction per problem, in any order.
        path: path of the file, usually with the extension `.jsonl`.
        dataset: the problems; the header contains their digest without the answers.
        solver: the solver's name.
        parameters: the run's parameters; values must be serialisable as JSON.

    Raises:
        DataError: the predictions don't fit the data set; see `Answers.align_with`.
        OutputError: the file can't be written.
    """
    aligned = Answers(tuple(predictions), solver).align_with(dataset).predictions
    header = prediction_header(dataset, solver, parameters or {})
    with atomic_write(path) as file:
        file.writelines(f"{line}\n" for line in (header, *map(prediction_record, aligned)))


def can_read(file: AnswerFile) -> bool:
    """Return whether a file is in our format: it has a header, or predictions without letters."""
    first = file.rows.first
    keys = {key for key in first if key != "predictions" or isinstance(first[key], str)}
    examples = [row.values or {} for row in islice(file.rows, 20)] if "choice" in keys else []
    is_letter = any(isinstance(example.get("choice"), str) for example in examples)
    is_ours = bool(keys & {"predictions", "choice"}) or {"id", "scores"} <= keys <= _KEYS
    is_table = file.rows.kind == "delimited" or (file.rows.kind == "table" and "choice" in keys)
    return is_ours and not is_letter and not is_table


def read(file: AnswerFile) -> list[Answers]:
    records = file.read_records()
    header = _HeaderLine()
    if records and "predictions" in records[0][1]:
        header = _validate_record(_HeaderLine, "header", *records.pop(0))
    found: dict[str, Prediction] = {}
    for place, record in records:
        line = _validate_record(_PredictionLine, "prediction", place, record)
        name = file.resolve_id(line.id)
        if name in found:
            raise place.make_error(f"the id {name!r} already has a prediction")
        if "choice" not in record and not line.scores:
            raise place.make_error("the prediction has no 'choice'")
        option = line.choice if "choice" in record else find_best_options(line.scores)[0]
        choice = None if option is None else int(option)
        try:
            found[name] = Prediction(name, choice, tuple(line.scores), tuple(line.tied))
        except ProblemError as error:
            raise place.make_error(str(error)) from None
    if len(found) < header.n:
        raise file.make_error(
            f"the header announces {header.n:,} predictions, but {len(found):,} follow: the file "
            "is truncated; write it again with winosmith solve"
        )
    refuse_unclear_numbers(found, file)
    check_first_id(found, file)
    chosen = [one for one in found.values() if one.choice is not None]
    counts = {name: len(problem.options) for name, problem in file.problems.items()}
    beyond = next((one for one in chosen if one.choice == counts.get(one.problem_id)), None)
    if beyond and all(one.choice for one in chosen):
        raise file.make_error(
            f"'choice' must count from 0, but no choice is 0, and the choice {beyond.choice} of "
            f"{beyond.problem_id!r} is out of range. If the choices count from 1, rename the "
            "column to 'prediction'; otherwise, write letters"
        )
    if chosen and all(one.choice for one in chosen) and not header.predictions:
        warnings.warn(
            f"{file.path}: no 'choice' is 0, although they are read as counted from 0; if they "
            "count from 1, rename the column to 'prediction'",
            formats.ReadingNote,
            stacklevel=3,
        )
    name = header.predictions or file.rows.name
    return [Answers(tuple(found.values()), name, header.parameters, header.data)]


def read_predictions(path: str | Path, dataset: Dataset | None = None) -> Answers:
    """Read a file of predictions in winosmith's own format, whose header is optional.

    Args:
        path: path of the file.
        dataset: the problems that were asked. If given, the file must have one prediction per
            problem, and predictions are returned in the order of the problems; otherwise, they are
            in the order of the file.

    Raises:
        FormatError: a line is not a prediction, or an id occurs twice.
        DataError: the predictions don't fit the data set; see `Answers.align_with`.
    """
    (answers,) = read(AnswerFile(data.read(path), dataset or Dataset([])))
    return answers if dataset is None else answers.align_with(dataset)


class _HeaderLine(BaseModel, strict=True):
    predictions: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    data: str | None = None
    n: int = 0


class _PredictionLine(BaseModel, strict=True, extra="forbid"):
    id: Annotated[str, Field(pattern=r"\S")] | int | float
    choice: Annotated[float, Field(ge=0, multiple_of=1)] | None = None
    scores: Annotated[list[float], Field(strict=False)] = []
    tied: Annotated[list[int], Field(strict=False)] = []


_KEYS = {"predictions", *_PredictionLine.model_fields}
_Model = TypeVar("_Model", bound=BaseModel)


def _validate_record(model: type[_Model], kind: str, place: Place, record: Record) -> _Model:
    try:
        return model.model_validate(record)
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        key, value = details["loc"][0], details["input"]
        reason = {
            "missing": f"the {kind} has no {key!r}",
            "extra_forbidden": f"the {kind} has an unknown key {key!r}",
        }.get(details["type"], f"the {kind}'s {key!r} can't have {value!r}: {details['msg']}")
        raise place.make_error(reason) from None
