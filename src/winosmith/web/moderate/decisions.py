"""Moderators' decisions on a problem: actions, appeals, permissions, and undo.

Most reasons start with a predefined text. The log stores it in the site's language, and shows it in
the reader's language; a moderator's own words stay unchanged. A decision requires that the problem
is unchanged since the moderator saw it, and can be undone until another event follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings
from django.db.models import Max
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.exclusion import update_verdict
from winosmith.web.judge.models import Slot
from winosmith.web.judge.submissions import HIDDEN
from winosmith.web.judge.votes import close_slots, open_slots
from winosmith.web.moderate.models import Appeal
from winosmith.web.people.models import Person
from winosmith.web.problems.family import COVERING_KINDS, lift_embargo, set_embargo
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.states import LATE, lock_problem, move

register = template.Library()

UNDO = "undo"
"""Kind of the events that undo other events."""


@dataclass(frozen=True, slots=True)
class Action:
    """A moderator's action on a problem.

    Attributes:
        name: The name in the audit log.
        label: The label of the button.
        effect: The effect, as a sentence.
        log_label: The label in the log ("approved for judging").
        states: The states in which the action is possible.
        new_state: The new state; None if the state stays or an earlier state is restored.
        reasons: Common reasons.
        appeal_reason: A further reason, which is offered only if an appeal is open.
    """

    name: str
    label: Any
    shortcut: str
    effect: Any
    log_label: Any
    states: frozenset[Any]
    new_state: Any
    reasons: tuple[Any, ...]
    appeal_reason: Any = None

    @property
    def preselects_reason(self) -> bool:
        """Return whether a reason is preselected.

        No reason is preselected for actions against contributors and for answers to appeals.
        """
        return self.name not in {"hold", "reject", "withdraw"} | APPEAL_ANSWERS

    def list_reasons(self, *, has_appeal: bool = True) -> tuple[Any, ...]:
        more = (self.appeal_reason,) if has_appeal and self.appeal_reason else ()
        return (*self.reasons, *more)


LIVE_STATES = frozenset((State.HELD, State.JUDGING, State.VALID, State.REJECTED))
"""States of problems that are neither withdrawn nor replaced."""

_ACTIONS = (
    Action(
        "let-through",
        _("Approve"),
        "y",
        _("The problem is passed to the judges."),
        _("approved for judging"),
        frozenset({State.HELD}),
        State.JUDGING,
        (
            _("Nothing is wrong with it."),
            _("The hint was a false alarm."),
            _("It is similar to another problem, but differs where it matters."),
        ),
    ),
    Action(
        "hold",
        _("Hold for a moderator"),
        "h",
        _("The problem is not passed to judges until a moderator approves it."),
        _("held for a moderator"),
        frozenset({State.JUDGING}),
        State.HELD,
        (
            _("A moderator wants to check it in detail."),
            _("It may name a real person."),
            _("It may be too similar to another problem."),
        ),
    ),
    Action(
        "accept",
        _("Accept"),
        "a",
        _("The problem becomes valid, although the judges rejected it."),
        _("accepted"),
        frozenset({State.REJECTED}),
        State.VALID,
        (
            _("The judges missed the point of the trigger word."),
            _("The votes against it concern another problem."),
        ),
        _("The appeal convinced us."),
    ),
    Action(
        "reject",
        _("Reject"),
        "r",
        _("The problem is not valid; the contributor may revise it or appeal."),
        _("rejected"),
        frozenset({State.HELD, State.JUDGING, State.VALID}),
        State.REJECTED,
        (
            _("Both options fit: the sentence does not decide between them."),
            _("Words near the blank give the answer away."),
            _("The halves do not have opposite answers."),
            _("The sentence is not grammatical English."),
            _("It is too similar to an existing problem."),
        ),
    ),
    Action(
        "withdraw",
        _("Withdraw"),
        "w",
        _("Only moderators and the contributor see the problem; nothing is deleted."),
        _("withdrawn"),
        LIVE_STATES,
        State.WITHDRAWN,
        (
            _("It is a copy of an existing problem."),
            _("It names a real person, or contains contact data."),
            _("It insults people or a group of people."),
            _("It is not a serious attempt at a problem."),
        ),
    ),
    Action(
        "restore",
        _("Restore"),
        "u",
        _("A problem that a moderator withdrew returns to its earlier state."),
        _("restored"),
        frozenset({State.WITHDRAWN}),
        None,
        (_("It was withdrawn by mistake."),),
        _("The appeal convinced us."),
    ),
    Action(
        "reopen",
        _("Reopen judging"),
        "o",
        _("Other judges judge the problem again."),
        _("judging reopened"),
        frozenset({State.VALID, State.REJECTED}),
        State.JUDGING,
        (
            _("The votes were close; other judges will judge it."),
            _("A judge who voted on it was put on hold."),
        ),
        _("The appeal convinced us that others should judge it."),
    ),
    Action(
        "embargo",
        _("Embargo"),
        "e",
        _("The problem is excluded from pages, search, counts and downloads."),
        _("put under embargo"),
        LIVE_STATES,
        None,
        (
            _("It is reserved for a later test."),
            _("It waits for the publication of a paper."),
        ),
    ),
    Action(
        "lift",
        _("Lift the embargo"),
        "f",
        _("The problem may be published when it is valid."),
        _("released from the embargo"),
        LIVE_STATES,
        None,
        (_("The embargo is over."),),
    ),
    Action(
        "decline",
        _("Decline the appeal"),
        "d",
        _("The decision remains; the contributor sees the reason."),
        _("appeal declined"),
        frozenset({State.REJECTED, State.WITHDRAWN}),
        None,
        (
            _("We checked again and agree with the judges."),
            _("Please revise it: a small change may be enough."),
        ),
    ),
)

ACTIONS: dict[str, Action] = {action.name: action for action in _ACTIONS}

APPEAL_ANSWERS = frozenset({"accept", "restore", "reopen", "decline"})
"""Actions that resolve an open appeal."""


def to_site_language(text: Any) -> str:
    with translation.override(settings.LANGUAGE_CODE):
        return str(text)


@register.filter("translated")
def translate_reason(reason: str) -> str:
    """Return a stored reason, translated to the page's language if it is an offered reason."""
    if translation.get_language() == settings.LANGUAGE_CODE:
        return reason
    offered = (reason for action in ACTIONS.values() for reason in action.list_reasons())
    for known in (*map(to_site_language, offered), HIDDEN):
        if reason == known or reason.startswith(f"{known} "):
            return gettext(known) + reason[len(known) :]
    return reason


MAX_REASON = 2000
"""Maximum number of characters in a reason or an appeal."""

AUTOMATIC_KINDS = (*COVERING_KINDS.values(), LATE)
"""Kinds of automatic events, which don't invalidate a moderator's decision."""

APPEALABLE = (State.REJECTED, State.WITHDRAWN)
"""States in which a contributor can appeal."""


def may_appeal(person: Person, problem: Problem) -> bool:
    last = problem.events.order_by("-id").first()
    by_themselves = last is not None and last.actor_id == person.pk
    return (
        problem.twin.contributor_id == person.pk
        and problem.state in APPEALABLE
        and not by_themselves
        and get_open_appeal(problem) is None
    )


def appeal(person: Person, problem: Problem, text: str) -> Appeal:
    text = text.strip()
    if not 1 <= len(text) <= MAX_REASON:
        raise InputError(gettext("Give your reason in 1 to %d characters.") % MAX_REASON)
    with writing():
        now = lock_problem(problem.pk)
        if not may_appeal(person, now):
            raise InputError(
                gettext("There is no decision to appeal against, or you have already appealed.")
            )
        now.log_event("appeal", actor=person, reason=text)
        return Appeal.objects.create(problem=now, person=person, text=text)


def get_open_appeal(problem: Problem) -> Appeal | None:
    return Appeal.objects.filter(problem=problem, answer=None).first()


def erase_appeal_texts(person: Person, _texts: bool) -> None:
    Appeal.objects.filter(person=person).update(text="")


def move_appeals_to_account(account: Person, anonymous: Person) -> None:
    Appeal.objects.filter(person=anonymous).update(person=account)


class ConflictError(InputError):
    """The problem changed after the moderator saw it.

    Attributes:
        since: The events that the moderator has not seen, oldest first.
    """

    def __init__(self, problem: Problem, since: list[Event]):
        self.problem, self.since = problem, since
        super().__init__(
            gettext("%(ref)s has changed since you saw it; check what happened, then decide again")
            % {"ref": problem.ref}
        )


def clean_reason(reason: str) -> str:
    if not 1 <= len(reason := reason.strip()) <= MAX_REASON:
        raise InputError(gettext("Give a reason, in at most %d characters.") % MAX_REASON)
    return reason


def may_decide(person: Person, problem: Problem) -> bool:
    return person.can_moderate and problem.twin.contributor_id != person.pk


def check_may_decide(person: Person, problem: Problem) -> None:
    if not person.can_moderate:
        raise InputError(gettext("Only moderators can decide on problems."))
    if not may_decide(person, problem):
        raise InputError(gettext("You can't decide on your own problems; another moderator must."))


def get_newest_events(problems: Iterable[Problem]) -> dict[int, int]:
    rows = Event.objects.filter(problem__in=[problem.pk for problem in problems])
    return dict(rows.values("problem").annotate(last=Max("pk")).values_list("problem", "last"))


def get_events_in_force(problem: Problem) -> list[Event]:
    """Return a problem's events that were not undone, oldest first."""
    events = list(problem.events.exclude(kind__in=AUTOMATIC_KINDS).order_by("pk"))
    undone = {event.undoes_id for event in events}
    return [event for event in events if event.kind != UNDO and event.pk not in undone]


def get_possible_actions(person: Person, problem: Problem) -> list[Action]:
    if not may_decide(person, problem):
        return []
    return [action for action in ACTIONS.values() if not _find_obstacle(action, problem)]


def decide(
    person: Person,
    action: Action,
    problem: Problem,
    *,
    reason: str,
    seen: int,
    batch: str,
) -> Event:
    """Take an action on a problem, and log who did it and why.

    The problem is locked and read again first. `seen` is the key of its newest event when the
    moderator saw it, or 0. The contributor sees the reason.

    Raises:
        ConflictError: The problem has events that the moderator has not seen.
        InputError: The person may not decide on the problem, or its state excludes the action.
    """
    reason = clean_reason(reason)
    with writing():
        now = lock_problem(problem.pk)
        check_may_decide(person, now)
        later = now.events.filter(pk__gt=seen).exclude(kind__in=AUTOMATIC_KINDS)
        since = list(later.order_by("pk").select_related("actor"))
        if since:
            raise ConflictError(now, since)
        if reason_against := _find_obstacle(action, now):
            raise InputError(reason_against)
        state = action.new_state or now.state
        if action.name == "restore":
            in_force = reversed(get_events_in_force(now))
            state = next(event.before for event in in_force if event.before != State.WITHDRAWN)
        columns = {"actor": person, "kind": action.name, "reason": reason, "batch": batch}
        event = _carry_out(now, action.name, state, **columns)
        if action.name in APPEAL_ANSWERS:
            Appeal.objects.filter(problem=now, answer=None).update(answer=event)
        votes = now.events.filter(kind__in=("exclude-vote", "include-vote"), after=State.WITHDRAWN)
        if action.name == "restore" and votes.exists():
            update_verdict(now, person, reason)
        return event


def _find_obstacle(action: Action, problem: Problem) -> str:
    """Return why an action is not possible on a problem; "" if it is possible."""
    state = State(problem.state)
    if state not in action.states:
        return gettext("“%(action)s” is not possible in the state “%(state)s”") % {
            "state": state.label,
            "action": action.label,
        }
    if problem.gold and action.name not in ("withdraw", "restore"):
        return gettext("it is a gold question: its answer is known, and it is not part of the data")
    if action.name in ("embargo", "lift"):
        version = getattr(problem, "version", None)
        covered = version is not None and version.covered
        if action.name == "embargo" and problem.embargo and not covered:
            return gettext("it is already under embargo")
        if action.name == "lift" and not problem.embargo:
            return gettext("it is not under embargo")
        if action.name == "lift" and covered:
            return gettext(
                "the problem that it was perturbed from is under embargo; lift that embargo instead"
            )
    if action.name == "decline" and get_open_appeal(problem) is None:
        return gettext("no appeal is open")
    if action.name == "restore":
        in_force = get_events_in_force(problem)
        if _is_erased(problem):
            return gettext("its contributor asked for erasure")
        if not in_force or in_force[-1].after != State.WITHDRAWN:
            return gettext("its earlier state is unknown")
        last = next(event for event in reversed(in_force) if event.before != State.WITHDRAWN)
        theirs = (event.kind == "withdraw" and not event.batch for event in in_force)
        if last.kind != "withdraw" or any(theirs):
            return gettext("its contributor withdrew it")
    return ""


def _is_erased(problem: Problem) -> bool:
    contributor = problem.twin.contributor
    return contributor is not None and contributor.erased is not None


_OPPOSITES = {"embargo": "lift", "lift": "embargo"}
"""For each action that does not change the state, the action that an undo takes instead."""


def _carry_out(problem: Problem, action: str, state: Any, **note: Any) -> Event:
    """Carry out and log an action that changes the embargo or the state."""
    if action in ("embargo", "lift"):
        (set_embargo if action == "embargo" else lift_embargo)(problem, actor=note["actor"])
    before = problem.state
    if state == before:
        return problem.log_event(**note)
    event = move(problem, State(state), **note)
    if before == State.JUDGING:
        close_slots(problem)
    elif state == State.JUDGING:
        open_slots(problem, extra=action == "reopen")
    return event


def get_undoable_decision(person: Person, problem: Problem) -> Event | None:
    in_force = get_events_in_force(problem)
    if not in_force or not may_decide(person, problem):
        return None
    return None if _find_undo_obstacle(in_force[-1], problem, in_force) else in_force[-1]


def undo(person: Person, event: Event, *, reason: str, batch: str) -> Event:
    """Undo a moderator's decision, and return the event of the undo.

    Any moderator can undo a decision that is followed only by undone events, or by none. The
    problem returns to its earlier state.
    """
    with writing():
        problem = lock_problem(event.problem_id)
        check_may_decide(person, problem)
        if reason_against := _find_undo_obstacle(event, problem, get_events_in_force(problem)):
            raise InputError(reason_against)
        action = _OPPOSITES.get(event.kind, "")
        columns = {"actor": person, "kind": UNDO, "reason": reason, "batch": batch}
        taken = _carry_out(problem, action, event.before, undoes=event, **columns)
        Appeal.objects.filter(answer=event).update(answer=None)
        return taken


def _find_undo_obstacle(event: Event, problem: Problem, in_force: list[Event]) -> str:
    """Return why an event can't be undone; "" if it can be."""
    if event.kind not in ACTIONS or not event.batch:
        return gettext("it is not a moderator’s decision")
    if not any(other.pk == event.pk for other in in_force):
        return gettext("it has already been undone")
    if in_force[-1].pk != event.pk or problem.state != event.after:
        return gettext("it has changed since")
    if event.after == State.WITHDRAWN and _is_erased(problem):
        return gettext("its contributor asked for erasure")
    if Appeal.objects.filter(answer=event).exists() and get_open_appeal(problem):
        return gettext("a new appeal has been made since")
    since = Slot.objects.votes().filter(problem=event.problem_id, answered_at__gte=event.at)
    if event.after == State.JUDGING and since.exists():
        return gettext("judges have voted on it since; put it on hold instead")
    return ""
