"""Taking a problem to judge it: one slot, for a while, for one person."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith import text
from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.gold import _chance, draw_gold, take_back
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.queue import next_slot
from winosmith.web.judge.seen import note_seen
from winosmith.web.judge.trust import stops
from winosmith.web.people.gates import may_judge
from winosmith.web.problems.entering import new_ref

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem


def lease() -> timedelta:
    """Return how long a problem waits for who took it."""
    return timedelta(minutes=settings.RULES.lease_minutes)


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


def current(person: Person) -> Slot | None:
    """Return the slot that a person holds and has not answered; None where there is none.

    Its lease may have run out: the slot is theirs as long as nobody else took it.
    """
    rows = Slot.objects.filter(holder=person, answered_at=None, open=True)
    return rows.select_related("problem__twin").order_by("taken_at").first()


def needs_local(slot: Slot) -> bool:
    """Tell whether the holder of a slot sees the local context alone for now."""
    return settings.RULES.local_first and slot.local_at is None


def shown_first(problem: Problem) -> str:
    """Return the local context of a problem, as judges see it before the whole."""
    return text.local_context(problem.sentence, settings.RULES.local_before)


def _is_cut(problem: Problem) -> bool:
    """Tell whether a problem's local context leaves something out."""
    return len(text.words(shown_first(problem))) < len(text.words(problem.sentence))


def in_a_test(person: Person) -> bool:
    """Tell whether a person has a sheet of a human test out: meanwhile they judge nothing new."""
    from winosmith.web.take.models import Sitting

    rows = Sitting.objects.filter(subject__person=person, state=Sitting.State.GIVEN)
    return bool(rows.exists())


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
