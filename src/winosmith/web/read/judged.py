"""What judges said of one problem, in figures: never who."""

from __future__ import annotations

from dataclasses import dataclass

from winosmith.web.judge.votes import votes_of
from winosmith.web.problems.models import Problem, State

__all__ = ["Judged", "judged"]


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
