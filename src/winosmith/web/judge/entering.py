"""How what somebody wrote comes to the judges, gives way to a revision, or is taken back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.seen import inherit_seen
from winosmith.web.judge.slots import close_slots, open_new
from winosmith.web.people.models import Person
from winosmith.web.problems.lookalikes import AnyHalf, remember
from winosmith.web.problems.models import Event, Problem, State, Twin, new_ref
from winosmith.web.problems.states import GONE, move, stay

OPEN = (State.HELD, State.JUDGING, State.REJECTED)
"""Where a problem stands when a revision may help it."""


def enter(
    twin: Twin,
    halves: Sequence[AnyHalf],
    found: Sequence[str],
    *,
    embargo: bool = False,
    record: Mapping[str, Any] | None = None,
) -> list[Problem]:
    """Make the problems of a new twin, and give them to the judges or a moderator.

    They are made in random order, so that their numbers tell nothing; near-duplicates are looked
    for among them from now on, and who knows a twin that they revise knows them. The caller is in
    a transaction and has made the twin, whose contributor is the writer.

    Args:
        twin: without problems yet.
        halves: two, or one for a single.
        found: hints for moderators.
        embargo: nobody but their contributor and moderators may see them.
        record: what no column holds; see `Problem.record`.
    """
    state = _first_state(twin.contributor, found)
    entered = [
        Problem(
            ref=new_ref(),
            twin=twin,
            sentence=half.sentence,
            options=list(half.options),
            answer=half.answer,
            state=state,
            hints=list(found),
            embargo=embargo,
            record=dict(record or {}),
        )
        for half in secrets.SystemRandom().sample(halves, len(halves))
    ]
    Problem.objects.bulk_create(entered)
    kind, writer = "revise" if twin.revises_id else "submit", twin.contributor
    Event.objects.bulk_create(
        Event(problem=one, actor=writer, kind=kind, after=state) for one in entered
    )
    remember(*entered, new=True)
    if state == State.JUDGING:
        open_new(entered)
    if twin.revises:
        inherit_seen(twin.revises, twin)
    return entered


def own_problems(person: Person | None, twin: Twin) -> list[Problem]:
    """Return the halves of a twin that its contributor may know of, and nobody else's."""
    if person is None or twin.contributor_id != person.pk:
        return []
    return list(Problem.objects.filter(twin=twin, gold=False).order_by("pk"))


def may_revise(person: Person, twin: Twin) -> bool:
    """Tell whether a revision may help the twin: a half waits or was rejected, none is released."""
    problems = [half for half in own_problems(person, twin) if half.state not in GONE]
    return (
        any(problem.state in OPEN for problem in problems)
        and not any(problem.released for problem in problems)
        and not Twin.objects.filter(revises=twin).exists()
    )


def replace(person: Person, twin: Twin) -> bool:
    """Move the halves that a revision replaces; tell whether one was under embargo.

    Raises:
        InputError: the person may not revise the twin any more.
    """
    if not may_revise(person, twin):
        raise InputError(_("This was decided or replaced meanwhile; it can't be revised."))
    problems = own_problems(person, twin)
    for problem in problems:
        if problem.state not in GONE:
            retire(person, problem, State("revised"), "revise", "")
    return any(problem.embargo for problem in problems)


def retire(person: Person, problem: Problem, to: State, kind: str, reason: str) -> None:
    """Move a problem out of everybody's sight, judges' included."""
    event = move(problem, to, by=person, kind=kind, reason=reason)
    if event.before == State.JUDGING:
        close_slots(problem)


def _first_state(person: Person | None, found: Sequence[str]) -> Any:
    review = settings.RULES.review
    unknown = person is None or person.anonymous or person.hired
    held = review == "all" or (review == "flagged" and (unknown or bool(found)))
    return State.HELD if held else State.JUDGING


def may_withdraw(person: Person, twin: Twin) -> bool:
    """Tell whether there is something of the twin that the person can withdraw."""
    return bool(_left(person, twin))


def _left(person: Person, twin: Twin) -> list[Problem]:
    """Return the halves that the person can withdraw.

    Those are the ones that stand, and those that a moderator withdrew, lest another moderator
    brings back what its contributor wants gone.
    """
    return [
        half
        for half in own_problems(person, twin)
        if half.state not in GONE
        or (
            half.state == State.WITHDRAWN
            and not half.events.filter(actor=person, kind="withdraw").exists()
        )
    ]


def withdraw(person: Person, twin: Twin, reason: str = "") -> None:
    """Take both halves back: nobody but moderators and the contributor sees them any more.

    Raises:
        InputError: the twin is not the person's, or nothing of it is left to withdraw.
    """
    with writing():
        left = _left(person, twin)
        if not left:
            raise InputError(_("There is nothing to withdraw here."))
        for problem in left:
            if problem.state == State.WITHDRAWN:
                stay(problem, by=person, kind="withdraw", reason=reason)
            else:
                retire(person, problem, State("withdrawn"), "withdraw", reason)
        twin.drafts.all().delete()  # of its revision
