"""`read`, which returns the rows of any file, folder or table with their locations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.etree.ElementTree import Element

from winosmith.data import _bytes, _tables
from winosmith.data._bytes import HUB, STANDARD_INPUT, File, find_files, is_address, stem, unpack
from winosmith.data._delimited import Delimited
from winosmith.data._harness import convert_samples, is_inspect_data, load_task_tables
from winosmith.data._hub import load_hub_table
from winosmith.data._json import Record, get_members, read_array, read_json_lines, read_json_object
from winosmith.data._source import Row, Source
from winosmith.data._workbook import SHEET, read_sheet
from winosmith.data._xml import iterate_elements
from winosmith.data._yaml import is_yaml, read_yaml
from winosmith.errors import FormatError

Readable: TypeAlias = "str | PathLike[str] | Source | Rows | Sequence[str | PathLike[str]] | Any"
"""A file, folder, glob, "-" for standard input, or address (`hf:ORG/NAME`, `lm-eval:TASK`); a
sequence of these; or a table in memory."""

Kind = Literal["lines", "array", "object", "delimited", "xml", "table"]
"""Kinds of containers: JSON Lines, JSON array, JSON object, delimited text, XML, or table."""


@dataclass(frozen=True)
class Rows:
    """The rows of a container (a file or table), or of several containers read as one data set.

    Attributes:
        path: the path of the file or folder, or "<DataFrame>".
        kind: the kind of the container, or of the first container.
        read: a function that yields all rows; each call starts at the first row.
        source: the text; None for a table or for several containers.
        parts: the containers, if there are several.
        header: the column names of delimited text; None for other containers.
        notes: sentences about rows that users may not expect.
    """

    path: str
    kind: Kind
    read: Callable[[], Iterator[Row[Any]]] = field(repr=False)
    source: Source | None = field(default=None, repr=False)
    parts: tuple[Rows, ...] = field(default=(), repr=False)
    header: tuple[str, ...] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Row[Record]]:
        return self.read()

    @property
    def is_typed(self) -> bool:
        """Whether values can have types other than string, which is all that delimited text has."""
        return any(part.kind != "delimited" for part in self.parts or (self,))

    @property
    def name(self) -> str:
        """The name of the data set: the file's name without extensions, or the folder's name."""
        if self.path.startswith("<"):
            return "table"
        return Path(self.path).name if Path(self.path).is_dir() else stem(self.path)

    @cached_property
    def first(self) -> Record:
        """The values of the first readable row, or no values if the first 20 can't be read."""
        if self.kind == "xml":
            return {}
        values = (row.values for row in islice(self.read(), 20) if row.values is not None)
        return next(values, {})

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.first) if self.header is None else self.header

    def iterate_elements(self, tag: str) -> Iterator[Row[Element]]:
        for source in self.sources:
            yield from iterate_elements(source, tag)

    def iterate_blocks(self) -> Iterator[Row[list[str]]]:
        for source in self.sources:
            yield from source.iterate_blocks()

    def may_have(self, names: Iterable[str]) -> bool:
        """Return whether any row may have a value with one of the given names."""
        if self.parts:
            return any(part.may_have(names) for part in self.parts)
        if self.kind in ("table", "delimited") or self.source is None:
            return not set(names).isdisjoint(self.names)
        return any(f'"{name}"' in self.source.text for name in names)

    @property
    def sources(self) -> list[Source]:
        """The texts of all containers, except tables."""
        return [part.source for part in self.parts or (self,) if part.source]

    @property
    def start(self) -> str:
        """The first 4,000 characters of the first text, or "" for a table; see `Source.start`."""
        return self.sources[0].start if self.sources else ""


def read(data: Readable, *, encoding: str | None = None) -> Rows:
    """Return the rows of a file, several files, an address, or a table in memory.

    Args:
        data: one or more paths, or a table in memory. A folder stands for its data files, a glob
            for matching files, and "-" for standard input. Files may be compressed. An address is
            `hf:ORG/NAME:CONFIG[SPLIT]` on the Hub, or `lm-eval:TASK` of lm-evaluation-harness. A
            `Task` or `Dataset` of inspect_ai is read, too.
        encoding: encoding of texts that are not UTF-8; None to detect it.

    Raises:
        FormatError: there are no files, or a file can't be opened, unpacked or decoded.
        MissingExtraError: the library that reads the data is not installed.
    """
    if isinstance(data, Rows):
        return data
    if isinstance(data, Source):
        return _open_source(data)
    if isinstance(data, str | PathLike):
        return join_rows(_open_path(str(data), encoding), str(data))
    if is_inspect_data(data):
        return _open_table(convert_samples(data), _tables.get_table_name(data))
    if _tables.is_table(data):
        return _open_table(data, _tables.get_table_name(data))
    if isinstance(data, Sequence) and data and all(isinstance(one, str | PathLike) for one in data):
        parts = [part for one in data for part in _open_path(str(one), encoding)]
        return join_rows(parts, str(data[0]))
    raise FormatError(f"the data must be a path or a table, not {data!r}"[:200])


def _open_table(data: Any, path: str) -> Rows:
    if tables := _tables.get_named_tables(data):
        names = {name: path if len(tables) == 1 else f"{path}/{name}" for name in tables}
        return join_rows([_open_table(tables[name], part) for name, part in names.items()], path)
    return Rows(path, "table", lambda: _tables.read_table(data, path))


def _open_path(path: str, encoding: str | None) -> list[Rows]:
    if is_address(path):
        if path.startswith(HUB):
            return [_open_table(load_hub_table(path), path)]
        return [_open_table(records, task) for task, records in load_task_tables(path).items()]
    if path == STANDARD_INPUT:
        files = [File("<stdin>", file.raw) for file in unpack(path)]
    elif sheet := SHEET.fullmatch(path):
        files = [File(f"{file.path}#{sheet[2]}", file.raw) for file in unpack(sheet[1])]
    else:
        files = [file for file_path in find_files(path) for file in unpack(file_path)]
    return [_open_file(file, encoding) for file in files]


def join_rows(parts: Sequence[Rows], path: str) -> Rows:
    if len(parts) == 1:
        return parts[0]
    notes = tuple(f"{part.path}: {note}" for part in parts for note in part.notes)
    read_all = partial(chain.from_iterable, parts)
    return Rows(path, parts[0].kind, read_all, parts=tuple(parts), notes=notes)


def _open_file(file: File, encoding: str | None) -> Rows:
    if _tables.is_columnar_file(file.raw):
        return Rows(file.path, "table", lambda: _tables.read_columns(file))
    if file.raw.startswith(_bytes.ZIP):  # a workbook, because other archives are already unpacked
        path, header, rows, notes = read_sheet(file)
        return Rows(path, "delimited", lambda: iter(rows), header=header, notes=notes)
    return _open_source(Source(file.path, file.raw, encoding))


def _open_source(source: Source) -> Rows:
    path = str(source.path)
    if is_yaml(source):
        return Rows(path, "array", lambda: read_yaml(source), source)
    if source.start.startswith("["):
        return Rows(path, "array", lambda: read_array(source), source)
    if source.start.startswith("{"):
        if values := get_members(source):
            return Rows(path, "object", lambda: read_json_object(source, values), source)
        return Rows(path, "lines", lambda: read_json_lines(source), source)
    if source.start.startswith("<"):
        return Rows(path, "xml", lambda: iter(()), source)
    table = Delimited(source)
    return Rows(path, "delimited", table.rows, source, header=table.header)
