"""Escaping of text from data for each kind of output, including spreadsheets."""

import csv
import io
import json

import pytest
import yaml
from hypothesis import given, strategies as st

from tests.hostile import controls
from winosmith import escape
from winosmith.outputs import guard_cell, unguard_cell

TEXT = st.text(alphabet=st.characters())
"""Text with any code points, including lone surrogates."""


@given(TEXT)
@pytest.mark.parametrize(
    "function",
    [
        escape.escape_terminal,
        escape.escape_json,
        escape.escape_csv,
        escape.escape_github,
        escape.escape_sarif,
        escape.escape_markdown,
        escape.escape_markdown_block,
        escape.escape_markdown_code,
    ],
)
def test_escaped_text_has_no_control_characters(function, text):
    """These are C0 and C1 controls, bidi controls and lone surrogates."""
    escaped = function(text)
    assert controls(escaped) == []
    escaped.encode("utf-8")


@given(TEXT)
def test_page_replaces_each_control_character(text):
    """Only a carriage return stays."""
    cleaned = escape.escape_page(text)
    assert set(controls(cleaned)) <= {"\r"}
    assert len(cleaned) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, cleaned, strict=True))


@given(st.text())
def test_text_without_controls_is_unchanged(text):
    clean = "".join(one for one in text if not controls(one) and one not in "\ufffe\uffff")
    assert (
        escape.escape_terminal(clean)
        == escape.escape_page(clean)
        == escape.escape_json(clean)
        == clean
    )


@given(st.dictionaries(st.text(), st.lists(st.text())))
def test_escaped_json_is_equal_json_and_yaml(value):
    document = escape.escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(document) == value
    assert yaml.safe_load(document) == value


@given(TEXT)
def test_csv_cells_are_one_line_and_not_formulas(text):
    cell = escape.escape_csv(text)
    written = io.StringIO()
    csv.writer(written).writerow([cell])
    assert len(written.getvalue().splitlines()) == 1
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("snake_case in 3-4", "snake_case in 3-4"),
        ("# title", r"\# title"),
        ("1. first", r"1\. first"),
        ("- item", r"\- item"),
        ("19.3 %", "19.3 %"),
        ("a|b\nc", r"a\|b c"),
        ("<img src=x onerror=y>", r"\<img src=x onerror=y\>"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("**b** _i_ `c` ~~s~~", r"\*\*b\*\* \_i\_ \`c\` \~\~s\~\~"),
        ("&lt;b&gt; & co", r"\&lt;b\&gt; & co"),
        ("https://a.org/~me/x_y", "https://a.org/~me/x_y"),
        ("\x1b[31m\u202e", r"\\x1b\[31m\\u202e"),
    ],
)
def test_markdown_is_escaped(text, escaped):
    """Newlines become spaces; plain words are unchanged."""
    assert escape.escape_markdown(text) == escaped


@given(st.text(alphabet="'=+-@\t\r\n ab＝"))
def test_guarding_and_unguarding_a_cell_is_a_round_trip(cell):
    assert unguard_cell(guard_cell(cell)) == cell


def test_only_formulas_get_an_apostrophe():
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=\n1", " =1", "=", "＝1"]
    assert [*map(guard_cell, formulas)] == [f"'{cell}" for cell in formulas]
    others = ["a=b", "The cup is -1 _.", "", "'tis the _", " a"]
    assert [*map(guard_cell, others)] == others
