"""What a solver has to beat: chance, the commonest place, the words around the blank alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winosmith import seen
from winosmith.dataset import Dataset
from winosmith.problem import Problem
from winosmith.solve._solver import Scores, Solver, known_answers


@dataclass(frozen=True, slots=True)
class Random:
    """Scores every option by chance, evenly over 0–1.

    An option's score follows from the seed, the problem's id and the option alone, so neither the
    order of the problems or of the options nor the sentence matters.

    Attributes:
        seed: of the draw.

    >>> problem = Problem("a", "A _ b.", ("x", "y"))
    >>> Random(1).score([problem]) == Random(1).score([problem])
    True
    """

    seed: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature."""
        return {"solver": "random", "seed": self.seed, "sees": "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one draw an option."""
        return [tuple(self._draw(p.id, option) for option in p.options) for p in problems]

    def _draw(self, problem_id: str, option: str) -> float:
        key = json.dumps([self.seed, problem_id, option]).encode()
        return int.from_bytes(hashlib.sha256(key).digest()[:6], "big") / 2.0**48


@dataclass(frozen=True, slots=True)
class Majority:
    """Scores an option by how often its place held the right answer among solved problems.

    Attributes:
        shares: of each place from the first on, 0–1; a place beyond them has 0.

    >>> half = Problem("a", "A _ b.", ("x", "y"), 1)
    >>> Majority.trained_on(Dataset([half])).score([half.blind()])
    [(0.0, 1.0)]
    """

    shares: tuple[float, ...]

    @classmethod
    def trained_on(cls, train: Dataset) -> Majority:
        """Return the solver that has counted the answers of these problems.

        Raises:
            DataError: there are no problems, or an answer is withheld.
        """
        counts = Counter(known_answers(train))
        places = max(len(problem.options) for problem in train)
        return cls(tuple(counts[place] / len(train) for place in range(places)))

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, for a signature."""
        return {"solver": "majority", "shares": list(self.shares), "sees": "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the shares of the places that a problem has."""
        most = max((len(problem.options) for problem in problems), default=0)
        shares = self.shares + (0.0,) * (most - len(self.shares))
        return [shares[: len(problem.options)] for problem in problems]


BEFORE = 2
"""Words ahead of the blank that stay: the baseline sees w[t-2:] (WinoGrande, section 4.1)."""


def local_only(problems: Sequence[Problem], before: int = BEFORE) -> tuple[Problem, ...]:
    """Return the problems with their sentences cut to the local context; all else stays.

    Train a solver on these too for the baseline of WinoGrande's table 3.

    Raises:
        DataError: a problem is a question.
        ProblemError: a sentence has no spaces between words, and so no local context.

    >>> whole = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"))
    >>> local_only([whole])[0].sentence
    'and the _ broke.'
    """
    seen.check_blanks(problems, "the local context")
    return tuple(seen.local_only(problem, before, whole=False) for problem in problems)


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
