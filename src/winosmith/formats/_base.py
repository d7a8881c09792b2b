"""What a file format is: how to recognise it, read it and write it.

A reader yields one `Entry` a record, in the order of the file, and never stops at a bad one: the
entry then holds the reason in place of the record. Whether that ends the reading or is set aside
is decided in one place (`winosmith.formats.read`). A writer either writes what its reader will
read back, or raises; what the format has no place for is told by `winosmith.formats.losses`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import IO

from winosmith.errors import FormatError, ProblemError
from winosmith.formats._source import Source
from winosmith.problem import Claim, Problem, Scalar

__all__ = [
    "Entry",
    "Format",
    "Item",
    "cannot_write",
    "entry",
    "named",
    "option_number",
    "problems_of",
    "scalars",
]

Item = Problem | Claim


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a file: what it holds, or why it can't be read.

    Attributes:
        line: the 1-based line where the record starts.
        raw: the record's own text, for setting it aside.
        item: the problem or claim; None when it can't be read.
        reason: why it can't be read; None when it can.
    """

    line: int
    raw: str
    item: Item | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Format:
    """A published file format.

    Attributes:
        name: what `--from` and `--to` take ("winogrande").
        title: one line for the help.
        recognises: tells from its content whether a file is in this format.
        read: yields the entries of a file, in order.
        write: writes problems or claims to a text file; None when it is only read.
        holds: Problem, Claim, or both: what a file in this format is made of.
        suffix: the usual ending of a file in this format.
        keeps: the fields that come back as they were from whatever the writer accepts, once their
            white space is tidy.
        needs: the columns of its table, or the keys of its records, by which it is told; empty
            where other signs tell it.
        silent_on_twins: tells whether a file has no place that says which problems are twins, so
            that they are looked for by their texts; None where the reader settles it by itself.
    """

    name: str
    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterable[Entry]]
    write: Callable[[Sequence[Item], IO[str]], None] | None = None
    holds: type[Item] | UnionType = Problem
    suffix: str = ".txt"
    keeps: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    silent_on_twins: Callable[[Source], bool] | None = None


def entry(line: int, raw: str, build: Callable[[], Item]) -> Entry:
    """Return the entry of one record: what `build` makes of it, or the reason why it can't."""
    try:
        return Entry(line, raw, build())
    except ProblemError as error:
        return Entry(line, raw, reason=str(error))
    except KeyError as error:
        return Entry(line, raw, reason=f"the record has no {error.args[0]!r}")


def option_number(value: object, options: int) -> int | None:
    """Return the 0-based answer of a 1-based number written as text or integer, or None if empty.

    Raises:
        ProblemError: it is neither empty nor one of the options' numbers.

    >>> option_number("2", 2), option_number("", 2), option_number(None, 2)
    (1, None, None)
    """
    if value is None or value == "":
        return None
    if str(value) in map(str, range(1, options + 1)) and not isinstance(value, bool):
        return int(str(value)) - 1
    raise ProblemError(
        f"the answer is {value!r}; with {options} options it must be a number from 1 to {options}"
    )


def scalars(record: Iterable[tuple[str, object]], format_key: str) -> dict[str, Scalar]:
    """Return what only this format knows as items of `Extra`, with keys `format_key.field`.

    Raises:
        ProblemError: a value is no scalar.
    """
    kept: dict[str, Scalar] = {}
    for key, value in record:
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ProblemError(f"{key!r} must be a text, a number or true or false, not {value!r}")
        kept[f"{format_key}.{key}"] = value
    return kept


def cannot_write(item: Item, why: str) -> FormatError:
    """Return the error for an item that does not fit into a format."""
    return FormatError(f"{named(item)!r} can't be written: {why}")


def named(item: Item) -> str:
    """Return the id of a problem, or of a claim's problem."""
    return item.problem_id if isinstance(item, Claim) else item.id


def problems_of(items: Iterable[Item], options: int | None = None) -> Iterator[Problem]:
    """Yield the items as problems.

    Args:
        items: what is to be written.
        options: how many options the format has a place for; None for any number.

    Raises:
        FormatError: one is a claim, or has another number of options.
    """
    for item in items:
        if isinstance(item, Claim):
            raise cannot_write(item, "the format holds no true-or-false claims")
        if options is not None and len(item.options) != options:
            raise cannot_write(
                item, f"the format has {options} options a problem, not {len(item.options)}"
            )
        yield item
