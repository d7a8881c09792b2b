"""Trust in a judge: the training before the first vote, bounds that put votes on hold, and gold.

A judge whose numbers pass a bound of the site is *on hold*: their votes on problems that are still
judged, and their later votes, are provisional (`Slot.provisional`). Such a vote keeps its place and
decides nothing until a moderator counts or discards it. Gold questions have a known answer and show
whether a judge reads carefully.
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
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge, Seen, Slot, Slots, unseen
from winosmith.web.judge.votes import count_votes, give_back, place_of, settle_votes
from winosmith.web.people.addresses import read_address
from winosmith.web.people.models import Person, keyed
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import questions, settle

HOUR = timedelta(hours=1)

PACE, GOLD, ADDRESS, TRAINING, MODERATOR = Judge.Cause.values

CAREFUL = 0.95
"""The fraction of gold questions that a careful judge answers correctly, for `false_hold_rate`."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A judge's speed.

    Attributes:
        seconds: the median for a problem, by the server's clock; None without answers.
        over: the number of answers, the newest ones.
    """

    seconds: float | None = None
    over: int = 0


def pace(person: int, since: datetime | None = None, over: int | None = None) -> Pace:
    """Return the median seconds of a judge's newest answers.

    The time of an answer starts when the problem was shown, or at the judge's previous answer if
    that came later, so that two open problems never count the same seconds twice. Answers to gold
    questions count, too.

    Args:
        person: the judge's key.
        since: earlier answers don't count.
        over: the number of answers, or fewer if there are fewer; None for the site's rule.
    """
    over = settings.RULES.hold_pace_over if over is None else over
    rows = Slot.objects.filter(holder=person, answered_at__isnull=False, taken_at__isnull=False)
    if since is not None:
        rows = rows.filter(answered_at__gt=since)
    times = list(rows.order_by("-answered_at").values_list("taken_at", "answered_at")[: over + 1])
    before = [answered for _, answered in times[1:]] + [taken for taken, _ in times[-1:]]
    seconds = [
        max(0.0, (answered - max(taken, earlier)).total_seconds())
        for (taken, answered), earlier in zip(times[:over], before, strict=False)
    ]
    return Pace(median(seconds), len(seconds)) if seconds else Pace()


def gold_records(people: Sequence[Person], since: object = None) -> dict[int, tuple[int, int]]:
    """Return people's correct answers to gold questions, and all of them, by the people's keys.

    Retired questions don't count, nor does an answer that the judge contested, unless a moderator
    decided against them or more than `CONTESTS` of their contests wait.
    """
    counted = _gold([person.pk for person in people], since).values("holder").order_by()
    counted = counted.annotate(rightly=Count("pk", filter=Q(right=True)), n=Count("pk"))
    found = {key: (right, n) for key, right, n in counted.values_list("holder", "rightly", "n")}
    return {person.pk: found.get(person.pk, (0, 0)) for person in people}


CONTESTS = 3
"""The number of one judge's waiting contests whose answers don't count. If more wait, all of them
count, so that nobody gains by contesting every incorrect answer."""


def _gold(
    people: Collection[int], since: object = None, contests: int = CONTESTS
) -> QuerySet[Slot]:
    """Return people's answers to gold questions that count."""
    rows = Slot.objects.filter(holder__in=people, open=False, gold=True).exclude(answered_at=None)
    if since is not None:
        rows = rows.filter(answered_at__gt=since)
    rows = rows.filter(problem__as_gold__retired=False)
    waits = Contest.objects.filter(slot__holder__in=people, upheld=None)
    waits = waits.filter(slot__problem__as_gold__retired=False).values("slot__holder")
    many = waits.annotate(n=Count("pk")).filter(n__gt=contests).values("slot__holder")
    counts = Q(contest__upheld=False) | Q(contest__upheld=None, holder__in=many)
    return rows.filter(Q(right=True) | Q(contest=None) | counts)


def _failed_gold(judge: Judge, contests: int = CONTESTS) -> dict[str, int]:
    """Return the numbers if a judge's last gold questions pass the bound; otherwise nothing."""
    rules = settings.RULES
    rows = _gold([judge.pk], judge.since, contests).order_by("-answered_at")
    last = list(rows.values_list("right", flat=True)[: rules.hold_gold_over])
    right, n = sum(map(bool, last)), len(last)
    failed = n >= rules.hold_gold_over and 100 * right < rules.hold_gold_percent * n
    return {"right": right, "over": n} if failed else {}


def false_hold_rate(share: float = CAREFUL) -> float:
    """Return the probability that a careful judge's last gold questions pass the bound.

    It is the binomial probability, at one look, that fewer than `SiteRules.hold_gold_percent`
    percent of `hold_gold_over` answers are correct if each is correct with probability `share`.
    """
    n, percent = settings.RULES.hold_gold_over, settings.RULES.hold_gold_percent
    return sum(
        math.comb(n, right) * share**right * (1 - share) ** (n - right)
        for right in range(n + 1)
        if 100 * right < percent * n
    )


@dataclass(frozen=True, slots=True)
class Training:
    """A judge's progress in the training before their first vote.

    Attributes:
        done, right: questions answered in this attempt, and answered correctly.
        of, need: questions of an attempt, and how many must be correct.
    """

    done: int
    right: int
    of: int
    need: int


def training(judge: Judge | None) -> Training | None:
    """Return a judge's progress in the training; None if they need none.

    A site with fewer gold questions than the training needs has no training.
    """
    rules = settings.RULES
    if not rules.training_questions or (judge is not None and judge.qualified is not None):
        return None
    if not enough_gold():
        return None
    done = right = 0
    if judge is not None:
        rows = Slot.objects.filter(
            holder=judge.pk, gold=True, open=False, answered_at__isnull=False
        )
        rows = rows.filter(problem__as_gold__retired=False)
        if judge.since is not None:
            rows = rows.filter(answered_at__gt=judge.since)
        found = rows.aggregate(done=Count("pk"), right=Count("pk", filter=Q(right=True)))
        done, right = found["done"], found["right"]
    return Training(done, right, rules.training_questions, rules.training_right)


def enough_gold() -> bool:
    """Return whether the site has enough gold questions of different twins for one training."""
    return (
        askable_questions().values("twin").distinct().count() >= settings.RULES.training_questions
    )


def askable_questions() -> QuerySet[Problem]:
    """Return the gold questions that judges get: those whose other half is not public."""
    half = Problem.objects.filter(twin=OuterRef("twin"), public=True)
    return questions().filter(~Exists(half))


def finish_training(judge: Judge) -> None:
    """Qualify a judge who has passed the training, or let them start it again.

    Call it when a gold question was answered, before its training; `judge` is locked.
    """
    now = training(judge)
    if now is not None and now.done >= now.of:
        judge.since = timezone.now()
        if now.right >= now.need:
            judge.qualified = judge.since
        judge.save(update_fields=["since", "qualified"])


def waive_training(judge: Judge) -> None:
    """Let a person without training questions left judge; their votes wait for a moderator."""
    judge.qualified = timezone.now()
    judge.save(update_fields=["qualified"])
    if judge.held is None:
        hold(judge, TRAINING)


def digest_origin(address: str, at: datetime | None = None) -> str:
    """Return the digest of a judge's address that is kept for up to two hours; "" for no address.

    It depends on the site's key and the hour: the same address has another digest an hour later. Of
    IPv6 it covers the /64, within which one machine can change its address.
    """
    found = read_address(address)
    if found is None:
        return ""
    where = str(found)
    if found.version == 6:
        where = str(ip_network((found, 64), strict=False))
    hour = (at or timezone.now()).replace(minute=0, second=0, microsecond=0)
    return keyed("judging", f"{hour.isoformat()} {where}")


def forget_origins(now: datetime | None = None) -> int:
    """Delete the digests of addresses of votes older than two hours; return how many."""
    before = (now or timezone.now()) - 2 * HOUR
    with writing():
        return Slot.objects.filter(answered_at__lt=before).exclude(origin="").update(origin="")


FEW = 3
"""The number of judges within an hour from which one shared address is reported."""


def judges_of_one_address() -> int:
    """Return the number of judges in a clock hour if all of them had one address; otherwise 0.

    This hour and the hour before are checked separately, because digests differ between hours. The
    result is 0 for fewer than `FEW` judges, and if the site does not compare addresses
    (`hold_accounts`).
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
        if counts["judges"] >= FEW and counts["origins"] == 1 and not counts["unread"]:
            found = max(found, counts["judges"])
    return found


def _from_same_address(slot: Slot, address: str) -> set[int]:
    """Return the accounts that judged the problem from this address within an hour.

    Accounts that a moderator has released after such a hold are omitted.
    """
    at = slot.answered_at or timezone.now()
    digests = {digest_origin(address, at), digest_origin(address, at - HOUR)} - {""}
    rows = Slot.objects.filter(problem=slot.problem_id, gold=False, origin__in=digests)
    rows = rows.filter(answered_at__gt=at - HOUR).exclude(holder__judging__cleared=True)
    return set(rows.values_list("holder", flat=True))


def apply_bounds(judge: Judge, slot: Slot, address: str = "") -> None:
    """Put a judge's votes on hold if their new answer passes a bound of the site.

    If one address would get a majority of a problem's votes, the vote is omitted; the caller
    settles the problem and so asks another judge.

    A hold for the pace of fewer than `SiteRules.hold_pace_over` answers is temporary: it ends if
    the next answers take long enough. A moderator ends every other hold.

    Args:
        judge: locked; `slot` is answered and saved.
        slot: a vote, or the answer to a gold question.
        address: the client's.
    """
    rules = settings.RULES
    if rules.hold_accounts and address and not (slot.gold or judge.cleared):
        accounts = _from_same_address(slot, address)
        if len(accounts) >= rules.hold_accounts:
            _hold_together(judge, slot.problem, accounts)
        elif len(accounts) > max(1, rules.judges // 2):
            _exclude_vote(judge, slot)
    if rules.hold_pace_seconds and (judge.held is None or _is_temporary(judge)):
        _check_pace(judge, slot)
    if slot.gold and judge.held is None:
        check(judge)


def _is_temporary(judge: Judge) -> bool:
    """Return whether a judge's hold is temporary: for the pace of too few answers."""
    few = judge.measured.get("over", 0) < settings.RULES.hold_pace_over
    return judge.cause == PACE and few


def _check_pace(judge: Judge, slot: Slot) -> None:
    found = pace(judge.pk, judge.since)
    if found.seconds is None or found.seconds >= settings.RULES.hold_pace_seconds:
        if judge.held is not None:
            _end_hold(judge, answered=slot)
        return
    figures = {"seconds": round(found.seconds, 1), "over": found.over}
    if judge.held is None:
        hold(judge, PACE, figures)
    else:
        judge.measured = figures
        judge.save(update_fields=["measured"])


def check(judge: Judge) -> None:
    """Put a judge on hold if their last gold questions pass the bound.

    These are `SiteRules.hold_gold_over` questions with fewer than `hold_gold_percent` percent
    correct answers; `false_hold_rate` gives the probability for a careful judge.
    """
    if failed := _failed_gold(judge):
        hold(judge, GOLD, failed)


def _exclude_vote(judge: Judge, slot: Slot) -> None:
    market = judge.job is not None and judge.provisional
    Slot.objects.filter(pk=slot.pk).update(excluded=True, provisional=market)
    reason = "another account judged it from the same address within an hour"
    slot.problem.note("exclude-vote", reason=reason)


def _bring_back(judge: Judge, problem: Problem) -> None:
    """Let an omitted vote of a judge on hold wait again, if the problem lacks votes."""
    if count_votes(problem) < settings.RULES.judges and not judge.provisional:
        Slot.objects.filter(problem=problem, holder=judge.pk, gold=False).update(excluded=False)


def _hold_together(judge: Judge, problem: Problem, people: set[int]) -> None:
    """Put the accounts of one address on hold with one mark, which shows them together.

    Accounts that are answering at this moment are skipped: their next answer has the same result.
    """
    rows = Judge.objects.filter(pk__in=people - {judge.pk}).order_by("pk")
    others = list(rows.select_for_update(skip_locked=True))
    marks = [one.together for one in (judge, *others) if one.together]
    mark = marks[0] if marks else secrets.token_hex(8)
    for one in (judge, *others):
        if one.held is None or _is_temporary(one):
            _bring_back(one, problem)
            hold(one, ADDRESS, {"accounts": len(people)}, together=mark)


def hold(
    judge: Judge, cause: str, measured: dict[str, Any] | None = None, *, together: str = ""
) -> None:
    """Let a judge's undecided and later votes wait for a moderator.

    Decided problems stay decided (`suspect_problems` finds them).

    Args:
        judge: locked, or new.
        cause: one of `Judge.Cause`.
        measured: the numbers that passed the bound.
        together: the mark of the judges who are held with them.
    """
    judge.held, judge.cause = timezone.now(), cause
    judge.measured, judge.together = measured or {}, together
    judge.save(update_fields=["held", "cause", "measured", "together"])
    rows = Slot.objects.filter(holder=judge.pk, open=False, provisional=False, excluded=False)
    rows = rows.exclude(answered_at=None)
    if judge.since is not None and cause != MODERATOR:
        rows = rows.filter(answered_at__gt=judge.since)
    rows.filter(Q(gold=True) | Q(problem__state=State.JUDGING)).update(provisional=True)


def lift_if_unfounded(judge: Judge) -> None:
    """End a hold for gold questions if moderators' decisions leave no reason for it.

    Contested answers that wait count as incorrect here, so that nobody ends their own hold.
    """
    if judge.held is None or judge.cause != GOLD:
        return
    if not _failed_gold(judge, contests=0):
        _end_hold(judge)


def _end_hold(judge: Judge, *, answered: Slot | None = None) -> None:
    """Count provisional votes, and decide problems that only waited for them.

    Args:
        judge: on hold; the hold ends when nothing is left to do.
        answered: the slot answered in this transaction. The caller settles its problem. Problems
            that others are answering now are left for the next call, because the holder of one
            problem's lock must not wait for another.
    """
    left = waiting_votes(judge) if not judge.provisional else Slot.objects.none()
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
        release(judge)


def release(judge: Judge) -> None:
    """End a hold; the caller counts the votes that wait."""
    judge.held, judge.cause, judge.measured, judge.together = None, "", {}, ""
    judge.save(update_fields=["held", "cause", "measured", "together"])
    if not judge.provisional:
        gold = Slot.objects.filter(holder=judge.pk, gold=True, provisional=True)
        gold.exclude(answered_at=None).update(provisional=False)


def waiting_votes(judge: Judge) -> Slots:
    """Return a judge's votes that wait for a moderator or a market."""
    return Slot.objects.filter(holder=judge.pk).waiting()


def held_judge(person: Person) -> Judge | None:
    """Return a person's row as a judge if their votes wait for a moderator; otherwise None."""
    return Judge.objects.filter(person=person, held__isnull=False).first()


def is_stopped(judge: Judge | None) -> bool:
    """Return whether a judge gets no further problem before a moderator has checked them.

    That is so if a moderator put them on hold, or if `SiteRules.held_most` of their votes wait.
    """
    if judge is None or judge.held is None:
        return False
    if judge.cause == MODERATOR:
        return True
    return waiting_votes(judge).count() >= settings.RULES.held_most


def suspect_problems(judge: Judge) -> QuerySet[Problem]:
    """Return the problems that were decided with votes of a judge who is now on hold.

    Only a moderator reopens them.
    """
    votes = Slot.objects.filter(holder=judge.pk).counting()
    if judge.since is not None:
        votes = votes.filter(answered_at__gt=judge.since)
    decided = Problem.objects.filter(state__in=(State.VALID, State.REJECTED))
    return decided.filter(pk__in=votes.values("problem"))


_chance = secrets.SystemRandom()


def add_gold(problem: Problem, explanation: str, *, attention: bool = False) -> Gold:
    """Make a problem a gold question: judges get it now and then, and it is not in the data.

    Args:
        problem: with a known answer and without votes.
        explanation: why that answer is correct, for the judges.
        attention: its sentence itself names the option to choose.

    Raises:
        InputError: the answer is withheld, the explanation is missing, there are votes, or the
            other half is public.
    """
    if problem.answer is None:
        raise InputError(f"the problem {problem.ref} has no answer; a gold question needs one")
    if not explanation.strip():
        raise InputError(f"say why the answer of {problem.ref} is right; judges will read it")
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        if rows.exclude(answered_at=None).exists():
            raise InputError(f"people have judged the problem {problem.ref}; choose another one")
        others = type(problem).objects.filter(twin=problem.twin_id).exclude(pk=problem.pk)
        if others.filter(public=True).exists():
            raise InputError(
                f"the other half of {problem.ref} is public and tells its answer; choose another "
                "problem"
            )
        rows.update(open=False)
        type(problem).objects.filter(pk=problem.pk).update(gold=True)
        problem.became(gold=True)
        return Gold.objects.update_or_create(
            problem=problem,
            defaults={"explanation": explanation.strip(), "attention": attention, "retired": False},
        )[0]


def draw_gold(judge: Judge) -> Slot | None:
    """Return a slot on a gold question with probability 1 / `SiteRules.gold_every`, otherwise None.

    Each draw is independent, so that no judge can count. The question is drawn long before and
    looked up each time, so that gold takes as long as another problem. In the training before the
    first vote every problem is gold.
    """
    if training(judge) is not None:
        problem = _unread_questions(judge.person).filter(pk=_draw_question(judge.person)).first()
        if problem is not None:
            return _slot(judge, problem)
        waive_training(judge)
    every = settings.RULES.gold_every
    if not every:
        return None
    if judge.next_gold_id is None:
        judge.next_gold_id = _draw_question(judge.person)
    problem = _unread_questions(judge.person).filter(pk=judge.next_gold_id).first()
    if _chance.randrange(every):
        return None
    judge.next_gold_id = None
    if problem is None:  # retired in the meantime, or read elsewhere
        return None
    return _slot(judge, problem)


def take_back_gold(person: Person) -> None:
    """Close gold questions with an expired lease when an ordinary problem would change judges.

    Judges in training know that all questions are gold, and keep theirs.
    """
    rows = Slot.objects.filter(open=True, gold=True, lease_until__lte=timezone.now())
    if not rows.exists():  # as nearly always, and seen in a tenth of the time
        return
    rows = rows.filter(unseen(person)).exclude(holder=person)
    for slot in rows.select_for_update(of=("self",), skip_locked=True):
        if training(Judge.objects.filter(person=slot.holder_id).first()) is None:
            give_back(slot)


def _slot(judge: Judge, problem: Problem) -> Slot:
    return Slot(
        problem=problem,
        n=judge.person_id,
        place=place_of(problem),
        twin_id=problem.twin_id,
        contributor_id=problem.twin.contributor_id,
        gold=True,
    )


def _draw_question(person: Person) -> int | None:
    """Return a random gold question that a person has not read."""
    keys = list(_unread_questions(person).values_list("pk", flat=True))
    return _chance.choice(keys) if keys else None


def _unread_questions(person: Person) -> QuerySet[Problem]:
    """Return the gold questions that a person has not read."""
    seen = Seen.objects.filter(person=person, twin_id=OuterRef("twin_id"))
    rows = askable_questions().filter(~Exists(seen)).select_related("twin")
    # That of a problem without a contributor is none of this person's.
    return rows.filter(Q(twin__contributor=None) | ~Q(twin__contributor=person))


def answered_gold(person: Person, ref: str) -> Slot | None:
    """Return a person's answered gold question, for the page with its result."""
    rows = Slot.objects.filter(holder=person, gold=True, ref=ref, open=False)
    return rows.exclude(answered_at=None).select_related("problem__as_gold").first()


def contest(person: Person, ref: str, text: str) -> Contest:
    """Store a judge's objection to a gold question's answer, for a moderator to settle.

    Raises:
        InputError: the text is empty or too long, or the judge did not answer the question
            incorrectly.
    """
    if not 1 <= len(text := text.strip()) <= 2000:
        raise InputError(gettext("Give your reason in 1 to %d characters.") % 2000)
    with writing():
        slot = answered_gold(person, ref)
        if slot is None or slot.right:
            raise InputError(gettext("there is nothing to contest here"))
        return Contest.objects.get_or_create(slot=slot, defaults={"text": text})[0]


def settle_contest(contested: Contest, by: Person, *, upheld: bool, answer: str = "") -> None:
    """Settle a contest; if the judge was right, the question is retired for everybody.

    Raises:
        InputError: it was settled already, or `by` is the judge.
    """
    with writing():
        now = (
            Contest.objects.select_for_update(of=("self",))
            .select_related("slot")
            .get(pk=contested.pk)
        )
        if now.upheld is not None:
            raise InputError(gettext("another moderator has decided this; open the page again"))
        if now.slot.holder_id == by.pk:
            raise InputError(gettext("other moderators decide your own contests"))
        now.upheld, now.settled_by, now.answer = upheld, by, answer.strip()
        now.settled_at = timezone.now()
        now.save()
        if upheld:
            Gold.objects.filter(problem=now.slot.problem_id).update(retired=True)
        rows = Judge.objects.select_for_update().order_by("pk")
        for judge in rows.filter(held__isnull=False, cause=GOLD):
            lift_if_unfounded(judge)
        if not upheld:
            judge = rows.get(person=now.slot.holder_id)
            if judge.held is None:
                check(judge)
        else:  # judges are locked before twins, as where they answer
            settle([now.slot.twin_id])
