"""Quality control of judges: training, limits that put votes on hold, and gold questions.

A judge who violates one of the site's limits (on pace, gold questions or accounts at one address)
is *on hold*: their votes on undecided problems, and their later votes, are provisional
(`Slot.provisional`). A provisional vote keeps its slot, but decides nothing until a moderator
counts or discards it. A gold question has a gold answer and shows whether a judge reads carefully.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_network
from statistics import median
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, Count, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge, Slot, Slots, unseen_by
from winosmith.web.judge.votes import free_place, make_slot, return_slot, settle_votes
from winosmith.web.people.addresses import read_address
from winosmith.web.people.models import Person, make_digest
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import get_gold_questions, update_waits

HOUR = timedelta(hours=1)

PACE, GOLD, ADDRESS, TRAINING, MODERATOR = Judge.Cause.values

CAREFUL_ACCURACY = 0.95
"""Fraction of gold questions that a careful judge answers correctly."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A judge's speed, measured over their most recent answers.

    Attributes:
        seconds: The median seconds per problem, by server time; None if there are no answers.
        answer_count: The number of answers.
    """

    seconds: float | None = None
    answer_count: int = 0


def measure_pace(person: int, since: datetime | None = None) -> Pace:
    """Return the median time that a judge took for their most recent answers.

    An answer is timed from the moment when its problem was shown, or from the judge's previous
    answer if that was later. Therefore, the same seconds are never counted for two problems that
    are open at the same time. Answers to gold questions are included; answers before `since` are
    ignored. At most `SiteRules.hold_pace_over` answers are used.
    """
    limit = settings.RULES.hold_pace_over
    rows = Slot.objects.filter(holder=person, taken_at__isnull=False).answers(since)
    times = list(rows.order_by("-answered_at").values_list("taken_at", "answered_at")[: limit + 1])
    before = [answered for _, answered in times[1:]] + [taken for taken, _ in times[-1:]]
    seconds = [
        max(0.0, (answered - max(taken, earlier)).total_seconds())
        for (taken, answered), earlier in zip(times[:limit], before, strict=False)
    ]
    return Pace(median(seconds), len(seconds)) if seconds else Pace()


def count_gold_answers(people: Sequence[Person]) -> dict[int, tuple[int, int]]:
    """Map each judge's key to the numbers of correct and of all answers to gold questions.

    Retired questions are ignored. An incorrect, contested answer is included only if a moderator
    has rejected the contest, or if more than `MAX_CREDITED_CONTESTS` of the judge's contests are
    pending.
    """
    keys = [person.pk for person in people]
    rows = _filter_gold_answers(keys).values_list("holder").order_by()
    counted = rows.annotate(rightly=Count("pk", filter=Q(right=True)), n=Count("pk"))
    found = {key: (right, n) for key, right, n in counted}
    return {key: found.get(key, (0, 0)) for key in keys}


MAX_CREDITED_CONTESTS = 3
"""If a judge has at most this many pending contests, the contested answers are ignored. With more
contests, all contested answers count, so that nobody gains by contesting each one."""


def _filter_gold_answers(
    people: Collection[int], since: datetime | None = None, contests: int = MAX_CREDITED_CONTESTS
) -> Slots:
    rows = Slot.objects.filter(holder__in=people).gold_answers(since)
    pending = Contest.objects.filter(slot__holder__in=people, upheld=None)
    pending = pending.filter(slot__problem__as_gold__retired=False).values("slot__holder")
    many = pending.annotate(n=Count("pk")).filter(n__gt=contests).values("slot__holder")
    counts = Q(contest__upheld=False) | Q(contest__upheld=None, holder__in=many)
    return rows.filter(Q(right=True) | Q(contest=None) | counts)


def _find_gold_failure(judge: Judge, contests: int = MAX_CREDITED_CONTESTS) -> dict[str, int]:
    """Return a judge's counts if too few of their last gold answers are correct, otherwise {}."""
    rules = settings.RULES
    rows = _filter_gold_answers([judge.pk], judge.since, contests).order_by("-answered_at")
    last = list(rows.values_list("right", flat=True)[: rules.hold_gold_over])
    right, n = sum(map(bool, last)), len(last)
    failed = n >= rules.hold_gold_over and 100 * right < rules.hold_gold_percent * n
    return {"right": right, "over": n} if failed else {}


def compute_false_hold_rate(accuracy: float = CAREFUL_ACCURACY) -> float:
    """Return the probability that a careful judge's gold answers lead to a hold by chance.

    This is the binomial probability, for one check, that fewer than `SiteRules.hold_gold_percent`
    percent of `hold_gold_over` answers are correct if each is correct with probability `accuracy`.
    """
    n, percent = settings.RULES.hold_gold_over, settings.RULES.hold_gold_percent
    return sum(
        math.comb(n, right) * accuracy**right * (1 - accuracy) ** (n - right)
        for right in range(n + 1)
        if 100 * right < percent * n
    )


def get_training_progress(judge: Judge | None) -> dict[str, int] | None:
    """Return a judge's progress in the training; None if the judge needs no training.

    The result contains the numbers of questions answered in this attempt (`done`), of correct
    answers (`right`), of questions in an attempt (`of`), and of correct answers that the judge
    needs (`need`). Sites with too few gold questions have no training.
    """
    rules = settings.RULES
    is_qualified = judge is not None and judge.qualified is not None
    if not rules.training_questions or is_qualified or not has_enough_gold():
        return None
    found = {"done": 0, "right": 0}
    if judge is not None:
        rows = Slot.objects.filter(holder=judge.pk).gold_answers(judge.since)
        found = rows.aggregate(done=Count("pk"), right=Count("pk", filter=Q(right=True)))
    return found | {"of": rules.training_questions, "need": rules.training_right}


def has_enough_gold() -> bool:
    twins = get_askable_questions().values("twin").distinct()
    return twins.count() >= settings.RULES.training_questions


def get_askable_questions() -> QuerySet[Problem]:
    """Return the gold questions that judges may be asked: those whose other half is not public."""
    return get_gold_questions().filter(RawSQL(_HALF_HIDDEN, [], BooleanField()))  # noqa: S611


_HALF_HIDDEN = """
    NOT EXISTS (SELECT 1 FROM problems_problem half
                WHERE half.twin_id = problems_problem.twin_id AND half.public)
"""
_UNREAD = """
    NOT EXISTS (SELECT 1 FROM judge_seen seen
                WHERE seen.twin_id = problems_problem.twin_id AND seen.person_id = %s)
    AND NOT EXISTS (SELECT 1 FROM problems_twin twin
                    WHERE twin.id = problems_problem.twin_id AND twin.contributor_id = %s)
"""
"""Conditions for gold questions. They are raw SQL because each vote needs them, and building them
from `Exists` and `OuterRef` takes Django 3 ms more."""


def finish_training(judge: Judge) -> None:
    """Qualify a judge who has passed the training, or restart the training of a judge who failed.

    Call this after each answer to a gold question, with the judge's row locked.
    """
    progress = get_training_progress(judge)
    if progress is not None and progress["done"] >= progress["of"]:
        judge.since = timezone.now()
        if progress["right"] >= progress["need"]:
            judge.qualified = judge.since
        judge.save(update_fields=["since", "qualified"])


def digest_origin(address: str, time: datetime | None = None) -> str:
    """Return a digest of a judge's network address, or "" if the address is unknown.

    The digest depends on the site's key and the hour, so that the digest of an address changes
    every hour. For IPv6, the digest covers the /64 prefix, within which a machine can change its
    address. Digests are stored for up to two hours.
    """
    found = read_address(address)
    if found is None:
        return ""
    network = ip_network((found, 64), strict=False) if found.version == 6 else found
    hour = (time or timezone.now()).replace(minute=0, second=0, microsecond=0)
    return make_digest("judging", f"{hour.isoformat()} {network}")


def delete_origins(now: datetime | None = None) -> int:
    before = (now or timezone.now()) - 2 * HOUR
    with writing():
        return Slot.objects.filter(answered_at__lt=before).exclude(origin="").update(origin="")


MIN_JUDGES = 3
"""Minimum number of judges within an hour for which a common address is reported."""


def count_address_judges() -> int:
    """Return the number of judges in one clock hour if they all share one address, otherwise 0.

    The current and the previous hour are checked separately, because digests differ between hours.
    The result is 0 for fewer than `MIN_JUDGES` judges, or without `SiteRules.hold_accounts`.
    """
    if not settings.RULES.hold_accounts:
        return 0
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    found = 0
    for start in (hour - HOUR, hour):
        rows = Slot.objects.filter(answered_at__gte=start, answered_at__lt=start + HOUR)
        counts = rows.aggregate(
            judges=Count("holder", distinct=True), origins=Count("origin", distinct=True),
            unread=Count("pk", filter=Q(origin="")),
        )  # fmt: skip
        if counts["judges"] >= MIN_JUDGES and counts["origins"] == 1 and not counts["unread"]:
            found = max(found, counts["judges"])
    return found


def apply_limits(judge: Judge, slot: Slot, address: str = "") -> None:
    """Put a judge's votes on hold if a new answer takes the judge past one of the site's limits.

    If one address would get a majority of a problem's votes, the vote is excluded. The caller
    settles the problem, which passes it to another judge.

    A hold for pace is temporary while it is based on fewer than `SiteRules.hold_pace_over` answers:
    the hold ends if the next answers take long enough. Only a moderator ends other holds.

    The judge's row must be locked, and the answer in the slot must be saved.
    """
    rules = settings.RULES
    if rules.hold_accounts and address and not (slot.gold or judge.cleared):
        at = slot.answered_at or timezone.now()
        digests = {digest_origin(address, at), digest_origin(address, at - HOUR)} - {""}
        rows = Slot.objects.filter(problem=slot.problem_id, gold=False, origin__in=digests)
        rows = rows.answers(at - HOUR).exclude(holder__judging__cleared=True)
        accounts = set(rows.values_list("holder", flat=True))
        if len(accounts) >= rules.hold_accounts:
            _hold_accounts(judge, slot.problem, accounts)
        elif len(accounts) > max(1, rules.judges // 2):
            market = judge.job is not None and judge.provisional
            Slot.objects.filter(pk=slot.pk).update(
                excluded=True, provisional=market, excluded_by=ADDRESS
            )
            reason = "another account at the same address judged the problem within an hour"
            slot.problem.log_event("exclude-vote", reason=reason)
    if rules.hold_pace_seconds and (judge.held is None or _is_temporary(judge)):
        _apply_pace_limit(judge, slot)
    if slot.gold and judge.held is None:
        apply_gold_limit(judge)


def _is_temporary(judge: Judge) -> bool:
    return judge.cause == PACE and judge.measured.get("over", 0) < settings.RULES.hold_pace_over


def _apply_pace_limit(judge: Judge, slot: Slot) -> None:
    found = measure_pace(judge.pk, judge.since)
    if found.seconds is None or found.seconds >= settings.RULES.hold_pace_seconds:
        if judge.held is not None:
            _end_hold_and_count_votes(judge, answered=slot)
        return
    figures = {"seconds": round(found.seconds, 1), "over": found.answer_count}
    if judge.held is None:
        put_on_hold(judge, PACE, figures)
    else:
        judge.measured = figures
        judge.save(update_fields=["measured"])


def apply_gold_limit(judge: Judge) -> None:
    if failed := _find_gold_failure(judge):
        put_on_hold(judge, GOLD, failed)


def _hold_accounts(judge: Judge, problem: Problem, people: set[int]) -> None:
    """Put the accounts that share an address on hold, with a label that marks them as a group.

    Accounts that are answering at this moment are skipped, because their own answers are checked.
    """
    rows = Judge.objects.filter(pk__in=people - {judge.pk}).order_by("pk")
    others = list(rows.select_for_update(skip_locked=True))
    labels = [one.together for one in (judge, *others) if one.together]
    label = labels[0] if labels else secrets.token_hex(8)
    for one in (judge, *others):
        if one.held is None or _is_temporary(one):
            votes = Slot.objects.filter(problem=problem, holder=one.pk, excluded_by=ADDRESS)
            if not one.provisional and votes.exists() and free_place(problem):
                votes.update(excluded=False, excluded_by="")
            put_on_hold(one, ADDRESS, {"accounts": len(people)}, group=label)


def put_on_hold(
    judge: Judge, cause: str, measured: dict[str, Any] | None = None, *, group: str = ""
) -> None:
    """Put a judge's later votes and those on undecided problems on hold until a moderator decides.

    Decided problems stay decided (see `get_suspect_problems`). The judge's row must be locked or
    new. `cause` is one of `Judge.Cause`, `measured` contains the numbers that violate a limit, and
    `group` is the label of judges who are put on hold together.
    """
    judge.held, judge.cause = timezone.now(), cause
    judge.measured, judge.together = measured or {}, group
    judge.save(update_fields=["held", "cause", "measured", "together"])
    rows = Slot.objects.filter(holder=judge.pk, open=False, provisional=False, excluded=False)
    rows = rows.answers(None if cause == MODERATOR else judge.since)
    rows.filter(Q(gold=True) | Q(problem__state=State.JUDGING)).update(provisional=True)


def _end_hold_and_count_votes(judge: Judge, *, answered: Slot | None = None) -> None:
    """Count a judge's pending votes, decide the problems that waited for them, and end the hold.

    `answered` is the slot answered in this transaction, whose problem the caller settles. Problems
    that others are answering now are left for the next call, because a transaction that has locked
    one problem must not wait for another.
    """
    left = get_pending_votes(judge) if not judge.provisional else Slot.objects.none()
    rows = Problem.objects.filter(pk__in=left.values("problem")).select_related("twin__contributor")
    rows = rows.order_by("pk")
    for problem in rows.select_for_update(
        of=("self",), no_key=True, skip_locked=answered is not None
    ):
        left.filter(problem=problem).update(provisional=False)
        settled_there = answered is not None and answered.problem_id == problem.pk
        if problem.state == State.JUDGING and not settled_there:
            settle_votes(problem)
    if not left.exists():
        end_hold(judge)


def end_hold(judge: Judge) -> None:
    """End a judge's hold; the caller must count the pending votes."""
    judge.held, judge.cause, judge.measured, judge.together = None, "", {}, ""
    judge.save(update_fields=["held", "cause", "measured", "together"])
    if not judge.provisional:
        gold = Slot.objects.filter(holder=judge.pk, gold=True, provisional=True)
        gold.answers().update(provisional=False)


def get_pending_votes(judge: Judge) -> Slots:
    return Slot.objects.filter(holder=judge.pk).pending()


def get_judge_on_hold(person: Person) -> Judge | None:
    return Judge.objects.filter(person=person, held__isnull=False).first()


def is_stopped(judge: Judge | None) -> bool:
    """Return whether a judge gets no more problems until a moderator has checked their votes."""
    if judge is None or judge.held is None:
        return False
    return judge.cause == MODERATOR or get_pending_votes(judge).count() >= settings.RULES.held_most


def get_suspect_problems(judge: Judge) -> QuerySet[Problem]:
    """Return the problems that were decided with votes of a judge who is now on hold.

    Only a moderator can reopen these problems.
    """
    votes = Slot.objects.filter(holder=judge.pk).counted().answers(judge.since)
    decided = Problem.objects.filter(state__in=(State.VALID, State.REJECTED))
    return decided.filter(pk__in=votes.values("problem"))


_chance = secrets.SystemRandom()


def add_gold(problem: Problem, explanation: str) -> Gold:
    """Turn a problem into a gold question, which is excluded from the data."""
    if problem.answer is None:
        raise InputError(f"the problem {problem.ref} has no answer; a gold question needs one")
    if not explanation.strip():
        raise InputError(
            f"the answer to {problem.ref} needs an explanation, which judges will read"
        )
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        if rows.exclude(answered_at=None).exists():
            raise InputError(f"the problem {problem.ref} already has votes; choose another problem")
        others = type(problem).objects.filter(twin=problem.twin_id).exclude(pk=problem.pk)
        if others.filter(public=True).exists():
            raise InputError(
                f"the other half of {problem.ref} is public and reveals its answer; choose another "
                "problem"
            )
        rows.update(open=False)
        type(problem).objects.filter(pk=problem.pk).update(gold=True)
        problem.sync_fields(gold=True)
        return Gold.objects.update_or_create(
            problem=problem,
            defaults={"explanation": explanation.strip(), "retired": False},
        )[0]


def draw_gold(judge: Judge) -> Slot | None:
    """Return a gold question's slot with probability 1 / `SiteRules.gold_every`, otherwise None.

    Each draw is independent, so that judges can't predict the next gold question. The next question
    is drawn in advance and looked up for each problem, so that gold questions don't take longer to
    load than other problems. During the training, every problem is a gold question.
    """
    questions = get_unread_questions(judge.person)
    if get_training_progress(judge) is not None:
        problem = questions.filter(pk=_draw_question(questions)).first()
        if problem is not None:
            return make_slot(problem, judge.person_id, gold=True)
        # No question is left: the training ends, and a moderator checks the judge's votes.
        judge.qualified = timezone.now()
        judge.save(update_fields=["qualified"])
        if judge.held is None:
            put_on_hold(judge, TRAINING)
    every = settings.RULES.gold_every
    if not every:
        return None
    if judge.next_gold_id is None:
        judge.next_gold_id = _draw_question(questions)
    problem = questions.filter(pk=judge.next_gold_id).first()
    if _chance.randrange(every):
        return None
    judge.next_gold_id = None
    # The question may have been retired or read in the meantime.
    return None if problem is None else make_slot(problem, judge.person_id, gold=True)


def reclaim_gold_slots(person: Person) -> None:
    """Reclaim gold slots whose leases have expired, just as ordinary slots return to the queue.

    Judges in training keep their questions, because they know that all of them are gold questions.
    """
    rows = Slot.objects.filter(open=True, gold=True, lease_until__lte=timezone.now())
    if not rows.exists():  # the usual case; this check takes a tenth of the time
        return
    rows = rows.filter(unseen_by(person)).exclude(holder=person)
    for slot in rows.select_for_update(of=("self",), skip_locked=True):
        if get_training_progress(Judge.objects.filter(person=slot.holder_id).first()) is None:
            return_slot(slot)


def _draw_question(questions: QuerySet[Problem]) -> int | None:
    keys = list(questions.values_list("pk", flat=True))
    return _chance.choice(keys) if keys else None


def get_unread_questions(person: Person) -> QuerySet[Problem]:
    unread = RawSQL(_UNREAD, [person.pk, person.pk], BooleanField())  # noqa: S611 - a constant
    return get_askable_questions().filter(unread).select_related("twin")


def get_answered_gold(person: Person) -> Slots:
    rows = Slot.objects.answers().filter(holder=person, gold=True, open=False)
    return rows.select_related("problem__as_gold")


def contest_gold(person: Person, ref: str, text: str) -> Contest:
    if not 1 <= len(text := text.strip()) <= 2000:
        raise InputError(gettext("Give your reason in 1 to %d characters.") % 2000)
    with writing():
        slot = get_answered_gold(person).filter(ref=ref).first()
        if slot is None or slot.right:
            raise InputError(gettext("this answer can't be contested"))
        return Contest.objects.get_or_create(slot=slot, defaults={"text": text})[0]


def settle_contest(
    contested: Contest, moderator: Person, *, upheld: bool, answer: str = ""
) -> None:
    with writing():
        contests = Contest.objects.select_for_update(of=("self",)).select_related("slot")
        contest = contests.get(pk=contested.pk)
        if contest.upheld is not None:
            raise InputError(
                gettext("another moderator has already decided this; open the page again")
            )
        if contest.slot.holder_id == moderator.pk:
            raise InputError(
                gettext("you can't decide on your own objection; another moderator must")
            )
        contest.upheld, contest.settled_by, contest.answer = upheld, moderator, answer.strip()
        contest.settled_at = timezone.now()
        contest.save()
        if upheld:
            Gold.objects.filter(problem=contest.slot.problem_id).update(retired=True)
        rows = Judge.objects.select_for_update().order_by("pk")
        for judge in rows.filter(held__isnull=False, cause=GOLD):
            # Pending contests count as incorrect, so that judges can't end their own hold.
            if not _find_gold_failure(judge, contests=0):
                _end_hold_and_count_votes(judge)
        if not upheld:
            judge = rows.get(person=contest.slot.holder_id)
            if judge.held is None:
                apply_gold_limit(judge)
        else:  # judges must be locked before twins, as in answers
            update_waits([contest.slot.twin_id])
