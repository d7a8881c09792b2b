"""How far a worker is, by what is stored; and the end of their part."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.nothing import why_nothing
from winosmith.web.judge.queue import next_slot
from winosmith.web.judge.rows import give_back
from winosmith.web.judge.taking import current
from winosmith.web.judge.trust import stops
from winosmith.web.market.keys import own_code
from winosmith.web.market.models import (
    COMPLETE,
    LEFT,
    SHORT,
    TURNED_AWAY,
    WORKING,
    WRITE,
    Identity,
    Participation,
)
from winosmith.web.market.timing import seconds_of
from winosmith.web.people.models import Person
from winosmith.web.problems.models import State, Twin

__all__ = [
    "Standing",
    "code_of",
    "count_done",
    "end",
    "finish",
    "is_held",
    "leave",
    "part_of",
    "standing",
    "twins_of",
]


@dataclass(frozen=True, slots=True)
class Standing:
    """How far somebody is.

    Attributes:
        done, amount: problems or twins that are stored, and that the study asks for.
        holding: a problem waits for their answer.
        left: there is more to do for them now.
        paused: a moderator has to look at their judging first.
        until: when something may come back that others hold; None for nothing.
    """

    done: int
    amount: int
    holding: bool
    left: bool
    paused: bool
    until: datetime | None

    @property
    def complete(self) -> bool:
        """Whether all that the study asks for is stored."""
        return self.done >= self.amount

    @property
    def short(self) -> bool:
        """Whether nothing is left for them before the end."""
        return not (self.complete or self.holding or self.left)


def part_of(person: Person | None) -> Participation | None:
    """Return a person's part in a study; None for who came by no market."""
    if person is None or not getattr(person, "hired", False):
        return None
    return Participation.objects.select_related("study", "person").filter(person=person).first()


def twins_of(part: Participation) -> QuerySet[Twin]:
    """Return the twins that count as work: written since it began, and not taken back."""
    rows = Twin.objects.filter(
        contributor=part.person_id, revises=None, created__gte=part.began
    ).filter(~Q(problems__state=State.WITHDRAWN))
    return rows.distinct()


def count_done(part: Participation) -> int:
    """Return how much is stored of a part's work."""
    if part.study.kind == WRITE:
        return twins_of(part).count()
    return Slot.objects.filter(job=part.pk).exclude(answered_at=None).count()


def is_held(part: Participation) -> bool:
    """Tell whether a worker's votes wait for a moderator."""
    return bool(Judge.objects.filter(person=part.person_id, held__isnull=False).exists())


def standing(part: Participation) -> Standing:
    """Return how far somebody is, by what the database holds."""
    done, amount = count_done(part), part.study.amount
    if part.study.kind == WRITE:
        return Standing(done, amount, False, done < amount, False, None)
    judge = Judge.objects.get(person=part.person_id)
    paused, holding = stops(judge), current(part.person) is not None
    if done >= amount or paused or holding:
        return Standing(done, amount, holding, False, paused, None)
    left = next_slot(part.person, judge.cursor) is not None
    until = None if left else why_nothing(part.person).until
    return Standing(done, amount, False, left, False, until)


def finish(part: Participation) -> None:
    """End a part whose work is all stored, or for which none is left.

    Raises:
        InputError: there is more to do, or nothing was done.
    """
    with writing():
        part = _locked(part)
        if part.state != WORKING:
            return
        now = standing(part)
        if now.complete:
            end(part, COMPLETE)
        elif now.short and now.done:
            end(part, SHORT)
        else:
            raise InputError(_("There is more to do: %(done)d of %(amount)d are stored.")
                             % {"done": now.done, "amount": now.amount})  # fmt: skip


def leave(part: Participation) -> None:
    """Give a part up; what is stored stays, and there is no code for it."""
    with writing():
        part = _locked(part)
        if part.state == WORKING:
            end(part, LEFT)


def _locked(part: Participation) -> Participation:
    rows = Participation.objects.select_for_update(of=("self",)).select_related("study", "person")
    return rows.get(pk=part.pk)


def end(part: Participation, state: str) -> None:
    """End a part: no more work is given for it, and what is held goes to others."""
    with writing():
        Judge.objects.filter(person=part.person_id).update(quota=0)
        held = Slot.objects.filter(holder=part.person_id, answered_at=None, open=True)
        for slot in held:
            give_back(slot)
        Identity.objects.filter(participation=part).update(at_work=False)
        part.state, part.ended, part.seconds = state, timezone.now(), seconds_of(part)
        part.save(update_fields=["state", "ended", "seconds"])


def code_of(part: Participation) -> str:
    """Return the code that a worker gets now; "" for none.

    Nobody gets one before all is stored, nor whom the market has turned away.
    """
    if part.verdict in TURNED_AWAY:
        return ""
    if part.state == COMPLETE:
        return part.study.code or own_code(part.pk)
    if part.state == SHORT:
        return part.study.short_code
    return ""
