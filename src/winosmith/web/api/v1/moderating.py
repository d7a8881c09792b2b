"""Moderating: what awaits a decision, everything it may rest on, and deciding.

The shapes of what is asked and told come first, then the operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _
from ninja import Query, Router
from pydantic import Field

from winosmith.web.api.v1.access import asks, owner
from winosmith.web.api.v1.faults import Malformed
from winosmith.web.api.v1.keys import Key, acted
from winosmith.web.api.v1.shapes import Asked, Near, Problem, Ref, Shape, problems
from winosmith.web.moderate import batches
from winosmith.web.moderate.actions import ACTIONS
from winosmith.web.moderate.batches import MOST_PICKED, Confirmed
from winosmith.web.moderate.batches import Asked as AskedFor
from winosmith.web.moderate.deciding import LONGEST
from winosmith.web.moderate.dossier import dossier
from winosmith.web.moderate.models import Batch as BatchRow
from winosmith.web.moderate.queue import Where, found, page, waiting
from winosmith.web.moderate.rows import Row, rows
from winosmith.web.moderate.votes import note_read
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event
from winosmith.web.problems.models import Problem as ProblemRow

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


router = Router(tags=["moderate"])


@router.get("/moderation/queue", response=Queue, summary="The queue", **asks("moderate"))
def read_queue(request: HttpRequest, wanted: Query[QueueWanted]) -> dict[str, Any]:
    """List what came in or was decided, filtered, a page at a time."""
    person = owner(request)
    shown = page(wanted.where(), wanted.after)
    note_read(person, shown.problems)
    return {
        "items": _listed(rows(person, shown.problems)),
        "next": QueryDict(shown.older).get("after") or None,
        "previous": QueryDict(shown.newer).get("after") or None,
        "waiting": waiting(),
    }


@router.get("/moderation/count", response=QueueCount, summary="How many", **asks("moderate"))
def count(request: HttpRequest, wanted: Query[QueueFilters]) -> dict[str, int]:
    """Count what a filter finds, for a decision about all of it."""
    event, newest = batches.stand()
    expected = found(wanted.where()).filter(pk__lte=newest).count()
    return {"expected": expected, "event": event, "newest": newest}


@router.get("/moderation/problems/{ref}", response=Dossier, summary="A problem", **asks("moderate"))
def read_problem(request: HttpRequest, ref: Ref) -> dict[str, Any]:
    """Read everything about a problem that a decision may rest on."""
    person = owner(request)
    row = ProblemRow.objects.select_related("twin__contributor").filter(ref=ref).first()
    if row is None:
        raise Http404
    told = dossier(person, row)
    path = (told["family"] or {}).get("path", ())
    note_read(person, [row, *path])
    return {
        "halves": _listed(told["halves"]),
        "path": problems(path),
        "near": [one for one, _percent in told["near"]],
        "votes": told["votes"],
        "history": [_happened(entry) for entry in told["events"]],
        "record": asdict(told["record"]) if told["record"] else None,
        "actions": [action.name for action in told["actions"]],
        "undoable": told["undoable"],
    }


@router.post("/moderation/decisions", response=Batch, summary="Decide", **asks("moderate"))
def decide(request: HttpRequest, sent: Decision, key: Key) -> dict[str, Any]:
    """Do one thing to problems picked by hand; 409 where the only one has changed since."""
    picks = [(pick.problem, pick.seen) for pick in sent.picks]
    return _begun(
        request, key, lambda person: batches.picked(person, sent.action, picks, sent.reason)
    )


@router.post("/moderation/sweeps", response=Batch, summary="Decide about all", **asks("moderate"))
def sweep(request: HttpRequest, sent: Sweep, key: Key) -> dict[str, Any]:
    """Do one thing to all that a filter finds; what changed since they were counted is left."""

    def begin(person: Person) -> BatchRow:
        return Confirmed(-1, sent.reason, (sent.event, sent.newest), sent.expected).begin(
            person, ACTIONS[sent.action], AskedFor(ACTIONS[sent.action], (), True, sent.where(), "")
        )

    return _begun(request, key, begin)


@router.post("/moderation/undo", response=Batch, summary="Undo", **asks("moderate"))
def undo(request: HttpRequest, sent: Undo, key: Key) -> dict[str, Any]:
    """Take a batch back, or a single decision, where nothing happened since."""

    def begin(person: Person) -> BatchRow:
        if sent.batch:
            return batches.take_back(person, _batch_of(sent.batch), sent.reason)
        event = Event.objects.select_related("problem").filter(pk=sent.event).first()
        if event is None:
            raise Malformed({"event": [_("Name a batch, or an event of a problem’s history.")]})
        return batches.undo_one(person, event, sent.reason)

    return _begun(request, key, begin)


@router.get("/moderation/batches/{mark}", response=Batch, summary="A batch", **asks("moderate"))
def read_batch(request: HttpRequest, mark: Ref) -> dict[str, Any]:
    """Read how far a batch came, and what it left alone."""
    return _batch(_batch_of(mark))


@router.post(
    "/moderation/batches/{mark}/go-on", response=Batch, summary="Go on", **asks("moderate")
)
def go_on(request: HttpRequest, mark: Ref) -> dict[str, Any]:
    """Go on with a batch that has not finished, for three seconds; again, with the rest."""
    return _batch(batches.go_on(_batch_of(mark)))


def _begun(request: HttpRequest, key: str, begin: Any) -> dict[str, Any]:
    """Begin a batch once, and work on it as long as a page would."""
    made = acted(request, key, lambda: {"mark": begin(owner(request)).mark})
    return _batch(batches.go_on(_batch_of(made["mark"])))


def _batch_of(mark: str) -> BatchRow:
    found = BatchRow.objects.filter(mark=mark).first()
    if found is None:
        raise Http404
    return found


def _batch(row: BatchRow) -> dict[str, Any]:
    names = ("mark", "action", "reason", "expected", "done", "left_count", "finished")
    return {
        **{name: getattr(row, name) for name in names},
        "left": [{"problem": ref, "why": why} for ref, why in row.left],
    }


def _listed(listed: Sequence[Row]) -> list[dict[str, Any]]:
    told = problems([row.problem for row in listed])
    return [
        {
            "problem": problem,
            "state": row.problem.state,
            "hints": row.problem.hints,
            **{name: getattr(row, name) for name in ("seen", "contributor", "own", "appeal")},
            "root": row.root,
        }
        for row, problem in zip(listed, told, strict=True)
    ]


def _happened(entry: Any) -> dict[str, Any]:
    event = entry.event
    return {
        "event": event.pk,
        **{name: getattr(event, name) for name in ("at", "before", "after", "reason")},
        "who": entry.who,
        "what": entry.what,
    }
