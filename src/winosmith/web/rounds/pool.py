"""The pool of a round: all that is public, as downloads have it, with the judges' answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from winosmith import formats
from winosmith.outputs import OutputFolder
from winosmith.validate import write_votes
from winosmith.web._export import chunks, one_moment
from winosmith.web.judge.votes import responses
from winosmith.web.problems.lineages import as_public
from winosmith.web.problems.public import public_problems
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.recipes import PROBLEMS, VOTES

__all__ = ["handed_over"]


def handed_over(round_: Round, told: Callable[[int], None]) -> Path:
    """Write the pool of a round, once; return its folder.

    Problems, votes and lineages are of one moment, people stand under pseudonyms. When the round
    is taken up again, its pool is the one that it began with.

    Args:
        round_: any.
        told: is told how many problems are written.
    """
    folder = round_.folder / "pool"
    output = OutputFolder.open(folder, {"command": "round of a site", "round": round_.name})
    if output.finished(PROBLEMS) and output.finished(VOTES):
        return folder
    votes = []
    with one_moment(), output.write(PROBLEMS) as file:
        done = 0
        for rows in chunks(public_problems()):
            file.writelines(formats.lines(as_public(rows), marked=True))
            votes += list(responses(rows))
            told(done := done + len(rows))
    write_votes(votes, folder / VOTES)
    output.add(VOTES)
    return folder
