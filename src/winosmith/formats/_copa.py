"""COPA: which alternative is the cause, or the effect, of the premise?

A question becomes "premise because _." (cause) or "premise so _." (effect). So that the filled
sentence reads as one, the premise and the alternatives lose their full stops, and the alternatives
their first capital, unless the word is "I": "My body cast a shadow over the grass because _.",
"the sun was rising". No alternative of COPA begins with a name, so writing gives the published
sentences back. Stray spaces in five sentences are tidied.

Two files hold it: SuperGLUE's JSON Lines (id: `idx`, which restarts in each file) and the authors'
XML (id: `id`; its document type is not fetched, and is written as published).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import IO, Any
from xml.etree.ElementTree import Element, SubElement

from winosmith.errors import ProblemError
from winosmith.formats import _base
from winosmith.formats._base import Format, Item
from winosmith.problem import BLANK, Problem

_LINKS = {"cause": "because", "effect": "so"}
_SENTENCE = re.compile(rf"(.*\S) (because|so) {BLANK}(\.?)")
_SPEAKER = re.compile(r"I\b")


def _joined(
    problem_id: str, premise: str, choices: tuple[str, str], question: str, answer: int | None
) -> Problem:
    if question not in _LINKS:
        raise ProblemError(f"the question is {question!r}; it must be 'cause' or 'effect'")
    premise, *tidied = map(_base.tidy, (premise, *choices))
    stop = "." if all(choice.endswith(".") for choice in tidied) else ""
    return Problem(
        id=problem_id,
        sentence=f"{premise.removesuffix('.')} {_LINKS[question]} {BLANK}{stop}",
        options=tuple(_inside(choice.removesuffix(stop)) for choice in tidied),
        answer=answer,
    )


def _inside(choice: str) -> str:
    """Return a sentence as it stands inside another one: "The sun" is "the sun"."""
    return choice if _SPEAKER.match(choice) else choice[:1].lower() + choice[1:]


def _parted(problem: Problem) -> tuple[str, tuple[str, ...], str]:
    """Return premise, alternatives and question; raises FormatError when it is no such problem."""
    found = _SENTENCE.fullmatch(problem.sentence)
    if not found:
        raise _base.cannot_write(
            problem, "COPA needs a sentence 'premise because _.' or 'premise so _.'"
        )
    premise, link, stop = found.groups()
    premise += "" if premise.endswith(("?", "!", '."', ".'")) else "."
    choices = tuple(option[:1].upper() + option[1:] + stop for option in problem.options)
    question = next(key for key, value in _LINKS.items() if value == link)
    back = _joined(problem.id, premise, choices, question, problem.answer)  # type: ignore[arg-type]
    if (back.sentence, back.options) != (problem.sentence, problem.options):
        raise _base.cannot_write(
            problem, "COPA's sentences begin with a capital and end in one full stop"
        )
    return premise, choices, question


def _superglue_problem(record: Mapping[str, Any], position: int) -> Problem:
    label = record.get("label")
    return _joined(
        problem_id=str(record.get("idx", position)),
        premise=_base.text_field(record, "premise"),
        choices=(_base.text_field(record, "choice1"), _base.text_field(record, "choice2")),
        question=_base.text_field(record, "question"),
        answer=_base.option_number(label + 1 if isinstance(label, int) else label, 2),
    )


def _write_superglue(items: Sequence[Item], file: IO[str]) -> None:
    for problem in _base.problems_of(items, options=2):
        premise, choices, question = _parted(problem)
        record: dict[str, Any] = {
            "premise": premise,
            "choice1": choices[0],
            "choice2": choices[1],
            "question": question,
        }
        if problem.answer is not None:
            record["label"] = problem.answer
        record["idx"] = _base.whole_number(problem.id)
        file.write(json.dumps(record) + "\n")


def _xml_problem(item: Element, position: int) -> Problem:
    if item.get("id") is None:
        raise ProblemError("the item has no 'id'")
    return _joined(
        problem_id=item.get("id", ""),
        premise=_base.child_text(item, "p"),
        choices=(_base.child_text(item, "a1"), _base.child_text(item, "a2")),
        question=item.get("asks-for", ""),
        answer=_base.option_number(item.get("most-plausible-alternative"), 2),
    )


def _write_xml(items: Sequence[Item], file: IO[str]) -> None:
    corpus = Element("copa-corpus", version="1.0")
    for problem in _base.problems_of(items, options=2):
        premise, choices, question = _parted(problem)
        if not all(map(_base.legal, (problem.id, premise, *choices))):
            raise _base.cannot_write(problem, "XML has no place for one of its control characters")
        item = SubElement(corpus, "item", {"id": problem.id, "asks-for": question})
        if problem.answer is not None:
            item.set("most-plausible-alternative", str(problem.answer + 1))
        for tag, text in zip(("p", "a1", "a2"), (premise, *choices), strict=True):
            SubElement(item, tag).text = text
    _base.write_tree(corpus, file, '<!DOCTYPE copa-corpus SYSTEM "copa.dtd">')


SUPERGLUE_COPA = Format(
    name="superglue-copa",
    title="SuperGLUE-COPA: premise, choice1, choice2, question",
    recognises=lambda source: {"premise", "choice1", "choice2"} <= source.first_record.keys(),
    needs=frozenset({"premise", "choice1", "choice2"}),
    read=lambda source: _base.json_lines(source, _superglue_problem),
    write=_write_superglue,
    suffix=".jsonl",
    keeps=frozenset({"id", "sentence", "options", "answer"}),
)

COPA_XML = Format(
    name="copa-xml",
    title="COPA 1.0 as its authors' XML",
    recognises=lambda source: "<copa-corpus" in source.start,
    read=lambda source: _base.built(_base.elements(source, "item"), _xml_problem),
    write=_write_xml,
    suffix=".xml",
    keeps=frozenset({"id", "sentence", "options", "answer"}),
)
