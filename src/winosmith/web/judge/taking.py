"""The queue: what a judge gets next and holds, how it is shown, and why nothing is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Min, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith import text
from winosmith.errors import InputError
from winosmith.problem import BLANK
from winosmith.web._lock import writing
from winosmith.web.judge.gold import _chance, draw_gold, take_back
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.seen import note_seen, unseen
from winosmith.web.judge.trust import stops
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, new_ref

tests: list[Callable[[Person], bool]] = []
"""Each tells whether a person is in the middle of a test; `take` adds its own."""

MOST_COUNTED = 1000
"""Slots that are counted; more than these are shown as "1000"."""


def claim(person: Person) -> Slot | None:
    """Give a person the next problem; the one that they hold already comes first.

    Returns:
        The slot, held for `SiteRules.lease_minutes`; None where nothing is left for this person,
        or their paid work asks for no more.

    Raises:
        InputError: the person may not judge, is paused until a moderator has looked, or is in
            the middle of a human test.
    """
    with writing():
        judge = judge_of(person)
        if stops(judge):
            raise InputError(_("your judging is paused until a moderator has looked at it"))
        if in_a_test(person):
            raise InputError(_("finish the test that you began, or give it up, before you judge"))
        return _claimed(judge)


def go_on(person: Person) -> Slot | None:
    """Give a person the next problem where there is one; none for who is paused, or in a test."""
    with writing():
        return gone_on(judge_of(person))


def gone_on(judge: Judge) -> Slot | None:
    """Do as `go_on`, for a judge whom `judge_of` has locked in this transaction."""
    if not stops(judge) and not in_a_test(judge.person):
        return _claimed(judge)
    return None


def _claimed(judge: Judge) -> Slot | None:
    person = judge.person
    held = current(person)
    if held is not None:
        Slot.objects.filter(pk=held.pk).update(lease_until=timezone.now() + lease())
        return held
    if job_is_done(judge):
        return None
    slot = next_slot(person, judge.cursor, lock=True)
    if slot is None:  # what came all the same would be gold
        return None
    take_back(person)
    slot = draw_gold(judge) or slot
    if not slot.gold and slot.lease_until is None:
        judge.cursor = slot.place
    judge.save(update_fields=["cursor", "next_gold"])
    _take(slot, person)
    return slot


def job_is_done(judge: Judge) -> bool:
    """Tell whether a judge who works for pay has given all the answers that the work asks for."""
    if judge.job is None:
        return False
    given = Slot.objects.filter(job=judge.job, holder=judge.person_id).exclude(answered_at=None)
    return judge.quota == 0 or given.count() >= judge.quota


def _take(slot: Slot, person: Person) -> None:
    now = timezone.now()
    slot.holder, slot.taken_at, slot.lease_until = person, now, now + lease()
    slot.local_choice = slot.local_at = slot.local_seconds = None
    slot.ref = new_ref()
    note_seen(person, slot, spent=not (needs_local(slot) and _is_cut(slot.problem)))
    slot.shown = list(range(len(slot.problem.options)))
    _chance.shuffle(slot.shown)
    slot.save()  # a gold question's is made for who gets it


def judge_of(person: Person) -> Judge:
    """Return a person's place in the queue, locked until the transaction ends.

    Everything that a judge does takes this lock first, so that two of their windows take turns.

    Raises:
        InputError: the person may not judge.
    """
    if not may_judge(person):
        raise InputError(_("this account may not judge; a moderator can change that"))
    judge, _new = Judge.objects.select_for_update().get_or_create(person=person)
    judge.person = person
    return judge


def in_a_test(person: Person) -> bool:
    """Tell whether a person has a sheet of a human test out: meanwhile they judge nothing new."""
    return any(area(person) for area in tests)


def current(person: Person) -> Slot | None:
    """Return the slot that a person holds and has not answered; None where there is none.

    Its lease may have run out: the slot is theirs as long as nobody else took it.
    """
    rows = Slot.objects.filter(holder=person, answered_at=None, open=True)
    return rows.select_related("problem__twin").order_by("taken_at").first()


def lease() -> timedelta:
    """Return how long a problem waits for who took it."""
    return timedelta(minutes=settings.RULES.lease_minutes)


def next_slot(person: Person, cursor: int, *, lock: bool = False) -> Slot | None:
    """Return the slot that a person gets next, with its problem; None where nothing is left.

    Everyone walks the queue in the same order, so that a problem that was begun is soon decided;
    who has come to its end starts once from the beginning, for what others gave up.

    Args:
        person: the judge.
        cursor: the place that they have come to.
        lock: nobody else may get it until the transaction ends. On PostgreSQL those that others
            are taking at this moment are passed over; on SQLite there is one writer at a time.
    """

    def first(rows: QuerySet[Slot]) -> Slot | None:
        if lock:
            rows = rows.select_for_update(of=("self",), skip_locked=True)
        return rows.select_related("problem").first()

    return (
        first(returned(person, timezone.now()))
        or first(fresh(person, cursor))
        or first(fresh(person, 0))
    )


def returned(person: Person, now: datetime) -> QuerySet[Slot]:
    """Return the slots whose lease ran out and that the person may take, the longest ago first."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=False, lease_until__lte=now)
    return rows.filter(unseen(person), gold=False).order_by("lease_until")


def fresh(person: Person, after: int) -> QuerySet[Slot]:
    """Return the slots that nobody ever took and the person may take, from a place on."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=True, place__gt=after)
    return rows.filter(unseen(person)).order_by("place")


def shown(slot: Slot, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page of a slot shows.

    Args:
        slot: one that is held.
        typed: what the judge sent before, to be shown again; or what they took back.
    """
    problem, first = slot.problem, needs_local(slot)
    sentence = shown_first(problem) if first else problem.sentence
    before, _, after = sentence.partition(BLANK)
    earlier = typed.get("choice", "") if typed else "" if slot.choice is None else str(slot.choice)
    if first and not typed:
        earlier = ""
    return {
        "slot": slot,
        "problem": problem,
        "first": first,
        "steps": settings.RULES.local_first,
        "cut": first and sentence != problem.sentence,
        "before": before,
        "after": after,
        "options": [
            {"value": at, "text": problem.options[at], "key": key, "chosen": str(at) == earlier}
            for key, at in enumerate(slot.shown, start=1)
        ],
        "ambiguous": "ambiguous" in typed if typed else slot.ambiguous,
        "associative": "associative" in typed if typed else slot.associative,
        "comment": typed.get("comment", "") if typed else slot.comment,
    }


def needs_local(slot: Slot) -> bool:
    """Tell whether the holder of a slot sees the local context alone for now."""
    return settings.RULES.local_first and slot.local_at is None


def shown_first(problem: Problem) -> str:
    """Return the local context of a problem, as judges see it before the whole."""
    return text.local_context(problem.sentence, settings.RULES.local_before)


def _is_cut(problem: Problem) -> bool:
    """Tell whether a problem's local context leaves something out."""
    return len(text.words(shown_first(problem))) < len(text.words(problem.sentence))


@dataclass(frozen=True, slots=True)
class NoneLeft:
    """What stands in a judge's way to the problems that await somebody.

    Attributes:
        own: open places on problems of the judge's own twins.
        seen: open places on problems that they have read, or whose other half they have.
        held: places that they could take, and that others hold.
        until: when the first of these comes back; None where none is held.
    """

    own: int
    seen: int
    held: int
    until: datetime | None


def why_none_left(person: Person) -> NoneLeft:
    """Return why a person gets no problem now; each number is MOST_COUNTED at most."""
    rows = Slot.objects.filter(open=True, gold=False).exclude(holder=person)
    held = rows.filter(unseen(person), lease_until__gt=timezone.now())
    own = rows.filter(contributor=person)
    seen = rows.exclude(contributor=person).exclude(unseen(person))
    return NoneLeft(
        own[:MOST_COUNTED].count(),
        seen[:MOST_COUNTED].count(),
        held[:MOST_COUNTED].count(),
        held.aggregate(until=Min("lease_until"))["until"],
    )
