"""Who may see a problem; the one place that says what is public."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet

from winosmith.web.problems.models import Problem, State

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["PUBLIC", "public_problems", "visible_to"]

PUBLIC = Q(state=State.VALID, embargo=False, gold=False)
"""What everyone may see: found valid, not under embargo, and no attention question."""


def public_problems() -> QuerySet[Problem]:
    """Return the problems that everyone may see, with their twins and contributors.

    Pages for everyone, search, counts and exports start here, and from nothing else.
    """
    return Problem.objects.filter(PUBLIC).select_related("twin__contributor")


def visible_to(person: Person | None, problem: Problem) -> bool:
    """Tell whether somebody may read a problem outside of judging.

    Everyone sees what is public, contributors what they wrote, moderators all. A contributor
    never learns that a problem is an attention question.

    Args:
        person: who asks; None for a visitor without a session.
        problem: the problem.
    """
    public = problem.state == State.VALID and not problem.embargo and not problem.gold
    if public or person is None:
        return public
    return person.moderates or (
        person.is_active and not problem.gold and problem.twin.contributor_id == person.pk
    )
