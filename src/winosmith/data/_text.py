"""Records as blocks of lines, with empty lines between."""

from __future__ import annotations

from collections.abc import Iterator

from winosmith.data._place import Place, Row
from winosmith.data._source import Source


def blocks(source: Source) -> Iterator[Row[list[str]]]:
    r"""Yield the lines of each block.

    >>> [row.values for row in blocks(Source("a.txt", b"a\nb\n\n\nc"))]
    [['a', 'b'], ['c']]
    """
    lines: list[str] = []
    first = at = 0
    for number, start, line in source.numbered():
        if line.strip():
            if not lines:
                first, at = number, start
            lines.append(line)
        elif lines:
            yield _block(source, first, at, start, lines)
            lines = []
    if lines:
        yield _block(source, first, at, len(source.text), lines)


def _block(source: Source, first: int, start: int, end: int, lines: list[str]) -> Row[list[str]]:
    end = start + len(source.text[start:end].rstrip())
    return Row(Place(str(source.path), first, "line", start, end), "\n".join(lines), lines)
