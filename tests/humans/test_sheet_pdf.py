"""Sheets as PDF: what a sentence holds stays text, no question is split, bytes stay the same."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from importlib.resources import files

import pytest

from winosmith import Dataset, Problem
from winosmith.humans import Sheet, _typst, make_sheets, pages, pdf

Materials = Callable[..., Dataset]

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
    if importlib.util.find_spec("typst") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("missing in CI: typst is not installed (the extra `print`)")
        pytest.skip("typst is not installed (the extra `print`)")


def _hostile() -> Dataset:
    return Dataset(
        Problem(str(at), f"{text} met {text} so _ {text} left {at}.", (text, f"the {text[::-1]}"))
        for at, text in enumerate(HOSTILE)
    )


def _asked(sheet: Sheet, probe: str, large: bool = False) -> list[object]:
    """Ask typst about the pages that it set."""
    import typst

    template = files("winosmith.humans").joinpath("templates/sheet.typ").read_bytes()
    found = typst.query(
        template + f"\n#context [#metadata({probe})<answer>]".encode(),
        "<answer>",
        field="value",
        one=True,
        sys_inputs={"sheet": _typst._data(sheet, large, "a4", None, ())},
        ignore_system_fonts=True,
    )
    held: list[object] = json.loads(found)
    return held


def test_nothing_of_a_sentence_is_read_as_markup() -> None:
    """Panics, formulas, labels, comments and right-to-left text are set as they stand."""
    (sheet,) = make_sheets(_hostile()).sheets
    assert pdf(sheet, subject="S#1$").startswith(b"%PDF")
    starts = "query(<start>).map(it => it.value)"
    assert _asked(sheet, starts) == list(range(1, len(HOSTILE) + 1))


@pytest.mark.parametrize("large", [False, True])
def test_no_question_is_split_over_a_page(materials: Materials, large: bool) -> None:
    """Each of 80 questions ends on the page on which it begins, in large print, too."""
    sheet = make_sheets(materials(40, 30)).sheets[-1]
    starts = _asked(sheet, "query(<start>).map(it => it.location().page())", large)
    ends = _asked(sheet, "query(<end>).map(it => it.location().page())", large)
    assert starts == ends
    assert len(starts) == len(sheet)
    assert len(set(map(str, starts))) > 5


def test_a_text_longer_than_a_page_goes_on_over_the_page() -> None:
    """Nothing is cut off: a question of 1,500 words ends on a later page than it begins on."""
    long = Problem("1", "word " * 1500 + "and _ left.", ("Ann", "Sue"))
    (sheet,) = make_sheets(Dataset([long])).sheets
    starts = _asked(sheet, "query(<start>).map(it => it.location().page())")
    ends = _asked(sheet, "query(<end>).map(it => it.location().page())")
    assert starts == [2]
    assert ends[0] > 2  # type: ignore[operator]


def test_the_same_sheet_has_the_same_bytes(materials: Materials) -> None:
    """Set twice, a sheet is the same to the byte; with a subject's code it is another."""
    sheet = make_sheets(materials(6)).sheets[0]
    assert pdf(sheet) == pdf(sheet)
    assert pdf(sheet) != pdf(sheet, subject="S07")


def test_the_pdf_does_not_depend_on_answers(materials: Materials) -> None:
    """With the answers withheld, the PDF is the same to the byte."""
    data = materials(6)
    assert pdf(make_sheets(data).sheets[0]) == pdf(make_sheets(data.blind()).sheets[0])


def test_large_print_needs_more_pages(materials: Materials) -> None:
    """The pages come as pictures, and large print has half as many again."""
    sheet = make_sheets(materials(40)).sheets[0]
    normal, large = pages(sheet, ppi=20), pages(sheet, large=True, ppi=20)
    assert all(page.startswith(b"\x89PNG") for page in (*normal, *large))
    assert len(large) > 1.5 * len(normal)


def test_writing_that_the_fonts_lack_is_set_all_the_same() -> None:
    """Chinese takes the fonts of the machine, without an error where it has none."""
    data = Dataset([Problem("1", "安 saw 苏, and _ left.", ("安", "苏"))])
    assert pdf(make_sheets(data).sheets[0]).startswith(b"%PDF")
