"""Cells of tables that people open in a spreadsheet: none of them runs as a formula."""

from __future__ import annotations

import re

__all__ = ["guarded", "unguarded"]

_FORMULA = re.compile(r"'*(?:[\t\r\n]| *[=+\-@＝＋－＠])")
"""What spreadsheets take for the beginning of a formula (OWASP, "CSV Injection")."""


def guarded(cell: str) -> str:
    """Return the cell with an apostrophe before what a spreadsheet would run.

    >>> guarded("=1+1"), guarded("a=b")
    ("'=1+1", 'a=b')
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Return the cell as it was before `guarded`.

    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
