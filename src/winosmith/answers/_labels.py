"""Lists of labels in the order of a data set, without ids, and leaderboard submissions.

A list has one label per line: a number from 1, a letter from A or an option's text, optionally with
the options' scores ("2;[ -5.1 9.3 ]"), or "[invalid]"; it may have a header. A JSON array of labels
is also accepted. WinoGrande's label files (1 or 2) and submissions to its leaderboard (five labels
per line) have no scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from winosmith.answers._answers import Answers
from winosmith.answers._file import AnswerFile
from winosmith.answers._rules import INVALID, NO_LETTER, read_choices
from winosmith.data import Place, Source, format_cell, is_missing
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, ProblemError
from winosmith.formats import interpret_answer
from winosmith.prediction import Prediction, check_fit
from winosmith.records import parse_json

SIZES = ("xs", "s", "m", "l", "xl")
"""The columns of a leaderboard submission, one for each training size (WinoGrande, table 4)."""

_LABEL = re.compile(r"(\d\d?(?:\.00?|,00)?|[^\W\d_])(?:\s*;\s*\[([^\]]*)\])?")
_SUBMISSION_LINE = re.compile(r"[12](\s*,\s*[12])+")
_HEADER = re.compile(r"(?!(?i:nan?|none|null)$)[A-Za-z_#][\w .:/()#-]+")

_Label = tuple[Place, Any, tuple[float, ...]]


def can_read(file: AnswerFile) -> bool:
    """Return whether a file is a list of labels: a JSON array, or text that starts with a label."""
    first = file.rows.start.split("\n", 1)[0].strip()
    if file.rows.kind == "array" and first != INVALID:
        return not file.rows.first
    if _LABEL.fullmatch(first) or _SUBMISSION_LINE.fullmatch(first) or first in (INVALID, "<NA>"):
        return True
    source = file.rows.source if file.rows.kind == "delimited" else None
    if source is None or len(file.rows.names) == 1:
        return source is not None
    lines = [line for _, _, line in source.iterate_lines()]  # such as "Paris, France"
    pairs = [*zip(lines, file.dataset, strict=False)] if len(lines) == len(file.dataset) else []
    return 2 * sum("text" in interpret_answer(one, p.options) for one, p in pairs) > len(lines)


def read(file: AnswerFile) -> list[Answers]:
    source, dataset = file.rows.source or Source(file.path), file.dataset
    if file.rows.kind == "array" and not source.start.startswith(INVALID):
        try:
            numbered = enumerate(parse_json(source.text), 1)
        except ValueError as error:
            raise file.make_error(f"the list is not JSON ({error})") from None
        entries: list[_Label] = [(Place(file.path, n, "row"), one, ()) for n, one in numbered]
    else:
        entries = _read_label_lines(source, dataset)
    if file.omitted and len(entries) == len(dataset) + len(file.omitted):
        entries = [label for at, label in enumerate(entries) if at not in file.omitted]
    if len(entries) != len(dataset):
        raise file.make_error(
            f"the list has {len(entries):,} labels, but there are {len(dataset):,} problems; "
            "write one label per problem, in the same order"
        )
    by_id = dict(zip(dataset.ids, entries, strict=True))
    labels = {name: label for name, (_, label, _) in by_id.items()}
    places = {name: place for name, (place, _, _) in by_id.items()}
    choices = read_choices(labels, file.interpret_labels(labels), file, places)
    predictions = []
    for problem, (place, label, scores) in zip(dataset, entries, strict=True):
        if problem.id not in choices:  # "nan"
            continue
        choice, text = choices[problem.id], format_cell(label)
        if choice is None and not (isinstance(label, str) or text.lstrip("-").isdecimal()):
            what = f'the list must contain labels, such as 1 or "A", not {text[:40]}'
            raise place.make_error(what)
        try:
            prediction = Prediction(problem.id, choice, () if choice is None else scores)
            check_fit(prediction, len(problem.options))
        except (ProblemError, DataError) as error:
            raise place.make_error(str(error)) from None
        predictions.append(prediction)
    if {*choices.values()} == {None} and {*labels.values()} != {INVALID}:
        raise file.make_error(NO_LETTER)
    return [Answers(tuple(predictions), file.rows.name)]


def _read_label_lines(source: Source, dataset: Dataset) -> list[_Label]:
    labels: list[_Label] = []
    for number, _, text in source.iterate_lines():
        place, line = Place(str(source.path), number), text.strip()
        line = line[1:-1] if re.fullmatch('"[^"]*"', line) else line
        if _SUBMISSION_LINE.fullmatch(line):
            raise place.make_error(
                "the line has several labels, as in a leaderboard submission; score it with: "
                "winosmith leaderboard"
            )
        label = _LABEL.fullmatch(line)
        scores = label[2] or "" if label else ""
        try:
            labels.append((place, label[1] if label else line, tuple(map(float, scores.split()))))
        except ValueError:
            raise place.make_error(f"the scores {scores!r} are not numbers") from None
    first = labels[0][1] if labels and dataset else ""
    is_answer = is_missing(first) or interpret_answer(first, dataset[0].options)
    may_be_header = _HEADER.fullmatch(first) and not is_answer
    spare = len(labels) - len(dataset)
    labels = labels[1:] if may_be_header and spare == 1 else labels
    options = [*(problem.options for problem in dataset), *[()] * len(labels)]
    invalid = [
        (place, text)
        for (place, text, _), choices in zip(labels, options, strict=False)
        if not (text == INVALID or is_missing(text) or _LABEL.fullmatch(text))
        and not interpret_answer(text, choices)
    ]
    if 2 * len(invalid) > len(labels):
        place, text = invalid[0]
        raise place.make_error(
            f"{text[:40]!r} is not a label; write one label per line, such as 1 or A for the first "
            "option"
        )
    if may_be_header and spare == 0:
        raise labels[0][0].make_error(
            f"{first[:40]!r} may be a header, or an invalid answer; if it is a header, write "
            "nan for each missing answer, otherwise write [invalid] instead"
        )
    return labels


def read_labels(path: str | Path) -> tuple[int, ...]:
    """Return the 0-based labels in a file with "1" or "2" on each line, in the problems' order.

    Raises:
        FormatError: a line is neither "1" nor "2"; the message contains the line number.
    """
    return tuple(row[0] for row in _read_label_rows(path, columns=1))


def write_labels(answers: Sequence[int], file: IO[str]) -> None:
    """Write 0-based answers as a label file with one 1-based number per line."""
    file.writelines(f"{answer + 1}\n" for answer in answers)


def read_submission(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Return the 0-based labels in a leaderboard submission for each training size.

    Each line has five labels, one for each size from xs to xl.

    Raises:
        FormatError: a line does not have exactly five labels of 1 or 2.
    """
    rows = _read_label_rows(path, columns=len(SIZES))
    return dict(zip(SIZES, map(tuple, zip(*rows, strict=True)), strict=True))


def _read_label_rows(path: str | Path, columns: int) -> list[tuple[int, ...]]:
    rows = []
    for number, _, line in Source(path).iterate_lines():
        labels = [label.strip() for label in line.split(",")]
        if len(labels) != columns or not set(labels) <= {"1", "2"}:
            wanted = "one label" if columns == 1 else f"{columns} comma-separated labels"
            raise FormatError(f"{line[:40]!r} is not {wanted} (1 or 2)", path, number)
        rows.append(tuple(int(label) - 1 for label in labels))
    return rows
