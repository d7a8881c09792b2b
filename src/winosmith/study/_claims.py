"""Claims judged by any solver: does this candidate fill the blank (SuperGLUE-WSC)?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.problem import MAX_OPTIONS, Claim, Problem
from winosmith.solve import EncoderSolver, Solver, predict

__all__ = ["judge", "lone_claims"]


def judge(solver: Solver, claims: Sequence[Claim]) -> tuple[bool, ...]:
    """Return whether each claim holds, by a solver.

    A model that was trained on claims judges each by itself, as SuperGLUE asks. Any other solver
    compares the candidates of one blank with each other, and the claim on the best of them holds;
    a claim that is alone on its blank has nothing to be compared with, and is said not to hold,
    as more do not; so are those between which the solver can't decide. That the candidates of a
    blank are known together makes the task easier than SuperGLUE's: at most one holds. Labels are
    not looked at.

    >>> from winosmith.solve import Random
    >>> judge(Random(3), [Claim("1", "A _ b.", c) for c in "xy"] + [Claim("2", "C _ d.", "z")])
    (False, True, False)
    """
    if isinstance(solver, EncoderSolver) and solver.judges_claims:
        return tuple(score > 0 for score in solver.judge(claims))
    blanks = _blanks(claims)
    best = _best(solver, [_Contest(claims[rows[0]], options) for rows, options in blanks])
    holds = [False] * len(claims)
    for (rows, options), left in zip(blanks, best, strict=True):
        for row in rows:
            holds[row] = len(options) > 1 and left == [claims[row].candidate.strip()]
    return tuple(holds)


def lone_claims(claims: Sequence[Claim]) -> int:
    """Return how many claims have a blank to themselves."""
    return sum(len(rows) for rows, options in _blanks(claims) if len(options) == 1)


def _blanks(claims: Sequence[Claim]) -> list[tuple[list[int], list[str]]]:
    """Return the rows of the claims on each blank, and their distinct candidates."""
    blanks: dict[tuple[str, str], list[int]] = {}
    for row, claim in enumerate(claims):
        blanks.setdefault((claim.problem_id, claim.sentence), []).append(row)
    return [
        (rows, list(dict.fromkeys(claims[row].candidate.strip() for row in rows)))
        for rows in blanks.values()
    ]


@dataclass(frozen=True)
class _Contest:
    """The candidates that are left for the blank of a claim."""

    claim: Claim
    left: list[str]

    def problems(self) -> list[Problem]:
        """Return the problems whose options are the candidates, at most five in each.

        Who meets whom follows from the candidates alone, not from the order of the claims.
        """
        ordered = sorted(self.left)
        parts = -(-len(ordered) // MAX_OPTIONS)
        return [
            Problem(f"{part}", self.claim.sentence, options, pronoun=self.claim.pronoun)
            for part in range(parts)
            if len(options := tuple(ordered[part::parts])) > 1
        ]

    def after(self, won: Sequence[str]) -> _Contest:
        """Return what is left when these won their problems, or tied in them."""
        lost = {option for problem in self.problems() for option in problem.options} - set(won)
        return _Contest(self.claim, [option for option in self.left if option not in lost])


def _best(solver: Solver, contests: Sequence[_Contest]) -> list[list[str]]:
    """Return the best candidate of each, or those that tie; more than five are asked in rounds."""
    waiting = list(range(len(contests)))
    found = list(contests)
    while waiting:
        asked = [found[at].problems() for at in waiting]
        answers = iter(predict(solver, [problem for own in asked for problem in own]))
        still = []
        for at, own in zip(waiting, asked, strict=True):
            won = [p.options[option] for p in own for option in next(answers).chosen]
            after = found[at].after(won)
            if 1 < len(after.left) < len(found[at].left):
                still.append(at)
            found[at] = after
        waiting = still
    return [contest.left for contest in found]
