"""What a moderator can do to a problem: from which states, to which, by which key, and why.

Most reasons begin with one of the texts that an action offers. The log holds that text in the
site's language, so that it says the same whoever decided; a reader gets it in their own. What
somebody added in words of their own stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from winosmith.web.judge.submissions import HIDDEN
from winosmith.web.problems.models import State

register = template.Library()

UNDO = "undo"
"""The kind of the events that take others back."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a moderator can do.

    Attributes:
        name: as it stands in the audit log.
        label: on its button.
        letter: the key that asks for it.
        meaning: what becomes of the problem, in a sentence.
        past: what was done, for the log ("let through").
        starts: the states in which a problem can have it done.
        to: the state afterwards; None where it stays, or goes back to an earlier one.
        reasons: what is often said to the contributor; the first is chosen unless another is.
    """

    name: str
    label: Any
    letter: str
    meaning: Any
    past: Any
    starts: frozenset[Any]
    to: Any
    reasons: tuple[Any, ...]


def _states(*states: Any) -> frozenset[Any]:
    return frozenset(states)


LIVE = _states(State.HELD, State.JUDGING, State.VALID, State.REJECTED)
"""What is neither withdrawn nor replaced."""

_ALL = (
    Action(
        "let-through",
        _("Let through"),
        "l",
        _("Judges get it."),
        _("let through to judging"),
        _states(State.HELD),
        State.JUDGING,
        (
            _("Nothing speaks against it."),
            _("The hint was a false alarm."),
            _("It resembles another one, and differs where it matters."),
        ),
    ),
    Action(
        "hold",
        _("Hold"),
        "h",
        _("Judges don't get it until a moderator lets it through."),
        _("held"),
        _states(State.JUDGING),
        State.HELD,
        (
            _("A moderator wants to look at it more closely."),
            _("It may name a real person."),
            _("It may be too close to another problem."),
        ),
    ),
    Action(
        "accept",
        _("Accept"),
        "a",
        _("It counts as valid, although the judges did not find it so."),
        _("accepted"),
        _states(State.REJECTED),
        State.VALID,
        (
            _("The judges missed the point of the trigger word."),
            _("The appeal convinced us."),
            _("The votes against it concern another problem."),
        ),
    ),
    Action(
        "reject",
        _("Reject"),
        "r",
        _("It does not count as valid; the contributor may revise it or appeal."),
        _("rejected"),
        _states(State.HELD, State.JUDGING, State.VALID),
        State.REJECTED,
        (
            _("Both options fit: the sentence does not decide between them."),
            _("Words beside the blank give the answer away."),
            _("The halves do not have opposite answers."),
            _("The sentence is not grammatical English."),
            _("It is too close to a problem that exists already."),
        ),
    ),
    Action(
        "withdraw",
        _("Withdraw"),
        "w",
        _("Nobody but moderators and its contributor sees it any more; nothing is deleted."),
        _("withdrawn"),
        LIVE,
        State.WITHDRAWN,
        (
            _("It is a copy of a problem that exists already."),
            _("It names a real person, or holds somebody's contact data."),
            _("It insults people or a group of people."),
            _("It is no attempt at a problem."),
        ),
    ),
    Action(
        "restore",
        _("Restore"),
        "u",
        _("What a moderator withdrew stands again where it stood before."),
        _("restored"),
        _states(State.WITHDRAWN),
        None,
        (_("It was withdrawn by mistake."), _("The appeal convinced us.")),
    ),
    Action(
        "reopen",
        _("Reopen judging"),
        "o",
        _("Other judges judge it anew."),
        _("judging reopened"),
        _states(State.VALID, State.REJECTED),
        State.JUDGING,
        (
            _("The votes were close; other judges look at it."),
            _("The appeal convinced us that others should judge it."),
            _("A judge who voted on it was paused."),
        ),
    ),
    Action(
        "embargo",
        _("Embargo"),
        "e",
        _("It stays out of pages, search, counts and downloads."),
        _("put under embargo"),
        LIVE,
        None,
        (_("It is kept back for a later test."), _("It waits for a publication.")),
    ),
    Action(
        "lift",
        _("Lift the embargo"),
        "f",
        _("It may be published once it is valid."),
        _("freed from the embargo"),
        LIVE,
        None,
        (_("The embargo is over."),),
    ),
    Action(
        "decline",
        _("Decline the appeal"),
        "d",
        _("The decision stands; the contributor reads why."),
        _("appeal declined"),
        _states(State.REJECTED, State.WITHDRAWN),
        None,
        (
            _("We looked again, and the reasons of the judges hold."),
            _("Please revise it: a small change may be enough."),
        ),
    ),
)

ACTIONS: dict[str, Action] = {action.name: action for action in _ALL}

CLOSING = frozenset({"accept", "restore", "reopen", "decline"})
"""The actions that answer an open appeal."""


def in_the_log(text: Any) -> str:
    """Return a text that is looked up later as the log keeps it: in the site's language."""
    with translation.override(settings.LANGUAGE_CODE):
        return str(text)


@register.filter
def told(reason: str) -> str:
    """Return a kept reason in the language of the page, as far as the site knows its words."""
    if translation.get_language() == settings.LANGUAGE_CODE:
        return reason
    for known in _known():
        if reason == known or reason.startswith(f"{known} "):
            return gettext(known) + reason[len(known) :]
    return reason


def _known() -> tuple[str, ...]:
    """Return the texts that the site itself puts into reasons, as the log keeps them."""
    offered = tuple(in_the_log(reason) for action in ACTIONS.values() for reason in action.reasons)
    return (*offered, HIDDEN)
