"""How far a judge is trusted: training before the first vote, bounds that hold votes back, gold.

A judge whose figures pass a bound of the site is *held*: what they voted on problems that are still
judged, and what they vote from then on, is provisional (`Slot.provisional`). It keeps its place and
decides nothing until a moderator lets it count or discards it. The answer of a gold question is
known: it shows whether a judge reads with care.
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
from winosmith.web.judge.models import Contest, Gold, Judge, Seen, Slot, unseen
from winosmith.web.judge.votes import counted, give_back, place_of, settle_votes
from winosmith.web.people.addresses import read_address
from winosmith.web.people.models import Person, keyed
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.states import questions, settle, stay

HOUR = timedelta(hours=1)

PACE, GOLD, ADDRESS, TRAINING, MODERATOR = Judge.Cause.values

CAREFUL = 0.95
"""The fraction of gold questions that a careful judge answers rightly, for `mistaken`."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast somebody answers.

    Attributes:
        seconds: the median of a problem, by the server's clock; None without answers.
        over: of how many answers, the newest.
    """

    seconds: float | None = None
    over: int = 0


def pace(person: int, since: datetime | None = None, over: int | None = None) -> Pace:
    """Return the median seconds that a judge's newest answers took.

    An answer's time runs from when the problem was shown, or from the judge's answer before where
    that came later, so that two problems at once never count the same seconds twice. Answers to
    gold questions count as all others do.

    Args:
        person: the judge's key.
        since: answers given before don't count.
        over: so many answers, or fewer where there are fewer; None for the site's rule.
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


def records(people: Sequence[Person], since: object = None) -> dict[int, tuple[int, int]]:
    """Return how many gold questions people answered rightly, and of how many, by their keys.

    A question that was retired does not count, nor an answer that the judge contested, unless a
    moderator found against them, or more than `CONTESTS` of theirs wait.
    """
    counted = _gold([person.pk for person in people], since).values("holder").order_by()
    counted = counted.annotate(rightly=Count("pk", filter=Q(right=True)), n=Count("pk"))
    found = {key: (right, n) for key, right, n in counted.values_list("holder", "rightly", "n")}
    return {person.pk: found.get(person.pk, (0, 0)) for person in people}


CONTESTS = 3
"""Answers of one judge that wait for a moderator as contested and do not count; of more, all do:
who clicks and contests whatever was wrong is found out."""


def _gold(
    people: Collection[int], since: object = None, contests: int = CONTESTS
) -> QuerySet[Slot]:
    """Return the answers to gold questions that say something about people."""
    rows = Slot.objects.filter(holder__in=people, open=False, gold=True).exclude(answered_at=None)
    if since is not None:
        rows = rows.filter(answered_at__gt=since)
    rows = rows.filter(problem__as_gold__retired=False)
    waits = Contest.objects.filter(slot__holder__in=people, upheld=None)
    waits = waits.filter(slot__problem__as_gold__retired=False).values("slot__holder")
    many = waits.annotate(n=Count("pk")).filter(n__gt=contests).values("slot__holder")
    counts = Q(contest__upheld=False) | Q(contest__upheld=None, holder__in=many)
    return rows.filter(Q(right=True) | Q(contest=None) | counts)


def _last_gold(judge: Judge, contests: int = CONTESTS) -> tuple[int, int]:
    """Return how many of a judge's last gold questions are right, and how many these are."""
    rows = _gold([judge.pk], judge.since, contests).order_by("-answered_at")
    last = list(rows.values_list("right", flat=True)[: settings.RULES.hold_gold_over])
    return sum(map(bool, last)), len(last)


def mistaken(share: float = CAREFUL) -> float:
    """Return how likely a judge's last gold questions pass the bound although they read with care.

    The binomial chance, at one look, that fewer than `SiteRules.hold_gold_percent` of
    `hold_gold_over` answers are right where each is with a probability of `share`.
    """
    n, percent = settings.RULES.hold_gold_over, settings.RULES.hold_gold_percent
    return sum(
        math.comb(n, right) * share**right * (1 - share) ** (n - right)
        for right in range(n + 1)
        if 100 * right < percent * n
    )


@dataclass(frozen=True, slots=True)
class Training:
    """How far somebody is in the training before their first vote.

    Attributes:
        done, right: questions answered in this attempt, and rightly.
        of, need: questions of an attempt, and how many must be right.
    """

    done: int
    right: int
    of: int
    need: int


def training(judge: Judge | None) -> Training | None:
    """Return how far a judge's training is; None if they need none (any more).

    A site that has fewer gold questions than the training asks asks for none.
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
    """Return whether the site has gold questions for one training, of twins of their own."""
    return askable().values("twin").distinct().count() >= settings.RULES.training_questions


def askable() -> QuerySet[Problem]:
    """Return the gold questions that judges get: none whose other half everyone may read."""
    half = Problem.objects.filter(twin=OuterRef("twin"), public=True)
    return questions().filter(~Exists(half))


def trained(judge: Judge) -> None:
    """Let a judge's votes begin when their training is passed, or let it begin again.

    Call it once a gold question was answered, before its training; `judge` is locked.
    """
    now = training(judge)
    if now is not None and now.done >= now.of:
        judge.since = timezone.now()
        if now.right >= now.need:
            judge.qualified = judge.since
        judge.save(update_fields=["since", "qualified"])


def untrained(judge: Judge) -> None:
    """Let somebody judge for whom no question of the training is left; a moderator looks."""
    judge.qualified = timezone.now()
    judge.save(update_fields=["qualified"])
    if judge.held is None:
        hold(judge, TRAINING)


def origin(address: str, at: datetime | None = None) -> str:
    """Return what is kept for an hour or two of the address of who judges; "" for none.

    A digest by the site's key and the hour: the same address has another one an hour later. Of
    IPv6 it is the /64, within which one machine changes its address as it likes.
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
    """Forget from where votes came that are older than two hours; return how many."""
    before = (now or timezone.now()) - 2 * HOUR
    with writing():
        return Slot.objects.filter(answered_at__lt=before).exclude(origin="").update(origin="")


FEW = 3
"""Judges within an hour of whom it is worth a look that all come from one address."""


def judges_of_one_address() -> int:
    """Return how many judges answered within a clock hour, if all of them had one address.

    This hour and the one before are looked at, each by itself, because origins differ between
    hours. 0 for fewer than `FEW`, and if the site does not compare addresses (`hold_accounts`).
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
    """Return the accounts that judged the same problem from the same address within an hour.

    Accounts that a moderator has released after such a hold are none of them.
    """
    at = slot.answered_at or timezone.now()
    digests = {origin(address, at), origin(address, at - HOUR)} - {""}
    rows = Slot.objects.filter(problem=slot.problem_id, gold=False, origin__in=digests)
    rows = rows.filter(answered_at__gt=at - HOUR).exclude(holder__judging__cleared=True)
    return set(rows.values_list("holder", flat=True))


def weigh(judge: Judge, slot: Slot, address: str = "") -> None:
    """Hold a judge's votes where what they just answered passes a bound of the site.

    A vote by which one address would have more than `_minority` of a problem's is omitted from the
    count, and another judge is asked in its place, by who settles the problem.

    A pace over fewer than `SiteRules.hold_pace_over` answers holds for the time being: it is lifted
    by the answers that follow when these take long enough. Every other hold a moderator lifts.

    Args:
        judge: locked; `slot` is answered and written.
        slot: a vote, or the answer to a gold question.
        address: from which it came.
    """
    rules = settings.RULES
    if rules.hold_accounts and address and not (slot.gold or judge.cleared):
        accounts = _from_same_address(slot, address)
        if len(accounts) >= rules.hold_accounts:
            _hold_together(judge, slot.problem, accounts)
        elif len(accounts) > _minority():
            _leave_out(judge, slot)
    if rules.hold_pace_seconds and (judge.held is None or _for_now(judge)):
        _weigh_pace(judge, slot)
    if slot.gold and judge.held is None:
        check(judge)


def _for_now(judge: Judge) -> bool:
    """Return whether a judge is held for a pace over too few answers to hold it against them."""
    few = judge.measured.get("over", 0) < settings.RULES.hold_pace_over
    return judge.cause == PACE and few


def _weigh_pace(judge: Judge, slot: Slot) -> None:
    found = pace(judge.pk, judge.since)
    if found.seconds is None or found.seconds >= settings.RULES.hold_pace_seconds:
        if judge.held is not None:
            _lift(judge, answered=slot)
        return
    figures = {"seconds": round(found.seconds, 1), "over": found.over}
    if judge.held is None:
        hold(judge, PACE, figures)
    else:
        judge.measured = figures
        judge.save(update_fields=["measured"])


def check(judge: Judge) -> None:
    """Hold the votes of a judge whose last gold questions pass the bound; never for a few.

    They are `SiteRules.hold_gold_over` questions, of which less than `hold_gold_percent` are right;
    `mistaken` tells how seldom that befalls who reads with care.
    """
    rules = settings.RULES
    right, n = _last_gold(judge)
    if n >= rules.hold_gold_over and 100 * right < rules.hold_gold_percent * n:
        hold(judge, GOLD, {"right": right, "over": n})


def _minority() -> int:
    """Return how many of a problem's votes may come from one address: never a majority of them."""
    return max(1, settings.RULES.judges // 2)


def _leave_out(judge: Judge, slot: Slot) -> None:
    market = judge.job is not None and judge.provisional
    Slot.objects.filter(pk=slot.pk).update(excluded=True, provisional=market)
    stay(
        slot.problem,
        by=None,
        kind="exclude-vote",
        reason="another account judged it from the same address within an hour",
    )


def _bring_back(judge: Judge, problem: Problem) -> None:
    """Let a vote of who is being held wait in its place that was omitted, where it is lacking."""
    if counted(problem) < settings.RULES.judges and not judge.provisional:
        Slot.objects.filter(problem=problem, holder=judge.pk, gold=False).update(excluded=False)


def _hold_together(judge: Judge, problem: Problem, people: set[int]) -> None:
    """Hold the accounts of one address, by one mark, so that a moderator finds them together.

    Anyone who is answering at this moment is passed over: their next answer finds the same.
    """
    rows = Judge.objects.filter(pk__in=people - {judge.pk}).order_by("pk")
    others = list(rows.select_for_update(skip_locked=True))
    marks = [one.together for one in (judge, *others) if one.together]
    mark = marks[0] if marks else secrets.token_hex(8)
    for one in (judge, *others):
        if one.held is None or _for_now(one):
            _bring_back(one, problem)
            hold(one, ADDRESS, {"accounts": len(people)}, together=mark)


def hold(
    judge: Judge, cause: str, measured: dict[str, Any] | None = None, *, together: str = ""
) -> None:
    """Let a judge's votes wait for a moderator, those still undecided and those to come.

    What has been decided by them stays decided (`suspect` finds it).

    Args:
        judge: locked, or nobody else's yet.
        cause: of `Judge.Cause`.
        measured: the numbers that passed the bound.
        together: the mark of those who are held with them.
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
    """Lift a hold for gold questions that moderators' words leave no reason for.

    What waits for them as contested counts as wrong here: nobody lifts their own hold.
    """
    if judge.held is None or judge.cause != GOLD:
        return
    right, n = _last_gold(judge, contests=0)
    rules = settings.RULES
    if n < rules.hold_gold_over or 100 * right >= rules.hold_gold_percent * n:
        _lift(judge)


def _lift(judge: Judge, *, answered: Slot | None = None) -> None:
    """Let what is provisional count, and problems that waited for it alone be decided.

    Args:
        judge: held; it is so no more once nothing is left to do.
        answered: what they answered in this transaction; its problem is settled by the caller, and
            problems that others are answering now are left for the next time, since who holds one
            problem must not wait for another.
    """
    left = waiting(judge) if not judge.provisional else Slot.objects.none()
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
    """End a hold; votes that wait are let count by who calls it."""
    judge.held, judge.cause, judge.measured, judge.together = None, "", {}, ""
    judge.save(update_fields=["held", "cause", "measured", "together"])
    if not judge.provisional:
        gold = Slot.objects.filter(holder=judge.pk, gold=True, provisional=True)
        gold.exclude(answered_at=None).update(provisional=False)


def waiting(judge: Judge) -> QuerySet[Slot]:
    """Return a judge's votes that wait: for a moderator, or for a market."""
    return Slot.objects.filter(holder=judge.pk).waiting()


def held(person: Person) -> Judge | None:
    """Return the row of somebody whose votes wait for a moderator; None if they don't."""
    return Judge.objects.filter(person=person, held__isnull=False).first()


def stops(judge: Judge | None) -> bool:
    """Return whether a judge gets no further problem until a moderator has looked.

    That is so where a moderator holds them, and where `SiteRules.held_most` of their votes wait.
    """
    if judge is None or judge.held is None:
        return False
    if judge.cause == MODERATOR:
        return True
    return waiting(judge).count() >= settings.RULES.held_most


def suspect(judge: Judge) -> QuerySet[Problem]:
    """Return the problems that were decided with the votes of a judge who is held now.

    Nothing reopens them but a moderator.
    """
    votes = Slot.objects.filter(holder=judge.pk).counting()
    if judge.since is not None:
        votes = votes.filter(answered_at__gt=judge.since)
    decided = Problem.objects.filter(state__in=(State.VALID, State.REJECTED))
    return decided.filter(pk__in=votes.values("problem"))


_chance = secrets.SystemRandom()


def add_gold(problem: Problem, explanation: str, *, attention: bool = False) -> Gold:
    """Make a problem a gold question: judges get it now and then, and it is no part of the data.

    Args:
        problem: with a known answer; nobody voted on it yet.
        explanation: why that answer is right, for the judges.
        attention: its sentence says itself what to choose.

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
    """Return a slot on a gold question for one problem in `SiteRules.gold_every`, else None.

    Each problem is gold with the same probability, whatever came before it, so that no judge can
    count. Which question would come, is drawn long before, and it is looked up each time, so that
    gold takes no longer to come than another problem does.
    In the training before the first vote all are.
    """
    if training(judge) is not None:
        problem = _unknown(judge.person).filter(pk=_drawn(judge.person)).first()
        if problem is not None:
            return _slot(judge, problem)
        untrained(judge)
    every = settings.RULES.gold_every
    if not every:
        return None
    if judge.next_gold_id is None:
        judge.next_gold_id = _drawn(judge.person)
    problem = _unknown(judge.person).filter(pk=judge.next_gold_id).first()
    if _chance.randrange(every):
        return None
    judge.next_gold_id = None
    if problem is None:  # retired in the meantime, or read elsewhere
        return None
    return _slot(judge, problem)


def take_back_gold(person: Person) -> None:
    """Take gold questions from holders whose lease ran out, where another problem would go now.

    Somebody else is about to take a problem: that could be theirs, were it an ordinary one. Who is
    in the training knows that all are gold, and keeps theirs.
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


def _drawn(person: Person) -> int | None:
    """Return the number of a gold question that a person has not read, any as likely."""
    keys = list(_unknown(person).values_list("pk", flat=True))
    return _chance.choice(keys) if keys else None


def _unknown(person: Person) -> QuerySet[Problem]:
    """Return the gold questions that are asked and that a person has not read."""
    seen = Seen.objects.filter(person=person, twin_id=OuterRef("twin_id"))
    rows = askable().filter(~Exists(seen)).select_related("twin")
    # That of a problem without a contributor is none of this person's.
    return rows.filter(Q(twin__contributor=None) | ~Q(twin__contributor=person))


def answered_gold(person: Person, ref: str) -> Slot | None:
    """Return a person's answered gold question, for the page that tells how it went."""
    rows = Slot.objects.filter(holder=person, gold=True, ref=ref, open=False)
    return rows.exclude(answered_at=None).select_related("problem__as_gold").first()


def contest(person: Person, ref: str, text: str) -> Contest:
    """Let a judge say that a gold question's answer is wrong, for a moderator to settle.

    Raises:
        InputError: nothing was said, they did not answer it, or answered as it is known.
    """
    if not 1 <= len(text := text.strip()) <= 2000:
        raise InputError(gettext("Give your reason in 1 to %d characters.") % 2000)
    with writing():
        slot = answered_gold(person, ref)
        if slot is None or slot.right:
            raise InputError(gettext("there is nothing to contest here"))
        return Contest.objects.get_or_create(slot=slot, defaults={"text": text})[0]


def settle_contest(contested: Contest, by: Person, *, upheld: bool, answer: str = "") -> None:
    """Settle a contest; where the judge was right, the question is retired for everybody.

    Raises:
        InputError: it was settled already, or by the judge themselves.
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
