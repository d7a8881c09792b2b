"""What is asked and told of drafts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Check, Near, Shape
from winosmith.web.write.checking import Typed

__all__ = [
    "Draft",
    "DraftVersion",
    "ExaminedTwin",
    "Halves",
    "Reading",
    "Redrawn",
    "Saved",
    "ShortDraft",
    "Submitted",
    "Written",
]

Text = Annotated[str, Field(max_length=10_000)]

Number = Annotated[int, Field(ge=0, le=1)]


class Halves(Asked):
    """Both halves as far as they are written: `_` stands for the blank."""

    domain: Literal["", "social", "physical"] = ""
    options: tuple[Text, Text] = ("", "")
    sentences: tuple[Text, Text] = ("", "")
    answers: tuple[Number | None, Number | None] = (0, 1)

    def typed(self) -> Typed:
        """Return the same as the form of the page has it, tidied."""
        form: dict[str, Any] = {"domain": self.domain}
        for number in (0, 1):
            answer = self.answers[number]
            form[f"option_{number + 1}"] = self.options[number]
            form[f"sentence_{number + 1}"] = self.sentences[number]
            form[f"answer_{number + 1}"] = "" if answer is None else str(answer)
        return Typed.of(form)


class Saved(Halves):
    """What to save, and the version that was read before."""

    version: int = Field(ge=0, le=2**31 - 1)


class DraftVersion(Asked):
    """The version of the draft that is meant."""

    version: int = Field(ge=0, le=2**31 - 1)


class Redrawn(Asked):
    """What to draw anew: another topic, or other words of the same one."""

    what: Literal["topic", "words"]


class Written(Shape):
    """Both halves, as they are kept."""

    domain: str
    options: list[str]
    sentences: list[str]
    answers: list[int | None]


class Reading(Shape):
    """How far word association alone gets a half right, in percent."""

    number: int
    percent: int
    words: str
    strong: bool


class ExaminedTwin(Shape):
    """What the rules say of both halves; `ready` to be sent where all pass."""

    ready: bool
    next: str
    checks: list[Check]
    hints: list[str]
    near: list[Near]
    readings: list[Reading]


class Draft(Shape):
    """A draft: its topic, the anchor words to use, and what is written so far."""

    ref: str
    topic: str
    text: str
    anchors: list[str]
    written: Written
    version: int
    saved: datetime
    revises: str | None
    examined: ExaminedTwin


class Submitted(Shape):
    """The twin that came of a draft; see /me/twins/{ref}."""

    twin: str


class ShortDraft(Shape):
    """A draft in a list."""

    ref: str
    topic: str
    version: int
    saved: datetime
