"""Moderating: what awaits a decision, everything it may rest on, and deciding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _
from ninja import Query, Router

from winosmith.web.api.v1.access import asks, owner
from winosmith.web.api.v1.faults import Malformed
from winosmith.web.api.v1.keys import Key, acted
from winosmith.web.api.v1.shapes import Ref, problems
from winosmith.web.api.v1.shapes_moderating import (
    Batch,
    Decision,
    Dossier,
    Queue,
    QueueCount,
    QueueFilters,
    QueueWanted,
    Sweep,
    Undo,
)
from winosmith.web.moderate import batches
from winosmith.web.moderate.actions import ACTIONS
from winosmith.web.moderate.batches import Asked as AskedFor
from winosmith.web.moderate.batches import Confirmed
from winosmith.web.moderate.dossier import dossier
from winosmith.web.moderate.models import Batch as BatchRow
from winosmith.web.moderate.queue import found, page, waiting
from winosmith.web.moderate.rows import Row, rows
from winosmith.web.moderate.votes import note_read
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event
from winosmith.web.problems.models import Problem as ProblemRow

__all__ = ["router"]

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
