"""What perturbs: from one problem, others that differ from it a little."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from winosmith.problem import Problem

__all__ = ["Perturber"]


class Perturber(Protocol):
    """Makes children of a problem.

    Each child is a problem by itself with its lineage (`winosmith.lineage.perturbed`), marked as
    not yet judged by people. The same problem and seed give the same children, in the same order,
    whatever else was perturbed before; no two children are equal, and none is the parent.
    """

    def perturb(self, problem: Problem, seed: int) -> Iterable[Problem]:
        """Return or yield the children of a problem."""
        ...
