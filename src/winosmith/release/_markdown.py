"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["NOT_STATED", "cell", "or_not_stated", "table"]

NOT_STATED = "not stated"


def or_not_stated(text: str) -> str:
    """Return the text, or that nothing is stated."""
    return text.strip() or NOT_STATED


def cell(value: object) -> str:
    r"""Return a value as a cell of a table.

    >>> cell("a|b"), cell(12345)
    ('a\\|b', '12,345')
    """
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table; columns of numbers stand to the right."""
    rows = list(rows)
    right = [
        bool(rows) and all(isinstance(row[at], int) for row in rows) for at in range(len(head))
    ]
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join('---:' if one else '---' for one in right)}|",
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
    ]
