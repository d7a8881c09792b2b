"""What a person has read: nobody who knows one half of a twin judges the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

from winosmith.web._prepared import insert
from winosmith.web.judge.models import Seen, Slot

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem, Twin

__all__ = ["block_of", "has_seen", "inherit_seen", "note_seen", "unseen"]


def block_of(problem: Problem | Slot) -> int:
    """Return what a person may read once: the twin, or the problem where both halves are one's.

    Takes a problem, or a slot on it.
    """
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    return -key if settings.RULES.both_halves else problem.twin_id


def note_seen(person: Person, problem: Problem | Slot) -> bool:
    """Write down that a person reads a problem; tell whether its block is new to them."""
    key = problem.problem_id if isinstance(problem, Slot) else problem.pk
    row = Seen(person=person, block=block_of(problem), twin_id=problem.twin_id, problem_id=key)
    return insert(row, unless_there=True) == 1


def inherit_seen(old: Twin, new: Twin) -> None:
    """Write down that who has read a twin knows its revision; call it once both halves are there.

    Where one person may judge both halves, they get neither of the new ones: which of the old
    halves they read, a revision may have turned round.
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
    """Tell whether a person has read the problem, or a half that gives it away."""
    rows = Seen.objects.filter(person=person, twin_id=problem.twin_id)
    return (rows.filter(problem=problem) if settings.RULES.both_halves else rows).exists()


def unseen(person: object) -> Q:
    """Return the condition that a slot is new to a person: neither read nor theirs.

    It looks into the index of what they read, by twin and problem, so that the answer stays right
    when the site changes its mind about both halves.

    Args:
        person: a `Person`, or what stands for their number in a prepared query.
    """
    rows = Seen.objects.filter(person=person, twin_id=OuterRef("twin_id"))
    if settings.RULES.both_halves:
        rows = rows.filter(problem_id=OuterRef("problem_id"))
    return Q(~Exists(rows)) & (Q(contributor=None) | ~Q(contributor=person))
