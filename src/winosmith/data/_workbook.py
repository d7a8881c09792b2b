"""Excel workbooks in XLSX format (`pip install 'winosmith[xlsx]'`).

A sheet is read like a CSV file, but with Excel's row numbers. If several visible sheets have data,
name one of them, as in `quiz.xlsx#Level 1`. The first row that is not empty contains the column
names; later empty rows are skipped. The value of a merged cell is repeated in each of its rows.
Hidden rows are read, too, with a note.
Formulas have the values that Excel saved; a row is a bad record if a formula in it has no value, or
if it has an error such as `#REF!`. Dates are converted to ISO 8601 strings.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from defusedxml.ElementTree import fromstring

from winosmith.data._bytes import File, get_size_limit, make_size_error
from winosmith.data._delimited import map_cells, parse_header
from winosmith.data._source import Place, Row
from winosmith.data._tables import format_cell, to_plain
from winosmith.errors import FormatError, require
from winosmith.text import format_count

SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE)
"""Pattern of a workbook's path with a sheet, such as "quiz.xlsx#Level 1"."""

_MAX_ROWS = 1 << 20

_MERGES = re.compile(rb'<mergeCell [^>]*ref="([A-Z]{1,3})([0-9]{1,7}):[A-Z]{1,3}([0-9]{1,7})"')

_HIDDEN_ROW = re.compile(rb'<row [^>]*?\br="([0-9]{1,7})"[^>]*? hidden="(?:1|true)"')

_FORMULA_ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}

_DAMAGE_ERRORS = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError, OSError, RuntimeError),
    *(SyntaxError, EOFError, zipfile.BadZipFile, zlib.error),  # SyntaxError: from the XML parser
)


def strip_sheet(path: str) -> str:
    """Remove the name of a sheet, if there is one, from a path.

    >>> strip_sheet("quiz.xlsx#Level 1"), strip_sheet("quiz #1.xlsx")
    ('quiz.xlsx', 'quiz #1.xlsx')
    """
    found = SHEET.fullmatch(path)
    return found[1] if found else path


Grid = list[list[Any]]


Sheet = tuple[str, tuple[str, ...], list[Row[Mapping[str, str]]], tuple[str, ...]]


def read_sheet(file: File) -> Sheet:
    """Return the path, the header and the rows of a sheet, with cells as text, and notes.

    The path of the workbook may end in "#" and the name of a sheet.
    """
    openpyxl = require("openpyxl", "xlsx")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # styles and data validation are skipped
            path, grid, formulas, hidden = _read_sheet(file, openpyxl)
    except FormatError:
        raise
    except _DAMAGE_ERRORS as error:
        raise FormatError(f"the workbook can't be read: {error}", file.path) from None
    texts = [[format_cell(to_plain(value)) for value in row] for row in grid]
    filled = [number for number, row in enumerate(texts) if any(map(str.strip, row))]
    if not filled:
        raise FormatError("the sheet is empty", path)
    first = filled[0]
    names = parse_header(texts[first], path, first + 1, "row")
    rows = []
    for number in filled[1:]:
        bad = [
            (openpyxl.utils.get_column_letter(column + 1), value)
            for column, value in enumerate(grid[number])
            if value in _FORMULA_ERRORS or (value is None and formulas and formulas[number][column])
        ]
        cells = [*texts[number], *[""] * (len(names) - len(texts[number]))]
        row = map_cells(cells, names, Place(path, number + 1, "row"), "\t".join(cells))
        if bad:
            column, value = bad[0]
            reason = f"the formula in {column}{number + 1} gives {value or 'no value'}"
            reason += "" if value else "; open the file in a spreadsheet program and save it"
            row = row._replace(values=None, reason=reason)
        rows.append(row)
    hidden &= {row.place.number for row in rows}
    example = f"{format_count(len(hidden), 'row')}, such as row {min(hidden, default=0)}"
    note = (
        f"the sheet hides {example}; hidden rows are read like the others, so delete unwanted ones"
    )
    return path, tuple(names), rows, (note,) if hidden else ()


def _read_sheet(file: File, openpyxl: Any) -> tuple[str, Grid, Grid, set[int]]:
    """Return the path, the values and formulas of a sheet, and the numbers of its hidden rows."""
    found = SHEET.fullmatch(file.path)
    path, wanted = found.groups() if found else (file.path, "")
    book = openpyxl.load_workbook(io.BytesIO(file.raw), read_only=True, data_only=True)
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    names = [wanted] if wanted else [
        name for name, sheet in sheets.items()
        if sheet.sheet_state == "visible" and any(map(any, _iterate_sheet_rows(sheet, file)))
    ]  # fmt: skip
    if wanted not in ("", *sheets):
        raise FormatError(f"there is no sheet {wanted!r}; the sheets are {', '.join(sheets)}", path)
    if len(names) > 1:
        raise FormatError(
            f"the workbook has the sheets {', '.join(names)}; name one: '{path}#{names[0]}'", path
        )
    if not names:
        raise FormatError("the workbook has no visible sheet with data", path)
    grid = [*_iterate_sheet_rows(sheets[names[0]], file)]
    with zipfile.ZipFile(io.BytesIO(file.raw)) as archive:
        entries = fromstring(archive.read("xl/workbook.xml")).iterfind(".//{*}sheet")
        (entry,) = [one for one in entries if one.get("name") == names[0]]
        part = next(value for key, value in entry.attrib.items() if key.endswith("}id"))
        parts = fromstring(archive.read("xl/_rels/workbook.xml.rels"))
        (target,) = [one.get("Target") or "" for one in parts if one.get("Id") == part]
        xml = archive.read(str(PurePosixPath("xl") / target).lstrip("/"))
    for column, top, bottom in _MERGES.findall(xml):
        position = openpyxl.utils.column_index_from_string(column.decode()) - 1
        merged = [row for row in grid[int(top) - 1 : int(bottom)] if position < len(row)]
        for row in merged[1:]:
            row[position] = merged[0][position]
    hidden = {*map(int, _HIDDEN_ROW.findall(xml))}
    if b"<f" not in xml:
        return file.path, grid, [], hidden
    book = openpyxl.load_workbook(io.BytesIO(file.raw), read_only=True)
    return file.path, grid, [*_iterate_sheet_rows(book[names[0]], file)], hidden


def _iterate_sheet_rows(sheet: Any, file: File) -> Iterator[list[Any]]:
    sheet.reset_dimensions()  # the file may declare wrong dimensions
    remaining = get_size_limit(len(file.raw)) // 8  # a value in a list takes eight bytes
    for row in sheet.iter_rows(max_row=_MAX_ROWS, values_only=True):
        remaining -= len(row)
        if remaining < 0:
            raise make_size_error(file.path)
        yield list(row)
