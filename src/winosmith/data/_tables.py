"""Records as rows of tables: in memory, of any library, and in files of Arrow and Parquet.

Values become plain ones of Python; a class that Hugging Face stores as a number becomes its name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from winosmith.data._bytes import File, most_bytes
from winosmith.data._json import Record, by_columns
from winosmith.data._place import Place, Row
from winosmith.errors import FormatError, require
from winosmith.records import parsed

_LIBRARIES = ("pandas", "datasets", "pyarrow", "polars")

_PARQUET, _FEATHER = b"PAR1", b"FEA1"
_ARROW_FILE, _ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"

Classes = Mapping[str, Mapping[int, str]]
"""The names of classes, by column and number."""


def is_table(data: object) -> bool:
    """Return whether this is a table in memory: of a library, records, or lists by columns."""
    if isinstance(data, list | tuple):
        return all(isinstance(record, Mapping) for record in data)
    if isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__"):
        return True
    return type(data).__module__.split(".")[0] in _LIBRARIES


def is_stored(raw: bytes) -> bool:
    """Return whether these are the bytes of a file of Parquet, Feather or Arrow."""
    return raw.startswith((_PARQUET, _FEATHER, _ARROW_FILE, _ARROW_STREAM))


def table_name(data: object) -> str:
    """Return how messages call a table in memory."""
    return f"<{type(data).__name__}>"


def table_rows(data: Any) -> Iterator[Row[Record]]:
    """Yield the rows of a table in memory, each with its 1-based number.

    Raises:
        FormatError: it is a collection of several tables, or has neither rows nor columns.
    """
    path = table_name(data)
    if isinstance(data, Mapping):
        data = _of_mapping(data, path)
    classes: Classes = {}
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        named = any(name is not None for name in data.index.names)
        records: Iterable[Record] = (data.reset_index() if named else data).to_dict("records")
    elif hasattr(data, "with_format"):
        classes = _class_names(data.features or {})
        records = data.with_format(None)
    elif hasattr(data, "__arrow_c_stream__"):
        records = require("pyarrow", "release").table(data).to_pylist()
    else:
        records = data
    yield from _numbered(path, records, classes)


def _of_mapping(data: Mapping[Any, Any], path: str) -> Any:
    """Return the one table of several, or the records of lists by columns."""
    if all(map(is_table, data.values())) and not all(
        isinstance(one, list | tuple) for one in data.values()
    ):
        if len(data) == 1:
            return next(iter(data.values()))
        names = ", ".join(map(str, data))
        raise FormatError(f"this has several tables; give one of them: {names}", path)
    records = by_columns({str(name): _plain(value) for name, value in data.items()})
    if records is None:
        raise FormatError("this has neither rows nor columns of the same length", path)
    return records


def stored_rows(file: File) -> Iterator[Row[Record]]:
    """Yield the rows of a file of Parquet, Feather or Arrow, each with its 1-based number.

    Raises:
        FormatError: it can't be read, or unpacks to far more than records do.
        MissingExtraError: pyarrow is not installed.
    """
    pyarrow = require("pyarrow", "release")
    try:
        batches, schema = _batches(file, pyarrow)
        classes = _classes_of_schema(schema.metadata or {})
        records = (record for batch in batches for record in batch.to_pylist())
        yield from _numbered(file.path, records, classes)
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"this table can't be read: {error}", file.path) from None


def _batches(file: File, pyarrow: Any) -> tuple[Iterable[Any], Any]:
    buffer = pyarrow.BufferReader(file.raw)
    if file.raw.startswith(_PARQUET):
        stored = require("pyarrow.parquet", "release").ParquetFile(buffer)
        groups = range(stored.metadata.num_row_groups)
        unpacked = sum(stored.metadata.row_group(n).total_byte_size for n in groups)
        if unpacked > most_bytes(len(file.raw)):
            raise FormatError("it unpacks to far more than its size", file.path)
        return stored.iter_batches(), stored.schema_arrow
    if file.raw.startswith(_FEATHER):
        table = require("pyarrow.feather", "release").read_table(buffer)
        return table.to_batches(), table.schema
    ipc = require("pyarrow.ipc", "release")
    if file.raw.startswith(_ARROW_STREAM):
        stream = ipc.open_stream(buffer)
        return stream, stream.schema
    opened = ipc.open_file(buffer)
    return map(opened.get_batch, range(opened.num_record_batches)), opened.schema


def _numbered(path: str, records: Iterable[Record], classes: Classes) -> Iterator[Row[Record]]:
    for number, record in enumerate(records, 1):
        row = {str(name): _plain(value) for name, value in record.items()}
        for name, names in classes.items():
            if name in row:
                row[name] = names.get(row[name], row[name])
        raw = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str)
        yield Row(Place(path, number, "row"), raw, row)


def _class_names(features: Mapping[str, Any]) -> Classes:
    return {
        column: dict(enumerate(feature.names))
        for column, feature in features.items()
        if getattr(feature, "names", None)
    }


def _classes_of_schema(metadata: Mapping[bytes, bytes]) -> Classes:
    """Return the names of classes that Hugging Face wrote into the schema of a file."""
    try:
        features = parsed(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {
            column: dict(enumerate(feature["names"]))
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (KeyError, TypeError, ValueError):
        return {}


def _plain(value: Any) -> Any:
    """Return a value of Python; None for a number that is none, as pandas has it."""
    if isinstance(value, str) or value is None:
        return value
    if hasattr(value, "tolist"):  # of numpy or pandas: a scalar, an array or a column
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else value
