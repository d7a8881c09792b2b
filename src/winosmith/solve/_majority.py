"""`Majority`: the option whose place was the right one most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winosmith.dataset import Dataset
from winosmith.problem import MAX_OPTIONS, Problem
from winosmith.solve._solver import Scores
from winosmith.solve._training import known_answers

__all__ = ["Majority"]


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
        shares = self.shares + (0.0,) * (MAX_OPTIONS - len(self.shares))
        return [shares[: len(problem.options)] for problem in problems]
