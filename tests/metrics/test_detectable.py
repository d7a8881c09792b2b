"""What difference between two models a set of problems can detect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, metrics
from winosmith.testing import made_twins


@pytest.mark.parametrize(
    ("n", "psi", "points"), [(1000, 0.1, 2.8), (1000, 0.2, 4.0), (1000, 0.3, 4.8), (1000, 0.5, 6.3)]
)
def test_the_detectable_difference_solves_its_equation(n: int, psi: float, points: float) -> None:
    """The difference found is that at which the two sides of Connor's formula are equal."""
    found = metrics.detectable(n, psi)
    assert found is not None
    assert found * np.sqrt(n) == pytest.approx(
        1.959964 * np.sqrt(psi) + 0.841621 * np.sqrt(psi - found**2), rel=1e-5
    )
    assert round(100 * found, 1) == points


def test_fewer_than_six_items_are_never_enough() -> None:
    """The least difference is 6/n however few items differ, and none where they are fewer."""
    assert metrics.detectable(100, 0.07, power=0.5) == pytest.approx(0.06)
    assert metrics.detectable(100, 0.05) is None
    assert metrics.detectable(1000, 0.3, design=2.0) == pytest.approx(
        metrics.detectable(500, 0.3), rel=1e-9
    )
    assert metrics.detectable(20, 0.5, design=2.0) == metrics.detectable(10, 0.5) is None


def test_mid_p_halves_what_was_seen() -> None:
    """Of 3 against 9 the exact p is 0.146, and mid-p takes half of the term that was seen."""
    assert metrics.mid_p(3, 9) == metrics.mid_p(9, 3) == pytest.approx(2 * (79 + 110) / 4096)
    assert metrics.mid_p(0, 0) == metrics.mid_p(7, 7) == 1.0


def test_a_set_detects_no_more_when_each_problem_is_there_five_times() -> None:
    """Copies add nothing to what a set detects, whatever their ids and the order of options."""
    data = made_twins(100)
    again = Dataset(
        replace(p, id=f"{p.id}.{at}", twin_id=None, options=p.options[:: 1 - at % 2 * 2])
        for p in data
        for at in range(5)
    )
    once, often = metrics.detectable_by_share(data), metrics.detectable_by_share(again)
    assert [psi for psi, _ in once] == [psi for psi, _ in often] == [0.1, 0.2, 0.3, 0.5]
    assert [least for _, least in often] == pytest.approx([least for _, least in once])
    assert metrics.detectable_by_share(Dataset()) == ((0.1, None), (0.2, None), (0.3, None),
                                                      (0.5, None))  # fmt: skip
