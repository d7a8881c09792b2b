"""Error depth: how far from its root a solver fails (EvoGrad, section 3.6)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError

__all__ = ["error_depth", "without_errors"]


def error_depth(
    depths: npt.ArrayLike, wrong: npt.ArrayLike, kind: Literal["mean", "first"] = "mean"
) -> float | None:
    """Return the error depth of perturbed problems; None where no error was made.

    EvoGrad's equation 2 is lost in print. Its prose says "before the model produces its first
    incorrect prediction", which is `first`; its example is a mean, (5 + 6 + 5) / 3, and so are the
    figures of its table 4: `mean` is the default.

    It is conditional on being wrong: whoever guesses has about the mean depth of the problems, so
    the figure says something only beside that null; see `stability`.

    Args:
        depths: of each perturbed problem, (n,); roots are no perturbed problems.
        wrong: whether each was answered wrongly, (n,); of a tie, the probability, 0–1, that a fair
            draw is wrong: the depth is then the one expected where there is an error.
        kind: the mean depth of the errors, or the least.

    Raises:
        DataError: the lengths differ, a depth is missing or negative, or the kind is unknown.

    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True])  # EvoGrad, table 3
    5.333333333333333
    >>> error_depth([1, 2, 5, 6, 5], [False, False, True, True, True], kind="first")
    5.0
    >>> error_depth([1, 2], [False, False]) is None
    True
    """
    if kind not in ("mean", "first"):
        raise DataError(f"an error depth is of the kind 'mean' or 'first', not {kind!r}")
    each, errors = np.asarray(depths, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    if each.ndim != 1 or each.shape != errors.shape:
        raise DataError(
            f"there are depths for {each.shape} problems, and errors for {errors.shape}"
        )
    if not bool(np.all(each >= 0)):
        raise DataError("a depth is missing or negative; leave out problems of unknown depth")
    if not errors.any():
        return None
    if kind == "mean":
        return float(np.average(each, weights=errors))
    levels, fine = without_errors(each, errors)
    here = np.concatenate([[1.0], np.cumprod(fine)[:-1]]) * (1 - fine)
    return float(np.average(levels, weights=here))


def without_errors(
    depths: npt.NDArray[Any], wrong: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the depths that occur, ascending, and how probably each has no error, 0–1."""
    levels, of = np.unique(depths, return_inverse=True)
    fine = np.ones(len(levels))
    np.multiply.at(fine, of, 1 - wrong)
    return levels, fine
