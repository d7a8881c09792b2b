"""Tables that are written in parts: each part has its own columns, the file has all of them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO

__all__ = ["aligned", "header_of", "union"]


def header_of(table: str) -> list[str]:
    """Return the names of the columns; they never hold a line end."""
    first = table.partition("\n")[0].removesuffix("\r")
    return next(csv.reader([first], delimiter=_separator(first)), [])


def _separator(line: str) -> str:
    return "\t" if "\t" in line else ","


def union(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the columns of both, those of either in its order.

    >>> union(["id", "sentence", "answer"], ["id", "sentence", "option3", "answer", "anchor"])
    ['id', 'sentence', 'option3', 'answer', 'anchor']
    """
    merged, rest = list[str](), list(other)
    for name in one:
        if name in rest:
            at = rest.index(name)
            merged += [new for new in rest[:at] if new not in one]
            rest = rest[at + 1 :]
        merged.append(name)
    return list(dict.fromkeys([*merged, *rest]))


def aligned(table: str, header: Sequence[str], *, with_header: bool) -> str:
    r"""Return a part with the columns of the whole file.

    >>> aligned("a,c\r\n1,2\r\n", ["a", "b", "c"], with_header=True)
    'a,b,c\r\n1,,2\r\n'
    """
    own = header_of(table)
    if own == list(header):
        return table if with_header else table.partition("\n")[2]
    lines = table.partition("\n")
    ends = "\r\n" if lines[0].endswith("\r") else "\n"
    separator = _separator(lines[0])
    file = StringIO(newline="")
    writer = csv.DictWriter(file, header, restval="", delimiter=separator, lineterminator=ends)
    if with_header:
        writer.writeheader()
    reader = csv.DictReader(StringIO(table, newline=""), delimiter=separator)
    writer.writerows(reader)
    return file.getvalue()
