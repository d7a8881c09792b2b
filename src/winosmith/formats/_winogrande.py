"""WinoGrande 1.1: problems as JSON Lines, labels apart, and leaderboard submissions.

`qID` becomes the id. It is the crowd task's id, shared by both halves, and then "-1" or "-2":
**the published suffix is the answer**, also in the test file, which withholds the answer itself.
The id is kept as published because everybody's predictions are keyed by it; `winosmith stats`
reports the leak, and what `winosmith build` writes has new ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from winosmith.errors import FormatError
from winosmith.formats._base import (
    Entry,
    Format,
    Item,
    Source,
    json_lines,
    option_number,
    text_field,
)
from winosmith.problem import Claim, Problem

__all__ = ["SIZES", "WINOGRANDE", "read_labels", "read_submission", "write_labels"]

SIZES = ("xs", "s", "m", "l", "xl")
"""The columns of a leaderboard submission: one a training size (WinoGrande, table 4)."""

_QID = re.compile(r"(.+)-[12]")


def _recognises(source: Source) -> bool:
    return {"qID", "sentence", "option1", "option2"} <= source.first_record().keys()


def _problem(record: Mapping[str, Any], line: int) -> Problem:
    qid = text_field(record, "qID")
    task = _QID.fullmatch(qid)
    return Problem(
        id=qid,
        sentence=text_field(record, "sentence"),
        options=(text_field(record, "option1"), text_field(record, "option2")),
        answer=option_number(record.get("answer"), 2),
        twin_id=task[1] if task else None,
    )


def _read(source: Source) -> Iterator[Entry]:
    return json_lines(source, _problem)


def _write(items: Sequence[Item], file: IO[str]) -> None:
    for item in items:
        if isinstance(item, Claim) or len(item.options) != 2:
            name = item.problem_id if isinstance(item, Claim) else item.id
            raise FormatError(f"{name!r} can't be written: WinoGrande has 2 options and no claims")
        record = {
            "qID": item.id,
            "sentence": item.sentence,
            "option1": item.options[0],
            "option2": item.options[1],
        }
        if item.answer is not None:
            record["answer"] = str(item.answer + 1)
        file.write(json.dumps(record) + "\n")


WINOGRANDE = Format(
    name="winogrande",
    title="WinoGrande 1.1: qID, sentence, option1, option2, answer",
    recognises=_recognises,
    read=_read,
    write=_write,
    suffix=".jsonl",
)


def read_labels(path: str | Path) -> tuple[int, ...]:
    """Read a labels file: one "1" or "2" a line, in the order of the problems; 0-based here.

    Raises:
        FormatError: a line that is neither, with its number.
    """
    return tuple(row[0] for row in _label_rows(path, columns=1))


def write_labels(answers: Sequence[int], file: IO[str]) -> None:
    """Write 0-based answers as a labels file, one 1-based number a line."""
    file.writelines(f"{answer + 1}\n" for answer in answers)


def read_submission(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Read a leaderboard submission: five comma-separated labels a line, xs to xl; 0-based here.

    Raises:
        FormatError: a line without exactly five labels of 1 or 2, with its number.
    """
    rows = _label_rows(path, columns=len(SIZES))
    return dict(zip(SIZES, map(tuple, zip(*rows, strict=True)), strict=True))


def _label_rows(path: str | Path, columns: int) -> list[tuple[int, ...]]:
    rows = []
    for number, line in Source(path).lines():
        labels = [label.strip() for label in line.split(",")]
        if len(labels) != columns or not set(labels) <= {"1", "2"}:
            wanted = "one label" if columns == 1 else f"{columns} comma-separated labels"
            raise FormatError(f"{line[:40]!r} is not {wanted}, each 1 or 2", path, number)
        rows.append(tuple(int(label) - 1 for label in labels))
    return rows
