"""Bytes that were written aside, and what becomes of them whether they are sent or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Protocol

__all__ = ["Aside", "Closed", "Sent"]


class Closed(Protocol):
    """What holds something open until it is closed: a file, or a generator that reads one."""

    def close(self) -> None:
        """Let go of it."""


class Aside:
    """The bytes of a file: its first line, and the rest from where it was written aside.

    Args:
        first: what comes first; perhaps nothing.
        rest: open; it is closed once it has been read, or by `close`.
    """

    def __init__(self, first: bytes, rest: IO[bytes]):
        self._first, self._rest = first, rest

    def __iter__(self) -> Iterator[bytes]:
        with self._rest:
            if self._first:
                yield self._first
            self._rest.seek(0)
            while part := self._rest.read(1 << 16):
                yield part

    def close(self) -> None:
        """Forget what was written aside; who does not read it must call this."""
        self._rest.close()


class Sent:
    """Parts of a response, which Django closes at its end, with what they are made from.

    Args:
        parts: what is sent.
        source: what is closed at the end, however many of the parts were read.
    """

    def __init__(self, parts: Iterable[bytes], source: Closed):
        self._parts, self._source = parts, source

    def __iter__(self) -> Iterator[bytes]:
        yield from self._parts

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()
