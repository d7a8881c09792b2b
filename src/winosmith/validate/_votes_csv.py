"""Responses as a table: CSV that people can edit in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

from winosmith.answers import Response
from winosmith.cells import guarded, unguarded
from winosmith.errors import FormatError, ProblemError

__all__ = ["COLUMNS", "check_names", "csv_records", "write_csv"]

COLUMNS = tuple(field.name for field in fields(Response))
"""The columns of a table, or keys of a JSON object, of responses."""

_NEEDED = ("problem_id", "participant", "choice")
_YES_NO = {"": False, "0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}


def check_names(names: Iterable[str], needed: tuple[str, ...], path: str | Path, line: int) -> None:
    """Raise FormatError when a column is missing, unknown, or there twice."""
    names = list(names)
    for name in needed:
        if name not in names:
            raise FormatError(f"there is no {name!r}; {', '.join(needed)} are needed", path, line)
    for name in names:
        if name not in COLUMNS or names.count(name) > 1:
            what = "occurs twice" if name in COLUMNS else "is unknown"
            known = ", ".join(COLUMNS)
            raise FormatError(f"the column {name!r} {what}; the columns are {known}", path, line)


def write_csv(responses: Iterable[Response], file: IO[str]) -> None:
    """Write responses as CSV with a header, by RFC 4180."""
    table = csv.writer(file, lineterminator="\r\n")
    table.writerow(COLUMNS)
    table.writerows(map(_cells, responses))


def csv_records(text: str, path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the fields of each response; raises FormatError."""
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for cells in table:
            line, start = start, table.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                check_names(header, _NEEDED, path, line)
                continue
            if len(cells) != len(header):
                reason = f"the row has {len(cells)} cells; the header has {len(header)}"
                raise FormatError(reason, path, line)
            yield line, _parsed(dict(zip(header, cells, strict=True)), path, line)
    except csv.Error as error:
        raise FormatError(f"the row is not CSV: {error}", path, start) from None


def _parsed(row: Mapping[str, str], path: str | Path, line: int) -> dict[str, Any]:
    try:
        return {
            "problem_id": unguarded(row["problem_id"]),
            "participant": unguarded(row["participant"]),
            "purpose": row.get("purpose", "").strip() or "validate",
            "choice": _number(row["choice"]) if row["choice"].strip() else None,
            "ambiguous": _flag(row, "ambiguous"),
            "associative": _flag(row, "associative"),
            "shown": tuple(map(_number, row.get("shown", "").split())),
            "seconds": _seconds(row.get("seconds", "")),
        }
    except ProblemError as error:
        raise FormatError(str(error), path, line) from None


def _number(cell: str) -> int:
    if re.fullmatch(r"\s*[1-9][0-9]{0,2}\s*", cell):
        return int(cell) - 1
    raise ProblemError(f"{cell!r} is not the number of an option; they count from 1")


def _flag(row: Mapping[str, str], name: str) -> bool:
    cell = row.get(name, "").strip().lower()
    if cell not in _YES_NO:
        raise ProblemError(f"{name} is {cell!r}; it must be 1, 0 or empty")
    return _YES_NO[cell]


def _seconds(cell: str) -> float | None:
    if not cell.strip():
        return None
    try:
        return float(cell)
    except ValueError:
        raise ProblemError(f"seconds is {cell!r}; a number or nothing is needed") from None


def _cells(response: Response) -> list[str]:
    return [
        guarded(response.problem_id),
        guarded(response.participant),
        response.purpose,
        "" if response.choice is None else str(response.choice + 1),
        str(int(response.ambiguous)),
        str(int(response.associative)),
        " ".join(str(option + 1) for option in response.shown),
        "" if response.seconds is None else repr(response.seconds),
    ]
