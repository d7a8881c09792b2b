"""How a test goes from its first question to its last."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from winosmith.humans._tally import course


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("orders", [1, 6])
def test_the_change_is_the_mean_of_the_subjects_lines(seed: int, orders: int) -> None:
    """Its interval is Student's of them; in several orders, what others know of an item is off."""
    rng = np.random.default_rng([seed, orders])
    right = rng.integers(0, 2, (6, 8)).astype(float)
    right[0, 0] = np.nan
    one = rng.permutation(8) + 1
    places = np.array([rng.permutation(8) + 1 if orders > 1 else one for _ in right])
    seconds = rng.gamma(5, 4, right.shape)
    seconds[1, 2:4] = np.nan
    found = course(right, places, seconds, 8)
    assert found is not None
    assert found.adjusted == (orders > 1)
    others = [np.nanmean(np.delete(right, row, axis=0), axis=0) for row in range(6)]
    for values, line in ((right - (np.array(others) if orders > 1 else 0), found.right),
                         (np.where(np.isnan(right), np.nan, seconds), found.time)):  # fmt: skip
        known = ~np.isnan(values)
        slopes = [
            np.polyfit((at[is_] - 1) / 7, value[is_], 1)[0]
            for at, value, is_ in zip(places, values, known, strict=True)
        ]
        assert line is not None
        assert (line.change, line.subjects) == (pytest.approx(np.mean(slopes)), 6)
        assert line.interval == pytest.approx(
            stats.t.interval(0.95, 5, np.mean(slopes), stats.sem(slopes))
        )
