"""Plain tables for spreadsheets: a row per problem, with columns sentence, option1, option2 …

Cells may be separated by commas, semicolons or tabs; files are written with commas. The column `id`
may also be named `qID`. `answer` is the 1-based number of the option, or empty. Additional columns
are stored in `extra`: "winogender.gender" keeps its name, "Größe (cm)" becomes `csv.Größe (cm)`.
Values in `extra` become numbers, true, false or null if they are valid JSON. If there are no ids, a
problem's id is its row label in a table of pandas or R, or its 0-based row number.

Every field of a problem has a column. A cell that a spreadsheet would run as a formula is written
with a leading apostrophe, which is removed when the file is read.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import islice
from typing import IO, Any

from winosmith.data import Rows, is_missing, parse_whole_number
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._answers import interpret_answer
from winosmith.formats._base import Format, Row, Writer
from winosmith.formats._evograd import is_evograd
from winosmith.formats._names import ANSWER, find_name
from winosmith.formats._twins import would_be_paired
from winosmith.outputs import guard_cell
from winosmith.problem import EXTRA_KEY, MAX_OPTIONS, Origin, Problem, Scalar
from winosmith.records import dump_json, make_problem_record, parse_json, parse_problem

_OPTIONS = [f"option{number}" for number in range(1, MAX_OPTIONS + 1)]
_REQUIRED = ("sentence", "option1", "option2")

_FIELDS = {
    "twin_id": ("twin_id",),
    "pronoun": ("pronoun",),
    **{known.name: ("origin", known.name) for known in fields(Origin)},
    "root": ("lineage", "root"),
    "parent": ("lineage", "parent"),
    "depth": ("lineage", "declared"),
    "edits": ("lineage", "edits"),
    "embargo": ("embargo",),
    "blank": ("blank",),
}
"""Map each column other than id, sentence, options and answer to its key in a record."""

_LOST_FIELDS = _FIELDS.keys() - {"twin_id", "source", "created", "domain"}
"""Columns that the format `questions` reads as additional ones, without their meaning."""

_KNOWN_COLUMNS = {"id", "qID", "sentence", *_OPTIONS, "answer", *_FIELDS}
_MAY_BE_JSON = re.compile(r'[\s"\d\-tfn]')
"""Pattern of a JSON scalar's first character; to save time, other cells are not parsed."""


@lru_cache(maxsize=16)
def _assign_columns(names: tuple[str, ...]) -> tuple[list[str], list[str], dict[str, str]]:
    known = {*names} & _KNOWN_COLUMNS
    count = max((at for at, name in enumerate(_OPTIONS, 1) if name in known), default=0)
    others = (name for name in names if name not in known)
    extra_keys = _base.make_extra_keys("csv", others, EXTRA_KEY)
    return _OPTIONS[:count], [name for name in _FIELDS if name in known], extra_keys


def _parse_problem(cells: Row, position: int) -> Problem:
    named_options, used_fields, extra_keys = _assign_columns(tuple(cells))
    options = [cells.get(name, "") for name in named_options]
    while options and not options[-1]:
        options.pop()
    record: dict[str, Any] = {
        "id": cells.get("id") or cells.get("qID") or str(position),
        "sentence": cells["sentence"],
        "options": options,
        "answer": _base.parse_option_number(cells.get("answer", "").strip(), len(options)),
        "extra": {key: _parse_scalar(cells[n]) for n, key in extra_keys.items() if cells[n]},
    }
    for name in filter(cells.get, used_fields):
        path, cell = _FIELDS[name], cells[name]
        target = record.setdefault(path[0], {}) if len(path) > 1 else record
        try:
            text = cell.lower() if name == "embargo" else cell
            target[path[-1]] = parse_json(text) if name in _JSON_COLUMNS else cell
        except ValueError:
            raise ProblemError(f"{name!r} must be {_JSON_COLUMNS[name]}, not {cell!r}") from None
    return parse_problem(record)


_JSON_COLUMNS = {
    "depth": "a whole number",
    "edits": "a JSON list",
    "embargo": "true or false",
    "blank": "an offset, or null for a question",
}


def _parse_scalar(cell: str) -> Scalar:
    if not _MAY_BE_JSON.match(cell):
        return cell
    try:
        value = parse_json(cell)
    except ValueError:
        return cell
    return value if value is None or isinstance(value, str | int | float | bool) else cell


def list_columns(problems: Iterable[Problem]) -> set[str]:
    """Return the columns that a table of these problems needs.

    Raises:
        FormatError: a problem does not fit a table.
    """
    return {"id", "sentence", "option1", "option2", "answer"}.union(*map(_make_cells, problems))


def to_table(
    problems: Iterable[Problem], columns: Collection[str], file: IO[str], *, header: bool = True
) -> None:
    """Write problems to a file as rows of a table, in canonical order of the columns.

    Without `header`, the rows continue a table. `columns` are from `list_columns`, for all parts.
    """
    order = ["id", "sentence", *_OPTIONS, "answer", *_FIELDS]
    names = [name for name in order if name in columns] + sorted(set(columns) - set(order))
    writer = csv.writer(file, lineterminator="\r\n")  # RFC 4180
    if header:
        writer.writerow(map(guard_cell, names))
    for cells in map(_make_cells, problems):
        writer.writerow([guard_cell(cells.get(name, "")) for name in names])


def _write(problems: Sequence[Problem], file: IO[str]) -> None:
    columns = list_columns(problems)
    if not columns & {"twin_id", "root"} and would_be_paired(problems):
        columns.add("twin_id")  # an empty column marks that there are no twins
    to_table(problems, columns, file)


def _make_cells(problem: Problem) -> dict[str, str]:
    record = make_problem_record(problem)
    answer = "" if problem.answer is None else str(problem.answer + 1)
    cells = {"id": problem.id, "sentence": problem.sentence, "answer": answer}
    cells |= dict(zip(_OPTIONS, problem.options, strict=False))
    for name, path in _FIELDS.items():
        value: Any = record
        for key in path:
            value = (value or {}).get(key)
        if value is not None:
            cells[name] = value if isinstance(value, str) else dump_json(value)
    if problem.blank is None:
        cells["blank"] = "null"
    for key, value in problem.extra.items():
        name = key.removeprefix("csv.")
        is_taken = name in _KNOWN_COLUMNS or EXTRA_KEY.fullmatch(name)
        is_read_back = isinstance(value, str) and value and _parse_scalar(value) == value
        text = str(value) if is_read_back else json.dumps(value, ensure_ascii=False)
        cells[key if is_taken else name] = text
    if any(not cell and name != "answer" for name, cell in cells.items()):
        raise _base.make_unwritable_error(
            problem, "a table can't distinguish an empty string from a missing value"
        )
    return cells


def _has_other_key(rows: Rows) -> bool:
    """Return whether the answers are in a column such as `label`, or are letters or texts.

    A column other than `answer` must have a usual answer name. The first rows must have a value
    that names an option. The `questions` format reads such rows.
    """
    name = find_name(ANSWER, rows.names)
    if name is None or (name != "answer" and "answer" in rows.names):
        return False
    examples = [row.values for row in islice(rows, 20) if row.values]
    examples = [values for values in examples if not is_missing(values.get(name))]
    if name == "answer":
        has_number = any(parse_whole_number(str(values[name]).strip()) for values in examples)
        if has_number or not _LOST_FIELDS.isdisjoint(rows.names):
            return False
    for values in examples:
        options = {one: str(values[one]) for one in _OPTIONS if values.get(one)}
        if interpret_answer(values[name], [*options.values()], [*options]):
            return True
    return False


def is_plain_table(rows: Rows) -> bool:
    """Return whether rows with a sentence and options are a plain table, not WinoGrande's format.

    A plain table has a column that only plain tables have, or is delimited text without `qID`.
    """
    names = set(rows.names)
    plain_only = _KNOWN_COLUMNS - {"qID", "sentence", "option1", "option2", "answer"}
    return not names.isdisjoint(plain_only) or not (rows.is_typed or "qID" in names)


def has_sentence_and_options(rows: Rows) -> bool:
    has_columns = {*_REQUIRED} <= set(rows.names)
    return has_columns and not is_evograd(rows) and not _has_other_key(rows)


CSV = Format(
    name="csv",
    title="a plain table: sentence, option1, option2, answer …",
    sign=lambda rows: has_sentence_and_options(rows) and is_plain_table(rows),
    needs=frozenset(_REQUIRED),
    read=lambda rows: _base.build_entries(_base.read_cells(rows, _REQUIRED), _parse_problem),
    writer=Writer(
        _write, suffix=".csv", kept_fields=frozenset(known.name for known in fields(Problem))
    ),
    twin_names=frozenset({"twin_id", "root"}),
)
