"""Gold questions: their answer is known, and they show whether a judge reads with care."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from winosmith.errors import InputError
from winosmith.metrics import proportion
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge, Seen, Slot
from winosmith.web.judge.rows import place_of

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

__all__ = [
    "FLOOR",
    "LEAST",
    "add_gold",
    "contest",
    "draw_gold",
    "record",
    "records",
    "settle",
    "told",
]

LEAST = 10
"""Gold questions that must have been answered before they say anything about a judge."""

FLOOR = 0.75
"""A judge is paused when even the upper end of the interval of their share of right answers is
below this: half way between guessing and always right."""

_chance = secrets.SystemRandom()


def add_gold(problem: Problem, explanation: str, *, attention: bool = False) -> Gold:
    """Make a problem a gold question: judges get it now and then, and it is no part of the data.

    Args:
        problem: with a known answer; nobody voted on it yet.
        explanation: why that answer is right, for the judges.
        attention: its sentence says itself what to choose.

    Raises:
        InputError: the answer is withheld, the explanation is missing, or there are votes.
    """
    if problem.answer is None:
        raise InputError(f"the problem {problem.ref} has no answer; a gold question needs one")
    if not explanation.strip():
        raise InputError(f"say why the answer of {problem.ref} is right; judges will read it")
    with writing():
        rows = Slot.objects.filter(problem=problem, gold=False)
        if rows.exclude(answered_at=None).exists():
            raise InputError(f"people have judged the problem {problem.ref}; choose another one")
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
    """
    every = settings.RULES.gold_every
    if not every:
        return None
    if judge.next_gold_id is None:
        judge.next_gold_id = _drawn(judge.person)
    problem = _unknown(judge.person).filter(pk=judge.next_gold_id).first()
    if _chance.randrange(every):
        return None
    judge.next_gold_id = None
    if problem is None:  # retired meanwhile, or read elsewhere
        return None
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
    from winosmith.web.problems.models import Problem, State

    seen = Seen.objects.filter(person=person, twin_id=OuterRef("twin_id"))
    rows = Problem.objects.filter(~Exists(seen), gold=True, as_gold__retired=False)
    rows = rows.exclude(state__in=(State.WITHDRAWN, State.REVISED)).select_related("twin")
    # That of a problem without a contributor is none of this person's.
    return rows.filter(Q(twin__contributor=None) | ~Q(twin__contributor=person))


def record(person: Person, since: object = None) -> tuple[int, int]:
    """Return how many gold questions a person answered rightly, and of how many.

    A question that was retired does not count, nor an answer that the judge contested, unless a
    moderator found against them.
    """
    return records([person], since)[person.pk]


def records(people: Sequence[Person], since: object = None) -> dict[int, tuple[int, int]]:
    """Return what `record` does for each of these people, by their keys."""
    rows = Slot.objects.filter(holder__in=people, open=False, gold=True).exclude(answered_at=None)
    if since is not None:
        rows = rows.filter(answered_at__gt=since)
    rows = rows.filter(problem__as_gold__retired=False)
    rows = rows.filter(Q(right=True) | Q(contest=None) | Q(contest__upheld=False))
    counted = rows.values("holder").order_by()
    counted = counted.annotate(rightly=Count("pk", filter=Q(right=True)), n=Count("pk"))
    found = {key: (right, n) for key, right, n in counted.values_list("holder", "rightly", "n")}
    return {person.pk: found.get(person.pk, (0, 0)) for person in people}


def check(judge: Judge) -> None:
    """Pause a judge whose gold questions say that they guess; a moderator looks then.

    Never for one miss, nor before `LEAST` answers: only where the upper end of Wilson's 95 %
    interval of the share of right ones is below `FLOOR`. Votes stay in the count.
    """
    right, n = record(judge.person, judge.gold_since)
    if n >= LEAST and judge.paused is None:
        upper = proportion([True] * right + [False] * (n - right)).interval[1]
        if upper < FLOOR:
            judge.paused = timezone.now()


def told(person: Person, ref: str) -> Slot | None:
    """Return a person's answered gold question, for the page that tells how it went."""
    rows = Slot.objects.filter(holder=person, gold=True, ref=ref, open=False)
    return rows.exclude(answered_at=None).select_related("problem__as_gold").first()


def contest(person: Person, ref: str, text: str) -> Contest:
    """Let a judge say that a gold question's answer is wrong; it does not count until settled.

    Raises:
        InputError: nothing was said, they did not answer it, or answered as it is known.
    """
    if not 1 <= len(text := text.strip()) <= 2000:
        raise InputError(gettext("Say in 1 to %d characters why you think otherwise.") % 2000)
    with writing():
        slot = told(person, ref)
        if slot is None or slot.right:
            raise InputError(gettext("there is nothing to contest here"))
        made, _ = Contest.objects.get_or_create(slot=slot, defaults={"text": text})
        judge = Judge.objects.select_related("person").get(person=person)
        _lift_if_unfounded(judge)
        return made


def _lift_if_unfounded(judge: Judge) -> None:
    """End a pause that what counts no longer gives a reason for."""
    if judge.paused is None:
        return
    judge.paused = None
    check(judge)
    judge.save(update_fields=["paused"])


def settle(contested: Contest, by: Person, *, upheld: bool, answer: str = "") -> None:
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
            raise InputError(gettext("another moderator has settled this; open the page again"))
        if now.slot.holder_id == by.pk:
            raise InputError(gettext("your own contests are settled by other moderators"))
        now.upheld, now.settled_by, now.answer = upheld, by, answer.strip()
        now.save()
        if upheld:
            Gold.objects.filter(problem=now.slot.problem_id).update(retired=True)
        for judge in Judge.objects.filter(paused__isnull=False).select_related("person"):
            _lift_if_unfounded(judge)
        if not upheld:
            judge = Judge.objects.select_related("person").get(person=now.slot.holder_id)
            check(judge)
            judge.save(update_fields=["paused"])
