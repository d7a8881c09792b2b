"""Files of subjects: the lines that entry writes, and tables typed by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError
from winosmith.humans._answers_subjects import Remark, Subject, Taken, between
from winosmith.records import parsed

__all__ = ["read_subjects"]

_YES_NO = {"": None, "yes": True, "no": False, "1": True, "0": False}
_KNOWN = {"subject", "native", "started", "ended", "recognised", "words"}


def read_subjects(path: str | Path) -> tuple[Subject, ...]:
    """Read subjects from JSON Lines (as `enter` writes them) or CSV.

    A CSV has a row for each subject, with the columns subject, native (yes, no or empty), started
    and ended (ISO 8601), recognised and words ("12: a novel; 40: a film"), all but the first
    optional; every other column is an attribute.

    Raises:
        FormatError: it can't be read, or two subjects have one code; with the line.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"the subjects can't be read: {error}", path) from error
    lines = _json_lines(text, path) if text.lstrip().startswith("{") else _csv_lines(text, path)
    found: dict[str, Subject] = {}
    first: dict[str, int] = {}
    for line, subject in lines:
        if not subject.code:
            raise FormatError("the subject has no code", path, line)
        if subject.code in found:
            raise FormatError(
                f"two subjects have the code {subject.code!r}; the other is in line "
                f"{first[subject.code]}",
                path,
                line,
            )
        found[subject.code], first[subject.code] = subject, line
    return tuple(found.values())


def _json_lines(text: str, path: str | Path) -> Iterator[tuple[int, Subject]]:
    for line, each in enumerate(text.split("\n"), 1):
        if not each.strip():
            continue
        try:
            record = _checked(parsed(each))
            yield (
                line,
                Subject(
                    record["subject"],
                    record.get("native"),
                    record.get("attributes", {}),
                    record.get("seconds"),
                    tuple(
                        Taken(t["sheet"], t["test"], tuple(t["problems"]))
                        for t in record.get("taken", ())
                    ),
                    tuple(Remark(r["problem"], r["text"]) for r in record.get("recognised", ())),
                    tuple(Remark(r["problem"], r["text"]) for r in record.get("words", ())),
                ),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(f"this is no subject: {error!r}", path, line) from error


def _checked(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of a subject; raises TypeError when a value is of a wrong kind."""
    kinds: Mapping[str, Any] = {
        "subject": str, "native": bool | None, "attributes": dict, "seconds": int | float | None
    }  # fmt: skip
    for key, kind in kinds.items():
        if key in record and not isinstance(record[key], kind):
            raise TypeError(f"{key} can't be {record[key]!r}")
    return record


def _csv_lines(text: str, path: str | Path) -> Iterator[tuple[int, Subject]]:
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    try:
        yield from _rows(reader, path)
    except csv.Error as error:
        raise FormatError(f"the row is not CSV: {error}", path, reader.line_num) from None


def _rows(reader: csv.DictReader[str], path: str | Path) -> Iterator[tuple[int, Subject]]:
    names = {name: name.strip().lower() for name in reader.fieldnames or ()}
    if "subject" not in names.values():
        raise FormatError("the subjects need a column 'subject'", path, 1)
    for cells in reader:
        if None in cells or None in cells.values():
            raise FormatError("the row has more or fewer cells than the header", path,
                              reader.line_num)  # fmt: skip
        row = {names[name]: cell.strip() for name, cell in cells.items()}
        try:
            yield reader.line_num, _of_row(row)
        except ValueError as error:
            raise FormatError(str(error), path, reader.line_num) from None


def _of_row(row: Mapping[str, str]) -> Subject:
    native = row.get("native", "").lower()
    if native not in _YES_NO:
        raise ValueError(f"native is {native!r}; it is yes, no or empty")
    started, ended = row.get("started") or None, row.get("ended") or None
    return Subject(
        row["subject"],
        _YES_NO[native],
        {name: cell for name, cell in row.items() if name not in _KNOWN and cell},
        between(started, ended),
        (),
        tuple(_remarks(row.get("recognised", ""))),
        tuple(_remarks(row.get("words", ""))),
    )


def _remarks(cell: str) -> Iterator[Remark]:
    """Yield the remarks of a cell: "12: a novel; a film"."""
    for part in filter(None, map(str.strip, cell.split(";"))):
        found = re.fullmatch(r"(\S+?)\s*:\s*(.+)", part)
        yield Remark(found[1], found[2]) if found else Remark(None, part)
