"""What a chat model wrote, as rows: the table found in fences, prose and other dress."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from winosmith.chat import Reply

__all__ = ["COLUMNS", "Row", "read_rows"]

COLUMNS = ("index", "sentence", "option1", "option2", "answer", "distance")
"""The table of EvoGrad (2024, appendix A.1)."""

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_RULE = re.compile(r"[\s|:+=-]*-{2,}[\s|:+=-]*")
_BULLET = re.compile(r"^[-*•]\s+")
_DOTS = re.compile(r"[\W_]*(\.\s?\.\s?\.|…)[\W_]*")
_AND_SO_ON = re.compile(r"\(.*\b(and so on|continu\w+|etc|up to)\b.*\)", re.IGNORECASE)
_NUMBERED = re.compile(r"\W*\d+[\W_]")
_INDEX = re.compile(r"\W*\d+\W*")
_WHOLE = re.compile(r"-?\d+")
_LONGEST = 2000
"""Characters of a line beyond which nobody meant it as one row."""

_CURLY = str.maketrans("“”", '""')


@dataclass(frozen=True, slots=True)
class Row:
    """A line that is a row, or was meant to be one.

    Attributes:
        text: the line.
        cells: the six values, in the order of `COLUMNS`; empty when they can't be told apart.
        faults: "columns", "ellipsis" or "truncated", which leave no cells; "quotes" where a
            sentence has commas and no quotes, but the values can be told apart all the same.
    """

    text: str
    cells: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def read_rows(reply: Reply) -> list[Row]:
    r"""Return the rows of a reply, in their order.

    Rows may be separated by commas, tabs, semicolons or bars, and stand in code fences or in a
    Markdown table. Headings, rules, prose and what a model thinks aloud are passed over. The last
    line of a reply that was cut off is "truncated", even if it looks whole: "1" may have been
    going to be "12".

    >>> [row.cells[1] for row in read_rows(Reply('Sure!\n1,"Ann, not Sue, _ ran.",Ann,Sue,1,2'))]
    ['Ann, not Sue, _ ran.']
    """
    text = _THOUGHT.sub("", reply.text)
    lines = list(_lines(text))
    is_cut = reply.finish == "length" and text == text.rstrip("\r\n")
    if not (is_cut and lines and text.strip()):
        return [row for line in lines if (row := _row(line))]
    whole = [row for line in lines[:-1] if (row := _row(line))]
    return [*whole, Row(lines[-1], faults=("truncated",))]


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        bare = _BULLET.sub("", line.strip())
        if bare and not bare.startswith("```") and not _RULE.fullmatch(bare[:_LONGEST]):
            yield bare


def _row(line: str) -> Row | None:
    """Return the row of a line; None for a heading or prose."""
    if len(line) > _LONGEST:
        return Row(line[:_LONGEST], faults=("columns",)) if "_" in line else None
    if _DOTS.fullmatch(line) or _AND_SO_ON.fullmatch(line):
        return Row(line, faults=("ellipsis",))
    cells = _cells(line)
    if {"sentence", "option1"} <= {cell.lower().replace(" ", "") for cell in cells}:
        return None
    if not _is_meant(line, cells):
        return None
    if len(cells) >= len(COLUMNS) and _DOTS.fullmatch(cells[1]):
        return Row(line, faults=("ellipsis",))
    if _is_table_row(cells):
        return Row(line, tuple(cells))
    cells = _unquoted(line)
    if _is_table_row(cells):
        return Row(line, tuple(cells), ("quotes",))
    return Row(line, faults=("columns",))


def _is_meant(line: str, cells: list[str]) -> bool:
    """Tell whether a line was meant to be a row, well-formed or not, rather than prose."""
    if _NUMBERED.match(line):
        return "_" in line or len(cells) > 3
    return len(cells) > 2 and ("_" in line or bool(_WHOLE.fullmatch(cells[-1])))


def _is_table_row(cells: list[str]) -> bool:
    return len(cells) == len(COLUMNS) and bool(_INDEX.fullmatch(cells[0]))


def _cells(line: str) -> list[str]:
    """Cut a line at its most likely separator."""
    enough = len(COLUMNS) - 1
    if line.count("|") >= enough:
        return _clean(line.strip("|").split("|"))
    separator = next((mark for mark in "\t;" if line.count(mark) >= enough), ",")
    found = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    if len(found) != len(COLUMNS) and ("“" in line or "”" in line):
        line = line.translate(_CURLY)
        found = next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    return _clean(found)


def _unquoted(line: str) -> list[str]:
    """Cut a line whose sentence is not quoted: all between the index and the last four values.

    A line with whole pairs of quotes is not cut, as something else must be wrong with it.
    """
    if line.count('"') % 2 == 0 and '"' in line:
        return []
    index, *rest = line.replace('"', "").split(",")
    return _clean([index, ",".join(rest[:-4]), *rest[-4:]]) if len(rest) > 4 else []


def _clean(cells: list[str]) -> list[str]:
    """Undo what Markdown does to text."""
    return [cell.replace("\\_", "_").replace("**", "").strip() for cell in cells]
