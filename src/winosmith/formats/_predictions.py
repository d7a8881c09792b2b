"""Prediction files, who answered what: our own, with or without a header, and plain lists.

Our own are JSON Lines. The header says what was run on what; then comes one line a problem:

    {"predictions":"majority","parameters":{…},"data":"9f2c…","n":1267,"version":"0.1.0"}
    {"id":"3FCO4VKO…-2","choice":1,"scores":[-0.71,-0.68]}
    {"id":"3FCO4VKO…-1","choice":0,"scores":[-0.7,-0.7],"tied":[0,1]}

`tied` names the options that the solver could not decide between.
`data` is the digest of the problems as the solver saw them, without their answers: it can be
published beside a test set, and it fits whether the reader has the answers or not.

A list without ids is read given the data set whose order it is in: one label a line, a number from
1 or a letter from A, alone ("2") or before its options' scores ("2;[ -5.1 9.3 ]"); or all labels
in a JSON array.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from winosmith._version import __version__
from winosmith.answers import Prediction
from winosmith.data import Source
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, OtherDataError, ProblemError
from winosmith.outputs import write_aside
from winosmith.records import canonical, parsed


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
            OtherDataError: problems without a prediction, or predictions without a problem (how
                many, and the first three ids).
            DataError: a prediction that does not fit the problem's options.
        """
        by_id = {prediction.problem_id: prediction for prediction in self.predictions}
        missing = [problem.id for problem in dataset if problem.id not in by_id]
        known = set(dataset.ids)
        extra = [key for key in by_id if key not in known]
        if missing or extra:
            what = _unmatched(missing, extra, len(dataset))
            raise OtherDataError(f"{self.solver}: {what}", len(dataset) - len(missing))
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


_LISTED = re.compile(r"([1-9]\d?|[A-Za-z])(?:\s*;\s*\[([^\]]*)\])?")
_KEYS = {"id", "choice", "scores", "tied"}


def read_predictions(path: str | Path, dataset: Dataset | None = None) -> Predictions:
    """Read a file of predictions: our own, with or without its header, or a plain list.

    Args:
        path: the file.
        dataset: the problems that were asked. With it, the predictions come in its order, checked
            to be one a problem; without it, as they stand in the file. A plain list needs it.

    Raises:
        FormatError: a line that is no prediction, with its number; an id that occurs twice.
        DataError: the predictions don't fit the data set; see `Predictions.of`.
    """
    source = Source(path)
    lines = list(source.lines())
    if not source.start.startswith("{"):
        if source.start.startswith("["):
            lines = _labels(source)
        return _of_list(source.path, lines, dataset)
    first = _record(lines[0][1], source.path, lines[0][0])
    header = first if "predictions" in first else {}
    _check_header(header, source.path)
    found = _distinct(lines[1:] if header else lines, source.path)
    predictions = Predictions(
        tuple(found),
        str(header.get("predictions", source.path.stem)),
        header.get("parameters", {}),
        header.get("data"),
        header.get("version"),
    )
    if dataset is None:
        return predictions
    _check_complete(len(found), header, source.path)
    return predictions.of(dataset)


def _labels(source: Source) -> list[tuple[int, str]]:
    """Return the labels of a JSON array, each as a line of a list would have it."""
    try:
        held = parsed(source.text)
    except ValueError as error:
        raise FormatError(f"the list is not JSON ({error})", source.path) from None
    wrong = [one for one in held if type(one) not in (str, int)]
    if wrong:
        told = json.dumps(wrong[0])[:40]
        raise FormatError(f'a list has labels, such as 1 or "A", not {told}', source.path)
    return [(1, str(label)) for label in held]


def _distinct(lines: Sequence[tuple[int, str]], path: Path) -> list[Prediction]:
    found: dict[str, Prediction] = {}
    for number, line in lines:
        prediction = _prediction(_record(line, path, number), path, number)
        if prediction.problem_id in found:
            raise FormatError(
                f"the id {prediction.problem_id!r} already has a prediction", path, number
            )
        found[prediction.problem_id] = prediction
    return list(found.values())


def _record(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        record = parsed(line)
    except ValueError as error:
        raise FormatError(f"the line is not JSON ({error})", path, number) from None
    if not isinstance(record, dict):
        raise FormatError(f"{line[:40]!r} is not a JSON object", path, number)
    return record


def _check_header(header: Mapping[str, Any], path: Path) -> None:
    kinds: dict[str, type | tuple[type, ...]] = {
        "predictions": str, "parameters": dict, "data": str, "n": int, "version": str
    }  # fmt: skip
    for key, kind in kinds.items():
        if key in header and not isinstance(header[key], kind):
            raise FormatError(f"the header's {key!r} can't be {header[key]!r}", path, 1)


def _check_complete(found: int, header: Mapping[str, Any], path: Path) -> None:
    """Refuse a file that was cut short, with its own count, before problems are named."""
    if found < header.get("n", found):
        raise FormatError(
            f"the header announces {header['n']:,} predictions, and {found:,} follow: the file "
            "was cut short; write it again with winosmith solve",
            path,
        )


def _prediction(record: Mapping[str, Any], path: Path, number: int) -> Prediction:
    for key in ("id", "choice"):
        if key not in record:
            raise FormatError(f"the prediction has no {key!r}", path, number)
    unknown = sorted(record.keys() - _KEYS)
    if unknown:
        raise FormatError(f"the prediction has an unknown key {unknown[0]!r}", path, number)
    name, choice, scores = record["id"], record["choice"], record.get("scores", [])
    if not isinstance(name, str) or not name.strip():
        raise FormatError(f"the id must be text, not {name!r}", path, number)
    if isinstance(choice, bool) or not isinstance(choice, int):
        raise FormatError(f"the choice must be an index of 0 or more, not {choice!r}", path, number)
    if not isinstance(scores, list) or not all(map(_is_number, scores)):
        raise FormatError(f"the scores must be a list of numbers, not {scores!r}", path, number)
    tied = record.get("tied", [])
    if not isinstance(tied, list) or not all(type(option) is int for option in tied):
        raise FormatError(f"the tied options must be a list of indices, not {tied!r}", path, number)
    try:
        return Prediction(name, choice, tuple(map(float, scores)), tuple(tied))
    except (ProblemError, OverflowError) as error:
        raise FormatError(str(error), path, number) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _of_list(path: Path, lines: Sequence[tuple[int, str]], dataset: Dataset | None) -> Predictions:
    """Return the predictions of a list without ids."""
    listed = [_listed(line, path, number) for number, line in lines]
    if dataset is None:
        raise FormatError("a list without ids can be read only beside its data set", path)
    if len(listed) != len(dataset):
        raise FormatError(
            f"the list has {len(listed):,} labels; the data set has {len(dataset):,} problems, and "
            "each needs its own in the same order",
            path,
        )
    found = []
    for problem, (number, line), (choice, scores) in zip(dataset, lines, listed, strict=True):
        try:
            prediction = Prediction(problem.id, choice, scores)
            check_fit(prediction, len(problem.options), line.partition(";")[0].strip())
        except (ProblemError, DataError) as error:
            raise FormatError(str(error), path, number) from None
        found.append(prediction)
    return Predictions(tuple(found), path.stem)


def option_at(label: str) -> int:
    """Return the index of the option that a number, from 1, or a letter stands for."""
    return int(label) - 1 if label.isdecimal() else ascii_uppercase.index(label.upper())


def _listed(line: str, path: Path, number: int) -> tuple[int, tuple[float, ...]]:
    match = _LISTED.fullmatch(line.strip())
    if match is None:
        if re.fullmatch(r"[12](\s*,\s*[12])+", line.strip()):
            raise FormatError(
                "the line has several labels, as a leaderboard submission has; score it with: "
                "winosmith leaderboard",
                path,
                number,
            )
        raise FormatError(
            f"{line[:40]!r} is not a label, such as 1 or A for the first option; a list has one "
            "a line",
            path,
            number,
        )
    try:
        scores = tuple(map(float, (match[2] or "").split()))
    except ValueError:
        raise FormatError(f"the scores {match[2]!r} are not numbers", path, number) from None
    return option_at(match[1]), scores
