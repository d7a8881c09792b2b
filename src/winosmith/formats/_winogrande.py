"""WinoGrande 1.1 and files in its format: JSON Lines with sentence, option1, option2, answer.

`qID` becomes the id. In WinoGrande, it is the id of the crowd task, which both halves share,
followed by "-1" or "-2". **The suffix reveals the answer**, even in the test file, which withholds
the answer itself. The id is kept because published predictions refer to it; `winosmith stats`
reports the leak, and `winosmith build` writes new ids.

Three kinds of files have this format. They differ in additional keys, which are stored in `extra`:

- `winogrande`: none. If there is no qID (as in some hubs' exports), a problem's id is its 0-based
  line number. Twins are detected by their texts if there are no qIDs, or if no qID has a task's id.
- `wsc273-jsonl` (of the KnowRef-60k benchmark): `ed`; qIDs "wsc-1" to "wsc-273".
- `perturbed-wsc-jsonl` (Abdou et al. 2020): `pair_number`, `associative`, `switchable`; qIDs are
  "q", one digit for the kind of change, and the 0-based schema: "q110" is schema 10 in the other
  voice. Each original is the root of its changes. In two sentences, the blank replaces a different
  "they" than in the table.

The format can't store pronoun, origin, lineage, embargo, other formats' `extra`, and twins that
can't be found by their texts. A problem with more than 2 options or without a plain blank is
refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

from winosmith.data import Record, Rows
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format, Writer
from winosmith.formats._csv import has_sentence_and_options, is_plain_table
from winosmith.formats._twins import TASK_ID, pair_neighbours
from winosmith.problem import Extra, Lineage, Problem

_KEYS = frozenset({"qID", "sentence", "option1", "option2", "answer"})
_NO_EXTRA = Extra()

_NUMERIC_KEYS = ("pair_number", "associative", "switchable")

PERTURBED_QID = re.compile(r"q([0-7])(\d+)")
"""Pattern of a qID: a digit for the kind of change, then the schema's 0-based number in the WSC."""


def _is_winogrande(rows: Rows, *further: str) -> bool:
    if {"ed", "pair_number"} & {*rows.names} != {*further}:
        return False
    return has_sentence_and_options(rows) and not is_plain_table(rows)


def _parse_problem(record: Record, position: int, format_key: str) -> Problem:
    qid = _base.get_text_field(record, "qID") if "qID" in record else str(position)
    task = TASK_ID.fullmatch(qid) if format_key == "winogrande" else None
    others = {key: value for key, value in record.items() if key not in _KEYS}
    return Problem(
        id=qid,
        sentence=_base.get_text_field(record, "sentence"),
        options=(_base.get_text_field(record, "option1"), _base.get_text_field(record, "option2")),
        answer=_base.parse_option_number(record.get("answer"), 2),
        twin_id=task[1] if task else None,
        extra=_base.make_extra(others, format_key) if others else _NO_EXTRA,
    )


def _parse_perturbed_problem(record: Record, position: int) -> Problem:
    problem = _parse_problem(record, position, "perturbed_wsc")
    qid = PERTURBED_QID.fullmatch(problem.id)
    if not qid:
        raise ProblemError(f"the qID {problem.id!r} must be 'q', a digit (0 to 7) and a number")
    if qid[1] == "0":
        return problem
    root = f"q0{qid[2]}"
    return replace(problem, lineage=Lineage(root, root))


def _write(problems: Sequence[Problem], file: IO[str]) -> None:
    for problem in problems:
        if len(problem.options) != 2:
            why = f"the format requires 2 options per problem, not {len(problem.options)}"
            raise _base.make_unwritable_error(problem, why)
        if not problem.blank_is_unique:
            why = "can't mark the blank with '_', which also occurs in the text"
            why = "needs a blank in each text" if problem.blank is None else why
            why = f"the format {why}; winosmith's own JSON Lines can store it"
            raise _base.make_unwritable_error(problem, why)
        record: dict[str, Any] = {"qID": problem.id, "sentence": problem.sentence}
        record |= zip(("option1", "option2"), problem.options, strict=True)
        if problem.answer is not None:
            record["answer"] = str(problem.answer + 1)
        for key, value in problem.extra.items():
            prefix, field = key.split(".", 1)
            if prefix == "winogrande" and field not in _KEYS:
                record[field] = value
        file.write(json.dumps(record) + "\n")


WINOGRANDE = Format(
    name="winogrande",
    title="WinoGrande 1.1",
    read=lambda rows: _base.build_entries(
        _base.read_records(rows, {*rows.names} - _KEYS),
        lambda record, at: _parse_problem(record, at, "winogrande"),
    ),
    needs=frozenset({"sentence", "option1", "option2"}),
    sign=_is_winogrande,
    writer=Writer(
        _write, suffix=".jsonl", kept_fields=frozenset({"id", "sentence", "options", "answer"})
    ),
    twin_names=frozenset(),  # qIDs with a task's id already give twin ids
)

WSC273_JSONL = Format(
    name="wsc273-jsonl",
    title="WSC273 in WinoGrande's format (wsc-273.jsonl)",
    read=lambda rows: pair_neighbours(
        _base.build_entries(
            _base.read_records(rows), lambda record, at: _parse_problem(record, at, "wsc273")
        )
    ),
    sign=lambda rows: _is_winogrande(rows, "ed"),
)

PERTURBED_JSONL = Format(
    name="perturbed-wsc-jsonl",
    title="perturbed WSC, one file for each kind of change",
    read=lambda rows: pair_neighbours(
        _base.build_entries(_base.read_records(rows, _NUMERIC_KEYS), _parse_perturbed_problem)
    ),
    sign=lambda rows: _is_winogrande(rows, "pair_number"),
)
