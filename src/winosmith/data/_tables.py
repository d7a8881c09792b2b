"""Tables in files and in memory.

Files are Parquet, Arrow and Feather (`pip install 'winosmith[release]'`). In memory, a table is a
DataFrame of pandas or polars, a table of pyarrow, a `datasets.Dataset`, any object with
`__arrow_c_stream__`, a list of records, or a mapping of columns. A `datasets.DatasetDict`, or any
dictionary of tables, is read like a folder: all splits form one data set, and each record's
location names the split. Hugging Face's class numbers are converted to class names, and dates to
ISO 8601 strings.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from typing import Any

from winosmith.data._bytes import File, get_size_limit, make_size_error
from winosmith.data._json import Record, are_records, columns_to_rows
from winosmith.data._source import Place, Row
from winosmith.errors import FormatError, require
from winosmith.records import parse_json

_ID_NAME = re.compile("(?is).*(id|idx|item)")
_PARQUET, _FEATHER = b"PAR1", b"FEA1"
_ARROW_FILE, _ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"

_ATTRIBUTES = ("reset_index", "with_format", "__arrow_c_stream__")
"""Attributes that identify tables of pandas, `datasets`, and Arrow (pyarrow, polars)."""

Classes = Mapping[str, Mapping[int, str]]
"""Map each column to its class names, keyed by number."""


def is_table(data: object) -> bool:
    if isinstance(data, list | tuple):
        return all(isinstance(record, Mapping) for record in data)
    if isinstance(data, Mapping):
        return True
    return type(data).__name__ != "Series" and any(hasattr(data, name) for name in _ATTRIBUTES)


def is_columnar_file(raw: bytes) -> bool:
    return raw.startswith((_PARQUET, _FEATHER, _ARROW_FILE, _ARROW_STREAM))


def get_table_name(data: object) -> str:
    return f"<{type(data).__name__}>"


def get_named_tables(data: object) -> dict[str, Any]:
    """Return the tables in a mapping, such as the splits of a `DatasetDict`, by name."""
    if not isinstance(data, Mapping) or not all(map(is_table, data.values())):
        return {}
    lists = [one for one in data.values() if isinstance(one, list | tuple)]
    if len(lists) == len(data) and not all(map(are_records, lists)):
        return {}
    return {str(name): table for name, table in data.items()}


def read_table(data: Any, path: str) -> Iterator[Row[Record]]:
    classes: Classes = {}
    records: Iterable[Record] | None = data
    if isinstance(data, Mapping):
        records = columns_to_rows({str(name): to_plain(value) for name, value in data.items()})
    elif hasattr(data, "reset_index"):
        if not data.columns.is_unique:
            repeated = data.columns[data.columns.duplicated()][0]
            raise FormatError(f"the column {str(repeated)!r} occurs twice", path)
        names = {*data.index.names} - {None, *data.columns}
        has_ids = any(map(_ID_NAME.fullmatch, map(str, data.columns)))
        label = {"string": "id", "integer": ""}.get(data.index.inferred_type)
        if label == "" and [*data.index] == [*range(len(data))]:
            label = None  # the rows were not sorted or selected
        is_new = label is not None and label not in data.columns
        if is_new and not (names or has_ids) and data.index.is_unique:
            data, names = data.rename_axis(label), {label}
        records = (data.reset_index(level=[*names]) if names else data).to_dict("records")
    elif hasattr(data, "with_format"):
        classes = {
            name: dict(enumerate(feature.names))
            for name, feature in (data.features or {}).items()
            if getattr(feature, "names", None)
        }
        records = data.with_format(None)
    elif hasattr(data, "__arrow_c_stream__"):
        table = require("pyarrow", "release").table(data)
        records = _add_index(table.to_pylist(), table.schema)
    if records is None:
        raise FormatError("a table must have a list of rows, or columns of equal length", path)
    yield from _number_rows(path, records, classes)


def read_columns(file: File) -> Iterator[Row[Record]]:
    pyarrow = require("pyarrow", "release")
    try:
        batches, schema = _read_batches(file, pyarrow)
        classes = _get_class_names(schema.metadata or {})
        records = (record for batch in _limit_size(batches, file) for record in batch.to_pylist())
        yield from _number_rows(file.path, _add_index(records, schema), classes)
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the table can't be read: {error}", file.path) from None


def _read_batches(file: File, pyarrow: Any) -> tuple[Iterable[Any], Any]:
    buffer = pyarrow.BufferReader(file.raw)
    if file.raw.startswith(_PARQUET):
        file_reader = require("pyarrow.parquet", "release").ParquetFile(buffer)
        groups = range(file_reader.metadata.num_row_groups)
        unpacked = sum(file_reader.metadata.row_group(n).total_byte_size for n in groups)
        if unpacked > get_size_limit(len(file.raw)):
            raise make_size_error(file.path)
        return file_reader.iter_batches(), file_reader.schema_arrow
    if file.raw.startswith(_FEATHER):  # version 1; version 2 is an Arrow file
        table = require("pyarrow.feather", "release").read_table(buffer)
        return table.to_batches(), table.schema
    ipc = require("pyarrow.ipc", "release")
    if file.raw.startswith(_ARROW_FILE):
        file_reader = ipc.open_file(buffer)
        return map(file_reader.get_batch, range(file_reader.num_record_batches)), file_reader.schema
    stream = ipc.open_stream(buffer)
    return stream, stream.schema


def _limit_size(batches: Iterable[Any], file: File) -> Iterator[Any]:
    limit, size = get_size_limit(len(file.raw)), 0
    for batch in batches:
        size += batch.nbytes
        if size > limit:
            raise make_size_error(file.path)
        yield batch


def _number_rows(path: str, records: Iterable[Record], classes: Classes) -> Iterator[Row[Record]]:
    for number, record in enumerate(records, 1):
        row = {str(name): to_plain(value) for name, value in record.items()}
        for name, names in classes.items():
            if name in row:
                row[name] = names.get(row[name], row[name])
        yield Row(Place(path, number, "row"), format_cell(row), row)


def _add_index(records: Iterable[Record], schema: Any) -> Iterable[Record]:
    """Add pandas' index as the first column, if the schema stores it as a range of row numbers."""
    try:
        [index] = parse_json((schema.metadata or {})[b"pandas"])["index_columns"]
        name, rows = index["name"] or "", range(index["start"], index["stop"], index["step"])
    except (KeyError, TypeError, ValueError):
        return records
    if not name and (rows == range(len(rows)) or any(map(_ID_NAME.fullmatch, schema.names))):
        return records
    records = [*records]
    if len(rows) != len(records):  # pyarrow selected these rows from a table with this index
        return records
    return ({name: row, **record} for row, record in zip(rows, records, strict=True))


def _get_class_names(metadata: Mapping[bytes, bytes]) -> Classes:
    try:
        features = parse_json(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {
            column: dict(enumerate(feature["names"]))
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, ValueError):
        return {}


def to_plain(value: Any) -> Any:
    """Convert a value to plain Python types, with NaN as None and dates as ISO 8601 strings.

    >>> to_plain([float("nan"), date(2026, 11, 28), {1: time(9, 30)}])
    [None, '2026-11-28', {'1': '09:30:00'}]
    """
    if isinstance(value, str) or value is None:
        return value
    if hasattr(value, "tolist"):  # a scalar, array or column of numpy or pandas
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, date | time):
        return value.isoformat().removesuffix("T00:00:00")
    return str(value) if isinstance(value, timedelta) else value


def is_missing(value: object) -> bool:
    """Return whether a value is empty, or a missing value of pandas, R or Excel.

    >>> [is_missing(value) for value in (None, " ", float("nan"), "<NA>", "NA", "#N/A", "N/A")]
    [True, True, True, True, True, True, False]
    """
    text = str(value).strip()
    return value is None or text in ("", "NA", "#N/A") or text.casefold() in ("nan", "<na>")


_WHOLE_NUMBER = re.compile(r"(-?\d{1,300})(?:\.0*|,00?)?")


def parse_whole_number(text: str) -> str:
    """Return a whole number as text, without decimal zeros (".0", ",00"), or "" for other texts.

    Tables write decimal zeros, SPSS two. A comma with three zeros may separate thousands.

    >>> [parse_whole_number(text) for text in ("2", "2.0", "-1,00", "007", "2.5", "2,000")]
    ['2', '2', '-1', '007', '', '']
    """
    found = _WHOLE_NUMBER.fullmatch(text)
    return found[1] if found else ""


def format_cell(value: Any) -> str:
    """Format a value as the text of a table cell.

    >>> [format_cell(value) for value in ("a", 2, 2.0, None, True, ["a"])]
    ['a', '2', '2', '', 'true', '["a"]']
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
