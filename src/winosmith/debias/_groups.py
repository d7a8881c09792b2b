"""Which rows belong together, as a number for each row.

Two ways to say it come in: a label a row, beside other columns (`group_numbers`), and the rows of
each group, as `Dataset.groups` has them (`numbered`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from winosmith.errors import DataError


def group_numbers(
    groups: Sequence[Hashable], order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Return a number from 0 for each row's group, in order of first occurrence.

    A row whose group is None is a group of its own.

    >>> group_numbers(["t1", None, "t1", None]).tolist()
    [0, 1, 0, 2]
    """
    listed = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    rows = range(len(listed)) if order is None else order.tolist()
    seen: dict[tuple[bool, Hashable], int] = {}
    keys = ((False, row) if listed[row] is None else (True, listed[row]) for row in rows)
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.intp)


def numbered(groups: Sequence[Sequence[int]], rows: int) -> NDArray[np.intp]:
    """Return a number from 0 for each row's group.

    Raises:
        DataError: the groups do not name each row from 0 on once.

    >>> numbered([(0, 2), (1,)], 3).tolist()
    [0, 1, 0]
    """
    members = np.fromiter((row for group in groups for row in group), np.intp)
    if not np.array_equal(np.sort(members), np.arange(rows)):
        raise DataError(f"the groups must name each row from 0 to {rows - 1} once")
    numbers = np.empty(rows, np.intp)
    numbers[members] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return numbers
