"""What is asked and told of the queue and of decisions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from django.http import QueryDict
from pydantic import Field

from winosmith.web.api.v1.shapes import Asked, Near, Problem, Ref, Shape
from winosmith.web.moderate.batches import MOST_PICKED
from winosmith.web.moderate.deciding import LONGEST
from winosmith.web.moderate.queue import Where

__all__ = [
    "Batch",
    "CountedVote",
    "Decision",
    "Dossier",
    "LeftAlone",
    "LoggedEvent",
    "Pick",
    "Queue",
    "QueueCount",
    "QueueFilters",
    "QueueWanted",
    "QueuedProblem",
    "Sweep",
    "Undo",
    "Waiting",
]

Action = Literal[
    "let-through", "hold", "accept", "reject", "withdraw", "restore", "reopen", "embargo", "lift",
    "decline",
]  # fmt: skip

Seen = Annotated[int, Field(ge=0, le=2**53, description="the newest event that you saw")]

Reason = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class QueueFilters(Asked):
    """What to list, as the page of the queue has it; what is left out asks for nothing."""

    state: Literal["", "held", "judging", "valid", "rejected", "revised", "withdrawn"] = ""
    only: Literal["", "appeal", "close", "hinted", "embargo", "waits", "gold", "suspect"] = ""
    hint: str = Field("", max_length=200)
    domain: str = Field("", max_length=200)
    by: str = Field("", max_length=20, description="a contributor's pseudonym")
    kind: Literal["", "original", "twin", "perturbed"] = ""
    family: str = Field("", max_length=80)
    age: Literal["", "day", "week", "month", "over-day", "over-week", "over-month"] = ""
    text: str = Field("", max_length=200)
    oldest: Literal["", "1"] = ""

    def where(self) -> Where:
        """Return the same as the page has it."""
        said = QueryDict(mutable=True)
        said.update(self.model_dump(include=set(QueueFilters.model_fields)))
        return Where.read(said.urlencode())


class QueueWanted(QueueFilters):
    """What to list, and from where on."""

    after: str = Field("", max_length=80, description="`next` or `previous` of a page")


class Waiting(Shape):
    """How much awaits a moderator; 1,000 stands for more."""

    held: int
    appeals: int
    contests: int
    paused: int


class QueuedProblem(Shape):
    """A problem in the queue; `seen` goes with a decision about it."""

    problem: Problem
    state: str
    seen: int
    contributor: str
    own: bool
    appeal: str
    hints: list[str]
    root: str


class Queue(Shape):
    """A page of the queue, 25 or fewer."""

    items: list[QueuedProblem]
    next: str | None
    previous: str | None
    waiting: Waiting


class QueueCount(Shape):
    """How many problems are meant, and what was newest then; goes with a decision about all."""

    expected: int
    event: int
    newest: int


class CountedVote(Shape):
    """What a judge said, without saying who it was."""

    judge: str
    chose: str
    local: str
    right: bool | None
    ambiguous: bool
    associative: bool
    excluded: bool
    comment: str


class LoggedEvent(Shape):
    """What was done, by whom, and why."""

    event: int
    at: datetime
    who: str
    what: str
    before: str
    after: str
    reason: str


class Dossier(Shape):
    """Everything that a decision may rest on."""

    halves: list[QueuedProblem] = Field(description="the problem, and after it the other half")
    path: list[Problem] = Field(description="from the root of its family; empty without one")
    near: list[Near]
    votes: list[CountedVote]
    history: list[LoggedEvent] = Field(description="the newest first")
    record: dict[str, int] | None
    actions: list[str] = Field(description="what you may do to it now")
    undoable: int | None = Field(description="the event that you may take back")


class Pick(Asked):
    """A problem, and the newest event that was seen of it."""

    problem: Ref
    seen: Seen


class Decision(Asked):
    """What to do to problems picked by hand, and why."""

    action: Action
    reason: Reason
    picks: Annotated[list[Pick], Field(min_length=1, max_length=MOST_PICKED)]


class Sweep(QueueFilters):
    """What to do to all that a filter finds, as they were counted, and why."""

    action: Action
    reason: Reason
    expected: int = Field(ge=0, le=2**31 - 1)
    event: Seen
    newest: Seen


class Undo(Asked):
    """What to take back: a batch, or a single event."""

    batch: str = Field("", pattern="^([0-9a-f]{32})?$")
    event: Seen = 0
    reason: Reason


class LeftAlone(Shape):
    """A problem that was left alone, and why."""

    problem: str
    why: str


class Batch(Shape):
    """What was done at once, and how far it came."""

    mark: str
    action: str
    reason: str
    expected: int
    done: int
    left: list[LeftAlone]
    left_count: int
    finished: bool
