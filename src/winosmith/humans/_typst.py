"""Sheets as PDF, set by typst: the template is ours, the text of a sheet goes in as JSON data."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Literal

from winosmith.extras import require
from winosmith.humans._sheet import Sheet
from winosmith.humans._sheet_json import sheet_record
from winosmith.humans._sheet_words import DECLARED, Declared, has_blanks, words

__all__ = ["Paper", "pages", "pdf"]

Paper = Literal["a4", "us-letter"]

_IN_OUR_FONTS = re.compile(r"[\u0000-\u052F\u0590-\u05FF\u1E00-\u22FF\u2500-\u259F\uFB00-\uFB4F]*")
"""Latin, Greek, Cyrillic, Hebrew and punctuation: what the fonts inside typst can print."""


def pdf(
    sheet: Sheet,
    *,
    large: bool = False,
    paper: Paper = "a4",
    subject: str | None = None,
    declared: Sequence[Declared] = DECLARED,
) -> bytes:
    """Return a sheet as PDF, the same bytes for the same sheet and version of typst.

    The fonts are those inside typst; only for writing that they lack (Arabic, Chinese, …) are the
    fonts of this machine used, too.

    Args:
        sheet: what is printed; its ids are not.
        large: print it large, 19 points instead of 11.
        paper: the size of the pages.
        subject: the code that is printed in; None leaves boxes for it.
        declared: what subjects may tell of themselves.

    Raises:
        MissingExtraError: typst is not installed (the extra `print`).
    """
    made: bytes = _compiled(_data(sheet, large, paper, subject, tuple(declared)), "pdf")
    return made


def pages(
    sheet: Sheet,
    *,
    large: bool = False,
    paper: Paper = "a4",
    subject: str | None = None,
    declared: Sequence[Declared] = DECLARED,
    ppi: float = 72,
) -> list[bytes]:
    """Return the pages of `pdf` as pictures, PNG with `ppi` dots an inch."""
    made = _compiled(_data(sheet, large, paper, subject, tuple(declared)), "png", ppi)
    return made if isinstance(made, list) else [made]


def _data(
    sheet: Sheet, large: bool, paper: Paper, subject: str | None, declared: tuple[Declared, ...]
) -> str:
    record = sheet_record(sheet)
    items = [
        {
            "number": item["number"],
            "text": item["text"],
            "snippet": item["snippet"],
            "label": item["label"],
            "options": [{"letter": o["letter"], "text": o["text"]} for o in item["options"]],
        }
        for item in record["items"]
    ]
    return json.dumps(
        {
            "title": sheet.title,
            "code": sheet.code,
            "items": items,
            "large": large,
            "paper": paper,
            "subject": subject,
            "words": words(has_blanks(sheet), declared),
        },
        ensure_ascii=False,
    )


def _compiled(data: str, form: str, ppi: float | None = None) -> Any:
    typst = require("typst", "print")
    template = files("winosmith.humans").joinpath("templates/sheet.typ").read_bytes()
    return typst.compile(
        template,
        format=form,
        ppi=ppi,
        sys_inputs={"sheet": data},
        ignore_system_fonts=_IN_OUR_FONTS.fullmatch(data) is not None,
        timestamp=0,
    )
