"""The labels of problems, for filters that work on two options."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.errors import DataError


def problem_labels(data: Dataset) -> NDArray[np.int8]:
    """Return the answers of two-option problems as labels, 0 or 1, in order.

    Raises:
        DataError: there is no problem, one has more than two options, or its answer is withheld.

    >>> from winosmith import Problem
    >>> problem_labels(Dataset([Problem("a", "A _ b.", ("x", "y"), 1)])).tolist()
    [1]
    """
    if not len(data):
        raise DataError("there are no problems to filter")
    many = [problem for problem in data if len(problem.options) > 2]
    if many:
        raise DataError(
            f"the problem {many[0].id!r} has {len(many[0].options)} options; a filter works on "
            f"problems with two; leave out the {len(many)} that have more"
        )
    withheld = [problem for problem in data if problem.answer is None]
    if withheld:
        raise DataError(
            f"the answer of the problem {withheld[0].id!r} is withheld; a filter needs answers; "
            f"leave out the {len(withheld)} without one"
        )
    return np.array(data.answers, np.int8)
