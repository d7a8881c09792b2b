"""Taking back what a moderator did to a problem, as long as nothing happened to it since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.moderate.actions import ACTIONS, UNDO
from winosmith.web.moderate.appeals import open_appeal
from winosmith.web.moderate.deciding import (
    locked,
    may_decide,
    moved,
    must_decide,
    set_embargo,
    standing,
)
from winosmith.web.moderate.models import Appeal
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.states import stay

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["undo", "undoable"]


def undoable(person: Person, problem: Problem) -> Event | None:
    """Return the decision on a problem that the person can take back now: the last that holds."""
    held = standing(problem)
    if not held or not may_decide(person, problem) or _hindrance(held[-1], problem, held):
        return None
    return held[-1]


def undo(person: Person, event: Event, *, reason: str, batch: str) -> Event:
    """Take a moderator's decision back: the problem stands where it stood before.

    Args:
        person: a moderator; not only the one who decided.
        event: a decision. What was taken back after it does not count as something that happened.
        reason: for the contributor.
        batch: the mark of all that is taken back together.

    Returns:
        The new event; it names the one that it takes back.

    Raises:
        InputError: the event is no decision, was taken back already, something happened since, or
            the problem is the person's own.
    """
    with writing():
        problem = locked(event.problem_id)
        must_decide(person, problem)
        if hindrance := _hindrance(event, problem, standing(problem)):
            raise InputError(hindrance)
        if event.kind in ("embargo", "lift"):
            back = event.kind == "lift"
            return set_embargo(person, problem, back, UNDO, reason, batch, undoes=event)
        taken = (
            moved(person, problem, State(event.before), UNDO, reason, batch, undoes=event)
            if event.before != event.after
            else stay(problem, by=person, kind=UNDO, reason=reason, batch=batch, undoes=event)
        )
        Appeal.objects.filter(answer=event).update(answer=None)
        return taken


def _hindrance(event: Event, problem: Problem, held: list[Event]) -> str:
    """Return why an event can't be taken back; empty where it can."""
    if event.kind not in ACTIONS or not event.batch:
        return _("it is no moderator's decision")
    if not any(one.pk == event.pk for one in held):
        return _("it was taken back already")
    if held[-1].pk != event.pk or problem.state != event.after:
        return _("something happened to it since")
    if Appeal.objects.filter(answer=event).exists() and open_appeal(problem):
        return _("another appeal came since")
    return _votes_since(event)


def _votes_since(event: Event) -> str:
    """Return that judges have voted because of the event: their work is not thrown away."""
    from winosmith.web.moderate.votes import answered_since

    if event.after == State.JUDGING and answered_since(event.problem_id, event.at):
        return _("judges have voted on it since; hold it instead")
    return ""
