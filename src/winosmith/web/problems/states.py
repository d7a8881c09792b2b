"""Moves of a problem from state to state, each of them in the audit log."""

from __future__ import annotations

from django.utils import timezone

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.public import settle

MOVES = {
    State.HELD: {State.JUDGING, State.REJECTED, State.WITHDRAWN, State.REVISED},
    State.JUDGING: {State.HELD, State.VALID, State.REJECTED, State.WITHDRAWN, State.REVISED},
    State.VALID: {State.REJECTED, State.WITHDRAWN, State.REVISED, State.JUDGING},
    State.REJECTED: {State.VALID, State.HELD, State.WITHDRAWN, State.REVISED, State.JUDGING},
    State.REVISED: set(State),
    State.WITHDRAWN: set(State),
}
"""From where a problem may go where. What was withdrawn or revised comes back by an undo alone."""


def move(
    problem: Problem,
    to: State,
    *,
    by: Person | None,
    kind: str,
    reason: str = "",
    batch: str = "",
    undoes: Event | None = None,
) -> Event:
    """Move a problem to a state and write down that it was.

    Args:
        problem: locked and read again first, so that two moves at once can't both start from
            the same state.
        to: the state.
        by: who did it; None for the site itself.
        kind: what was done, in a word ("submit", "verdict", "withdraw", "undo", …).
        reason: why, in words for the contributor.
        batch: what was done together with others carries one mark.
        undoes: the event that this one takes back.

    Raises:
        InputError: the problem is not in a state from which it can go there.
    """
    with writing():
        now = locked(problem.pk)
        before = State(now.state)
        if to not in MOVES[before]:
            raise InputError(f"the problem {now.ref} {before.label}; it can't become {to.value!r}")
        decided = timezone.now() if to in (State.VALID, State.REJECTED) else now.decided
        Problem.objects.filter(pk=now.pk).update(state=to, decided=decided)
        settle([now.twin_id], new=[now.pk])
        problem.became(state=to, decided=decided)
        return Event.objects.create(
            problem=now,
            actor=by,
            kind=kind,
            before=before,
            after=to,
            reason=reason,
            batch=batch,
            undoes=undoes,
        )


def locked(key: int) -> Problem:
    """Return a problem as it is now, with its twin, locked until the transaction ends."""
    return Problem.objects.select_for_update(of=("self",)).select_related("twin").get(pk=key)


def stay(
    problem: Problem,
    *,
    by: Person | None,
    kind: str,
    reason: str = "",
    batch: str = "",
    undoes: Event | None = None,
) -> Event:
    """Write down what leaves a problem in its state; the arguments are those of `move`."""
    return Event.objects.create(
        problem=problem,
        actor=by,
        kind=kind,
        before=problem.state,
        after=problem.state,
        reason=reason,
        batch=batch,
        undoes=undoes,
    )


GONE = (State.WITHDRAWN, State.REVISED)
