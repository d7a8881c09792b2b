"""Plain tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["print_table"]


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]
) -> None:
    """Print a table to the output: numbers to the right, text to the left and wrapped.

    A header of empty names is not shown, and a table without rows is not printed.

    Whatever the cells hold is printed as it is: control characters are replaced, and nothing is
    taken for markup.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from winosmith.report import shown

    body = [list(row) for row in rows]
    if not body:
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=any(header))
    for at, name in enumerate(header):
        numeric = all(isinstance(row[at], int | float | None) for row in body)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(Text("" if cell is None else shown(cell)) for cell in row))
    console = Console(highlight=False)
    console.print(Text(title, style="bold"))
    console.print(table)
    console.print()
