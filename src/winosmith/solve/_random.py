"""`Random`: the solver that knows nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winosmith.problem import Problem
from winosmith.solve._solver import Scores

__all__ = ["Random"]


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
