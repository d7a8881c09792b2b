"""Files of responses: a table that people can edit (CSV), and JSON Lines.

The CSV has a header; the columns may stand in any order:

==============  ===========================================================================
`problem_id`    the problem that was asked; needed
`participant`   the person's pseudonym; needed
`choice`        the chosen option's number, **from 1**, as in `option1`; empty for none; needed
`purpose`       `validate` (the default), `local` or `test`
`ambiguous`     1 when the person finds both options plausible, else 0 or empty
`associative`   1 when the person finds that nearby words give the answer away, else 0 or empty
`shown`         the options' numbers in the order in which they were shown ("2 1"), or empty
`seconds`       how long it took, or empty
==============  ===========================================================================

In JSON Lines each line is an object with the fields of `winosmith.Response`, so there `choice` and
`shown` count **from 0**, as `answer` does in our problems.

A text that a spreadsheet would take for a formula is written with an apostrophe before it, which
is taken off again when the file is read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any

from winosmith.answers import Response
from winosmith.cells import guarded, unguarded
from winosmith.errors import FormatError, ProblemError
from winosmith.outputs import write_aside
from winosmith.records import json_lines

COLUMNS = tuple(field.name for field in fields(Response))
"""The columns of a table, or keys of a JSON object, of responses."""

_NEEDED = ("problem_id", "participant", "choice")
_YES_NO = {"": False, "0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}


def read_votes(path: str | Path) -> tuple[Response, ...]:
    """Read responses from CSV or JSON Lines, told apart by the first character.

    Raises:
        FormatError: the file is empty or not UTF-8, a column is missing or unknown, or a response
            can't be read; with the line.
    """
    text = _read_text(path)
    records = _json_records(text, path) if text.lstrip()[0] in "{[" else csv_records(text, path)
    responses = []
    for line, record in records:
        try:
            responses.append(Response(**record))
        except ProblemError as error:
            raise FormatError(str(error), path, line) from None
    return tuple(responses)


def write_votes(responses: Iterable[Response], path: str | Path) -> None:
    """Write responses as JSON Lines when the path ends in `.jsonl`, else as CSV.

    Raises:
        OutputError: the file can't be written.
    """
    with write_aside(path) as file:
        if Path(path).suffix == ".jsonl":
            file.writelines(
                json.dumps(_without_defaults(r), ensure_ascii=False) + "\n" for r in responses
            )
        else:
            write_csv(responses, file)


def _read_text(path: str | Path) -> str:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FormatError("the text is not UTF-8; save it as UTF-8 first", path, line) from None
    if not text.strip():
        raise FormatError("the file is empty", path)
    return text


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


def write_csv(responses: Iterable[Response], file: IO[str]) -> None:
    """Write responses as CSV with a header, by RFC 4180."""
    table = csv.writer(file, lineterminator="\r\n")
    table.writerow(COLUMNS)
    table.writerows(map(_cells, responses))


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


def _json_records(text: str, path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, record in json_lines(text, path):
        check_names(record, ("problem_id", "participant", "purpose"), path, number)
        for name, value in record.items():
            if not _MAY_BE[name](value):
                raise FormatError(f"{name} can't be {json.dumps(value)}", path, number)
        yield number, {**record, "shown": tuple(record.get("shown", ()))}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_MAY_BE: Mapping[str, Callable[[Any], bool]] = {
    "problem_id": _is_text,
    "participant": _is_text,
    "purpose": _is_text,
    "choice": lambda value: value is None or _is_index(value),
    "ambiguous": _is_flag,
    "associative": _is_flag,
    "shown": lambda value: isinstance(value, list) and all(map(_is_index, value)),
    "seconds": lambda value: value is None or isinstance(value, float) or _is_index(value),
}
"""What the value of each key may be in JSON Lines."""


def _without_defaults(response: Response) -> dict[str, Any]:
    record = asdict(response)
    return {k: v for k, v in record.items() if v is not None and v is not False and v != ()}
