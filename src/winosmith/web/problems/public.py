"""Who may see a problem; whether everyone may is `Problem.public`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winosmith.web.problems.models import Problem

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from winosmith.web.people.models import Person

__all__ = ["public_problems", "visible_to"]


def public_problems() -> QuerySet[Problem]:
    """Return the problems that everyone may see, with their twins and contributors.

    Pages for everyone, search, counts and exports start here, and from nothing else.
    """
    return Problem.objects.filter(public=True).select_related("twin__contributor")


def visible_to(person: Person | None, problem: Problem) -> bool:
    """Tell whether somebody may read a problem outside of judging.

    Everyone sees what is public, contributors what they wrote, moderators all. A contributor
    never learns that a problem is an attention question.

    Args:
        person: who asks; None for a visitor without a session.
        problem: the problem.
    """
    if problem.public or person is None:
        return bool(problem.public)
    return person.moderates or (
        person.is_active and not problem.gold and problem.twin.contributor_id == person.pk
    )
