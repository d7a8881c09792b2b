"""The files beside WinoGrande's problems: labels apart, and leaderboard submissions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from winosmith.errors import FormatError
from winosmith.formats._source import Source

__all__ = ["SIZES", "read_labels", "read_submission", "write_labels"]

SIZES = ("xs", "s", "m", "l", "xl")
"""The columns of a leaderboard submission: one a training size (WinoGrande, table 4)."""


def read_labels(path: str | Path) -> tuple[int, ...]:
    """Read a labels file: one "1" or "2" a line, in the order of the problems; 0-based here.

    Raises:
        FormatError: a line that is neither, with its number.
    """
    return tuple(row[0] for row in _label_rows(path, columns=1))


def write_labels(answers: Sequence[int], file: IO[str]) -> None:
    """Write 0-based answers as a labels file, one 1-based number a line."""
    file.writelines(f"{answer + 1}\n" for answer in answers)


def read_submission(path: str | Path) -> dict[str, tuple[int, ...]]:
    """Read a leaderboard submission: five comma-separated labels a line, xs to xl; 0-based here.

    Raises:
        FormatError: a line without exactly five labels of 1 or 2, with its number.
    """
    rows = _label_rows(path, columns=len(SIZES))
    return dict(zip(SIZES, map(tuple, zip(*rows, strict=True)), strict=True))


def _label_rows(path: str | Path, columns: int) -> list[tuple[int, ...]]:
    rows = []
    for number, line in Source(path).lines():
        labels = [label.strip() for label in line.split(",")]
        if len(labels) != columns or not set(labels) <= {"1", "2"}:
            wanted = "one label" if columns == 1 else f"{columns} comma-separated labels"
            raise FormatError(f"{line[:40]!r} is not {wanted}, each 1 or 2", path, number)
        rows.append(tuple(int(label) - 1 for label in labels))
    return rows
