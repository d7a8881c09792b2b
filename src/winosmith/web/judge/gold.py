"""Gold questions: their answer is known, and they show whether a judge reads with care."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Contest, Gold, Judge, Seen, Slot
from winosmith.web.judge.seen import unseen
from winosmith.web.judge.trust import GOLD, askable, check, lift_if_unfounded, training, untrained
from winosmith.web.judge.votes import give_back, place_of
from winosmith.web.people.models import Person
from winosmith.web.problems import states
from winosmith.web.problems.models import Problem

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
    if problem is None:  # retired meanwhile, or read elsewhere
        return None
    return _slot(judge, problem)


def take_back(person: Person) -> None:
    """Take gold questions from holders whose lease ran out, where another problem would go now.

    Somebody else is about to take a problem: that could be theirs, were it an ordinary one. Who is
    in the training knows that all are gold, and keeps theirs.
    """
    rows = Slot.objects.filter(open=True, gold=True, lease_until__lte=timezone.now())
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


def answered(person: Person, ref: str) -> Slot | None:
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
        slot = answered(person, ref)
        if slot is None or slot.right:
            raise InputError(gettext("there is nothing to contest here"))
        made, _ = Contest.objects.get_or_create(slot=slot, defaults={"text": text})
        judge = Judge.objects.select_for_update().get(person=person)
        lift_if_unfounded(judge)
        return made


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
            states.settle([now.slot.twin_id])
