"""Training dynamics: how a model took to each label while it was trained (a data map)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.errors import DataError, FormatError
from winosmith.records import json_lines, read_text

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Dynamics:
    """The coordinates of each problem on a data map (Swayamdipta et al. 2020, section 2).

    Attributes:
        confidence: (n,) the mean probability of the label over the epochs, 0–1; NaN where unknown.
        variability: (n,) its standard deviation over them.
        correctness: (n,) in how many epochs (or what share of them) the label was predicted; None
            where the file does not say.
    """

    confidence: Floats
    variability: Floats
    correctness: Floats | None = None

    def regions(self) -> dict[str, Floats]:
        """Return which problems are in the three regions: 1, 0, NaN where nothing is known."""
        return {
            "easy to learn": _third(-self.confidence),
            "ambiguous": _third(-self.variability),
            "hard to learn": _third(self.confidence),
        }

    def doubted(self) -> Floats:
        """Return 1 where the label has less than one half of the probability on average."""
        return np.where(np.isnan(self.confidence), np.nan, self.confidence < 0.5)


def _third(values: Floats) -> Floats:
    """Return 1 for the third with the lowest values, 0 for the others; of equals the first."""
    known = np.flatnonzero(~np.isnan(values))
    chosen = np.full(len(values), np.nan)
    chosen[known] = 0
    chosen[known[np.argsort(values[known], kind="stable")[: len(known) // 3]]] = 1
    return chosen


def read_dynamics(path: str | Path, pool: Dataset, *, first: int = 0) -> Dynamics:
    """Read the coordinates of a data map, as the authors' code writes them.

    Each line of the file is an object with `guid`, `confidence`, `variability` and, as a rule,
    `correctness`. A `guid` that is text is a problem's id; a number is that of a row of the pool,
    counted from `first`.

    Args:
        path: a .jsonl file.
        pool: the problems, in the order in which the model was given them.
        first: the number of the first row (10000 in the published map of WinoGrande).

    Raises:
        FormatError: a line can't be read, or is about no problem or about one a second time; with
            the line.
        DataError: no line is about a problem of the pool.

    Lines about ids that the pool does not have are passed over, numbers beyond its rows are not.
    """
    rows = {name: row for row, name in enumerate(pool.ids)}
    columns: dict[str, Floats] = {
        name: np.full(len(pool), np.nan) for name in ("confidence", "variability", "correctness")
    }
    seen: set[int] = set()
    for line, record in json_lines(read_text(path), path):
        row = _row(record.get("guid"), rows, len(pool), first, path, line)
        if row is None:
            continue
        if row in seen:
            raise FormatError(f"the guid {record['guid']!r} was there before", path, line)
        seen.add(row)
        for name, column in columns.items():
            if name in record or name != "correctness":
                column[row] = _number(record, name, path, line)
    if not seen:
        of = pool.name or "the pool"
        raise DataError(f"{path}: none of its lines is about a problem of {of}")
    correctness = columns["correctness"]
    return Dynamics(
        columns["confidence"],
        columns["variability"],
        None if np.isnan(correctness).all() else correctness,
    )


def _row(
    guid: Any, rows: Mapping[str, int], count: int, first: int, path: str | Path, line: int
) -> int | None:
    if isinstance(guid, str):
        return rows.get(guid)
    if not isinstance(guid, int) or isinstance(guid, bool):
        raise FormatError(f"guid must be an id or the number of a row, not {guid!r}", path, line)
    if not first <= guid < first + count:
        raise FormatError(
            f"guid is {guid}, but the rows of the pool are {first} to {first + count - 1}; say "
            "which number the first row has",
            path,
            line,
        )
    return guid - first


def _number(record: Mapping[str, Any], name: str, path: str | Path, line: int) -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FormatError(f"{name} must be a number, not {value!r}", path, line)
    if name == "confidence" and not 0 <= value <= 1:
        raise FormatError(f"confidence is a probability from 0 to 1, not {value}", path, line)
    return float(value)
