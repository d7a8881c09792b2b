"""Our own files of predictions: JSON Lines, with or without a header.

The header states what was run on what; then there is one line for each problem:

    {"predictions":"majority","parameters":{…},"data":"9f2c…","n":1267,"version":"0.1.0"}
    {"id":"3FCO4VKO…-2","choice":1,"scores":[-0.71,-0.68]}
    {"id":"3FCO4VKO…-1","choice":0,"scores":[-0.7,-0.7],"tied":[0,1]}
    {"id":"3FCO4VKO…-3","choice":null}

`tied` lists the options that the solver could not decide between. If `choice` is missing, the
options with the best score were chosen; if it is null, the answer was invalid.
`data` is the digest of the problems as the solver saw them, without their answers: it can be
published with a test set, and it fits whether the reader has the answers or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from winosmith import formats
from winosmith._version import __version__
from winosmith.answers._answers import Answers
from winosmith.dataset import Dataset
from winosmith.errors import FormatError, ProblemError
from winosmith.outputs import write_aside
from winosmith.prediction import Prediction, best_of
from winosmith.records import canonical, parsed

_KEYS = {"id", "choice", "scores", "tied"}


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
        DataError: the predictions don't fit the data set; see `Answers.of`.
        OutputError: the file can't be written.
    """
    aligned = Answers(tuple(predictions), solver).of(dataset).predictions
    header = prediction_header(dataset, solver, parameters or {})
    with write_aside(path) as file:
        file.writelines(f"{line}\n" for line in (header, *map(prediction_record, aligned)))


def read_predictions(path: str | Path, dataset: Dataset | None = None) -> Answers:
    """Read a file of predictions in winosmith's own format, with or without its header.

    Args:
        path: the file.
        dataset: the problems that were asked. With it, there must be one prediction for each
            problem, and they are returned in its order; without it, in the order of the file.

    Raises:
        FormatError: a line that is not a prediction, with its number; an id that occurs twice.
        DataError: the predictions don't fit the data set; see `Answers.of`.
    """
    source = formats.Source(path)
    found = predictions_of(source.path, json_lines(source))
    return found if dataset is None else found.of(dataset)


def predictions_of(path: Path, records: Sequence[tuple[int, Mapping[str, Any]]]) -> Answers:
    """Return the predictions of the records of a file.

    Raises:
        FormatError: a record is not a prediction, an id occurs twice, or the file was cut short.
    """
    first = records[0][1] if records else {}
    header = first if "predictions" in first else {}
    _check_header(header, path)
    found: dict[str, Prediction] = {}
    for number, record in records[1:] if header else records:
        prediction = _prediction(record, path, number)
        if prediction.problem_id in found:
            raise FormatError(
                f"the id {prediction.problem_id!r} already has a prediction", path, number
            )
        found[prediction.problem_id] = prediction
    if len(found) < header.get("n", 0):
        raise FormatError(
            f"the header announces {header['n']:,} predictions, and {len(found):,} follow: the "
            "file was cut short; write it again with winosmith solve",
            path,
        )
    return Answers(
        tuple(found.values()),
        str(header.get("predictions", path.stem)),
        header.get("parameters", {}),
        header.get("data"),
        header.get("version"),
    )


def _check_header(header: Mapping[str, Any], path: Path) -> None:
    kinds: dict[str, type | tuple[type, ...]] = {
        "predictions": str, "parameters": dict, "data": str, "n": int, "version": str
    }  # fmt: skip
    for key, kind in kinds.items():
        if key in header and not isinstance(header[key], kind):
            raise FormatError(f"the header's {key!r} can't be {header[key]!r}", path, 1)


def _prediction(record: Mapping[str, Any], path: Path, number: int) -> Prediction:
    if "id" not in record or not ("choice" in record or record.get("scores")):
        missing = "id" if "id" not in record else "choice"
        raise FormatError(f"the prediction has no {missing!r}", path, number)
    unknown = sorted(record.keys() - _KEYS)
    if unknown:
        raise FormatError(f"the prediction has an unknown key {unknown[0]!r}", path, number)
    name, scores, tied = record["id"], record.get("scores", []), record.get("tied", [])
    if not isinstance(name, str) or not name.strip():
        raise FormatError(f"the id must be text, not {name!r}", path, number)
    if not isinstance(scores, list) or not all(map(_is_number, scores)):
        raise FormatError(f"the scores must be a list of numbers, not {scores!r}", path, number)
    if not isinstance(tied, list) or not all(type(option) is int for option in tied):
        raise FormatError(f"the tied options must be a list of indices, not {tied!r}", path, number)
    try:
        values = tuple(map(float, scores))
        choice = record["choice"] if "choice" in record or not values else best_of(values)[0]
        if choice is not None and type(choice) is not int:
            raise ProblemError(f"the choice must be an index of 0 or more, or null, not {choice!r}")
        return Prediction(name, choice, values, tuple(tied))
    except (ProblemError, OverflowError) as error:
        raise FormatError(str(error), path, number) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def json_lines(source: formats.Source) -> list[tuple[int, dict[str, Any]]]:
    """Return the JSON object of each line, with its number.

    Raises:
        FormatError: a line is not a JSON object.
    """
    found = []
    for number, line in source.lines():
        try:
            record = parsed(line)
        except ValueError as error:
            raise FormatError(f"the line is not JSON ({error})", source.path, number) from None
        if not isinstance(record, dict):
            raise FormatError(f"{line[:40]!r} is not a JSON object", source.path, number)
        found.append((number, record))
    return found
