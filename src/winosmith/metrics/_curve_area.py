"""The area under a learning curve, as WinoGrande's leaderboard takes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winosmith.errors import DataError

__all__ = ["LEADERBOARD_SIZES", "area_under_curve"]

LEADERBOARD_SIZES = (160, 640, 2558, 10234, 40398)
"""Problems in the released training sets xs to xl. Table 4 prints 40,938 for the last; the released
file, and the leaderboard's evaluation, have 40,398."""


def area_under_curve(
    accuracies: Sequence[float], sizes: Sequence[float] = LEADERBOARD_SIZES
) -> float:
    """Return the mean accuracy over the logarithm of the training size.

    The trapezoid rule over log2(size), divided by the range of log2(size): the "AUC" of
    WinoGrande's leaderboard. It has the unit of the accuracies.

    Args:
        accuracies: one a size.
        sizes: training problems, increasing, above 0; the leaderboard's by default.

    Raises:
        DataError: fewer than two sizes, or sizes that don't increase.

    >>> round(area_under_curve([0.515, 0.586, 0.669, 0.758, 0.793]), 4)  # table 4, dev
    0.6665
    """
    from scipy.integrate import trapezoid

    if len(sizes) != len(accuracies) or len(sizes) < 2:
        raise DataError(
            f"there are {len(accuracies)} accuracies for {len(sizes)} sizes; the area needs two or "
            "more, one a size"
        )
    if min(sizes) <= 0 or not (np.diff(sizes) > 0).all():
        raise DataError(f"the sizes must be above 0 and increase: {', '.join(map(str, sizes))}")
    places = np.log2(np.asarray(sizes, dtype=np.float64))
    return float(trapezoid(accuracies, places) / (places[-1] - places[0]))
