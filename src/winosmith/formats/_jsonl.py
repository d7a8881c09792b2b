"""Winosmith's own format: JSON Lines with one problem or claim per line and all fields.

Fields that are empty or have their default value are omitted; `winosmith.records` lists the keys.
If a file has no twins but some problems look like twins, all problems have `"twin_id": null`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain, islice
from typing import Any

from winosmith.data import Record, Rows
from winosmith.errors import ProblemError, require
from winosmith.formats import _base
from winosmith.formats._base import Entry, Format, Item, Writer, get_problems
from winosmith.formats._columns import has_blank
from winosmith.formats._twins import would_be_paired
from winosmith.problem import BLANK, Claim, Origin, Problem
from winosmith.records import (
    dump_json,
    make_claim_record,
    make_problem_record,
    parse_claim,
    parse_json,
    parse_problem,
)

_PROBLEM_KEYS, _CLAIM_KEYS = ("id", "sentence", "options"), ("problem_id", "sentence", "candidate")
_OWN_KEYS = frozenset({"pronoun", "origin", "lineage", "embargo", "blank", "extra"})
"""Keys whose meaning other formats don't know."""

_QUESTION_COLUMNS = ("id", "question", "options", "extra")
"""Columns of a question release; `extra` contains at least the canary."""

_TEXT_KEYS = {"id", "sentence", "twin_id", "pronoun", "problem_id", "candidate"}
"""Keys whose values are strings in every container."""

_ORIGIN_FIELDS = tuple(known.name for known in fields(Origin))
_RELEASE_COLUMNS = ("judges", "judged_by", "removed_by", "phase")
_RELEASE_ONLY_COLUMNS = frozenset(
    {*_ORIGIN_FIELDS, *_RELEASE_COLUMNS, "root", "parent", "declared", "edits", "extra"}
)
"""Columns of a release's Parquet files that are not keys in our JSON Lines."""


def _is_winosmith(rows: Rows) -> bool:
    names = {*rows.names}
    is_release = names >= {*_QUESTION_COLUMNS} and str(rows.first.get("extra")).startswith("{")
    if is_release or names >= {*_CLAIM_KEYS}:
        return True
    return names >= {*_PROBLEM_KEYS} and not (
        _are_answers_texts(rows) and not rows.may_have(_OWN_KEYS)
    )


def _are_answers_texts(rows: Rows) -> bool:
    """Return whether the answers in the first rows are letters or texts, not numbers.

    The format `questions` reads such rows.
    """
    if not rows.is_typed:
        return False
    found = (row.values.get("answer") for row in islice(rows, 20) if row.values)
    known = [answer for answer in found if answer is not None]
    return bool(known) and all(isinstance(answer, str) for answer in known)


def _read(rows: Rows) -> Iterator[Entry]:
    if rows.kind in ("lines", "object"):
        return _base.build_entries(rows, _parse_item)
    records = rows if rows.is_typed else _base.read_records(rows, {*rows.names} - _TEXT_KEYS)
    return _base.build_entries(records, _parse_table_row)


def _parse_item(record: Record, position: int) -> Item:
    return parse_claim(record) if "candidate" in record else parse_problem(record)


def _parse_table_row(row: Record, position: int) -> Item:
    if str(row.get("extra")).startswith("{"):
        row = _unpack_release_row({**dict.fromkeys(_RELEASE_ONLY_COLUMNS), **row})
    record = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in row.items()
        if value is not None or name in ("answer", "blank")
    }
    return _parse_item(record, 0)


def _unpack_release_row(row: Record) -> dict[str, Any]:
    try:
        extra = parse_json(row["extra"] or "{}")
    except ValueError as error:
        raise ProblemError(f"'extra' is not valid JSON: {error}") from None
    if not isinstance(extra, dict):
        raise ProblemError("'extra' must be a JSON object")
    for name in _RELEASE_COLUMNS:
        if row[name] is not None:
            value = row[name]
            extra[f"release.{name}"] = " ".join(value) if isinstance(value, list) else value
    lineage = {name: row[name] for name in ("root", "parent", "edits", "declared")}
    record = {name: value for name, value in row.items() if name not in _RELEASE_ONLY_COLUMNS}
    if "blank" in extra:
        record["blank"] = extra.pop("blank")
    if "question" in record:
        record["sentence"] = record.pop("question")
    return record | {
        "extra": extra or None,
        "origin": {name: row[name] for name in _ORIGIN_FIELDS if row[name] is not None} or None,
        "lineage": {name: value for name, value in lineage.items() if value is not None} or None,
    }


def find_lost_blanks(rows: Rows, entries: Iterable[Entry]) -> list[str]:
    """Return a note if a table converted from JSON Lines may have lost the blanks' positions.

    If any row gives the position of its blank, no positions are considered lost.
    """
    if rows.kind not in ("table", "array") or "blank" not in rows.names:
        return []
    found = get_problems(entries).values()
    is_placed = any(item.blank is not None for item in found)
    unplaced = [
        item
        for item in found
        if item.blank is None
        and (has_blank(item.sentence) or (not is_placed and item.sentence.count(BLANK) == 1))
    ]
    if not unplaced:
        return []
    return [
        f"{len(unplaced):,} of the texts have one '_' ({unplaced[0].id!r}, …) but are read as "
        "questions because their 'blank' is empty; if they are sentences, remove the column "
        "'blank' from the table, or read the JSON Lines from which it was made: a table can't "
        "distinguish a missing key from null"
    ]


def to_lines(items: Iterable[Item], marked: bool | None = None) -> Iterator[str]:
    r"""Yield problems or claims as lines of winosmith's JSON Lines, each ending in a newline.

    Args:
        items: all items in the file, in order.
        marked: whether to mark problems that have neither a twin nor a lineage. By default,
            problems are marked if none has a twin or a lineage and some look like twins; this check
            loads all problems into memory. Pass True for a large file or for part of a file.

    >>> one = Problem("a", "The _ fell.", ("cup", "jug"), 0)
    >>> [*to_lines([one])], [*to_lines([one], marked=True)][0][-16:]
    (['{"id":"a","sentence":"The _ fell.","options":["cup","jug"],"answer":0}\n'], '"twin_id":null}\n')
    """  # noqa: E501
    if marked is None:
        items = list(items)
        marked = _needs_twin_marks([item for item in items if isinstance(item, Problem)])
    for item in items:
        record = make_problem_record(item) if isinstance(item, Problem) else make_claim_record(item)
        if marked and isinstance(item, Problem) and not (item.twin_id or item.lineage):
            record["twin_id"] = None
        yield dump_json(record) + "\n"


def _needs_twin_marks(problems: Sequence[Problem]) -> bool:
    are_unmarked = not any(problem.twin_id or problem.lineage for problem in problems)
    return are_unmarked and would_be_paired(problems)


def to_frame(problems: Iterable[Problem]) -> Any:
    """Return problems as a pandas DataFrame, which `formats.read` can read back unchanged.

    The columns are the keys of our JSON Lines: `id`, `sentence`, `blank`, `options`, `answer` and
    all other keys that occur; missing values are None.

    Raises:
        MissingExtraError: pandas is not installed.

    >>> to_frame([Problem("q", "Why?", ("a", "b"), 1, blank=None)]).loc[0, "options"]
    ['a', 'b']
    """
    pandas = require("pandas", "pandas")
    problems = list(problems)
    records = [{"answer": None, **make_problem_record(p), "blank": p.blank} for p in problems]
    if _needs_twin_marks(problems):
        records = [{"twin_id": None, **record} for record in records]
    first = ("id", "sentence", "blank", "options", "answer") if records else ()
    names = [*dict.fromkeys([*first, *chain.from_iterable(records)])]
    columns = {name: [record.get(name) for record in records] for name in names}
    return pandas.DataFrame(columns, dtype=object)


JSONL = Format(
    name="winosmith",
    title="winosmith's own JSON Lines: one record per line, all fields",
    read=_read,
    needs=frozenset({"id", "sentence", "options"}),
    sign=_is_winosmith,
    writer=Writer(
        lambda items, file: file.writelines(to_lines(items)),
        suffix=".jsonl",
        kept_fields=frozenset(f.name for kind in (Problem, Claim) for f in fields(kind)),
        item_types=Problem | Claim,
    ),
    twin_names=frozenset({"twin_id", "lineage"}),
)
