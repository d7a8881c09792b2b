"""COPA asks which alternative is the cause or the effect of a premise.

A question becomes "premise because _." (cause) or "premise so _." (effect). The full stops of
premise and alternatives are removed, and alternatives start in lower case unless their first word
is "I", so that the filled text is one sentence: "My body cast a shadow over the grass because _.",
"the sun was rising". No alternative of COPA begins with a name. Stray spaces in five sentences are
removed.

COPA is published in two formats: as SuperGLUE's JSON Lines (the id is `idx`, which restarts in
each file; FewGLUE's "unlabeled.jsonl" has labels) and as the authors' XML (the id is `id`; the
document type is not fetched).
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from winosmith.data import Record, format_cell
from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format
from winosmith.problem import BLANK, Problem

_CONNECTIVES = {"cause": "because", "effect": "so"}
_FIRST_PERSON = re.compile(r"I\b")
_CLASSES = {"choice1": 0, "choice2": 1}
"""The label names of Hugging Face's `super_glue` data set."""


def _make_problem(
    problem_id: str, premise: str, choices: tuple[str, str], question: str, answer: int | None
) -> Problem:
    if question not in _CONNECTIVES:
        raise ProblemError(f"the question is {question!r}; it must be 'cause' or 'effect'")
    premise, *tidied = map(_base.tidy, (premise, *choices))
    stop = "." if all(choice.endswith(".") for choice in tidied) else ""
    clauses = [one if _FIRST_PERSON.match(one) else one[:1].lower() + one[1:] for one in tidied]
    return Problem(
        id=problem_id,
        sentence=f"{premise.removesuffix('.')} {_CONNECTIVES[question]} {BLANK}{stop}",
        options=tuple(choice.removesuffix(stop) for choice in clauses),
        answer=answer,
    )


def _parse_superglue_record(record: Record, position: int) -> Problem:
    label = record.get("label")
    return _make_problem(
        problem_id=format_cell(record.get("idx", position)),
        premise=_base.get_text_field(record, "premise"),
        choices=(_base.get_text_field(record, "choice1"), _base.get_text_field(record, "choice2")),
        question=_base.get_text_field(record, "question"),
        answer=_base.parse_option_number(_CLASSES.get(str(label), label), 2, first=0),
    )


def _parse_xml_item(item: Element, position: int) -> Problem:
    if item.get("id") is None:
        raise ProblemError("the item has no 'id'")
    return _make_problem(
        problem_id=item.get("id", ""),
        premise=_base.get_child_text(item, "p"),
        choices=(_base.get_child_text(item, "a1"), _base.get_child_text(item, "a2")),
        question=item.get("asks-for", ""),
        answer=_base.parse_option_number(item.get("most-plausible-alternative"), 2),
    )


SUPERGLUE_COPA = Format(
    name="superglue-copa",
    title="SuperGLUE-COPA: premise, choice1, choice2, question",
    read=lambda rows: _base.build_entries(_base.read_records(rows), _parse_superglue_record),
    needs=frozenset({"premise", "choice1", "choice2"}),
)

COPA_XML = Format(
    name="copa-xml",
    title="COPA 1.0 in the authors' XML",
    read=lambda rows: _base.build_entries(rows.iterate_elements("item"), _parse_xml_item),
    sign=lambda rows: "<copa-corpus" in rows.start,
)
