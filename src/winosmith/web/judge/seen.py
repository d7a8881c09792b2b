"""What a person has read: nobody who knows one half of a twin judges the other.

A judge reads the local context first. Who lost the problem before they saw more (their lease ran
out) knows that much and no more: the same problem may come to them again, its other half never.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from winosmith.web._lock import writing
from winosmith.web.judge.models import Judge, Seen, Slot
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State, Twin


def lock_reader(person: Person) -> None:
    """Let nobody give a person something else to read until the transaction ends.

    A judge's next problem, a sheet, and a page with one half are given under the same lock, so
    that two windows never bring the two halves of a twin.
    """
    Judge.objects.select_for_update().get_or_create(person=person)


def block_of(problem: Problem | Slot) -> int:
    """Return what a person may read once: the twin, or the problem where both halves are one's.

    Takes a problem, or a slot on it.
    """
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    return -key if settings.RULES.both_halves else problem.twin_id


def note_seen(person: Person, problem: Problem | Slot, *, spent: bool = True) -> bool:
    """Write down that a person reads a problem; tell whether its block is new to them.

    Args:
        person: who reads.
        problem: a problem, or a slot on it.
        spent: they read it whole; else its local context alone.
    """
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    known, new = Seen.objects.get_or_create(
        person=person,
        block=block_of(problem),
        defaults={"twin_id": problem.twin_id, "problem_id": key, "spent": spent},
    )
    if spent and not known.spent:
        # A half whose local context they know gives way to what they read whole.
        known.spent, known.problem_id, known.at = True, key, timezone.now()
        known.save(update_fields=["spent", "problem", "at"])
    return new


def note_all(person: Person, problems: Iterable[Problem]) -> None:
    """Write down that a person reads many problems whole; of a block, the first one counts."""
    first: dict[int, Problem] = {}
    for problem in problems:
        first.setdefault(block_of(problem), problem)
    known = Seen.objects.filter(person=person, block__in=first, spent=False)
    parts = list(known.values_list("block", flat=True))
    Seen.objects.bulk_create(
        (
            Seen(person=person, block=block, twin_id=problem.twin_id, problem=problem)
            for block, problem in first.items()
        ),
        ignore_conflicts=True,
    )
    for block in parts:
        note_seen(person, first[block])


def note_whole(person: Person, slot: Slot) -> None:
    """Write down that a judge gets to see all of what they hold, or never wants to see it."""
    known = Seen.objects.filter(person=person, twin=slot.twin_id, problem=slot.problem_id)
    known.filter(spent=False).update(spent=True)


def inherit_seen(old: Twin, new: Twin) -> None:
    """Write down that who has read a twin knows its revision; call it once both halves are there.

    Where one person may judge both halves, they get neither of the new ones: which of the old
    halves they read, a revision may have turned round. So it is with who read a part.
    """
    people = set(Seen.objects.filter(twin=old).values_list("person", flat=True))
    halves = list(new.problems.order_by("pk"))
    known = {block_of(half): half for half in halves}
    Seen.objects.bulk_create(
        Seen(person_id=person, block=block, twin=new, problem=half)
        for person in people
        for block, half in known.items()
    )


def has_seen(person: Person, problem: Problem) -> bool:
    """Tell whether a person has read the problem whole, or a half that gives it away."""
    rows = Seen.objects.filter(person=person, twin_id=problem.twin_id, spent=True)
    return (rows.filter(problem=problem) if settings.RULES.both_halves else rows).exists()


def unseen(person: Person) -> Q:
    """Return the condition that a slot is new to a person: neither read nor theirs.

    A problem of which they know the local context alone is new, unless they stand on another slot
    of it; its other half is not.

    It looks into the index of what they read, by twin and problem, so that the answer stays right
    when the site changes its mind about both halves.
    """
    rows = Seen.objects.filter(person=person, twin_id=OuterRef("twin_id"))
    theirs = Slot.objects.filter(holder=person, problem_id=OuterRef("problem_id"))
    if settings.RULES.both_halves:
        rows = rows.filter(problem_id=OuterRef("problem_id"))
        rows = rows.filter(Q(spent=True) | Exists(theirs))
    else:
        other = ~Q(problem_id=OuterRef("problem_id"))
        rows = rows.filter(Q(spent=True) | other | Exists(theirs))
    return Q(~Exists(rows)) & (Q(contributor=None) | ~Q(contributor=person))


def note_read(person: Person | None, shown: Iterable[Problem]) -> None:
    """Write down what somebody with an account reads of twins that still have a half to judge.

    Anonymous people never judge, so nothing is kept about them.
    """
    if person is None or person.anonymous:
        return
    halves = {half.twin_id: half for half in shown}
    # Asked for the states as well, SQLite would walk everything that is being judged.
    states = Problem.objects.filter(twin__in=halves).values_list("twin", "state")
    for twin in {twin for twin, state in states if state in (State.JUDGING, State.HELD)}:
        if not has_seen(person, halves[twin]):
            with writing():
                lock_reader(person)
                note_seen(person, halves[twin])
