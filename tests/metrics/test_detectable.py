"""What difference between two models a set of problems can detect."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import multinomial

from winosmith import Dataset, metrics
from winosmith.errors import DataError
from winosmith.testing import made_twins


@pytest.mark.parametrize(("n", "psi"), [(30, 0.5), (40, 0.4), (60, 0.3), (80, 0.2)])
def test_the_exact_test_finds_the_detectable_difference_with_its_power(n: int, psi: float) -> None:
    """Over all outcomes that two such models can have, p is 0.05 or less in 80 %."""
    found = metrics.detectable(n, psi)
    assert found is not None
    better, worse = (psi + found) / 2, (psi - found) / 2
    power = sum(
        multinomial.pmf([wins, losses, n - wins - losses], n, [better, worse, 1 - psi])
        for wins in range(n + 1)
        for losses in range(min(wins, n - wins + 1))
        if metrics.flipped_signs(np.repeat([1, -1], [wins, losses])) <= 0.05
    )
    assert power == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("psi", "points"), [(0.1, 2.8), (0.2, 4.0), (0.3, 4.8), (0.5, 6.3)])
def test_a_little_more_is_detectable_by_connors_formula(psi: float, points: float) -> None:
    """The normal approximation (Connor 1987) of 1,000 items is less by one item at most."""
    found = metrics.detectable(1000, psi)
    assert found is not None
    assert points - 0.05 < 100 * found < points + 0.15


def test_too_few_items_detect_nothing() -> None:
    """If fewer than six items differ, no exact p is 0.05; a design effect divides the items."""
    assert metrics.detectable(100, 0.05) is metrics.detectable(1, 0.5) is None
    with pytest.raises(DataError, match="an item at least"):
        metrics.detectable(0, 0.3)
    assert metrics.detectable(1000, 0.3, design=2.0) == pytest.approx(
        metrics.detectable(500, 0.3), rel=1e-9
    )
    assert metrics.detectable(20, 0.5, design=2.0) == metrics.detectable(10, 0.5) is None


@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [((1, 2), 0), ((1, 2), 9), ((3, 7, 20), 1), ((1,) * 90 + (2,) * 90 + (5,) * 70, 3)],
)
def test_a_tiny_p_is_exact(sizes: tuple[int, ...], wrong: int) -> None:
    """Of sums of several sizes, few or many of each, p has its first nine digits right at 1e-60."""
    sums = sizes * (80 if len(sizes) < 9 else 1)
    seen = sum(sums) - 2 * sum(sums[:wrong])
    ways = 1  # a number whose digits, 400 bits each, count the signs that give each sum
    for size in sums:
        ways += ways << 400 * size
    farther = ways >> 400 * ((sum(sums) + seen) // 2)
    digits = [farther >> 400 * at & (1 << 400) - 1 for at in range((sum(sums) - seen) // 2 + 1)]
    expected = Fraction(2 * sum(digits), 2 ** len(sums))
    signed = np.where(np.arange(len(sums)) < wrong, -1, 1) * sums
    found = metrics.flipped_signs(signed)
    assert found < 1e-30
    assert found == pytest.approx(float(expected), rel=1e-9)


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
