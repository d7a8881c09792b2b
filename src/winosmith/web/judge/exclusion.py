"""Votes out of the count and into it: by a moderator, or by the market of who was paid."""

from __future__ import annotations

import math
import time
from datetime import datetime
from typing import Literal

from django.conf import settings
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Judge, Slot, Slots
from winosmith.web.judge.trust import ADDRESS, MODERATOR, hold, release, waiting_votes
from winosmith.web.judge.votes import add_slots, count_votes, decide, settle_votes
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import locked, move


def resume(person: Person, by: Person) -> None:
    """Let a judge who is held continue; pace and gold questions are measured again from now.

    What they vote from now on counts; `change_votes` lets those count that wait. Who was held for
    their address is never held for it again.

    Raises:
        InputError: `by` may not, or the person is not held.
    """
    _check_moderator(person, by)
    with writing():
        judge = Judge.objects.select_for_update().filter(person=person).first()
        if judge is None or judge.held is None:
            raise InputError(_("This judge’s votes are not on hold; open the page again."))
        judge.since, judge.qualified = timezone.now(), judge.qualified or timezone.now()
        judge.cleared = judge.cleared or judge.cause == ADDRESS
        judge.save(update_fields=["since", "qualified", "cleared"])
        release(judge)


def pause(person: Person, by: Person) -> None:
    """Hold a judge: their votes wait, and they get no further problem.

    What they have before them is theirs to finish.

    Raises:
        InputError: `by` may not.
    """
    _check_moderator(person, by)
    with writing():
        Judge.objects.get_or_create(person=person)
        hold(Judge.objects.select_for_update().get(person=person), MODERATOR)


Change = Literal["exclude", "include", "confirm", "discard"]
"""What a moderator does with the votes of a judge.

- exclude: all leave the count.
- include: those that were excluded count again; from then on none of theirs is omitted for the
  address that it came from.
- confirm: those that wait for a moderator count; `resume` comes first. What a market has not
  confirmed waits on.
- discard: those that wait leave the count. What was decided by their other votes stays decided.
"""


def change_votes(
    person: Person,
    kind: Change,
    by: Person,
    reason: str,
    *,
    until: datetime | None = None,
    seconds: float = math.inf,
) -> int:
    """Take votes of a judge out of the count or into it; problems that lack votes are judged on.

    A problem that was decided by votes is decided again where enough are left, and goes back to
    the judges where not; one that waited for these votes alone is decided. What a moderator
    decided, withdrew or holds stays as it is.

    Each problem is a transaction of its own: called again, it resumes where it stopped.

    Args:
        person: the judge.
        kind: see `Change`.
        by: a moderator.
        reason: for the audit log.
        until: votes given later stay as they are; None for all.
        seconds: after so many it stops before the next problem.

    Returns:
        On how many problems a vote changed now.

    Raises:
        InputError: `by` may not, or there is no reason.
    """
    _check_moderator(person, by)
    if not (reason := reason.strip()):
        raise InputError(_("Give a reason; it is recorded in the audit log."))
    if kind == "include":
        with writing():
            Judge.objects.filter(person=person).update(cleared=True)
    out = kind in ("exclude", "discard")
    market = Judge.objects.filter(person=person, provisional=True).exists()
    rows = votes_to_change(person, kind, until)
    counts = "exclude" if out else "include"
    return _change(rows, by, reason, counts, seconds, excluded=out, provisional=out and market)


def _change(
    rows: Slots, by: Person | None, reason: str, kind: str, seconds: float = math.inf, **to: bool
) -> int:
    """Change votes, and let verdicts follow; each problem is a transaction of its own.

    Others write in between. Returns how many votes changed.
    """
    over, changed = time.monotonic() + seconds, 0
    for key in list(rows.order_by("problem_id").values_list("problem_id", flat=True)):
        if time.monotonic() > over:
            break
        with writing():
            problem = locked(key)
            if n := rows.filter(problem=problem).update(**to):
                count_again(problem, by, reason, kind)
                changed += n
    return changed


def drop_waiting(person: Person) -> None:
    """Take the votes out of the count that wait for a look at somebody who is being erased."""
    judge = Judge.objects.filter(person=person, held__isnull=False).first()
    if judge is not None:
        reason = "the judge was erased before a moderator looked"
        _change(waiting_votes(judge), None, reason, "exclude", excluded=True)


def votes_to_change(person: Person, kind: Change, until: datetime | None) -> Slots:
    """Return the votes of a judge that a change would change.

    What a market has not confirmed, no moderator brings into the count.

    Args:
        person: the judge.
        kind: see `Change`.
        until: votes given later stay as they are; None for all.
    """
    rows = Slot.objects.filter(holder=person, excluded=kind == "include").votes()
    if kind == "include":
        rows = rows.filter(provisional=False)
    elif kind != "exclude":
        rows = rows.filter(provisional=True)
    if kind == "confirm":
        rows = rows.exclude(holder__judging__provisional=True)
    return rows if until is None else rows.filter(answered_at__lte=until)


def count_again(problem: Problem, by: Person | None, reason: str, kind: str) -> None:
    """Write down that votes changed, and let the verdict follow; the caller holds its lock.

    Args:
        problem: whose votes changed.
        by: whose act it was; None for the site.
        reason: for the audit log.
        kind: "exclude" or "include".
    """
    problem.note(f"{kind}-vote", by=by, reason=reason)
    missing = settings.RULES.judges - count_votes(problem)
    if problem.state == State.JUDGING:
        missing -= Slot.objects.filter(problem=problem, gold=False, open=True).count()
        add_slots(problem, max(0, missing))
        if kind == "include":
            _close_spare(problem)
        settle_votes(problem)
    elif problem.state in (State.VALID, State.REJECTED) and _by_votes(problem):
        if missing > 0:
            move(problem, State("judging"), by=by, kind="recount", reason=reason)
            add_slots(problem, missing)
        else:
            decide(problem, by=by, kind="recount")


def _close_spare(problem: Problem) -> None:
    """Close the slot that was opened for a vote which counts again, unless somebody holds it.

    With it the number of votes would be even, and they could be tied.
    """
    waiting = Slot.objects.filter(problem=problem, gold=False, open=True)
    total = count_votes(problem) + waiting.count()
    if total % 2 == 0:
        spare = waiting.filter(holder=None).order_by("-n").values("pk")[:1]
        Slot.objects.filter(pk__in=list(spare.values_list("pk", flat=True))).update(open=False)


def _by_votes(problem: Problem) -> bool:
    """Return whether the votes, and no moderator, brought a problem to where it is."""
    moved = problem.events.exclude(before=F("after")).order_by("-pk").first()
    return moved is not None and moved.kind in ("verdict", "recount")


def _check_moderator(person: Person, by: Person) -> None:
    if not by.moderates or by.pk == person.pk:
        raise InputError(_("Another moderator must do this."))


def confirm(job: int, reason: str, *, refused: bool = False) -> int:
    """Let the answers of a job be votes; problems that waited for them alone are decided.

    What a moderator took out of the count stays out, and what waits for a moderator waits on.

    Args:
        job: `Slot.job`.
        reason: for the audit log.
        refused: they were refused before, and that was wrong.

    Returns:
        How many votes count from now on that did not.
    """
    with writing():
        Judge.objects.filter(job=job).update(provisional=False)
        if Judge.objects.filter(job=job, held__isnull=False).exists():
            return 0
        Slot.objects.filter(job=job, gold=True).update(provisional=False)
        rows = Slot.objects.filter(job=job, provisional=True).votes()
        if not refused:
            rows.filter(excluded=True).update(provisional=False)
            rows = rows.filter(excluded=False)
    return _change(rows, None, reason, "include", provisional=False, excluded=False)


def refuse(job: int, reason: str) -> int:
    """Take the answers of a job out of the count; others judge the problems that lack votes then.

    Returns:
        How many answers counted, or were to be confirmed, and are out now.
    """
    with writing():
        Judge.objects.filter(job=job).update(provisional=True)
        Slot.objects.filter(job=job, gold=True).update(provisional=True)
    rows = Slot.objects.filter(job=job, excluded=False).votes()
    return _change(rows, None, reason, "exclude", provisional=True, excluded=True)
