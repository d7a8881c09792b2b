"""What is asked and told of oneself."""

from __future__ import annotations

from datetime import date, datetime

from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Problem, Ref, Shape
from winosmith.web.moderate import appeals

__all__ = [
    "Appeal",
    "Counts",
    "HistoryEntry",
    "JudgesVote",
    "Me",
    "OwnHalf",
    "Revising",
    "Token",
    "Twin",
    "Twins",
    "TwinsWanted",
    "WholeOwnHalf",
    "WholeTwin",
    "Why",
]


class Token(Shape):
    """One of your tokens; its text is shown nowhere again."""

    name: str
    start: str
    scopes: list[str]
    created: datetime
    expires: datetime
    used: date | None


class Counts(Shape):
    """How many of your twins stand where."""

    today: int
    waiting: int
    judging: int
    valid: int


class Me(Shape):
    """Whom the token stands for."""

    name: str
    pseudonym: str
    roles: list[str]
    to_agree: list[str] = Field(description="texts to agree to, on the site, before you contribute")
    counts: Counts
    token: Token


class OwnHalf(Shape):
    """A half of your own, in short."""

    id: str
    state: str


class Twin(Shape):
    """A twin of your own, in short."""

    ref: str
    created: datetime
    domain: str
    topic: str
    anchor: str
    halves: list[OwnHalf]


class Twins(Shape):
    """A page of your twins, the newest first, 20 or fewer."""

    items: list[Twin]
    page: int
    pages: int


class JudgesVote(Shape):
    """What a judge said, without saying who it was."""

    judge: str
    choice: int | None
    local_choice: int | None
    ambiguous: bool
    associative: bool
    comment: str


class HistoryEntry(Shape):
    """What was done, and why."""

    at: datetime
    what: str
    reason: str


class WholeOwnHalf(Shape):
    """A half of your own, with what was said and done."""

    problem: Problem
    state: str
    waits_until: datetime | None = Field(description="as for every problem")
    reasons: list[str]
    votes: list[JudgesVote]
    history: list[HistoryEntry]
    may_appeal: bool


class WholeTwin(Shape):
    """A twin of your own, with what you can do."""

    ref: str
    created: datetime
    halves: list[WholeOwnHalf]
    hints: list[str]
    may_withdraw: bool
    may_revise: bool
    revised_by: str | None


class Why(Asked):
    """A reason."""

    reason: str = Field("", max_length=500)


class Appeal(Asked):
    """Which half a moderator should look at again, and why."""

    problem: Ref
    text: str = Field(min_length=1, max_length=appeals.LONGEST)


class TwinsWanted(Asked):
    """Which page."""

    page: int = Field(1, ge=1, le=1_000_000)


class Revising(Shape):
    """What revises a twin: a draft, or (of a perturbation) the operation that takes it."""

    draft: str | None
    version: str | None
