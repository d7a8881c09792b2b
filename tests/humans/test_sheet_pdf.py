"""Sheets as PDF: literal text, whole questions, reproducible bytes, fonts."""

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from tests.conftest import installed
from tests.humans.conftest import materials
from winosmith import Dataset, Problem
from winosmith.errors import InputError
from winosmith.humans import Item, Sheet, _handout, make_sheets, render_pdf

HOSTILE = (
    '#panic("out")',
    "$x^2$ and \\ and #",
    "`raw` *bold* @ref <label> // comment",
    "/* open",
    '"quoted" \\u{1F600} {{ }} [ ]',
    "שלום עולם",
    "ﬁne – “typographic” … ‰ ñ ß",
)


@pytest.fixture(autouse=True)
def printer() -> None:
    """Skip without typst (the extra `print`); fail in CI."""
    installed("typst")


def _hostile() -> Dataset:
    return Dataset(
        Problem(str(at), f"{text} met {text} so _ {text} left {at}.", (text, f"the {text[::-1]}"))
        for at, text in enumerate(HOSTILE)
    )


PAGES = "query(<{}>).map(it => it.location().page())"
"""A query for the pages on which questions start or end."""


def _query(sheet: Sheet, probe: str, large: bool = False) -> list[object]:
    """Query typst about the pages of a sheet."""
    import typst

    template = files("winosmith.humans").joinpath("templates/sheet.typ").read_bytes()
    found = typst.query(
        template + f"\n#context [#metadata({probe})<answer>]".encode(),
        "<answer>",
        field="value",
        one=True,
        sys_inputs={"sheet": _handout._make_data(sheet, large, "a4", ())},
        ignore_system_fonts=True,
    )
    held: list[object] = json.loads(found)
    return held


def test_markup_in_sentences_is_printed_literally():
    (sheet,) = make_sheets(_hostile()).sheets
    assert render_pdf(sheet).startswith(b"%PDF")
    starts = "query(<start>).map(it => it.value)"
    assert _query(sheet, starts) == list(range(1, len(HOSTILE) + 1))


@pytest.mark.parametrize("large", [False, True])
def test_no_question_is_split_between_pages(large):
    sheet = make_sheets(materials(40, 30)).sheets[-1]
    starts, ends = (_query(sheet, PAGES.format(mark), large) for mark in ("start", "end"))
    assert starts == ends
    assert len(starts) == len(sheet)
    assert len(set(map(str, starts))) > 5


def test_text_longer_than_a_page_continues():
    long = Problem("1", "word " * 1500 + "and _ left.", ("Ann", "Sue"))
    (sheet,) = make_sheets(Dataset([long])).sheets
    starts, ends = (_query(sheet, PAGES.format(mark)) for mark in ("start", "end"))
    assert starts == [2]
    assert ends[0] > 2


def test_pdf_is_reproducible_without_the_answers():
    data = materials(6)
    one, other = (make_sheets(of).sheets[0] for of in (data, data.blind()))
    assert render_pdf(one) == render_pdf(other)


def test_large_print_has_over_half_more_pages():
    sheet = make_sheets(materials(40)).sheets[0]
    normal, large = (
        len(re.findall(rb"/Type\s*/Page\b", render_pdf(sheet, large=chosen)))
        for chosen in (False, True)
    )
    assert large > 1.5 * normal > 0


JAPANESE = Problem("j1", "安は蘇を見て、_が去った。", ("安", "蘇"))

NOWHERE = "\U00040000"
"""An unassigned code point, which no font has."""


@pytest.mark.parametrize(
    ("problem", "named"),
    [
        (
            Problem("n1", f"Ann saw {NOWHERE}, and _ left.", ("Ann", "Sue")),
            [
                f"the fonts of this machine lack {NOWHERE} (U+40000), first in question 2 ('n1')",
                "install a font",
                "(`winosmith humans sheets --form --no-pdf`)",
            ],
        ),
        (JAPANESE, ["安 (U+5B89), first in question 2 ('j1')"]),
        (
            Problem("e1", "Ann liked \U0001fae8, and _ left.", ("Ann", "Sue")),
            ["\U0001fae8 (U+1FAE8)", "question 2 ('e1')"],
        ),
    ],
)
def test_characters_without_a_font_are_refused(problem, named, tmp_path, monkeypatch):
    """Otherwise, typst would print empty boxes."""
    plain = Problem("0", "The café — “naïve”, Привет — and _ left.", ("café", "naïve"))
    (sheet,) = make_sheets(Dataset([plain, problem]), seed=1).sheets
    sheet = replace(sheet, items=_in_order(sheet, "0"))
    _use_only_fonts_in(tmp_path, monkeypatch)
    with pytest.raises(InputError) as refused:
        render_pdf(sheet)
    assert all(part in str(refused.value) for part in named)


def _in_order(sheet: Sheet, first: str) -> tuple[Item, ...]:
    items = sorted(sheet.items, key=lambda item: item.problem_id != first)
    return tuple(replace(item, number=at, label=None) for at, item in enumerate(items, start=1))


def test_title_with_unprintable_characters_is_refused():
    data = Dataset([Problem("1", "Ann saw Sue, and _ left.", ("Ann", "Sue"))])
    (sheet,) = make_sheets(data, title=f"Who? {NOWHERE}").sheets
    with pytest.raises(InputError, match="first in the title or the instructions"):
        render_pdf(sheet)


def test_system_fonts_are_used(tmp_path, monkeypatch):
    """The fonts inside typst lack these characters."""
    signs = "񀀠񀀡"
    (sheet,) = make_sheets(
        Dataset([Problem("1", f"{signs[0]} saw {signs[1]}, and _ left.", (*signs,))])
    ).sheets
    _use_only_fonts_in(tmp_path, monkeypatch)
    _font(tmp_path / "own.ttf", signs)
    assert b"OwnFont" in render_pdf(sheet)


def _use_only_fonts_in(folder, monkeypatch):
    """Hide the fonts of this machine."""
    (folder / "fonts.conf").write_text(f"<fontconfig><dir>{folder}</dir></fontconfig>", "utf-8")
    monkeypatch.setenv("FONTCONFIG_FILE", str(folder / "fonts.conf"))


def _font(path: Path, signs: str) -> None:
    """Write a font in which each of the characters is a square."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for point in ((100, 700), (800, 700), (800, 0)):
        pen.lineTo(point)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"u{ord(sign):X}" for sign in signs)]
    made = FontBuilder(1000, isTTF=True)
    made.setupGlyphOrder(names)
    made.setupCharacterMap({ord(sign): f"u{ord(sign):X}" for sign in signs})
    made.setupGlyf(dict.fromkeys(names, square))
    made.setupHorizontalMetrics(dict.fromkeys(names, (900, 100)))
    made.setupHorizontalHeader(ascent=800, descent=-200)
    made.setupNameTable({"familyName": "OwnFont", "styleName": "Regular", "psName": "OwnFont"})
    made.setupOS2()
    made.setupPost()
    made.save(path)


def test_common_characters_need_no_system_fonts(tmp_path, monkeypatch):
    _use_only_fonts_in(tmp_path, monkeypatch)
    assert render_pdf(make_sheets(_hostile()).sheets[0]).startswith(b"%PDF")
