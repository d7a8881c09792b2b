"""Find the rows that may be questions, anywhere in a container.

A column with several parts is split into several columns; nested questions become rows (`_nested`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from string import ascii_uppercase
from typing import TypeVar

from winosmith import data
from winosmith.data import Delimited, Record, Rows, Source
from winosmith.errors import FormatError, ProblemError
from winosmith.formats import _names
from winosmith.formats._base import Entry
from winosmith.formats._choices import get_turns, may_list_choices, split_chats, split_question
from winosmith.formats._columns import Columns, find_combined_columns, make_plan, try_plan
from winosmith.formats._enclosed import Reading, find_questions
from winosmith.formats._nested import expand_nested, flatten

PROGRESS_INTERVAL = 250
"""Number of records between progress reports."""

PARSED_FRACTION, DRAFTED_FRACTION = 0.3, 0.7
"""Fractions of the work that are finished when the rows are parsed and when the drafts are made."""


P = TypeVar("P", Entry, data.Row[Record])


def report_progress(
    items: Iterable[P],
    source: Source | None,
    on_progress: Callable[[float], object] | None,
    fraction: float = 1.0,
) -> Iterator[P]:
    """Yield items, and report as progress the fraction of lines read, multiplied by `fraction`.

    No progress is reported if the source is not a text file.
    """
    lines = source.text.count("\n") + 1 if source and on_progress else 0
    for n, one in enumerate(items):
        if on_progress and lines and n % PROGRESS_INTERVAL == 0:
            on_progress(min(1.0, one.place.number / lines) * fraction)
        yield one


def get_question_rows(rows: Rows) -> Reading:
    """Return the rows of a container that may be questions, and notes on the assumptions made."""
    if rows.kind == "object":
        return find_questions(rows) or (rows, [])
    if rows.kind != "delimited" or rows.source is None or not (names := _guess_names(rows)):
        return rows, []
    read = partial(Delimited(rows.source).rows, names)
    note = f"the table has no header; its columns are read as {', '.join(map(repr, names))}"
    return Rows(rows.path, "delimited", read, rows.source, header=names), [note]


def _guess_names(rows: Rows) -> tuple[str, ...]:
    """Return column names for a table without a header, or none if it may have a header.

    Each row of a table without a header, as in MMLU, has a question, the choices and the correct
    choice's letter. Every letter is the key of some row.
    """
    cells = rows.names
    letters = ascii_uppercase[: max(0, len(cells) - 2)]
    if not 4 <= len(cells) <= len(ascii_uppercase) + 2 or cells[-1] not in letters:
        return ()
    names = ("question", *letters, "answer")
    found = [row.values for row in Delimited(rows.sources[0]).rows(names)]
    keys = {row["answer"].strip() for row in found if row}
    if not all(found) or not letters[-1] in keys <= set(letters):
        return ()
    last = dict(zip(cells, (found[-1] or {}).values(), strict=True))
    return () if try_plan([last]) else names


def shape_rows(
    rows: Iterable[data.Row[Record]], columns: Columns
) -> tuple[list[data.Row[Record]], list[str]]:
    """Expand nested questions, split combined columns, and return a note on each step."""
    found = [
        row
        if row.values is None or not isinstance(row.values.get("question"), Mapping)
        else row._replace(values=flatten(row.values))
        for row in rows
    ]
    found, notes = expand_nested(found, columns)
    found, split_notes = _split_column(found, columns)
    return found, notes + split_notes


def _split_column(
    rows: list[data.Row[Record]], columns: Columns
) -> tuple[list[data.Row[Record]], list[str]]:
    """Split a column of questions with choices, or two columns of chats, if most rows allow it.

    Also returns a note if columns were split.
    """
    values = [row.values for row in rows if row.values is not None]
    combined, chats = find_combined_columns(_names.collect_names(values), columns)
    if combined:
        reason = f"{combined!r} contains no choices after letters such as 'A.' and 'B.'"
        note = f"the choices are read from the end of each {combined!r}"
    elif chats:
        reason = f"{chats[0]!r} and {chats[1]!r} do not start with the same text"
        note = f"the question is the common prefix of {chats[0]!r} and {chats[1]!r}"
    else:
        return rows, []

    def split(row: Record) -> Record | None:
        with suppress(ProblemError):  # a turn of the chat is not a text
            if chats:
                parts = split_chats(*map(row.get, chats))
                return parts and dict(zip(("question", *chats), parts, strict=True))
            cell = row.get(combined)
            text = (get_turns(cell) or (cell,))[-1]
            if isinstance(text, str) and (found := split_question(text)):
                question, choices = found
                by_label = dict(zip(choices.labels, choices.options, strict=True))
                return {combined: question, "choices": by_label}
        return None

    parts = [None if row.values is None else split(row.values) for row in rows]
    if 2 * sum(map(bool, parts)) <= len(values):
        return rows, []
    return [
        row if row.values is None
        else row._replace(values={**row.values, **part}) if part
        else row._replace(values=None, reason=reason)
        for row, part in zip(rows, parts, strict=True)
    ], [note]  # fmt: skip


def has_question_columns(rows: Rows) -> bool:
    names, record = _read_first_row(rows)
    found = try_plan([record], names=dict.fromkeys([*names, *record]))
    if found is None:
        return False
    # Any mapping of words may have "question" and "options", so there must be several choices.
    cell = record.get(found.choices[0]) if len(found.choices) == 1 else None
    return not isinstance(cell, str) or may_list_choices(cell)


def _read_first_row(rows: Rows) -> tuple[list[str], Record]:
    """Return the column names and the first readable row, which is empty if none is readable."""
    questions, _ = get_question_rows(rows)
    try:
        first = [*islice((row for row in islice(questions, 20) if row.values is not None), 1)]
        record = next((row.values for row in shape_rows(first, Columns())[0] if row.values), {})
    except FormatError:
        record = {}
    return [*(record if questions.is_typed else questions.names)], record


def explain_mismatch(rows: Rows) -> tuple[str, bool]:
    """Return why rows can't be read as questions, and whether they have a column of questions."""
    names, row = _read_first_row(rows)
    if len(names) < 2:
        return "", False
    try:
        make_plan(names, Columns(), [row])
    except FormatError as error:
        where = "" if rows.is_typed else " (does the first line name the columns?)"
        known = _names.collect_names([names])
        has_questions = _names.find_name([*_names.QUESTION, "questions"], known) or known.families
        notes = "".join(f"{note}; " for note in get_question_rows(rows)[1])
        return f"{notes}{error.reason}{where}", bool(has_questions)
    why = "the first row's choices are not a list: write a JSON list, or one column per choice"
    return why, True
