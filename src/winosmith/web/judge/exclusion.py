"""Exclude and include votes, as decided by a moderator or a crowd market."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.jobs import Progress
from winosmith.web.judge import trust, votes
from winosmith.web.judge.models import MARKET, Judge, Slot, Slots, Verdict
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import lock_problem, move


def resume_judge(person: Person, moderator: Person) -> None:
    """End a judge's hold, and restart the measurement of pace and gold questions.

    New votes count, but pending votes stay pending until `change_votes` is called. If the hold was
    caused by a shared address, the judge is never put on hold for this reason again.
    """
    _check_moderator(person, moderator)
    with writing():
        judge = Judge.objects.select_for_update().filter(person=person).first()
        if judge is None or judge.held is None:
            raise InputError(_("This judge’s votes are not on hold; open the page again."))
        judge.since, judge.qualified = timezone.now(), judge.qualified or timezone.now()
        judge.cleared = judge.cleared or judge.cause == trust.ADDRESS
        judge.save(update_fields=["since", "qualified", "cleared"])
        trust.end_hold(judge)


def pause_judge(person: Person, moderator: Person) -> None:
    """Put a judge on hold: their votes are pending, and they get no more problems.

    They can still answer the problem that is reserved for them.
    """
    _check_moderator(person, moderator)
    with writing():
        judge, _new = Judge.objects.select_for_update().get_or_create(person=person)
        trust.put_on_hold(judge, trust.MODERATOR)


CHANGES = ("exclude", "include", "resume", "discard")
"""Changes that a moderator can make to a judge's votes.

- exclude: exclude all votes.
- include: count excluded votes again; those that a market has not confirmed count when it approves
  them. Later votes are no longer excluded because of their address.
- resume: count votes that wait for a moderator, but not for a market. If the judge was on hold for
  a shared address, votes excluded because of it count again, too. Call `resume_judge` first.
- discard: exclude the pending votes. Problems decided by other votes stay decided.
"""


def change_votes(
    person: Person,
    kind: str,
    moderator: Person,
    reason: str,
    *,
    until: datetime | None = None,
    progress: Progress = lambda _: None,
) -> int:
    """Change a judge's votes and update the verdicts; return the number of changed votes.

    A problem that was decided by votes is decided again if enough votes remain; otherwise, it
    returns to the judges. A problem that waited only for these votes is decided. Decisions by
    moderators remain. A vote whose place another judge has taken stays excluded.

    Each problem has its own transaction, in which `progress` is called with the number of votes
    changed so far. If a call was interrupted, the same call completes it. See
    `find_votes_to_change` for `kind` and `until`.
    """
    _check_moderator(person, moderator)
    if not (reason := reason.strip()):
        raise InputError(_("Give a reason; it is recorded in the audit log."))
    out = kind in ("exclude", "discard")
    excluded = Slot.objects.filter(holder=person, excluded=True)
    with writing():
        if out:  # from now on, a moderator excluded these votes
            excluded.update(excluded_by="")
        elif kind == "include":
            Judge.objects.filter(person=person).update(cleared=True)
            excluded.filter(provisional=True).update(excluded_by=MARKET)
    market = Judge.objects.filter(person=person, provisional=True).exists()
    rows = find_votes_to_change(person, kind, until)
    counts = "exclude" if out else "include"
    return _update_votes(
        rows, moderator, reason, counts, progress,
        excluded=out, provisional=out and market, excluded_by="",
    )  # fmt: skip


def _update_votes(
    rows: Slots,
    actor: Person | None,
    reason: str,
    kind: str,
    progress: Progress = lambda _: None,
    **values: bool | str,
) -> int:
    """Set fields of votes and update the verdicts, in one transaction per problem."""
    changed = 0
    for key in list(rows.order_by("problem_id").values_list("problem_id", flat=True)):
        with writing():
            problem = lock_problem(key)
            again = kind == "include" and rows.filter(problem=problem, excluded=True).exists()
            if again and not votes.free_place(problem):
                continue
            if n := rows.filter(problem=problem).update(**values):
                recount_votes(problem, actor, reason, kind)
                changed += n
                progress(changed)
    return changed


def exclude_pending_votes(person: Person) -> None:
    judge = trust.get_judge_on_hold(person)
    if judge is not None:
        reason = "the judge was erased before a moderator checked the votes"
        _update_votes(trust.get_pending_votes(judge), None, reason, "exclude", excluded=True)


def find_votes_to_change(person: Person, kind: str, until: datetime | None) -> Slots:
    """Return a judge's votes to which a change applies, except votes given after `until`.

    `kind` is one of `CHANGES`. A moderator can't include votes that a market has not confirmed.
    """
    again, pending = Q(excluded=True, provisional=False), Q(excluded=False, provisional=True)
    condition = {"exclude": Q(excluded=False), "include": again, "discard": pending}.get(kind)
    if condition is None:
        confirmed = pending & Q(holder__judging__provisional=False)
        condition = confirmed | again & Q(excluded_by=trust.ADDRESS, holder__judging__cleared=True)
    rows = Slot.objects.filter(condition, holder=person).votes()
    return rows if until is None else rows.filter(answered_at__lte=until)


def recount_votes(problem: Problem, actor: Person | None, reason: str, kind: str) -> None:
    """Log that votes changed, and update the verdict; the caller has locked the problem.

    `kind` is "exclude" or "include"; `actor` is None if the site changed the votes.
    """
    problem.log_event(f"{kind}-vote", actor=actor, reason=reason)
    if problem.state == State.JUDGING:
        votes.open_slots(problem)
    else:
        update_verdict(problem, actor, reason)


def update_verdict(problem: Problem, actor: Person | None, reason: str) -> None:
    """Decide a problem again if votes decided it; ask more judges if votes are missing."""
    if problem.state not in (State.VALID, State.REJECTED):
        return
    # Events that were undone, and restorations, decide nothing; a moderator's decision stays.
    moves = list(problem.events.exclude(before=F("after")).order_by("-pk"))
    undone = {event.undoes_id for event in moves}
    kinds = (event.kind for event in moves if event.pk not in undone)
    decision = next((kind for kind in kinds if kind not in ("undo", "withdraw", "restore")), "")
    if decision not in ("verdict", "recount"):
        return
    if votes.count_votes(problem) < settings.RULES.judges:
        move(problem, State("judging"), actor=actor, kind="recount", reason=reason)
        Verdict.objects.filter(problem=problem).delete()
        votes.settle_votes(problem)
    else:
        votes.decide_by_votes(problem, actor=actor, kind="recount")


def _check_moderator(person: Person, moderator: Person) -> None:
    if not moderator.can_moderate or moderator.pk == person.pk:
        raise InputError(_("Another moderator must do this."))


def include_paid_votes(job: int, reason: str) -> int:
    """Count the answers of paid work (`Slot.job`) as votes; return the number of changed votes.

    Votes that the market had rejected by mistake count again. Other excluded votes stay excluded,
    as do votes whose place another judge has taken. Votes on hold stay pending.
    """
    with writing():
        Judge.objects.filter(job=job).update(provisional=False)
        held = Judge.objects.filter(job=job, held__isnull=False).exists()
        if not held:
            Slot.objects.filter(job=job, gold=True).update(provisional=False)
    waiting = Slot.objects.filter(job=job, provisional=True).votes()
    rejected = Q(excluded=True, excluded_by=MARKET)
    rows = waiting.filter(rejected if held else rejected | Q(excluded=False))
    changed = _update_votes(
        rows, None, reason, "include", provisional=held, excluded=False, excluded_by=""
    )
    with writing():
        waiting.filter(excluded=True).update(provisional=False)
    return changed


def exclude_paid_votes(job: int, reason: str) -> int:
    """Exclude the votes of paid work, so that other judges vote instead; return their number."""
    with writing():
        Judge.objects.filter(job=job).update(provisional=True)
        Slot.objects.filter(Q(gold=True) | Q(excluded=True), job=job).update(provisional=True)
    rows = Slot.objects.filter(job=job, excluded=False).votes()
    return _update_votes(
        rows, None, reason, "exclude", provisional=True, excluded=True, excluded_by=MARKET
    )
