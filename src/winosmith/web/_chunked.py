"""Many rows, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Row = TypeVar("Row")


def chunked(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows in their order, `size` at a time; the last time what is left.

    As `itertools.batched` does, which Python 3.11 does not have.

    >>> list(chunked("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(rows)
    while chunk := list(islice(rest, size)):
        yield chunk
