"""`Format`, which recognises, reads and writes rows, and functions shared by all formats.

A format does not open files: `winosmith.data` passes it rows with their locations. Its reader
yields one `Entry` per record, in order. The reader does not stop at a bad record: the record's
entry has a reason instead of an item. Only `winosmith.formats.read` decides whether to stop or to
skip the record. A few formats also have a `Writer`, which raises an error for an item that could
not be read back. `winosmith.formats.find_losses` lists the fields that a format can't store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from types import UnionType
from typing import IO, Any, TypeVar
from xml.etree.ElementTree import Element

from winosmith import data
from winosmith.data import Place, Record, Rows, format_cell, is_missing, parse_whole_number
from winosmith.errors import FormatError, ProblemError
from winosmith.problem import BLANK, Claim, Extra, OutOfRangeText, Problem, Scalar, make_extra_key
from winosmith.records import parse_json
from winosmith.text import detect_script

Item = Problem | Claim


@dataclass(frozen=True, slots=True)
class Entry:
    """A record's problem or claim, or the reason why it can't be read.

    Attributes:
        place: the location of the record.
        raw: the record's text, which is written to the file of bad records.
        item: the problem or claim; None if the record can't be read.
        reason: why the record can't be read; None if it can be read.
        note: how a contradictory or ambiguous record was read; None for other records.
    """

    place: Place
    raw: str
    item: Item | None = None
    reason: str | None = None
    note: str | None = None

    @property
    def line(self) -> int:
        """The 1-based number of the record's first line or row."""
        return self.place.number


@dataclass(frozen=True)
class Writer:
    """The writer of a format.

    Attributes:
        write: a function that writes items of `item_types` to a text file.
        suffix: the usual file extension of the format.
        kept_fields: the fields that can be read back unchanged, except for white space.
        item_types: the types of items that the format accepts: Problem, Claim, or both.
    """

    write: Callable[[Sequence[Any], IO[str]], None]
    suffix: str
    kept_fields: frozenset[str]
    item_types: type[Item] | UnionType = Problem


@dataclass(frozen=True)
class Format:
    """A published format.

    Attributes:
        name: the value of `--from` and `--to` ("winogrande").
        title: a one-line description for the help.
        read: a function that yields an entry for each record of the rows, in order.
        needs: the field names that rows must have. Without a `sign`, they identify the format.
        sign: a function that returns whether rows are in this format.
        writer: the format's writer; None if the format is read-only.
        twin_names: the fields that mark twins. If no row has one of these fields, twins are
            detected by their texts. None if the reader pairs twins itself.
    """

    name: str
    title: str
    read: Callable[[Rows], Iterable[Entry]]
    needs: frozenset[str] = frozenset()
    sign: Callable[[Rows], bool] | None = None
    writer: Writer | None = None
    twin_names: frozenset[str] | None = None

    def recognises(self, rows: Rows) -> bool:
        """Return whether rows are in this format."""
        return self.sign(rows) if self.sign else self.needs <= {*rows.names}


def build_entry(place: Place, raw: str, build: Callable[..., Item], *values: Any) -> Entry:
    try:
        return Entry(place, raw, build(*values))
    except ProblemError as error:
        return Entry(place, raw, reason=error.args[0])
    except KeyError as error:
        return Entry(place, raw, reason=f"the record has no {error.args[0]!r}")


T = TypeVar("T")


def build_entries(rows: Iterable[data.Row[T]], build: Callable[[T, int], Item]) -> Iterator[Entry]:
    """Yield an entry for each record; `build` gets the record's values and 0-based position."""
    for position, (place, raw, values, reason) in enumerate(rows):
        if values is None:
            yield Entry(place, raw, reason=reason)
        else:
            yield build_entry(place, raw, build, values, position)


def combine_rows(
    rows: Iterable[data.Row[T]], key: Callable[[T], object], between: str
) -> Iterator[data.Row[list[T]]]:
    """Combine consecutive records with the same key, but keep bad records separate."""
    for _, group in groupby(rows, lambda row: object() if row.values is None else key(row.values)):
        found = list(group)
        values = [row.values for row in found if row.values is not None]
        raw = between.join(row.raw for row in found)
        yield data.Row(found[0].place, raw, values or None, found[0].reason)


def parse_option_number(value: object, options: int, first: int = 1) -> int | None:
    """Return the 0-based answer for an option's number, or None if the answer is withheld.

    The first option has the number `first`. A number such as 1.0, as written by pandas, is read as
    1. An answer that is -1 or missing is withheld.

    >>> (parse_option_number("2", 2), parse_option_number(2.0, 2), parse_option_number("", 2),
    ...  parse_option_number("nan", 2), parse_option_number(1, 2, 0))
    (1, 1, None, None, 1)
    """
    number = parse_whole_number(str(value).strip())
    if is_missing(value) or number == "-1":
        return None
    if number in map(str, range(first, options + first)):
        return int(number) - first
    text = f"the answer is {value!r}; with {options} options it must be a number from {first} to "
    text += str(options + first - 1)
    raise ProblemError(OutOfRangeText(text, int(number) if number else None, options, first))


def make_extra_keys(
    prefix: str, names: Iterable[str], kept_names: re.Pattern[str] | None = None
) -> dict[str, str]:
    columns = dict[str, str]()
    for name in names:
        key = name if kept_names and kept_names.fullmatch(name) else make_extra_key(prefix, name)
        if columns.setdefault(key, name) != name:
            raise ProblemError(f"two columns would both be named {key!r}; rename {name!r}")
    return {name: key for key, name in columns.items()}


def make_extra(record: Mapping[str, object], format_key: str) -> Extra:
    keys, items = make_extra_keys(format_key, record), dict[str, Scalar]()
    for name, value in record.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ProblemError(f"{name!r} must be text, a number, true or false, not {value!r}")
        items[keys[name]] = value
    return Extra(items)


def find_extra_key(extra: Extra, column: str) -> str | None:
    """Return the key of an additional column, with or without its format's prefix."""
    wanted = make_extra_key("", column)[1:]
    return next((key for key in extra if wanted in (key, key.partition(".")[2])), None)


def get_problems(entries: Iterable[Entry]) -> dict[int, Problem]:
    """Return a mapping from the 0-based positions of records to their problems."""
    return {row: one.item for row, one in enumerate(entries) if isinstance(one.item, Problem)}


def replace_items(entries: list[Entry], items: Mapping[int, Item]) -> list[Entry]:
    for row, item in items.items():
        entries[row] = replace(entries[row], item=item)
    return entries


def make_unwritable_error(item: Item, reason: str) -> FormatError:
    return FormatError(f"{get_item_id(item)!r} can't be written: {reason}")


def get_item_id(item: Item) -> str:
    return item.problem_id if isinstance(item, Claim) else item.id


def tidy(text: str) -> str:
    r"""Collapse each run of white space into one space, and strip both ends.

    >>> tidy(" the  brown\n suitcase ")
    'the brown suitcase'
    """
    return " ".join(text.split())


def count_common_prefix(parts: Iterable[Sequence[str]]) -> int:
    return len([*takewhile(lambda own: len({*own}) == 1, zip(*parts, strict=False))])


def replace_pronoun(before: str, pronoun: str, after: str) -> tuple[str, str | None]:
    """Replace the pronoun with a blank, and return the tidied sentence and the pronoun.

    The pronoun is None if the text already has a blank. In scripts without spaces between words,
    the blank has no spaces around it.

    >>> replace_pronoun("The cup hit the jug and ", " it ", " broke.")
    ('The cup hit the jug and _ broke.', 'it')
    """
    if BLANK in before + after:
        raise ProblemError("the text around the pronoun contains a blank ('_')")
    if detect_script(before + after) == "unspaced":
        before, pronoun, after = before.rstrip(), pronoun.strip(), after.lstrip()
    sentence = tidy(before + pronoun.replace(pronoun.strip(), BLANK) + after)
    return sentence, None if tidy(pronoun) == BLANK else tidy(pronoun)


def find_option(options: Iterable[str], answer: str) -> int:
    tidied = [tidy(option) for option in options]
    if tidy(answer) not in tidied:
        raise ProblemError(f"the answer {answer!r} is not one of the options {tidied}")
    return tidied.index(tidy(answer))


def read_records(rows: Rows, typed: Iterable[str] = ()) -> Iterator[data.Row[Record]]:
    """Yield rows without their missing values, which are None or empty cells of delimited text.

    The values of the columns in `typed` are not text. Delimited text contains them as JSON.
    """
    missing = None if rows.is_typed else ""
    for row in rows:
        if row.values is not None and (not rows.is_typed or None in row.values.values()):
            filled = {name: value for name, value in row.values.items() if value != missing}
            if not rows.is_typed:
                filled |= {name: _parse_json_cell(filled[name]) for name in typed if name in filled}
            row = row._replace(values=filled)
        yield row


def _parse_json_cell(cell: str) -> Any:
    for text in (cell, cell.lower()):
        with suppress(ValueError):
            return parse_json(text)
    return cell


Row = Mapping[str, str]


def read_cells(rows: Rows, needed: Iterable[str] = ()) -> Iterator[data.Row[Row]]:
    """Yield rows whose values are all text, with "" for missing values."""
    missing = [name for name in needed if name not in rows.names]
    if missing and rows.kind != "xml":
        raise FormatError(
            f"the table has no column {missing[0]!r}", rows.path, 1 if rows.source else None
        )
    for row in rows:
        if rows.is_typed and row.values is not None:
            texts = {name: format_cell(value) for name, value in row.values.items()}
            nested = [n for n in needed if isinstance(row.values.get(n), list | tuple | Mapping)]
            row = row._replace(values=texts)
            if nested:
                reason = f"{nested[0]!r} must be text, not {texts[nested[0]][:60]}"
                row = row._replace(values=None, reason=reason)
        yield row


def get_text_field(record: Record, key: str) -> str:
    if key not in record:
        raise ProblemError(f"the record has no {key!r}")
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ProblemError(f"{key!r} must be text, not {value!r}")
    return format_cell(value)


def get_child_text(element: Element, path: str) -> str:
    child = element.find(path)
    if child is None:
        raise ProblemError(f"the record has no <{path.split('/')[-1]}>")
    return "".join(child.itertext())
