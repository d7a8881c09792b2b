"""What a sheet tells those who take it, on paper and in the browser alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winosmith.humans._sheet import Sheet
from winosmith.problem import BLANK


@dataclass(frozen=True, slots=True)
class Declared:
    """Something that subjects may tell of themselves, and need not.

    Attributes:
        name: what the answers call it ("native").
        asked: the question.
        choices: what is offered; none for free text.
    """

    name: str
    asked: str
    choices: tuple[str, ...] = ()


DECLARED = (Declared("native", "Is English your first language?", ("yes", "no")),)
"""What the participants of 2016 were asked (Davis et al. 2016, section 2)."""

_EXAMPLE = {
    "text": [
        "The gardener leaned the ladder against the wall, but ",
        "it",
        " was too short to reach the window.",
    ],
    "snippet": ["", "it", " was too short"],
    "options": [{"letter": "A", "text": "the ladder"}, {"letter": "B", "text": "the wall"}],
    "label": None,
}


def has_blanks(sheet: Sheet) -> bool:
    """Tell whether most texts of a sheet have a blank where others have a pronoun."""
    return 2 * sum(item.text[1] == BLANK for item in sheet.items) > len(sheet)


def words(
    blank: bool, declared: tuple[Declared, ...], *, paper: bool = True, alone: bool = False
) -> dict[str, Any]:
    """Return the instructions and what is asked afterwards.

    Args:
        blank: whether the texts have a blank in place of a pronoun.
        declared: what subjects may tell of themselves.
        paper: whether they write on paper, rather than choose on a screen.
        alone: nobody is there whom they could ask about a word.
    """
    what, stands_for = (
        ("the blank", "belongs in the blank")
        if blank
        else ("the bold word", "does the bold word stand for")
    )
    start = "a word is missing from it" if blank else "one word of it is in bold"
    example = _EXAMPLE
    if blank:
        example = {
            **_EXAMPLE,
            "text": [_EXAMPLE["text"][0] + "the ", "_", _EXAMPLE["text"][2]],  # type: ignore[index]
            "snippet": ["the ", "_", " was too short"],
            "options": [{"letter": "A", "text": "ladder"}, {"letter": "B", "text": "wall"}],
        }
    return {
        "instructions": _instructions(start, what, stands_for, paper, alone),
        "question": f"Which of them {stands_for}?",
        "example_title": "An example",
        "example": example,
        "example_letter": "A",
        "example_why": "A ladder that is too short does not reach the window. So the answer is A.",
        "begin": "Please write down the time, turn the page, and begin.",
        "footer": "Write the letter of your answer in the box; X if it is genuinely ambiguous.",
        "end_title": "After the last question",
        "end": [
            [
                "Did you recognise any of the texts? Number of the question, and where it is from:",
                2,
            ],
            ["Did you ask about a word? Number of the question, and the word:", 1],
        ],
        "declared": [
            {"name": d.name, "asked": f"{d.asked} (You need not say.)", "choices": list(d.choices)}
            for d in declared
        ],
        "thanks": "Thank you. Please check that no box is empty.",
    }


def _instructions(
    start: str, what: str, stands_for: str, paper: bool, alone: bool
) -> list[list[tuple[str, bool]]]:
    """Return paragraphs in parts, each with whether it is bold."""
    answer, write, leave = (
        ("Write its letter in the box.", "write", "leave no box empty")
        if paper
        else ("Choose it.", "choose", "leave no question out")
    )
    unknown = "look it up in a dictionary*, and note it" if alone else "ask what it means*"
    paragraphs = (
        f"Each question shows a short text; {start}. The phrase around it is repeated below the "
        "text, so that you see which one is asked about. Then follow two or more answers. Which "
        f"of them {stands_for}? *{answer}*",
        "Give the answer that is most plausible. If both or several readings seem just as "
        f"plausible to you, so that the question is genuinely ambiguous, {write} *X*. Please do "
        f"not {write} X only because you are in doubt, and {leave}.",
        f"Several questions may be about {what} at another place of one and the same text; then "
        "“SAME TEXT AS PREVIOUS QUESTION” stands over them. Over a text that only looks like the "
        "one before stands “TEXT IS DIFFERENT FROM PREVIOUS QUESTION”.",
        f"If you do not know a word, *{unknown}. About the questions themselves nothing can be "
        "said. Work at your own pace, in the order of the questions; this tests the texts, not "
        "you.",
    )
    return [
        [(part, at % 2 == 1) for at, part in enumerate(paragraph.split("*"))]
        for paragraph in paragraphs
    ]
