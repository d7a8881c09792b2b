"""Sheets as `humans` knows them, out of their rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from winosmith import humans

if TYPE_CHECKING:
    from winosmith.web.take.models import Sheet

__all__ = ["SECONDS_A_QUESTION", "instructions_of", "minutes", "refs", "sheet_of"]

SECONDS_A_QUESTION = 18.3
"""What a question took on average (Davis, Morgenstern & Ortiz 2016, section 4)."""


def minutes(questions: int) -> int:
    """Return about how many minutes so many questions take, 1 or more.

    >>> minutes(89)
    27
    """
    return max(1, round(questions * SECONDS_A_QUESTION / 60))


def sheet_of(row: Sheet) -> humans.Sheet:
    """Return a row's sheet."""
    return humans.sheet_of(row.record)


def refs(sheets: Iterable[Sheet]) -> set[str]:
    """Return the ids of the problems that sheets ask."""
    return {item["problem"] for sheet in sheets for item in sheet.record["items"]}


def instructions_of(sheet: humans.Sheet) -> dict[str, Any]:
    """Return what those who take a sheet are told, as on paper; nobody is there to be asked."""
    return humans.instructions(humans.has_blanks(sheet), (), paper=False, alone=True)
