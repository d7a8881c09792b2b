"""One's own perturbed problems among what one wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from winosmith.web.perturb.edits import pieces
from winosmith.web.perturb.models import Version
from winosmith.web.problems.public import visible_to

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Twin

__all__ = ["place_of", "places_of"]


def place_of(person: Person | None, twin: Twin) -> dict[str, Any] | None:
    """Return what stands beside a perturbed problem of one's own; None beside a twin.

    The problem, its version with the depths, and its parent with the edits from it: None where the
    parent is not, or no longer, for this person to see.
    """
    return places_of(person, [twin]).get(twin.pk)


def places_of(person: Person | None, twins: Iterable[Twin]) -> dict[int, dict[str, Any]]:
    """Return the same for many twins at once, by their keys; original ones are left out."""
    rows = Version.objects.filter(problem__twin__in=list(twins), parent__isnull=False)
    found: dict[int, dict[str, Any]] = {}
    for version in rows.select_related("problem", "parent__twin").order_by("problem"):
        problem, above = version.problem, version.parent
        parent = above if above and visible_to(person, above) else None
        told = {
            "problem": problem,
            "version": version,
            "parent": parent,
            "pieces": pieces(parent.sentence, problem.sentence) if parent else None,
        }
        found.setdefault(problem.twin_id, told)
    return found
