"""A judge's turn: the next problem, its lease and answer; the judge's history and news.

A gold question looks like any other problem: no reference, order, time or word reveals it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from winosmith.web.judge.models import Contest, Judge, Skip, Slot, note_seen, note_whole, unseen
from winosmith.web.judge.votes import give_back, settle_votes
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.people.news import MOST, Item, Work
from winosmith.web.problems.models import Event, Problem, State, new_ref
from winosmith.web.problems.states import GONE, locked

test_checks: list[Callable[[Person], bool]] = []
"""Functions that return whether a person is in the middle of a test; `take` adds one."""

MOST_COUNTED = 1000
"""Slots that are counted; more than these are shown as "1000"."""

LONGEST = 2000
"""Characters of a comment."""

UNDO = timedelta(minutes=1)
"""How long one's last answer can be taken back."""


class ProblemLostError(InputError):
    """The judge can no longer answer the problem."""


def next_problem(person: Person, judge: Judge | None = None) -> Slot | None:
    """Give a person the next problem; the one that they hold already comes first.

    Args:
        person: the judge.
        judge: their row, if the caller's transaction has it from `judge_of`.

    Returns:
        The slot, leased for `SiteRules.lease_minutes`; None if nothing is left for this person,
        their paid work is complete, they wait for a moderator, or they are in the middle of a human
        test.

    Raises:
        InputError: the person may not judge.
    """
    with writing():
        judge = judge or judge_of(person)
        if trust.is_stopped(judge) or in_a_test(person):
            return None
        if _held_by(person).exists() and (held := current_slot(person)) is not None:
            Slot.objects.filter(pk=held.pk).update(lease_until=timezone.now() + lease_length())
            return held
        if job_is_done(judge):
            return None
        slot = next_slot(person, judge.cursor, lock=True)
        if slot is None:  # what came all the same would be gold
            return None
        trust.take_back_gold(person)
        slot = trust.draw_gold(judge) or slot
        if not slot.gold and slot.lease_until is None:
            judge.cursor = slot.place
        judge.save(update_fields=["cursor", "next_gold"])
        _take(slot, person)
        return slot


def job_is_done(judge: Judge) -> bool:
    """Return whether a judge who works for pay has given all the answers that the work asks for."""
    if judge.job is None:
        return False
    given = Slot.objects.filter(job=judge.job, holder=judge.person_id).exclude(answered_at=None)
    return judge.quota == 0 or given.count() >= judge.quota


def _take(slot: Slot, person: Person) -> None:
    now = timezone.now()
    slot.holder, slot.taken_at, slot.lease_until = person, now, now + lease_length()
    slot.local_choice = slot.local_at = slot.local_seconds = None
    slot.ref = new_ref()
    note_seen(person, slot, spent=not (needs_local(slot) and _is_cut(slot.problem)))
    slot.shown = list(range(len(slot.problem.options)))
    secrets.SystemRandom().shuffle(slot.shown)
    slot.save()  # a gold question's is made for who gets it


def judge_of(person: Person) -> Judge:
    """Return a person's row as a judge, locked until the transaction ends.

    All actions of a judge take this lock first, so that two of their windows take turns.

    Raises:
        InputError: the person may not judge.
    """
    if not may_judge(person):
        raise InputError(_("this account may not judge; a moderator can change that"))
    judge, _new = Judge.objects.select_for_update().get_or_create(person=person)
    judge.person = person
    return judge


def in_a_test(person: Person) -> bool:
    """Return whether a person has a sheet of a human test; meanwhile they get no new problem."""
    return any(area(person) for area in test_checks)


def current_slot(person: Person) -> Slot | None:
    """Return the slot that a person holds without an answer; None if there is none.

    It stays theirs after its lease until another judge takes it.
    """
    return _held_by(person).select_related("problem").order_by("taken_at").first()


def _held_by(person: Person) -> QuerySet[Slot]:
    return Slot.objects.filter(holder=person, answered_at=None, open=True)


def lease_length() -> timedelta:
    """Return how long a problem is reserved for a judge."""
    return timedelta(minutes=settings.RULES.lease_minutes)


def next_slot(person: Person, cursor: int, *, lock: bool = False) -> Slot | None:
    """Return the slot that a person gets next, with its problem; None if nothing is left.

    All judges walk the queue in the same order, so that a problem is soon decided once judging
    starts. A judge at its end restarts once, for slots that others gave back.

    Args:
        person: the judge.
        cursor: the place that they have reached.
        lock: keep the slot from others until the transaction ends. PostgreSQL skips slots that
            others are taking at this moment; SQLite has one writer at a time.
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
    """Return the slots with an expired lease that the person may take, the earliest first."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=False, lease_until__lte=now)
    return rows.filter(unseen(person), gold=False).order_by("lease_until")


def fresh(person: Person, after: int) -> QuerySet[Slot]:
    """Return the slots after a place that nobody has taken and the person may take."""
    rows = Slot.objects.filter(open=True, lease_until__isnull=True, place__gt=after)
    return rows.filter(unseen(person)).order_by("place")


def slot_context(slot: Slot, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template context of a slot.

    Args:
        slot: one with a lease.
        typed: the judge's last input, or the answer that they undid.
    """
    problem, first = slot.problem, needs_local(slot)
    sentence = local_context_of(problem) if first else problem.sentence
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
    """Return whether the holder of a slot still sees only the local context."""
    return settings.RULES.local_first and slot.local_at is None


def local_context_of(problem: Problem) -> str:
    """Return the local context of a problem, which judges see before the whole sentence."""
    return text.local_context(problem.sentence, settings.RULES.local_before)


def _is_cut(problem: Problem) -> bool:
    """Return whether a problem's local context is shorter than its sentence."""
    return len(text.words(local_context_of(problem))) < len(text.words(problem.sentence))


def judging_status(person: Person, judge: Judge | None) -> dict[str, Any]:
    """Return what a judge without a problem can do next.

    `paused`: a moderator must check their votes first. `testing`: they are in the middle of a human
    test. `left`: there is a problem for them now; otherwise `none_left` is the reason.

    Args:
        person: the judge.
        judge: their row; None before their first problem.
    """
    paused, testing = trust.is_stopped(judge), in_a_test(person)
    free = not (paused or testing)
    left = free and next_slot(person, judge.cursor if judge else 0) is not None
    why = find_no_work_reason(person) if free and not left else None
    return {"paused": paused, "testing": testing, "left": left, "none_left": why}


@dataclass(frozen=True, slots=True)
class NoWorkReason:
    """Why a judge gets none of the problems that still need votes.

    Attributes:
        own: open places on problems of the judge's own twins.
        seen: open places on problems that they have read, or whose other half they have read.
        held: places that they could take, but that others hold.
        until: when the first of these becomes free; None if none is held.
    """

    own: int
    seen: int
    held: int
    until: datetime | None


def find_no_work_reason(person: Person) -> NoWorkReason:
    """Return why a person gets no problem now; each number is at most MOST_COUNTED."""
    rows = Slot.objects.filter(open=True, gold=False).exclude(holder=person)
    held = rows.filter(unseen(person), lease_until__gt=timezone.now())
    own = rows.filter(contributor=person)
    seen = rows.exclude(contributor=person).exclude(unseen(person))
    return NoWorkReason(
        own[:MOST_COUNTED].count(),
        seen[:MOST_COUNTED].count(),
        held[:MOST_COUNTED].count(),
        held.aggregate(until=Min("lease_until"))["until"],
    )


def answer_local(person: Person, ref: str, choice: int) -> Slot:
    """Store a judge's answer from the local context; the first answer stays.

    Args:
        person: the judge.
        ref: of their slot.
        choice: the 0-based index of an option.

    Raises:
        ProblemLostError: they can no longer answer the problem.
        InputError: there is no such option.
    """
    with writing():
        judge_of(person)
        slot = _lock_slot(person, ref)
        _check_choice(slot, choice)
        if not needs_local(slot):
            return slot
        now = timezone.now()
        slot.local_choice, slot.local_at = choice, now
        slot.local_seconds = _seconds(slot.taken_at, now)
        slot.lease_until = now + lease_length()
        slot.save(update_fields=["local_choice", "local_at", "local_seconds", "lease_until"])
        note_whole(person, slot)
        return slot


def answer(
    person: Person,
    ref: str,
    choice: int | None,
    *,
    ambiguous: bool = False,
    associative: bool = False,
    comment: str = "",
    address: str = "",
) -> Slot:
    """Store a judge's answer; the last answer that a problem needs brings its verdict.

    An answer after the lease counts if no other judge has taken the slot.

    Args:
        person: the judge.
        ref: of their slot.
        choice: the 0-based index of the option that fills the blank; None for neither, which
            requires `ambiguous`.
        ambiguous: both options are plausible.
        associative: nearby words give the answer away.
        comment: for the contributor and the moderators; at most LONGEST characters.
        address: the client's, by `gates.address`; a digest of it is kept for up to two hours.

    Raises:
        ProblemLostError: they can no longer answer the problem, or have answered it.
        InputError: no choice, no such option, a comment that is too long, or the local context
            comes first.
    """
    with writing():
        judge = judge_of(person)
        slot = _lock_slot(person, ref)
        if choice is None and not ambiguous:
            raise InputError(_("Choose the option that fits, or mark the problem as ambiguous."))
        if choice is not None:
            _check_choice(slot, choice)
        if len(comment := comment.strip()) > LONGEST:
            raise InputError(_("Shorten the comment to %d characters.") % LONGEST)
        if needs_local(slot):
            raise InputError(_("Answer from the local context first."))
        now = timezone.now()
        slot.choice, slot.ambiguous, slot.associative = choice, ambiguous, associative
        slot.comment, slot.answered_at, slot.open = comment, now, False
        slot.seconds = _seconds(slot.local_at or slot.taken_at, now)
        slot.job, slot.origin = judge.job, trust.digest_origin(address, now)
        slot.provisional = judge.held is not None or (judge.job is not None and judge.provisional)
        if slot.gold:
            slot.right = choice == slot.problem.answer
        slot.save(update_fields=_OF_ANSWER)
        trust.apply_bounds(judge, slot, address)
        if slot.gold:
            trust.finish_training(judge)
        else:
            settle_votes(slot.problem)
        return slot


_OF_ANSWER = (
    *("choice", "ambiguous", "associative", "comment", "answered_at", "open"),
    *("seconds", "right", "job", "provisional", "origin"),
)
"""The columns that an answer fills."""


def skip(person: Person, ref: str, reason: str, comment: str = "") -> None:
    """Skip a problem: others get it first, and this person never again.

    Raises:
        ProblemLostError: they can no longer answer the problem.
        InputError: the reason is not one of `Skip.Reason`, or the comment is too long.
    """
    with writing():
        judge_of(person)
        slot = _lock_slot(person, ref)
        if reason not in Skip.Reason.values:
            raise InputError(_("Choose why you skip it."))
        if len(comment := comment.strip()) > LONGEST:
            raise InputError(_("Shorten the comment to %d characters.") % LONGEST)
        Skip.objects.create(person=person, problem=slot.problem, reason=reason, comment=comment)
        note_whole(person, slot)
        give_back(slot)


def undo(person: Person, ref: str) -> Slot:
    """Take back one's last answer, within a minute and before the problem is decided.

    Raises:
        ProblemLostError: it is too late for that.
    """
    with writing():
        judge = judge_of(person)
        slot = undoable(person)
        if slot is None or slot.ref != ref or (judge.job is not None and not judge.quota):
            raise ProblemLostError(_("That answer can no longer be undone."))
        slot.problem = locked(slot.problem_id)
        if slot.problem.state != State.JUDGING:
            raise ProblemLostError(_("The problem has been decided; the answer stays."))
        slot.open, slot.answered_at, slot.seconds = True, None, None
        slot.job, slot.provisional, slot.origin = None, False, ""
        slot.lease_until = timezone.now() + lease_length()
        changed = ("open", "answered_at", "seconds", "job", "provisional", "origin", "lease_until")
        slot.save(update_fields=changed)
        return slot


def undoable(person: Person) -> Slot | None:
    """Return the slot with a person's last answer where it can still be taken back."""
    ref = count_judged(person)[1]
    return Slot.objects.get(holder=person, ref=ref) if ref else None


def count_judged(person: Person) -> tuple[int, str | None]:
    """Return how many problems a person has judged, and the reference of the `undoable` slot."""
    given = Slot.objects.filter(holder=person, answered_at__isnull=False)
    columns = "answered_at", "gold", "excluded", "problem__state", "ref"
    newest = given.filter(open=False).order_by("-answered_at").values_list(*columns)[:1]
    for at, gold, excluded, state, ref in newest:
        late = at <= timezone.now() - UNDO
        gone = gold or excluded or state != State.JUDGING
        return given.count(), None if late or gone else ref
    return 0, None


def _lock_slot(person: Person, ref: str) -> Slot:
    """Return the open slot of a person; first its problem is locked, then the slot."""
    rows = Slot.objects.filter(holder=person, ref=ref)
    rows = rows.select_related("problem")
    slot = rows.select_for_update(of=("problem", "self"), no_key=True).first()
    if slot is None:
        raise ProblemLostError(
            _(
                "This problem is no longer reserved for you: after %d minutes, "
                "another judge took it."
            )
            % settings.RULES.lease_minutes
        )
    if not slot.open:
        raise ProblemLostError(
            _("You have already answered this problem.")
            if slot.answered_at
            else _("This problem is no longer judged; a moderator withdrew it.")
        )
    return slot


def _check_choice(slot: Slot, choice: int) -> None:
    if not 0 <= choice < len(slot.problem.options):
        raise InputError(_("Choose one of the options."))


def _seconds(start: datetime | None, end: datetime) -> float | None:
    """Return how long an answer took; None if it took longer than the lease."""
    if start is None or end - start > lease_length():
        return None
    return round(max(0.0, (end - start).total_seconds()), 1)


SIZE = 20
"""Answers on a page."""


def answers_of(person: Person) -> QuerySet[Slot]:
    """Return a person's answers, the last first, with their problems."""
    rows = Slot.objects.filter(holder=person, answered_at__isnull=False, open=False)
    return rows.select_related("problem").order_by("-answered_at", "-pk")


def answer_summary(slot: Slot) -> dict[str, Any]:
    """Return an answer for the judge's history, without the text of withdrawn problems."""
    problem = slot.problem
    shown = problem.state not in GONE and all(at < len(problem.options) for at in slot.shown)
    return {
        "sentence": problem.sentence if shown else "",
        "options": [(problem.options[at], at == slot.choice) for at in slot.shown if shown],
        "at": slot.answered_at,
        "neither": slot.choice is None,
        "ambiguous": slot.ambiguous,
        "associative": slot.associative,
        "comment": slot.comment,
    }


def judging_news(person: Person, after: datetime) -> Iterator[Item]:
    """Yield decisions on a judge's contests, and whether there are new problems for them."""
    if not may_judge(person):
        return
    settled = Contest.objects.filter(slot__holder=person, settled_at__gt=after)
    for contest in settled.select_related("slot__problem").order_by("-settled_at")[:MOST]:
        text = (
            _("A moderator agreed with your contest")
            if contest.upheld
            else _("A moderator checked your contest: the known answer remains")
        )
        to = reverse("judge:checked", args=[contest.slot.ref]) if contest.slot.ref else ""
        problem = contest.slot.problem
        sentence = "" if problem.state in GONE else problem.sentence
        yield Item(contest.settled_at, text, to or reverse("judge:turn"), sentence, contest.answer)
    new = Event.objects.filter(after=State.JUDGING, at__gt=after, problem__gold=False)
    newest = new.exclude(problem__twin__contributor=person).order_by("-at").first()
    # While they hold a problem, whether it is the last would tell that it is no gold question.
    if newest is not None and current_slot(person) is None and _is_left(person):
        yield Item(newest.at, _("There are new problems to judge"), reverse("judge:turn"))


def _is_left(person: Person) -> bool:
    judge = Judge.objects.filter(person=person).first()
    return bool(judging_status(person, judge)["left"])


def judging_work(person: Person) -> Iterator[Work]:
    """Yield how many problems a judge can judge now."""
    if not may_judge(person):
        return
    to = reverse("judge:turn")
    if current_slot(person) is not None:
        yield Work(_("A problem is reserved for you and not answered"), to)
    elif _is_left(person):
        rows = fresh(person, 0).order_by().values("problem").distinct()
        n = rows[:MOST_COUNTED].count() or 1
        text = ngettext(
            "%d problem is left for you to judge", "%d problems are left for you to judge", n
        )
        yield Work(text % n, to)
