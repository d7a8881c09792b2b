"""Lists without ids, in the order of a data set: labels, label files and leaderboard submissions.

A list has one label a line: a number from 1 or a letter from A, without ("2") or with its options'
scores ("2;[ -5.1 9.3 ]"). A JSON array of labels is a list, too. WinoGrande's label files (answers,
1 or 2) and the submissions to its leaderboard (five labels a line) have no scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from winosmith import formats
from winosmith.answers._answers import Answers
from winosmith.answers._rules import read_choices
from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError, ProblemError
from winosmith.prediction import Prediction, check_fit
from winosmith.records import parsed

SIZES = ("xs", "s", "m", "l", "xl")
"""The columns of a leaderboard submission, one for each training size (WinoGrande, table 4)."""

LABEL = re.compile(r"(\d\d?|[A-Za-z])(?:\s*;\s*\[([^\]]*)\])?")
"""A line of a list."""

SUBMITTED = re.compile(r"[12](\s*,\s*[12])+")
"""A line of a leaderboard submission."""


def read_list(source: formats.Source, dataset: Dataset) -> Answers:
    """Return the answers of a list. Its length shows whether it is complete.

    Raises:
        FormatError: it has more or fewer labels than there are problems, a label counts from 0, or
            most lines are not labels.
    """
    given = _array(source) if source.start.startswith("[") else _lines(source)
    if len(given) != len(dataset):
        raise FormatError(
            f"the list has {len(given):,} labels; the data set has {len(dataset):,} problems, and "
            "each needs its own in the same order",
            source.path,
        )
    labels = {name: label for name, (_, label, _) in zip(dataset.ids, given, strict=True)}
    lines = {name: line for name, (line, _, _) in zip(dataset.ids, given, strict=True) if line}
    choices = read_choices(labels, dataset, source.path, lines)
    found = []
    for problem, (line, _, own) in zip(dataset, given, strict=True):
        choice = choices.get(problem.id)
        try:
            prediction = Prediction(problem.id, choice, () if choice is None else own)
            check_fit(prediction, len(problem.options))
        except (ProblemError, DataError) as error:
            raise FormatError(str(error), source.path, line) from None
        found.append(prediction)
    return Answers(tuple(found), source.path.stem)


def _array(source: formats.Source) -> list[tuple[int | None, str, tuple[float, ...]]]:
    try:
        labels = parsed(source.text)
    except ValueError as error:
        raise FormatError(f"the list is not JSON ({error})", source.path) from None
    for label in labels:
        whole = isinstance(label, float) and label.is_integer()
        if not whole and type(label) not in (str, int):
            raise FormatError(
                f'a list has labels, such as 1 or "A", not {json.dumps(label)[:40]}', source.path
            )
    return [(None, str(label), ()) for label in labels]


def _lines(source: formats.Source) -> list[tuple[int | None, str, tuple[float, ...]]]:
    found: list[tuple[int | None, str, tuple[float, ...]]] = []
    others = []
    for number, line in source.lines():
        label = LABEL.fullmatch(line.strip())
        if SUBMITTED.fullmatch(line.strip()):
            raise FormatError(
                "the line has several labels, as a leaderboard submission has; score it with: "
                "winosmith leaderboard",
                source.path,
                number,
            )
        try:
            scores = tuple(map(float, (label[2] or "").split() if label else ()))
        except ValueError:
            what = f"the scores {label[2] if label else ''!r} are not numbers"
            raise FormatError(what, source.path, number) from None
        found.append((number, label[1] if label else line.strip(), scores))
        others += [] if label else [found[-1]]
    if 2 * len(others) > len(found):
        raise FormatError(
            f"{others[0][1][:40]!r} is not a label, such as 1 or A for the first option; a list "
            "has one a line",
            source.path,
            others[0][0],
        )
    return found


def read_labels(path: str | Path) -> tuple[int, ...]:
    """Read a label file: one "1" or "2" a line, in the order of the problems; returned 0-based.

    Raises:
        FormatError: a line that is neither, with its number.
    """
    return tuple(row[0] for row in _rows(path, columns=1))


def write_labels(answers: Sequence[int], file: IO[str]) -> None:
    """Write 0-based answers as a label file, one 1-based number a line."""
    file.writelines(f"{answer + 1}\n" for answer in answers)


def read_submission(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Read a leaderboard submission: five comma-separated labels a line, xs to xl; 0-based.

    Raises:
        FormatError: a line without exactly five labels of 1 or 2, with its number.
    """
    rows = _rows(path, columns=len(SIZES))
    return dict(zip(SIZES, map(tuple, zip(*rows, strict=True)), strict=True))


def _rows(path: str | Path, columns: int) -> list[tuple[int, ...]]:
    rows = []
    for number, line in formats.Source(path).lines():
        labels = [label.strip() for label in line.split(",")]
        if len(labels) != columns or not set(labels) <= {"1", "2"}:
            wanted = "one label" if columns == 1 else f"{columns} comma-separated labels"
            raise FormatError(f"{line[:40]!r} is not {wanted}, each 1 or 2", path, number)
        rows.append(tuple(int(label) - 1 for label in labels))
    return rows
