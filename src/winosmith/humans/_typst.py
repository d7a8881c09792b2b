"""Sheets as PDF, set by typst: the template is ours, the text of a sheet goes in as JSON data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from winosmith.errors import InputError
from winosmith.extras import require
from winosmith.humans._instructions import DECLARED, Declared, has_blanks, words
from winosmith.humans._sheet import Sheet, sheet_record

Paper = Literal["a4", "us-letter"]

_IN_OUR_FONTS = re.compile(r"[\u0000-\u052F\u0590-\u05FF\u1E00-\u22FF\u2500-\u259F\uFB00-\uFB4F]*")
"""Latin, Greek, Cyrillic, Hebrew and punctuation: what the fonts inside typst print well."""

_PROBE = """\
#let asked = json(bytes(sys.inputs.asked))
#set page(width: auto, height: auto, margin: 2pt)
#set text(font: ("Libertinus Serif", "New Computer Modern", "DejaVu Sans Mono"), lang: "en")
#for each in asked { page[#each#strong(each)] }
"""
"""A page for each character, in the fonts of the sheet's template, plain and bold."""

_NO_CHARACTER = "\ufffe"
"""What no font has: typst draws a box for it, as for every character that it finds in no font."""

_GLYPH = re.compile(rb'href="(#[^"]*)"')

_NAMED = 8
"""How many missing characters are named."""


def pdf(
    sheet: Sheet,
    *,
    large: bool = False,
    paper: Paper = "a4",
    subject: str | None = None,
    declared: Sequence[Declared] = DECLARED,
    fonts: str | Path | None = None,
) -> bytes:
    """Return a sheet as PDF, the same bytes for the same sheet and version of typst.

    The fonts are those inside typst; only for writing that they lack (Arabic, Chinese, …) are the
    fonts of this machine used, too, and those of `fonts`. A text with a character that none of them
    has is refused: it would be printed as an empty box.

    Args:
        sheet: what is printed; its ids are not.
        large: print it large, 19 points instead of 11.
        paper: the size of the pages.
        subject: the code that is printed in; None leaves boxes for it.
        declared: what subjects may tell of themselves.
        fonts: a folder of fonts (.ttf, .otf, .ttc) that may be used, too.

    Raises:
        MissingExtraError: typst is not installed (the extra `print`).
        InputError: no font has a character; the message names what is missing, and where.
    """
    data = _data(sheet, large, paper, subject, tuple(declared))
    made: bytes = _compiled(sheet, data, "pdf", fonts)
    return made


def pages(
    sheet: Sheet,
    *,
    large: bool = False,
    paper: Paper = "a4",
    subject: str | None = None,
    declared: Sequence[Declared] = DECLARED,
    fonts: str | Path | None = None,
    ppi: float = 72,
) -> list[bytes]:
    """Return the pages of `pdf` as pictures, PNG with `ppi` dots an inch."""
    data = _data(sheet, large, paper, subject, tuple(declared))
    made = _compiled(sheet, data, "png", fonts, ppi)
    return made if isinstance(made, list) else [made]


def check_glyphs(
    sheet: Sheet, *, declared: Sequence[Declared] = DECLARED, fonts: str | Path | None = None
) -> None:
    """Refuse a sheet that `pdf` would, before anything is written.

    Raises:
        MissingExtraError: typst is not installed (the extra `print`).
        InputError: no font has a character; the message names what is missing, and where.
    """
    _inside(sheet, _data(sheet, False, "a4", None, tuple(declared)), fonts)


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


def _compiled(
    sheet: Sheet, data: str, form: str, fonts: str | Path | None, ppi: float | None = None
) -> Any:
    typst = require("typst", "print")
    inside = _inside(sheet, data, fonts)
    template = files("winosmith.humans").joinpath("templates/sheet.typ").read_bytes()
    return typst.compile(
        template,
        format=form,
        ppi=ppi,
        sys_inputs={"sheet": data},
        font_paths=[] if fonts is None else [str(fonts)],
        ignore_system_fonts=inside,
        timestamp=0,
    )


def _inside(sheet: Sheet, data: str, fonts: str | Path | None) -> bool:
    """Tell whether the fonts inside typst are enough; refuse what no font has."""
    folder = None if fonts is None else str(fonts)
    inside = folder is None and _IN_OUR_FONTS.fullmatch(data) is not None
    texts = list(_texts(sheet, data))
    if inside and _missing(_characters(texts), None, True):
        inside = False
    lacking = _missing(_characters(texts), folder, inside)
    if lacking:
        raise InputError(_lacking(sheet, texts, lacking, folder))
    return inside


def _texts(sheet: Sheet, data: str) -> Iterator[tuple[str, str]]:
    """Yield every text that is printed, after the words for where it stands."""
    for item in sheet.items:
        shown = "".join((*item.text, *item.snippet, *item.options))
        yield f"question {item.number} ({item.problem_id!r})", shown
    held = json.loads(data)
    around = {key: held[key] for key in ("title", "code", "subject", "words")}
    yield "the title or the instructions", json.dumps(around, ensure_ascii=False)


def _characters(texts: Sequence[tuple[str, str]]) -> str:
    """Return the distinct characters beyond ASCII, which every font has, in order."""
    return "".join(sorted({sign for _, text in texts for sign in text if not sign.isascii()}))


@lru_cache(64)
def _missing(characters: str, fonts: str | None, inside: bool) -> str:
    """Return the characters that no font has, as typst itself finds out.

    It draws one and the same box for all of them, and no warning is given; so each is set alone,
    and compared with a character that there is in no font. What draws nothing (joiners, spaces) is
    not missing.
    """
    if not characters:
        return ""
    typst = require("typst", "print")
    drawn = typst.compile(
        _PROBE.encode(),
        format="svg",
        sys_inputs={"asked": json.dumps([_NO_CHARACTER, *characters], ensure_ascii=False)},
        font_paths=[] if fonts is None else [fonts],
        ignore_system_fonts=inside,
    )
    boxes, *others = (_GLYPH.findall(page) for page in drawn)
    return "".join(
        sign
        for sign, glyphs in zip(characters, others, strict=True)
        if not set(boxes).isdisjoint(glyphs)
    )


def _lacking(
    sheet: Sheet, texts: Sequence[tuple[str, str]], lacking: str, fonts: str | None
) -> str:
    where = next(place for place, text in texts if not set(lacking).isdisjoint(text))
    named = ", ".join(f"{sign} (U+{ord(sign):04X})" for sign in lacking[:_NAMED])
    more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
    whose = "of this machine" if fonts is None else f"of this machine and of {fonts}"
    return (
        f"sheet {sheet.name}: the fonts {whose} lack {named}{more}, first in {where}; name a "
        "folder with a font that has them by --fonts DIR, or make forms for a browser alone "
        "(--form --no-pdf)"
    )
