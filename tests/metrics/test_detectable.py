"""What difference between two models a set of problems can detect."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from winosmith import Dataset, metrics
from winosmith.errors import DataError
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
    assert metrics.detectable(100, 0.05) is metrics.detectable(1, 0.5) is None
    with pytest.raises(DataError, match="an item at least"):
        metrics.detectable(0, 0.3)
    assert metrics.detectable(1000, 0.3, design=2.0) == pytest.approx(
        metrics.detectable(500, 0.3), rel=1e-9
    )
    assert metrics.detectable(20, 0.5, design=2.0) == metrics.detectable(10, 0.5) is None


def test_mid_p_halves_what_was_seen() -> None:
    """Of 3 against 9 the exact p is 0.146, and mid-p takes half of the term that was seen."""
    seen = np.repeat([1, -1], [3, 9])
    expected = pytest.approx(2 * (79 + 110) / 4096)
    assert metrics.flipped_signs(seen, mid=True) == expected
    assert metrics.flipped_signs(-5 * seen, mid=True) == expected
    assert metrics.flipped_signs([], mid=True) == metrics.flipped_signs([7, -7], mid=True) == 1.0


@pytest.mark.parametrize("mid", [False, True])
@pytest.mark.parametrize(
    ("sizes", "wrong"),
    [((1, 2), 0), ((1, 2), 9), ((3, 7, 20), 1), ((1,) * 90 + (2,) * 90 + (5,) * 70, 3)],
)
def test_a_tiny_p_is_exact(sizes: tuple[int, ...], wrong: int, mid: bool) -> None:
    """Of sums of several sizes, few or many of each, p has its first nine digits right at 1e-60."""
    sums = sizes * (80 if len(sizes) < 9 else 1)
    seen = sum(sums) - 2 * sum(sums[:wrong])
    ways = 1  # a number whose digits, 400 bits each, count the signs that give each sum
    for size in sums:
        ways += ways << 400 * size
    farther = ways >> 400 * ((sum(sums) + seen) // 2)
    digits = [farther >> 400 * at & (1 << 400) - 1 for at in range((sum(sums) - seen) // 2 + 1)]
    expected = Fraction(2 * sum(digits) - (digits[0] if mid else 0), 2 ** len(sums))
    signed = np.where(np.arange(len(sums)) < wrong, -1, 1) * sums
    found = metrics.flipped_signs(signed, mid=mid)
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
