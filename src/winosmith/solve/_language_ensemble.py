"""`Ensemble`: several solvers as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from winosmith.answers import best_of
from winosmith.errors import InputError
from winosmith.problem import Problem
from winosmith.solve._language import check_kind
from winosmith.solve._solver import Scores, Solver

__all__ = ["Combination", "Ensemble"]

Combination = Literal["product", "vote"]
"""`product`: the mean of the solvers' scores; of log-probabilities, it orders the options as the
product of the probabilities does. `vote`: the solvers whose best option it is (a solver's vote is
shared by its equal best ones), and half the share that the product gives it, scaled so that this
only settles a tie of votes."""


@dataclass(frozen=True)
class Ensemble:
    """Several solvers as one, such as the language models of Trinh and Le (2018), section 4.

    A product asks for scores of one kind, the same score of several language models; a vote takes
    any solvers.

    Attributes:
        solvers: one or more; each is asked in turn.
        combine: see `Combination`.

    >>> from winosmith.solve import Random
    >>> ensemble = Ensemble((Random(1), Random(2), Random(3)), "vote")
    >>> [scores] = ensemble.score([Problem("a", "A _ b.", ("x", "y"))])
    >>> [int(score) for score in scores]
    [2, 1]
    """

    solvers: tuple[Solver, ...]
    combine: Combination = "product"

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the scores, beside the problems; for signatures and headers."""
        parts = [getattr(solver, "parameters", repr(solver)) for solver in self.solvers]
        told = {"solver": "ensemble", "combine": self.combine, "parts": parts}
        seen = {part.get("sees") if isinstance(part, dict) else None for part in parts}
        if None in seen:  # a solver of somebody else's
            return told
        return {**told, "sees": "pronoun" if "pronoun" in seen else "blank"}

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return the combined score of each option.

        Raises:
            InputError: there is no solver, or the combination is none.
        """
        check_kind(self.combine, get_args(Combination))
        if not self.solvers:
            raise InputError("an ensemble needs one solver or more")
        given = [solver.score(problems) for solver in self.solvers]
        return [
            tuple(map(float, self._combined(np.array(own, np.float64))))
            for own in zip(*given, strict=True)
        ]

    def _combined(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return one score an option, (options,), from those of the solvers (solvers, options)."""
        mean: npt.NDArray[np.float64] = scores.mean(0)
        if self.combine == "product":
            return mean
        bests = [list(best_of(own.tolist())) for own in scores]
        votes = np.zeros(scores.shape[1])
        for best in bests:
            votes[best] += 1 / len(best)
        step = 1 / np.lcm.reduce([len(best) for best in bests])  # what sums of votes differ by
        share = np.exp(mean - mean.max())
        tie: npt.NDArray[np.float64] = votes + step / 2 * share / share.sum()
        return tie
