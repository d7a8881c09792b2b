"""Appeals: a contributor asks a moderator to look again at what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.moderate.models import Appeal
from winosmith.web.problems.models import Event, Problem, State
from winosmith.web.problems.states import locked, stay

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

LONGEST = 2000
"""Characters of an appeal."""

APPEALED = (State.REJECTED, State.WITHDRAWN)
"""Where a problem stands when its contributor may want another look."""


def may_appeal(person: Person, problem: Problem) -> bool:
    """Return whether the person can appeal now: their own problem, decided against, none open."""
    last = problem.events.order_by("-id").first()
    by_themselves = last is not None and last.actor_id == person.pk
    return (
        problem.twin.contributor_id == person.pk
        and problem.state in APPEALED
        and not by_themselves
        and open_appeal(problem) is None
    )


def appeal(person: Person, problem: Problem, text: str) -> Appeal:
    """Send an appeal to the moderators' queue; it is written into the problem's history.

    Raises:
        InputError: the text is empty or too long, the problem is not the person's, was not decided
            against them, or an appeal is open already.
    """
    text = text.strip()
    if not 1 <= len(text) <= LONGEST:
        raise InputError(_("Say in 1 to %d characters why you think otherwise.") % LONGEST)
    with writing():
        now = locked(problem.pk)
        if not may_appeal(person, now):
            raise InputError(_("There is nothing to appeal against here, or you did so already."))
        stay(now, by=person, kind="appeal", reason=text)
        return Appeal.objects.create(problem=now, person=person, text=text)


def open_appeal(problem: Problem) -> Appeal | None:
    """Return the appeal on a problem that no moderator has answered yet."""
    return Appeal.objects.filter(problem=problem, answer=None).first()


def settle(problem: Problem, event: Event) -> None:
    """Let a moderator's event answer the open appeal, if there is one."""
    Appeal.objects.filter(problem=problem, answer=None).update(answer=event)


def forget_words(person: Person, _texts: bool) -> None:
    """Forget what somebody who is erased said in their appeals."""
    Appeal.objects.filter(person=person).update(text="")


def adopt_appeals(account: Person, anonymous: Person) -> None:
    """Give the appeals of somebody without an account to one."""
    Appeal.objects.filter(person=anonymous).update(person=account)
