"""Reading sheets of workbooks."""

import io
import shutil
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import needed
from winosmith import formats
from winosmith.build import read_recipe
from winosmith.cli import main
from winosmith.errors import FormatError

openpyxl = needed("openpyxl")

HEADER = ("id", "question", "A", "B", "answer")
Q1, Q2 = ("q1", "Why?", "cat", "dog", "A"), ("q2", "When?", "up", "down", "B")


def save_book(
    folder: Path, rows: Sequence[Sequence[Any]], change: Callable[[Any], object] = bool
) -> Path:
    """Save a workbook with these rows in its first sheet, after `change(book)`."""
    book, path = openpyxl.Workbook(), folder / "quiz.xlsx"
    for row in rows:
        book.active.append(row)
    change(book)
    book.save(path)
    return path


def test_row_numbers_are_those_of_excel(tmp_path):
    """Empty rows are skipped but counted. Empty cells at the end may be missing."""
    bad, long, short = (None, "Where?", "x", None, "A"), (*Q2, None, " "), ("q3", *Q1[1:4])
    rows = [(), HEADER, Q1, (), bad, long, (" ",), short, ()]
    found = formats.scan(save_book(tmp_path, rows))
    assert [str(place) for place in found.places] == [
        f"{tmp_path}/quiz.xlsx, row {n}" for n in (3, 6, 8)
    ]
    assert [one.place.position for one in found.bad] == ["row 5"]


@pytest.mark.parametrize("hidden", [[], [3], [1, 3, 7]])
def test_hidden_rows_are_noted(hidden, tmp_path):
    """Excel hides the rows that a filter excludes. Hidden headers and empty rows don't count."""

    def hide(book):
        for number in hidden:
            book.active.row_dimensions[number].hidden = True

    path = save_book(tmp_path, [HEADER, Q1, Q2], hide)
    found = formats.scan(path)
    assert [one.id for one in found.problems] == ["q1", "q2"]
    note = "the sheet hides 1 row, such as row 3; hidden rows are read like the others"
    assert any(note in one for one in found.notes) == bool(hidden)


def test_values_are_read_as_in_a_csv_file(tmp_path):
    """Integers have no point, dates and times are ISO 8601, booleans are true and false."""
    values = (2.0, 2.5, True, date(2026, 11, 28), datetime(2026, 11, 28, 9, 30), time(9, 30))
    texts = ["2", "2.5", "true", "2026-11-28", "2026-11-28T09:30:00", "09:30:00"]
    header = ("id", "question", *"ABCDEF", "answer")
    path = save_book(
        tmp_path, [header, ("q1", "Which?", *values, "A"), ("q2", "Which?", *values, "F")]
    )
    assert [list(problem.options) for problem in formats.read(path)] == [texts, texts]


def test_all_rows_of_a_merged_cell_have_its_value(tmp_path):
    rows = [("context", *HEADER[1:]), ("A text.", *Q1[1:]), (None, *Q2[1:]), (None, *Q1[1:])]
    path = save_book(tmp_path, rows, lambda book: book.active.merge_cells("A2:A4"))
    assert [p.sentence for p in formats.read(path)] == [
        "A text. Why?", "A text. When?", "A text. Why?"
    ]  # fmt: skip


@pytest.mark.parametrize(("cell", "reason"), [
    ("=1+1", "the formula in C3 gives no value; open the file in a spreadsheet program and save "
             "it"),
    ("#REF!", "the formula in C3 gives #REF!"),
])  # fmt: skip
def test_row_with_a_formula_without_a_value_is_a_bad_record(tmp_path, cell, reason):
    found = formats.scan(save_book(tmp_path, [HEADER, Q1, (*Q2[:2], cell, *Q2[3:])]))
    assert [(one.place.position, one.reason) for one in found.bad] == [("row 3", reason)]
    assert len(found.items) == 1


def test_formula_is_read_as_its_saved_value(tmp_path):
    path = save_book(tmp_path, [HEADER, Q1, (*Q2[:2], "=1+1", *Q2[3:])])
    parts = {}
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>")
    parts[sheet] = parts[sheet].replace(b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>")
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    assert formats.read(path)[1].options == ("2", "down")


def test_one_of_several_sheets_must_be_named(tmp_path):
    """`FILE#SHEET` names it. Hidden sheets are not listed."""

    def add(book: Any) -> None:
        for title in ("Level 2", "Lists"):
            sheet = book.create_sheet(title)
            sheet.append(HEADER)
            sheet.append(Q2)
        book["Lists"].sheet_state = "hidden"

    path = save_book(tmp_path, [HEADER, Q1], add)
    with pytest.raises(FormatError, match=r"the sheets Sheet, Level 2; name one: '.*x#Sheet'$"):
        formats.read(path)
    found = formats.scan(f"{path}#Level 2")
    assert (found.items[0].id, str(found.places[0])) == ("q2", f"{path}#Level 2, row 2")
    assert formats.read(f"{path}#Lists").name == "quiz"
    with pytest.raises(FormatError, match="there is no sheet 'x'; the sheets are Sheet, Level 2,"):
        formats.read(f"{path}#x")
    shutil.copy(path, other := tmp_path / "quiz #1.xlsx")
    assert formats.read(f"{other}#Level 2").ids == ("q2",)
    recipe = tmp_path / "r.toml"
    recipe.write_text('name = "a"\ndata = "quiz.xlsx#Level 2"\n', "utf-8")
    assert read_recipe(recipe).data == f"{path}#Level 2"
    assert main(["audit", f"{path}#Level 2", "--no-probes", "--json"]) == 0


def test_workbook_without_data_is_refused(tmp_path):
    with pytest.raises(FormatError, match="the workbook has no visible sheet with data"):
        formats.read(save_book(tmp_path, []))


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml"])
@pytest.mark.parametrize("how", ["cut short", "empty", "missing", "entities", "far away"])
def test_damaged_workbook_is_read_or_refused(tmp_path, part, how):
    path = save_book(tmp_path, [HEADER, Q1, Q2])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    raw = parts.pop(part)
    changed = {
        "cut short": raw[: len(raw) // 2],
        "empty": b"",
        "entities": b'<!DOCTYPE x [<!ENTITY e "eeee">]>' + raw.partition(b"?>")[2],
        "far away": raw.replace(b'<row r="3"', b'<row r="9999999999999"'),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, one in {**parts, **({part: changed[how]} if how in changed else {})}.items():
            archive.writestr(name, one)
    path.write_bytes(file.getvalue())
    with suppress(FormatError):
        assert len(formats.scan(path).items) <= 2


def test_workbook_decompression_bomb_is_refused(tmp_path):
    """Workbooks with cells that are far apart are refused, too."""
    path = save_book(tmp_path, [HEADER, Q1])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/image1.png", bytes(1 << 27))
    with pytest.raises(FormatError, match="300 times its size"):
        formats.read(path)

    def spread(book: Any) -> None:
        for row in range(3, 700):
            book.active.cell(row, 1 << 14, "x")

    with pytest.raises(FormatError, match="300 times its size"):
        formats.read(save_book(tmp_path, [HEADER, Q1], spread))
