"""Render sheets as browser forms and PDF files, with the same instructions.

A form is a single HTML file that neither loads nor sends anything. typst makes the PDF from
winosmith's template and the sheet's text as JSON data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from winosmith.errors import InputError, require
from winosmith.humans._answers import ANSWERS_VERSION
from winosmith.humans._sheet import Sheet, make_sheet_record
from winosmith.problem import BLANK


@dataclass(frozen=True, slots=True)
class SurveyQuestion:
    """An optional question about the subject.

    Attributes:
        name: key of the answer ("native").
        question: the question.
        choices: the possible answers; empty for free text.
    """

    name: str
    question: str
    choices: tuple[str, ...] = ()


QUESTIONS = (SurveyQuestion("native", "Is English your first language?", ("yes", "no")),)
"""The question that participants were asked in 2016 (Davis et al. 2016, section 2)."""

TextKind = Literal["pronoun", "blank", "question"]
"""The kind of most texts of a sheet: with a pronoun, with a blank, or a question whose blank is at
its end because it had none (see `audit.make_problems_for_judges`)."""


_LADDER = "A ladder that is too short does not reach the window. So the answer is A."

_EXAMPLES: dict[TextKind, dict[str, Any]] = {
    "pronoun": {
        "text": [
            "The gardener leaned the ladder against the wall, but ",
            "it",
            " was too short to reach the window.",
        ],
        "snippet": ["", "it", " was too short"],
        "options": ["the ladder", "the wall"],
        "letter": "A",
        "why": _LADDER,
    },
    "blank": {
        "text": [
            "The gardener leaned the ladder against the wall, but the ",
            "_",
            " was too short to reach the window.",
        ],
        "snippet": ["the ", "_", " was too short"],
        "options": ["ladder", "wall"],
        "letter": "A",
        "why": _LADDER,
    },
    "question": {
        "text": ["Which of these numbers is prime? ", "_", ""],
        "snippet": ["numbers is prime? ", "_", ""],
        "options": ["49", "53"],
        "letter": "B",
        "why": "49 is 7 times 7, but 53 is prime. So the answer is B.",
    },
}


def get_text_kind(sheet: Sheet) -> TextKind:
    """Return the kind of most texts of a sheet."""
    blanks = [item.text for item in sheet.items if item.text[1] == BLANK]
    if 2 * len(blanks) <= len(sheet):
        return "pronoun"
    questions = sum(bool(before.strip()) and not after.strip() for before, _, after in blanks)
    return "question" if 2 * questions > len(sheet) else "blank"


def make_instructions(
    kind: TextKind,
    survey: tuple[SurveyQuestion, ...],
    *,
    on_paper: bool = True,
    unsupervised: bool = False,
) -> dict[str, Any]:
    """Return the texts around a sheet: the instructions, an example and the final questions.

    Args:
        kind: the kind of the sheet's texts.
        survey: optional questions about the subject.
        on_paper: whether subjects write on paper instead of choosing in a browser.
        unsupervised: whether subjects work without a supervisor.
    """
    ambiguous, when = "genuinely ambiguous", "it is genuinely ambiguous"
    if kind == "question":
        ambiguous, when = "none, or more than one", "none, or more than one, is correct"
    example = _EXAMPLES[kind]
    options = [{"letter": x, "text": y} for x, y in zip("AB", example["options"], strict=True)]
    return {
        "kind": kind,
        "ambiguous": ambiguous,
        "instructions": [  # each paragraph as parts: the text, and whether it is bold
            [(part, at % 2 == 1) for at, part in enumerate(paragraph.split("*"))]
            for paragraph in _make_paragraphs(kind, on_paper, unsupervised)
        ],
        "question": _PROMPTS[kind],
        "example_title": "An example",
        "example": {**example, "options": options, "label": None},
        "example_letter": example["letter"],
        "example_why": example["why"],
        "begin": "Please write down the time, turn the page, and begin.",
        "footer": f"Write the letter of your answer in the box, or X if {when}.",
        "end_title": "After the last question",
        "end": [
            [
                "Did you recognise any of the texts? The question number, and the text's source:",
                2,
            ],
            ["Did you ask about a word? The question number, and the word:", 1],
        ],
        "declared": [
            {"name": d.name, "asked": f"{d.question} (Optional.)", "choices": list(d.choices)}
            for d in survey
        ],
        "thanks": "Thank you. Please check that no box is empty.",
    }


_PROMPTS: dict[TextKind, str] = {
    "pronoun": "What does the bold word stand for?",
    "blank": "Which option fills the blank?",
    "question": "Which option is correct?",
}


def _make_paragraphs(kind: TextKind, on_paper: bool, unsupervised: bool) -> list[str]:
    """Return the instructions; text between asterisks is bold."""
    answer, write, leave = (
        ("Write its letter in the box.", "write", "leave no box empty")
        if on_paper
        else ("Choose one answer.", "choose", "answer every question")
    )
    not_in_doubt = f"Please do not {write} X only because you are in doubt, and {leave}."
    pace = "Work at your own pace, in the order of the questions; this tests the"
    if kind == "question":
        return [
            f"Exactly one option of each question should be correct. *{answer}*",
            f"If none is correct, or more than one, {write} *X*. {not_in_doubt}",
            "*You may look things up*, but no other person and no chat model may answer the "
            f"questions for you. {pace} questions, not you.",
        ]
    start, place = (
        ("one word is missing", "the blank")
        if kind == "blank"
        else ("one word is in bold", "the bold word")
    )
    unknown = "look it up in a dictionary*, and note it" if unsupervised else "ask what it means*"
    return [
        f"Each question shows a short text; {start}. The words around it are repeated below the "
        f"text, so that you can see which place is meant. {_PROMPTS[kind]} *{answer}*",
        "Give the answer that is most plausible. If two or more readings seem equally plausible "
        f"to you, so that the question is genuinely ambiguous, {write} *X*. {not_in_doubt}",
        f"Several questions may show the same text, with {place} in different places; they are "
        "marked “SAME TEXT AS PREVIOUS QUESTION”. If a text only looks like the previous one, it "
        "is marked “TEXT IS DIFFERENT FROM PREVIOUS QUESTION”.",
        f"If you do not know a word, *{unknown}. Nobody may explain the questions themselves. "
        f"{pace} texts, not you.",
    ]


if TYPE_CHECKING:
    from jinja2 import Template


def render_form(sheet: Sheet, *, survey: Sequence[SurveyQuestion] = QUESTIONS) -> str:
    """Return an HTML page that asks a sheet's questions one at a time.

    The browser stores each answer and its time immediately, so nothing is lost if the page is
    closed. At the end of the form, the answers are saved to a file; see `read_answer_form`. The
    page contains neither correct answers nor problem ids, and its content security policy allows
    only the page's own script.

    Args:
        sheet: the sheet.
        survey: optional questions about the subject.
    """
    style, script = _read_template_file("form.css"), _read_template_file("form.js")
    policy = (
        f"default-src 'none'; script-src '{_hash_csp(script)}'; style-src '{_hash_csp(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _load_template().render(
        sheet=sheet,
        words=make_instructions(get_text_kind(sheet), tuple(survey), on_paper=False),
        version=ANSWERS_VERSION,
        policy=policy,
        style=style,
        script=script,
    )


def _read_template_file(name: str) -> str:
    return files("winosmith.humans").joinpath(f"templates/{name}").read_text("utf-8")


def _hash_csp(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _load_template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("winosmith.humans"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("form.html.j2")


Paper = Literal["a4", "us-letter"]


def render_pdf(
    sheet: Sheet,
    *,
    large: bool = False,
    paper: Paper = "a4",
    survey: Sequence[SurveyQuestion] = QUESTIONS,
) -> bytes:
    """Render a sheet as PDF; the same sheet and version of typst give the same bytes.

    The PDF is accessible (PDF/UA-1). The fonts of this machine are used only if typst's own fonts
    lack a character. A character that is in no font raises an error, because it would be printed as
    an empty box.

    Args:
        sheet: the sheet; its problem ids are not printed.
        large: whether to print in 19-point type instead of 11-point type.
        paper: paper size.
        survey: optional questions about the subject.

    Raises:
        MissingExtraError: typst is not installed (the extra `print`).
        InputError: a character is in no font; the message names the character and the question.
    """
    typst = require("typst", "print")
    data, failure = _make_data(sheet, large, paper, tuple(survey)), ""
    for own_fonts_only in (True, False):
        try:
            printed: bytes = typst.compile(
                _read_template_file("sheet.typ").encode(),
                format="pdf",
                sys_inputs={"sheet": data},
                ignore_system_fonts=own_fonts_only,
                pdf_standards="ua-1",  # typst prints boxes for missing characters in plain PDF
                timestamp=0,
            )
        except typst.TypstError as error:
            failure = str(error)
        else:
            return printed
    raise InputError(_explain_failure(sheet, failure))


def _explain_failure(sheet: Sheet, failure: str) -> str:
    found = re.search(r'the text `"(.+)"` could not be displayed', failure)
    if found is None:
        return f"sheet {sheet.name} can't be printed: {failure}"
    lacking = re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code[1], 16)), found[1])
    where = next(
        (
            f"question {item.number} ({item.problem_id!r})"
            for item in sheet.items
            if lacking in "".join((*item.text, *item.snippet, *item.options))
        ),
        "the title or the instructions",
    )
    codes = ", ".join(f"U+{ord(sign):04X}" for sign in lacking)
    return (
        f"sheet {sheet.name}: the fonts of this machine lack {lacking} ({codes}), first in "
        f"{where}; install a font, or make only browser forms (`winosmith humans sheets --form "
        "--no-pdf`)"
    )


def _make_data(sheet: Sheet, large: bool, paper: Paper, survey: tuple[SurveyQuestion, ...]) -> str:
    items = [
        {key: item[key] for key in ("number", "text", "snippet", "label")}
        | {"options": [{"letter": o["letter"], "text": o["text"]} for o in item["options"]]}
        for item in make_sheet_record(sheet)["items"]
    ]
    return json.dumps(
        {
            "title": sheet.title,
            "code": sheet.code,
            "items": items,
            "large": large,
            "paper": paper,
            "words": make_instructions(get_text_kind(sheet), survey),
        },
        ensure_ascii=False,
    )
