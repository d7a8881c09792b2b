"""Tables in memory, of pandas, datasets, pyarrow, polars or plain records, and Parquet, as rows.

Values become what JSON can hold; a class that Hugging Face keeps as a number becomes its name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from winosmith.errors import FormatError, require
from winosmith.formats import _base
from winosmith.formats._columns import Row
from winosmith.records import canonical

Told = _base.Told[Row]
"""Line, text, cells by column, and why there are none."""


def is_table(data: object) -> bool:
    """Tell whether this is a list of records, or a table of a library that has such in memory."""
    if isinstance(data, list | tuple):
        return all(isinstance(record, Mapping) for record in data)
    return type(data).__module__.split(".")[0] in ("pandas", "datasets", "pyarrow", "polars")


def table_rows(data: Any) -> Iterator[Told]:
    """Yield the rows of a table in memory, each with its 1-based number.

    Raises:
        FormatError: it is a collection of several tables.
    """
    if isinstance(data, Mapping):
        names = ", ".join(map(str, data))
        raise FormatError(f"this holds several tables; give one of them: {names}")
    if hasattr(data, "to_dict") and hasattr(data, "columns"):
        records: Iterable[Row] = data.to_dict("records")
    elif rows := getattr(data, "to_pylist", None) or getattr(data, "to_dicts", None):
        records = rows()  # of pyarrow, of polars
    else:
        records = data
    classes = _class_names(data)
    for number, record in enumerate(records, 1):
        row = {str(key): _plain(classes.get(key, {}), value) for key, value in record.items()}
        yield number, canonical(jsonable(row)), row, None


def _class_names(data: Any) -> dict[str, dict[int, str]]:
    """Return the names of classes, which Hugging Face keeps beside their numbers."""
    features = getattr(data, "features", None) or {}
    return {
        column: dict(enumerate(feature.names))
        for column, feature in features.items()
        if getattr(feature, "names", None)
    }


def _plain(names: Mapping[int, str], value: Any) -> Any:
    """Return a value as JSON can hold it; a number that is none, as pandas has it, is None."""
    if hasattr(value, "tolist"):  # of numpy: a scalar or an array
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and value in names:
        return names[value]
    if isinstance(value, Mapping):
        return {str(key): _plain({}, one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain({}, one) for one in value]
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def jsonable(row: Any) -> Any:
    """Return a value with text for what JSON has no form of."""
    return json.loads(json.dumps(row, default=str))


def is_parquet(path: str | Path) -> bool:
    """Tell whether a file begins as Parquet does."""
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def parquet_rows(path: str | Path) -> Iterator[Told]:
    """Yield the rows of a Parquet file, each with its 1-based number.

    Raises:
        FormatError: it can't be read.
        MissingExtraError: pyarrow is not installed.
    """
    parquet = require("pyarrow.parquet", "release")
    try:
        batches = parquet.ParquetFile(path).iter_batches()
        number = 0
        for batch in batches:
            for record in batch.to_pylist():
                number += 1
                row = {name: _plain({}, value) for name, value in record.items()}
                yield number, canonical(jsonable(row)), row, None
    except (OSError, ValueError) as error:
        raise FormatError(f"this Parquet file can't be read: {error}", path) from None
