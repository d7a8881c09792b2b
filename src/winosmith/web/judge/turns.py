"""Judges' work: getting, answering and skipping problems, undo, history, and news.

A gold question looks like any other problem: its reference, order, time and text don't reveal it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Min, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext

from winosmith import text
from winosmith.errors import InputError
from winosmith.problem import BLANK
from winosmith.web._lock import writing
from winosmith.web.judge import trust
from winosmith.web.judge.models import Contest, Judge, Skip, Slot, mark_seen, mark_spent, unseen_by
from winosmith.web.judge.votes import EMPTY_ANSWER, return_slot, settle_votes
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.people.news import MAX_ITEMS, Item, Work
from winosmith.web.problems.models import Event, Problem, State, make_ref
from winosmith.web.problems.states import REMOVED_STATES, lock_problem

test_checks: list[Callable[[Person], bool]] = []
"""Functions that return whether a person is taking a human test; `take` registers its function."""

MAX_COUNTED = 1000
"""Maximum number of slots to count; larger numbers are shown as 1000."""

MAX_COMMENT_LENGTH = 2000

UNDO_PERIOD = timedelta(minutes=1)


class ProblemLostError(InputError):
    """The judge can no longer answer the problem, or can no longer undo the answer."""


def lease_next_problem(person: Person, judge: Judge | None = None) -> Slot | None:
    """Return the problem reserved for a person, or lease the next problem to them.

    The slot is leased for `SiteRules.lease_minutes`. The result is None if no problem is left for
    the person, or if they have done their paid work, are waiting for a moderator, or are taking a
    test. Pass `judge` if the transaction got it from `lock_judge`.
    """
    with writing():
        judge = judge or lock_judge(person)
        if trust.is_stopped(judge) or is_taking_test(person):
            return None
        # In most cases there is none, and `exists` is faster than a query for all columns.
        if _get_reserved_slots(person).exists() and (held := get_current_slot(person)):
            Slot.objects.filter(pk=held.pk).update(lease_until=timezone.now() + get_lease_length())
            return held
        if judge.job is not None:
            paid = Slot.objects.filter(job=judge.job, holder=person).answers()
            if judge.quota == 0 or paid.count() >= judge.quota:
                return None
        key = find_next_slot(person, judge.cursor, lock=True)
        if key is None:  # a gold question would reveal itself
            return None
        trust.reclaim_gold_slots(person)
        slot = Slot.objects.select_related("problem").get(pk=key)
        slot = trust.draw_gold(judge) or slot
        if not slot.gold and slot.lease_until is None:
            judge.cursor = slot.place
        judge.save(update_fields=["cursor", "next_gold"])
        now = timezone.now()
        for name, value in EMPTY_ANSWER.items():
            setattr(slot, name, value)
        slot.holder, slot.taken_at, slot.lease_until = person, now, now + get_lease_length()
        slot.ref = make_ref()
        problem = slot.problem
        local, whole = map(text.split_words, (get_local_context(problem), problem.sentence))
        is_partial = len(local) < len(whole)
        mark_seen(person, [problem], spent=not (is_partial and needs_local_answer(slot)))
        slot.shown = list(range(len(problem.options)))
        secrets.SystemRandom().shuffle(slot.shown)
        slot.save()  # a gold question's slot is created on demand
        return slot


def lock_judge(person: Person) -> Judge:
    """Return a person's `Judge` row, locked until the transaction ends.

    Every action of a judge takes this lock first, so that actions in two windows don't overlap.
    """
    if not may_judge(person):
        raise InputError(_("this account is not allowed to judge; ask a moderator for the role"))
    judge, _new = Judge.objects.select_for_update().get_or_create(person=person)
    judge.person = person
    return judge


def is_taking_test(person: Person) -> bool:
    return any(is_taking(person) for is_taking in test_checks)


def get_current_slot(person: Person) -> Slot | None:
    """Return the slot that a person has leased and not answered.

    After its lease expires, the slot remains theirs until another judge takes it.
    """
    return _get_reserved_slots(person).select_related("problem").order_by("taken_at").first()


def _get_reserved_slots(person: Person) -> QuerySet[Slot]:
    return Slot.objects.filter(holder=person, answered_at=None, open=True)


def get_lease_length() -> timedelta:
    return timedelta(minutes=settings.RULES.lease_minutes)


def find_next_slot(person: Person, cursor: int, *, lock: bool = False) -> int | None:
    """Return the key of the next slot for a person, or None.

    All judges get the slots in the same order, so that problems are decided quickly. The search
    starts at the judge's cursor; at the end of the queue, it continues from the start. With `lock`,
    the slot is locked until the transaction ends: PostgreSQL skips slots that other judges are
    taking at this moment; SQLite has only one writer at a time.
    """

    def get_first(rows: QuerySet[Slot]) -> int | None:
        if lock:
            rows = rows.select_for_update(skip_locked=True)
        return rows.values_list("pk", flat=True).first()

    return (
        get_first(get_expired_slots(person, timezone.now()))
        or get_first(get_fresh_slots(person, cursor))
        or get_first(get_fresh_slots(person, 0))
    )


def get_expired_slots(person: Person, now: datetime) -> QuerySet[Slot]:
    rows = Slot.objects.filter(open=True, lease_until__isnull=False, lease_until__lte=now)
    return rows.filter(unseen_by(person), gold=False).order_by("lease_until")


def get_fresh_slots(person: Person, after: int) -> QuerySet[Slot]:
    """Return the slots after a queue position that were never leased and that a person may take."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=True, place__gt=after)
    return rows.filter(unseen_by(person)).order_by("place")


def make_slot_context(slot: Slot, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template context for a leased slot; `typed` is the input of a form with errors."""
    problem, first = slot.problem, needs_local_answer(slot)
    sentence = get_local_context(problem) if first else problem.sentence
    before, _, after = sentence.partition(BLANK)
    stored = "" if first or slot.choice is None else str(slot.choice)
    earlier = typed.get("choice", "") if typed else stored
    return {
        "slot": slot,
        "problem": problem,
        "first": first,
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


def needs_local_answer(slot: Slot) -> bool:
    return settings.RULES.local_first and slot.local_at is None


def get_local_context(problem: Problem) -> str:
    return text.get_local_context(problem.sentence, settings.RULES.local_before)


def make_idle_judge_context(person: Person, judge: Judge | None) -> dict[str, Any]:
    """Return the template context for a judge who has no problem at the moment.

    The context contains whether a moderator must check the judge's votes first (`paused`), whether
    the judge is taking a human test (`testing`), and whether a problem is available (`left`). If
    the judge could continue but no problem is left, `none_left` contains the reason.
    """
    paused, testing = trust.is_stopped(judge), is_taking_test(person)
    free = not (paused or testing)
    left = free and find_next_slot(person, judge.cursor if judge else 0) is not None
    why = explain_no_work(person) if free and not left else None
    return {"paused": paused, "testing": testing, "left": left, "none_left": why}


def explain_no_work(person: Person) -> dict[str, Any]:
    """Return why none of the problems that still need votes can be given to a person.

    The result contains numbers of slots, each counted up to `MAX_COUNTED`: those on problems of the
    person's own twins (`own`), those on problems whose twin the person has read at least in part
    (`seen`), and those that other judges have leased but that are otherwise available (`held`).
    `until` is the time when the first of these leases ends, or None.
    """
    rows = Slot.objects.filter(open=True, gold=False).exclude(holder=person)
    held = rows.filter(unseen_by(person), lease_until__gt=timezone.now())
    seen = rows.exclude(contributor=person).exclude(unseen_by(person))
    return {
        "own": rows.filter(contributor=person)[:MAX_COUNTED].count(),
        "seen": seen[:MAX_COUNTED].count(),
        "held": held[:MAX_COUNTED].count(),
        **held.aggregate(until=Min("lease_until")),
    }


def store_local_answer(person: Person, ref: str, choice: int | None) -> Slot:
    """Store a judge's answer to the local context; a later answer does not replace it.

    `ref` is the reference of the judge's slot, and `choice` the 0-based index of an option.
    """
    with writing():
        lock_judge(person)
        slot = _lock_slot(person, ref)
        _check_choice(slot, choice)
        if not needs_local_answer(slot):
            return slot
        now = timezone.now()
        slot.local_choice, slot.local_at = choice, now
        slot.local_seconds = _measure_seconds(slot.taken_at, now)
        slot.lease_until = now + get_lease_length()
        slot.save(update_fields=["local_choice", "local_at", "local_seconds", "lease_until"])
        mark_spent(person, slot)
        return slot


def store_answer(
    person: Person,
    ref: str,
    choice: int | None,
    *,
    ambiguous: bool = False,
    associative: bool = False,
    comment: str = "",
    address: str = "",
) -> Slot:
    """Store a judge's answer; the last missing vote triggers the verdict.

    An answer after the end of the lease counts, unless another judge has taken the slot.

    `ref` is the reference of the slot, and `choice` the 0-based index of an option; None (neither)
    requires `ambiguous`. A digest of the client's `address` is stored for up to two hours.
    """
    with writing():
        judge = lock_judge(person)
        slot = _lock_slot(person, ref)
        if choice is None and not ambiguous:
            raise InputError(_("Choose the option that fits, or mark the problem as ambiguous."))
        if choice is not None:
            _check_choice(slot, choice)
        if len(comment := comment.strip()) > MAX_COMMENT_LENGTH:
            raise InputError(_("Shorten the comment to %d characters.") % MAX_COMMENT_LENGTH)
        if needs_local_answer(slot):
            raise InputError(_("Answer from the local context first."))
        now = timezone.now()
        slot.choice, slot.ambiguous, slot.associative = choice, ambiguous, associative
        slot.comment, slot.answered_at, slot.open = comment, now, False
        slot.seconds = _measure_seconds(slot.local_at or slot.taken_at, now)
        slot.job, slot.origin = judge.job, trust.digest_origin(address, now)
        slot.provisional = judge.held is not None or (judge.job is not None and judge.provisional)
        if slot.gold:
            slot.right = choice == slot.problem.answer
        slot.save(update_fields=_ANSWER_FIELDS)
        trust.apply_limits(judge, slot, address)
        if slot.gold:
            trust.finish_training(judge)
        else:
            settle_votes(slot.problem)
        return slot


_ANSWER_FIELDS = (
    *("choice", "ambiguous", "associative", "comment", "answered_at", "open"),
    *("seconds", "right", "job", "provisional", "origin"),
)


def skip_problem(person: Person, ref: str, reason: str, comment: str = "") -> None:
    """Return a problem to the queue for other judges; this judge never gets it again."""
    with writing():
        lock_judge(person)
        slot = _lock_slot(person, ref)
        if reason not in Skip.Reason.values:
            raise InputError(_("Choose a reason for skipping."))
        if len(comment := comment.strip()) > MAX_COMMENT_LENGTH:
            raise InputError(_("Shorten the comment to %d characters.") % MAX_COMMENT_LENGTH)
        Skip.objects.create(person=person, problem=slot.problem, reason=reason, comment=comment)
        mark_spent(person, slot)
        return_slot(slot)


def undo_answer(person: Person, ref: str) -> Slot:
    with writing():
        judge = lock_judge(person)
        is_last = ref == count_answers_and_find_undoable(person)[1]
        if not is_last or (judge.job is not None and not judge.quota):
            raise ProblemLostError(_("This answer can no longer be undone."))
        rows = Slot.objects.filter(holder=person, ref=ref)
        problem = lock_problem(rows.values_list("problem_id", flat=True)[0])
        slot = rows.get()  # only now, because a moderator may have excluded the vote
        slot.problem = problem
        if slot.excluded:
            raise ProblemLostError(_("A moderator has excluded this answer; it can’t be undone."))
        if problem.state != State.JUDGING:
            raise ProblemLostError(
                _("The problem has been decided, so the answer can no longer be undone.")
            )
        slot.open, slot.answered_at, slot.seconds = True, None, None
        slot.job, slot.provisional, slot.origin = None, False, ""
        slot.lease_until = timezone.now() + get_lease_length()
        changed = ("open", "answered_at", "seconds", "job", "provisional", "origin", "lease_until")
        slot.save(update_fields=changed)
        return slot


def count_answers_and_find_undoable(person: Person) -> tuple[int, str | None]:
    """Return the number of answers, and the `ref` of the slot whose answer can be undone."""
    for last in Slot.objects.raw(_LAST_ANSWER, [person.pk]):
        is_late = last.answered_at <= timezone.now() - UNDO_PERIOD
        is_final = last.gold or last.excluded or last.state != State.JUDGING
        return last.judged, None if is_late or is_final else last.ref
    return 0, None


_LAST_ANSWER = """
    SELECT slot.*, problem.state, (SELECT COUNT(*) FROM judge_slot own
        WHERE own.holder_id = slot.holder_id AND own.answered_at IS NOT NULL) AS judged
    FROM judge_slot slot JOIN problems_problem problem ON problem.id = slot.problem_id
    WHERE slot.holder_id = %s AND slot.answered_at IS NOT NULL AND NOT slot.open
    ORDER BY slot.answered_at DESC LIMIT 1
"""


def _lock_slot(person: Person, ref: str) -> Slot:
    """Return a person's open slot, after locking its problem and then the slot."""
    rows = Slot.objects.filter(holder=person, ref=ref)
    rows = rows.select_related("problem")
    slot = rows.select_for_update(of=("problem", "self"), no_key=True).first()
    if slot is None:
        fault = _(
            "This problem is no longer reserved for you: after %d minutes, another judge took it."
        )
        raise ProblemLostError(fault % settings.RULES.lease_minutes)
    if not slot.open and slot.answered_at:
        raise ProblemLostError(_("You have already answered this problem."))
    if not slot.open:
        raise ProblemLostError(
            _("This problem is no longer being judged; a moderator withdrew it.")
        )
    return slot


def _check_choice(slot: Slot, choice: int | None) -> None:
    if choice not in range(len(slot.problem.options)):
        raise InputError(_("Choose one of the options."))


def _measure_seconds(start: datetime | None, end: datetime) -> float | None:
    """Return the duration of an answer; None if it exceeds the lease."""
    if start is None or end - start > get_lease_length():
        return None
    return round(max(0.0, (end - start).total_seconds()), 1)


PAGE_SIZE = 20
"""Number of answers on a page of a judge's history."""


def list_shown_options(slot: Slot) -> list[tuple[str, bool]]:
    """Return an answered problem's options in the judge's order, each with whether it was chosen.

    The list is empty for withdrawn and revised problems, whose text is no longer shown.
    """
    options = slot.problem.options
    if slot.problem.state in REMOVED_STATES or any(at >= len(options) for at in slot.shown):
        return []
    return [(options[at], at == slot.choice) for at in slot.shown]


def iter_judging_news(person: Person, after: datetime) -> Iterator[Item]:
    if not may_judge(person):
        return
    settled = Contest.objects.filter(slot__holder=person, settled_at__gt=after)
    for contest in settled.select_related("slot__problem").order_by("-settled_at")[:MAX_ITEMS]:
        text = _("A moderator checked your objection and kept the known answer")
        if contest.upheld:
            text = _("A moderator agreed with your objection")
        to = reverse("judge:checked", args=[contest.slot.ref]) if contest.slot.ref else ""
        problem = contest.slot.problem
        sentence = "" if problem.state in REMOVED_STATES else problem.sentence
        yield Item(contest.settled_at, text, to or reverse("judge:turn"), sentence, contest.answer)
    new = Event.objects.filter(after=State.JUDGING, at__gt=after, problem__gold=False)
    newest = new.exclude(problem__twin__contributor=person).order_by("-at").first()
    # For a judge with a reserved problem, this item would reveal whether it is a gold question.
    if newest is not None and get_current_slot(person) is None and _has_work(person):
        yield Item(newest.at, _("There are new problems to judge"), reverse("judge:turn"))


def _has_work(person: Person) -> bool:
    judge = Judge.objects.filter(person=person).first()
    return bool(make_idle_judge_context(person, judge)["left"])


def iter_pending_work(person: Person) -> Iterator[Work]:
    if not may_judge(person):
        return
    if trust.get_judge_on_hold(person) is not None:
        yield Work(_("Your votes are on hold"), reverse("judge:history"))
    to = reverse("judge:turn")
    if get_current_slot(person) is not None:
        yield Work(_("A problem is reserved for you"), to)
    elif _has_work(person):
        field = "problem" if settings.RULES.both_halves else "twin"
        rows = get_fresh_slots(person, 0).order_by().values(field).distinct()
        n = rows[:MAX_COUNTED].count() or 1
        text = ngettext(
            "%d problem is left for you to judge", "%d problems are left for you to judge", n
        )
        yield Work(text % n, to)
