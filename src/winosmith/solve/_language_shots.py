"""`shots`: solved problems as the prompt of a language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winosmith import models
from winosmith.errors import DataError
from winosmith.problem import Problem
from winosmith.seen import Sees

__all__ = ["shots"]

BETWEEN = "\n\n"
"""What parts one sentence from the next, as in lm-evaluation-harness."""


def shots(
    problems: Sequence[Problem], count: int = 30, *, seed: int = 0, sees: Sees = "blank"
) -> str:
    r"""Return a prompt of some problems with the right option filled in, drawn at random.

    The prompt stands before every sentence that is scored, so it is read once. Draw it from
    problems that are not scored; EvoGrad (2024, section 4.1) takes 30 of the training part.

    Args:
        problems: where to draw from; those without an answer are passed over.
        count: how many.
        seed: of the draw.
        sees: what the solver sees; with the pronoun each shot says what it refers to.

    Raises:
        DataError: too few problems have an answer, or a pronoun to be seen is not known.

    >>> shots([Problem("1", "The cup hit the jug, so the _ broke.", ("cup", "jug"), 1)], 1)
    'The cup hit the jug, so the jug broke.\n\n'
    """
    solved = [problem for problem in problems if problem.answer is not None]
    if not 0 < count <= len(solved):
        raise DataError(f"{count} shots can't be drawn from {len(solved)} problems with an answer")
    drawn = np.random.default_rng(seed).permutation(len(solved))[:count]
    return "".join(models.solved_text(solved[row], sees) + BETWEEN for row in drawn)
