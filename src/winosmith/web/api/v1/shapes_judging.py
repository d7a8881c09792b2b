"""What is asked and told of judging."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Ref, Shape
from winosmith.web.judge.answering import LONGEST

__all__ = [
    "Answered",
    "CheckedAnswer",
    "Contested",
    "HeldProblem",
    "LocalAnswer",
    "Nothing",
    "ProblemMeant",
    "ShownOption",
    "Skipped",
    "Standing",
    "WholeAnswer",
]

Choice = Annotated[int, Field(ge=0, le=4, description="the index of an option")]

Comment = Annotated[str, Field(max_length=LONGEST)]


class ShownOption(Shape):
    """An option, and its index in the problem: they stand in an order of this judge's own."""

    choice: int
    text: str


class HeldProblem(Shape):
    """A problem that you hold: the words around its blank alone, or the whole of it."""

    problem: str = Field(description="stands for it here, for you alone; no problem's id")
    step: Literal["local", "whole"]
    sentence: str = Field(description="`_` stands for the blank")
    options: list[ShownOption]
    taken: datetime
    until: datetime | None = Field(description="afterwards somebody else may take it")


class Nothing(Shape):
    """Why nothing is left for you: places that are on your own problems, known to you, or held."""

    own: int
    seen: int
    held: int
    until: datetime | None


class Standing(Shape):
    """What you hold; else whether something is left, and why not."""

    holding: HeldProblem | None
    left: bool = Field(description="whether there is a problem to claim")
    training: bool = Field(description="pass the training on the site's page /judge/ first")
    held: bool = Field(description="your votes decide nothing until a moderator has looked")
    paused: bool = Field(description="you get no further problem until a moderator has looked")
    in_a_test: bool = Field(description="finish the human test that you are in first")
    nothing: Nothing | None
    undo: str | None = Field(description="the problem whose answer can be taken back, for a minute")


class Answered(Standing):
    """What you hold after an answer; `checked` where the last one was a question with a key."""

    checked: str | None


class CheckedAnswer(Shape):
    """How a question with a known answer went."""

    problem: str
    sentence: str
    options: list[str]
    choice: int | None
    answer: int | None
    right: bool
    explanation: str
    contested: bool


class LocalAnswer(Asked):
    """An answer from the local context."""

    problem: Ref
    choice: Choice


class WholeAnswer(Asked):
    """An answer to the whole problem; null is neither, for what is ambiguous."""

    problem: Ref
    choice: Choice | None = None
    ambiguous: bool = False
    associative: bool = False
    comment: Comment = ""


class Skipped(Asked):
    """Why a problem is passed on."""

    problem: Ref
    reason: Literal["known", "unsure", "broken", "upsetting", "other"]
    comment: Comment = ""


class ProblemMeant(Asked):
    """Which problem is meant."""

    problem: Ref


class Contested(Asked):
    """Why the known answer is wrong."""

    text: str = Field(min_length=1, max_length=2000)
