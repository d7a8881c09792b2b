"""Deciding about one problem: who may, in which state, and whether it is still what was seen.

What a moderator did can be taken back, as long as nothing happened to the problem since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Max
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.votes import close_slots, open_slots
from winosmith.web.moderate.actions import ACTIONS, CLOSING, UNDO, Action
from winosmith.web.moderate.appeals import open_appeal, settle
from winosmith.web.moderate.models import Appeal
from winosmith.web.moderate.votes import answered_since
from winosmith.web.problems.family import COVERING, lift, put_under
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.states import LATE, locked, move, stay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from winosmith.web.people.models import Person


LONGEST = 2000
"""Characters of a reason."""

NOBODYS = (*COVERING.values(), LATE)
"""Kinds of events that nobody decided about: they stand in no decision's way."""


class Conflict(InputError):  # noqa: N818 - it tells of a meeting, not of a fault
    """Somebody else did something to the problem after the moderator saw it.

    Attributes:
        since: the events that the moderator has not seen, oldest first.
    """

    def __init__(self, problem: Problem, since: list[Event]):
        self.problem, self.since = problem, since
        super().__init__(
            _("%(ref)s has changed since you saw it; look at what happened, then decide again")
            % {"ref": problem.ref}
        )


def may_decide(person: Person, problem: Problem) -> bool:
    """Return whether the person may decide about a problem: a moderator, and it is not theirs."""
    return person.moderates and problem.twin.contributor_id != person.pk


def must_decide(person: Person, problem: Problem) -> None:
    """Refuse a decision that is not the person's to make.

    Raises:
        InputError: the person is no moderator, or wrote the problem.
    """
    if not person.moderates:
        raise InputError(_("Only moderators decide about problems."))
    if not may_decide(person, problem):
        raise InputError(_("Your own problems are decided by other moderators."))


def last_event(problems: Iterable[Problem]) -> dict[int, int]:
    """Return the newest event of each problem by the problem's key: what a moderator has seen."""
    rows = Event.objects.filter(problem__in=[problem.pk for problem in problems])
    return dict(rows.values("problem").annotate(last=Max("pk")).values_list("problem", "last"))


def standing(problem: Problem) -> list[Event]:
    """Return the problem's events that hold, oldest first: without those that were taken back."""
    events = list(problem.events.exclude(kind__in=NOBODYS).order_by("pk"))
    undone = {event.undoes_id for event in events}
    return [event for event in events if event.kind != UNDO and event.pk not in undone]


def actions_for(person: Person, problem: Problem) -> list[Action]:
    """Return what the person may do to the problem now."""
    if not may_decide(person, problem):
        return []
    return [action for action in ACTIONS.values() if not _hindrance(action, problem)]


def decide(
    person: Person,
    action: Action,
    problem: Problem,
    *,
    reason: str,
    seen: int,
    batch: str,
) -> Event:
    """Do one thing to one problem, and write down who did it and why.

    Args:
        person: the moderator.
        action: one of ACTIONS.
        problem: locked and read again first.
        reason: for the contributor; 1 to LONGEST characters.
        seen: the key of the problem's newest event when the moderator saw it; 0 for none.
        batch: the mark of all that is done together.

    Raises:
        Conflict: something happened to the problem that the moderator has not seen.
        InputError: the person may not decide about it, or the action does not fit its state.
    """
    reason = reason.strip()
    if not 1 <= len(reason) <= LONGEST:
        raise InputError(_("Give a reason of 1 to %d characters.") % LONGEST)
    with writing():
        now = locked(problem.pk)
        must_decide(person, now)
        later = now.events.filter(pk__gt=seen).exclude(kind__in=NOBODYS)
        since = list(later.order_by("pk").select_related("actor"))
        if since:
            raise Conflict(now, since)
        if hindrance := _hindrance(action, now):
            raise InputError(hindrance)
        event = _act(person, action, now, reason, batch)
        if action.name in CLOSING:
            settle(now, event)
        return event


def _hindrance(action: Action, problem: Problem) -> str:
    """Return why the action does not fit the problem; empty where it fits."""
    state = State(problem.state)
    if state not in action.starts:
        return _("it %(state)s; “%(action)s” does not fit") % {
            "state": state.label,
            "action": action.label,
        }
    if problem.gold and action.name not in ("withdraw", "restore"):
        return _("it is a gold question: its answer is known, and it is no part of the data")
    if action.name in ("embargo", "lift"):
        return _no_embargo(action, problem)
    if action.name == "decline" and open_appeal(problem) is None:
        return _("no appeal is open")
    if action.name == "restore":
        return _no_return(problem)
    return ""


def _no_embargo(action: Action, problem: Problem) -> str:
    """Return why an embargo can't be set or lifted; what is only covered has none of its own."""
    version = getattr(problem, "version", None)
    covered = version is not None and version.covered
    if action.name == "embargo" and problem.embargo and not covered:
        return _("it is under embargo already")
    if action.name == "lift" and not problem.embargo:
        return _("it is under no embargo")
    if action.name == "lift" and covered:
        return _("it is under the embargo of what it was perturbed from; lift that one")
    return ""


def _no_return(problem: Problem) -> str:
    """Return why a withdrawn problem stays withdrawn: only moderators' decisions are reversed."""
    held = standing(problem)
    if _is_erased(problem):
        return _("its contributor asked for erasure")
    if not held or held[-1].after != State.WITHDRAWN:
        return _("nothing tells where it stood")
    last = next(event for event in reversed(held) if event.before != State.WITHDRAWN)
    theirs = (event.kind == "withdraw" and not event.batch for event in held)
    if last.kind != "withdraw" or any(theirs):
        return _("its contributor withdrew it")
    return ""


def _is_erased(problem: Problem) -> bool:
    """Tell whether who wrote a problem is erased: withdrawn, it stays so, and may be blank."""
    contributor = problem.twin.contributor
    return contributor is not None and contributor.erased is not None


def _act(person: Person, action: Action, problem: Problem, reason: str, batch: str) -> Event:
    if action.name in ("embargo", "lift"):
        return set_embargo(person, problem, action.name == "embargo", action.name, reason, batch)
    if action.name == "decline":
        return stay(problem, by=person, kind=action.name, reason=reason, batch=batch)
    to = action.to or _origin(problem)
    return moved(person, problem, to, action.name, reason, batch)


def _origin(problem: Problem) -> State:
    """Return where a withdrawn problem stood before."""
    held = reversed(standing(problem))
    return State(next(event.before for event in held if event.before != State.WITHDRAWN))


def moved(
    person: Person,
    problem: Problem,
    to: State,
    kind: str,
    reason: str,
    batch: str,
    undoes: Event | None = None,
) -> Event:
    """Move a problem, and open or close what judges take of it."""
    before = State(problem.state)
    event = move(problem, to, by=person, kind=kind, reason=reason, batch=batch, undoes=undoes)
    if before == State.JUDGING != to:
        close_slots(problem)
    if to == State.JUDGING != before:
        open_slots(problem)
    return event


def set_embargo(
    person: Person,
    problem: Problem,
    embargo: bool,
    kind: str,
    reason: str,
    batch: str,
    undoes: Event | None = None,
) -> Event:
    """Put a problem under embargo with all that was made of it, or lift it; the state stays."""
    if embargo:
        put_under(problem, by=person)
    else:
        lift(problem, by=person)
    return stay(problem, by=person, kind=kind, reason=reason, batch=batch, undoes=undoes)


def undoable(person: Person, problem: Problem) -> Event | None:
    """Return the decision on a problem that the person can take back now: the last that holds."""
    held = standing(problem)
    if not held or not may_decide(person, problem) or _no_undo(held[-1], problem, held):
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
        if hindrance := _no_undo(event, problem, standing(problem)):
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


def _no_undo(event: Event, problem: Problem, held: list[Event]) -> str:
    """Return why an event can't be taken back; empty where it can."""
    if event.kind not in ACTIONS or not event.batch:
        return _("it is no moderator's decision")
    if not any(one.pk == event.pk for one in held):
        return _("it was taken back already")
    if held[-1].pk != event.pk or problem.state != event.after:
        return _("something happened to it since")
    if event.after == State.WITHDRAWN and _is_erased(problem):
        return _("its contributor asked for erasure")
    if Appeal.objects.filter(answer=event).exists() and open_appeal(problem):
        return _("another appeal came since")
    return _votes_since(event)


def _votes_since(event: Event) -> str:
    """Return that judges have voted because of the event: their work is not thrown away."""
    if event.after == State.JUDGING and answered_since(event.problem_id, event.at):
        return _("judges have voted on it since; hold it instead")
    return ""
