"""Answers typed from paper into a table: a row an answer, or a row a subject."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from winosmith.errors import FormatError, ProblemError
from winosmith.humans._answers import Answer, Sitting
from winosmith.humans._sheet import Sheet

__all__ = ["read_answer_table"]

_LONG = {"subject", "sheet", "number", "answer", "seconds"}

_MOST_DIGITS = 10

Given = dict[tuple[str, str], dict[int, Answer]]


def read_answer_table(path: str | Path, sheets: Mapping[str, Sheet]) -> list[Sitting]:
    """Read answers from CSV.

    Two layouts, told apart by the header:

        subject,sheet,number,answer[,seconds]      a row for each answer
        subject,sheet,1,2,3,…                      a row for each subject, a column a question

    The column `sheet` holds the code of the sheet, and may be left out when there is only one.
    Answers are letters, small or large, or X; an empty cell is no answer.

    Args:
        path: the table.
        sheets: by their codes.

    Raises:
        FormatError: a column is missing or unknown; an unknown sheet or question; an answer that
            is none of the letters; one question answered twice by one subject, which is how two
            subjects with one code show; with the line.
    """
    lines = _rows(path)
    number, header = next(lines, (1, []))
    columns = [cell.strip().lower() for cell in header]
    if "subject" not in columns:
        raise FormatError("the table needs a column 'subject'", path, number)
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise FormatError(f"the column {twice!r} occurs twice", path, number)
    given: Given = {}
    first: dict[tuple[str, str], str] = {}
    reader = _long if {"number", "answer"} <= set(columns) else _wide
    _check_columns(columns, reader is _long, path, number)
    for line, cells in lines:
        if len(cells) != len(columns):
            raise FormatError(
                f"the row has {len(cells)} cells; the header has {len(columns)}", path, line
            )
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        key = row["subject"], _code(row, sheets, path, line)
        if not key[0]:
            raise FormatError("the row names no subject", path, line)
        if reader is _wide and key in first:
            raise FormatError(
                f"{key[0]!r} already has the sheet {key[1]} ({first[key]}); it was typed twice, or "
                "two subjects have one code",
                path,
                line,
            )
        first.setdefault(key, f"{path}:{line}")
        for question, answer in reader(row, sheets[key[1]], path, line):
            answers = given.setdefault(key, {})
            if question in answers:
                raise FormatError(
                    f"{key[0]!r} already answered question {question} of {key[1]} "
                    f"({answers[question].where}); it was typed twice, or two subjects have one "
                    "code",
                    path,
                    line,
                )
            answers[question] = answer
        given.setdefault(key, {})
    if not given:
        raise FormatError("the table has no answers", path)
    return [
        Sitting(subject, sheets[code], answers, where=first[subject, code])
        for (subject, code), answers in given.items()
    ]


def _rows(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row that is not empty."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"the table can't be read: {error}", path) from error
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets of many countries save semicolons
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise FormatError(f"the row is not CSV: {error}", path, reader.line_num) from None


def _check_columns(columns: list[str], is_long: bool, path: str | Path, line: int) -> None:
    known = _LONG if is_long else {"subject", "sheet"}
    for name in columns:
        if name not in known and (is_long or _question(name) is None):
            raise FormatError(
                f"the column {name!r} is unknown; there is a row for each answer (subject, sheet, "
                "number, answer, seconds) or a column for each question (subject, sheet, 1, 2, …)",
                path,
                line,
            )
    if not is_long and not any(_question(name) for name in columns):
        raise FormatError("the table has no column of answers", path, line)


def _question(name: str) -> int | None:
    """Return the number of a question from "12" or "q12"."""
    digits = name.removeprefix("q")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS
    return int(digits) if is_number else None


def _code(row: Mapping[str, str], sheets: Mapping[str, Sheet], path: str | Path, line: int) -> str:
    code = row.get("sheet", "")
    if not code and len(sheets) == 1:
        return next(iter(sheets))
    if code in sheets:
        return code
    known = ", ".join(sorted(sheets))
    what = f"the sheet {code!r} is unknown" if code else "the row names no sheet"
    raise FormatError(f"{what}; the sheets are {known}", path, line)


def _long(
    row: Mapping[str, str], sheet: Sheet, path: str | Path, line: int
) -> Iterator[tuple[int, Answer]]:
    question = _question(row["number"].lower())
    if question is None:
        raise FormatError(f"{row['number']!r} is not the number of a question", path, line)
    seconds = _seconds(row.get("seconds", ""), path, line)
    yield from _checked(question, row["answer"], seconds, sheet, path, line)


def _wide(
    row: Mapping[str, str], sheet: Sheet, path: str | Path, line: int
) -> Iterator[tuple[int, Answer]]:
    for name, cell in row.items():
        question = _question(name)
        if question is not None and cell:
            yield from _checked(question, cell, None, sheet, path, line)


def _checked(
    question: int, letter: str, seconds: float | None, sheet: Sheet, path: str | Path, line: int
) -> Iterator[tuple[int, Answer]]:
    """Yield the answer if it is one of that question; nothing for an empty one."""
    try:
        item = sheet[question]
        if letter:
            item.option(letter)
            yield question, Answer(letter.upper(), seconds, f"{path}:{line}")
    except (ProblemError, ValueError) as error:
        raise FormatError(str(error), path, line) from None


def _seconds(cell: str, path: str | Path, line: int) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise FormatError(f"{cell!r} is no number of seconds", path, line)
    return value
