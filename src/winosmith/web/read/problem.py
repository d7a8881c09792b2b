"""What the page of one problem tells: what judges said, its family; and that somebody read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from winosmith.web.judge.votes import votes_of
from winosmith.web.people.models import Person
from winosmith.web.problems.family import folded, path_to, steps
from winosmith.web.problems.models import Problem, State, Version
from winosmith.web.problems.states import visible_to


@dataclass(frozen=True, slots=True)
class Judged:
    """The judges' answers about a problem.

    Attributes:
        votes: how many judged it.
        right: how many of them chose the contributor's answer.
        ambiguous: how many found more than one option plausible.
        associative: how many found the answer given away by single words.
        local: how many chose that answer from the words around the blank alone.
    """

    votes: int
    right: int
    ambiguous: int
    associative: int
    local: int


def judged(problem: Problem) -> Judged | None:
    """Return what judges said; None while they have not decided, or where nobody was asked."""
    if problem.state not in (State.VALID, State.REJECTED):
        return None
    votes = votes_of(problem)
    if not votes:
        return None
    return Judged(
        votes=len(votes),
        right=sum(bool(vote.right) for vote in votes),
        ambiguous=sum(vote.ambiguous for vote in votes),
        associative=sum(vote.associative for vote in votes),
        local=sum(
            vote.local_choice is not None and vote.local_choice == problem.answer for vote in votes
        ),
    )


def family_of(person: Person | None, problem: Problem) -> dict[str, Any] | None:
    """Return what a page tells of a problem's family; None where nobody perturbed it or it others.

    Of a version that the person may not see there is neither text nor address, nor an edit that
    would spell it. An original has no way to show, and its family is told of once a version of it
    can be seen. `tree` is the id by which the family has a page.
    """
    path = path_to(problem)
    rows = {row.problem_id: row for row in Version.objects.filter(problem__in=path)}
    version = rows.get(problem.pk)
    if version is None:
        return None
    seen = [row for row in path if visible_to(person, row)]
    if len(path) == 1 and not _has_children(person, problem):
        return None
    root, parent = path[0], path[-2] if len(path) > 1 else None
    return {
        "version": version,
        "seen": seen,
        "perturbed": parent is not None,
        "root": root if root in seen else None,
        "tree": root.ref if root in seen or visible_to(None, problem) else "",
        "parent": parent if parent in seen else None,
        "way": folded(steps(path, person)) if parent is not None else None,
    }


def _has_children(person: Person | None, root: Problem) -> bool:
    """Tell whether there is a version of an original that the person may see."""
    family = Problem.objects.filter(version__root=root).exclude(pk=root.pk)
    own = Q(twin__contributor=person, gold=False) if person else Q(pk=None)
    everything = person is not None and person.moderates
    return (family if everything else family.filter(Q(public=True) | own)).exists()
