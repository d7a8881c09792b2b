"""What a released problem tells of how it came about, under keys of its `extra`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from winosmith import formats, validate
from winosmith.answers import Response
from winosmith.errors import InputError
from winosmith.humans import CANARY
from winosmith.problem import Extra, Origin, Problem, Scalar
from winosmith.release._ids import sight

if TYPE_CHECKING:
    from winosmith.release._source import Source

__all__ = ["JUDGED_BY", "JUDGES", "OWN_KEYS", "PHASE", "REMOVED_BY", "Judged", "Removed", "judged",
           "judges_of", "removed", "with_provenance"]  # fmt: skip

JUDGES = "release.judges"
JUDGED_BY = "release.judged_by"
REMOVED_BY = "release.removed_by"
PHASE = "release.phase"

OWN_KEYS = (CANARY, JUDGES, JUDGED_BY, REMOVED_BY, PHASE)
"""All that the `extra` of a test problem may hold: none of it depends on the answer."""

_IN_PHASE = re.compile(r"in phase (\d+)")


@dataclass(frozen=True, slots=True)
class Judged:
    """Who judged a problem: how many people, and their pseudonyms, separated by spaces."""

    count: int
    names: str


@dataclass(frozen=True, slots=True)
class Removed:
    """What removed a problem from the debiased set: the stage, and the phase of a filter."""

    stage: str
    phase: int | None


def judged(votes: Iterable[Response]) -> dict[str, Judged]:
    """Return who judged each problem; those who took a human test are not judges."""
    by: dict[str, set[str]] = {}
    for vote in votes:
        if vote.purpose != "test":
            by.setdefault(vote.problem_id, set()).add(vote.participant)
    return {
        problem: Judged(len(people), " ".join(sorted(name.replace(" ", "_") for name in people)))
        for problem, people in by.items()
    }


def removed(stage: str, reason: str) -> Removed:
    """Return what a line of dropped.jsonl says.

    >>> removed("aflite", "guessed: by 90% of the ensemble in phase 34")
    Removed(stage='aflite', phase=34)
    """
    found = _IN_PHASE.search(reason)
    return Removed(stage, int(found[1]) if found else None)


def with_provenance(
    problem: Problem,
    canary: str,
    *,
    judges: Judged | None = None,
    named: bool = False,
    dropped: Removed | None = None,
    bare: bool = False,
) -> Problem:
    """Return the problem as it is released.

    The hour at which it was written is left out: with a log of who was there it names a person.

    Args:
        problem: from the source.
        canary: the string that every problem carries.
        judges: who judged it.
        named: give the judges' pseudonyms, too.
        dropped: what removed it from the debiased set.
        bare: leave out the answer, and what only the source's format knew, as for test.
    """
    told: dict[str, Scalar] = {} if bare else dict(problem.extra)
    for key in OWN_KEYS:
        told.pop(key, None)
    told[CANARY] = canary
    if judges is not None:
        told[JUDGES] = judges.count
        if named:
            told[JUDGED_BY] = judges.names
    if dropped is not None and not bare:
        told[REMOVED_BY] = dropped.stage
        if dropped.phase is not None:
            told[PHASE] = dropped.phase
    return replace(
        problem,
        answer=None if bare else problem.answer,
        origin=_dated(problem.origin),
        extra=Extra(told),
    )


def _dated(origin: Origin | None) -> Origin | None:
    if origin is None or origin.created is None or len(origin.created) <= 10:
        return origin
    return replace(origin, created=origin.created[:10])


def judges_of(
    votes: Sequence[str | Path], collected: Sequence[str | Path], source: Source
) -> Callable[[Problem], Judged | None]:
    """Return a function that tells who judged a problem of the source.

    Args:
        votes: files of votes; none where nobody is to be told.
        collected: the problems that the votes name, where a build has given new ids and its
            private folder, which says which was which, is not there.
        source: of the release.

    Raises:
        InputError: the votes are of none of the problems.
    """
    if not votes:
        return lambda problem: None
    by_id = judged(vote for path in votes for vote in validate.read_votes(path))
    problems = [problem for dataset in source.parts.values() for problem in dataset]
    if collected:
        read = (problem for path in collected for problem in formats.read(path))
        by_sight = {sight(p): by_id[p.id] for p in read if p.id in by_id}
        found = {p.id: by_sight[sight(p)] for p in problems if sight(p) in by_sight}
    else:
        old = {p.id: source.old_ids.get(p.id, p.id) for p in problems}
        found = {new: by_id[one] for new, one in old.items() if one in by_id}
    if not found:
        raise InputError(
            f"{votes[0]}: none of these votes is of a problem that is released; for a build "
            "without its private folder, name the problems that the votes are of with --collected"
        )
    return lambda problem: found.get(problem.id)
