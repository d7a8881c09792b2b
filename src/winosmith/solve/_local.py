"""`LocalContext`: any solver, shown no more than the words around the blank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from winosmith.problem import Problem
from winosmith.solve._solver import Scores, Solver
from winosmith.text import local_context

__all__ = ["LocalContext", "local_only"]

BEFORE = 2
"""Words ahead of the blank that stay: the baseline sees w[t-2:] (WinoGrande, section 4.1)."""


def local_only(problems: Sequence[Problem], before: int = BEFORE) -> tuple[Problem, ...]:
    """Return the problems with their sentences cut to the local context; all else stays.

    Train a solver on these too for the baseline of WinoGrande's table 3.

    Raises:
        ProblemError: a sentence has no spaces between words, and so no local context.

    >>> whole = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
    >>> local_only([whole])[0].sentence
    'and the _ broke.'
    """
    return tuple(
        replace(p, sentence=local_context(p.sentence, before, whole=False)) for p in problems
    )


@dataclass(frozen=True, slots=True)
class LocalContext:
    """Asks a solver with only the words from two before the blank to the end of the sentence.

    What it still solves is solved without the sentence: an artifact, or an option that the words
    around the blank give away.

    Attributes:
        solver: any solver.
        before: how many words ahead of the blank stay.
    """

    solver: Solver
    before: int = BEFORE

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature."""
        return {**getattr(self.solver, "parameters", {}), "local_context": self.before}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the solver's scores for the shortened problems."""
        return self.solver.score(local_only(problems, self.before))
