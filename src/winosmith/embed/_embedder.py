"""`Embedder`: what turns problems into vectors, and how two options become one vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError, InputError
from winosmith.problem import Problem

Vectors = npt.NDArray[np.float32]

Combine = Literal["difference", "concat"]
"""How the vectors v of the two filled-in sentences become the one of the problem:

- `difference`: v(option 1 filled in) − v(option 2 filled in), of v's width. What both share
  cancels out, and swapping the options turns the vector around.
- `concat`: v(option 1 filled in) followed by v(option 2 filled in), twice v's width.
"""


class Embedder(Protocol):
    """Turns problems into vectors, without their answers.

    Answers kept, flipped or absent give equal vectors; the same problems give the same bytes.
    """

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one finite vector a problem, (n, d) float32, in the order of the problems."""
        ...


def combined(options: Vectors, combine: Combine) -> Vectors:
    """Return the problems' vectors, (n, d) or (n, 2 d), from those of their options, (n, 2, d).

    >>> combined(np.array([[[1, 2], [3, 5]]], np.float32), "difference").tolist()
    [[-2.0, -3.0]]
    >>> combined(np.array([[[1, 2], [3, 5]]], np.float32), "concat").tolist()
    [[1.0, 2.0, 3.0, 5.0]]
    """
    if combine == "difference":
        return options[:, 0] - options[:, 1]
    return options.reshape(len(options), -1)


def check_combine(combine: str) -> None:
    """Refuse a way to combine that is none, with InputError."""
    if combine not in get_args(Combine):
        raise InputError(f"combine is one of {', '.join(get_args(Combine))}; not {combine!r}")


def check_two_options(problems: Sequence[Problem]) -> None:
    """Refuse problems with more than two options, with a DataError that names the first three."""
    others = [problem.id for problem in problems if len(problem.options) != 2]
    if others:
        named = ", ".join(map(repr, others[:3])) + (", …" if len(others) > 3 else "")
        raise DataError(
            f"{len(others)} of {len(problems)} problems don't have two options ({named}); a "
            "vector is that of two options, so recast them as two-way comparisons or leave them out"
        )
