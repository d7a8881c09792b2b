"""The KL divergence between two histograms, the bins, and the null."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy

from winosmith.debias._assess import Along, Binning, divergence
from winosmith.errors import DataError

histograms = arrays(np.int64, 12, elements=st.integers(0, 400))


@given(histograms, histograms, st.floats(0.01, 5))
def test_divergence_is_that_of_the_smoothed_distributions(
    first: np.ndarray, second: np.ndarray, smoothing: float
) -> None:
    """It is scipy's relative entropy of the smoothed counts; the two directions swap with them."""
    there = divergence(first, second, smoothing=smoothing)
    back = divergence(second, first, smoothing=smoothing)
    assert there == pytest.approx(entropy(first + smoothing, second + smoothing), abs=1e-12)
    assert divergence(first, second, smoothing=smoothing, direction="2||1") == back
    mean = divergence(first, second, smoothing=smoothing, direction="mean")
    assert mean == pytest.approx((there + back) / 2)
    assert there >= 0
    assert divergence(first, first, smoothing=smoothing) == 0


def test_smoothing_keeps_an_empty_bin_finite() -> None:
    """A bin that one answer never fills costs a finite amount, and less with more smoothing."""
    first, second = np.array([10, 0]), np.array([0, 10])
    found = [float(divergence(first, second, smoothing=s)) for s in (0.01, 0.5, 5)]
    assert found == sorted(found, reverse=True)
    assert found[1] == pytest.approx((10.5 - 0.5) / 11 * np.log(21))


@given(arrays(np.float64, 30, elements=st.floats(-50, 50)), st.integers(2, 40))
def test_bins_are_equal_and_hold_every_row(positions: np.ndarray, bins: int) -> None:
    """Each row is counted once, in a bin whose edges it lies between."""
    binning = Binning.over(positions.min(), positions.max(), bins)
    edges, near = np.array(binning.edges), 1e-9 * max(1, np.abs(positions).max())
    assert len(edges) == bins + 1
    assert edges[0] == positions.min()
    assert positions.max() == positions.min() or abs(edges[-1] - positions.max()) <= near
    for row in range(30):
        counts = binning.count(positions[row : row + 1], np.array([row % 2]))
        ((answer, place),) = np.argwhere(counts).tolist()
        assert answer == row % 2
        assert edges[place] - near <= positions[row] <= edges[place + 1] + near


def test_bins_count_as_numpy_does() -> None:
    """The counts are those of numpy's histogram, by answer."""
    rng = np.random.default_rng(2)
    positions, labels = rng.normal(size=500), rng.integers(0, 2, 500)
    binning = Binning.over(positions.min(), positions.max(), 25)
    low_high = (positions.min(), positions.max())
    assert binning.count(positions, labels).tolist() == [
        np.histogram(positions[labels == answer], 25, low_high)[0].tolist() for answer in (0, 1)
    ]


def test_many_labellings_are_counted_at_once() -> None:
    """A stack of labellings, with one set of positions or one each, gives a stack of counts."""
    rng = np.random.default_rng(4)
    positions, labels = rng.normal(size=(5, 80)), rng.integers(0, 2, (5, 80))
    binning = Binning.over(-2, 2, 12)
    assert (binning.count(positions, labels) == [
        binning.count(*pair) for pair in zip(positions, labels, strict=True)
    ]).all()  # fmt: skip
    assert (binning.count(positions[0], labels) == [
        binning.count(positions[0], each) for each in labels
    ]).all()  # fmt: skip


def test_what_lies_outside_is_in_the_outermost_bins() -> None:
    """A fixed range loses no row."""
    counts = Binning.over(0, 1, 4).count(np.array([-9.0, 0.3, 9.0]), np.array([0, 0, 1]))
    assert counts.tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]


def test_bins_of_a_width_begin_at_its_multiples() -> None:
    """The other reading of "bin size": a width; edges are its multiples around the rows."""
    binning = Binning.over(-1.2, 2.7, 100, width=1.0)
    assert binning.edges == (-2, -1, 0, 1, 2, 3)
    assert binning.count(np.array([-1.2, 2.7]), np.array([0, 0]))[0].tolist() == [1, 0, 0, 0, 1]
    assert Binning.over(-1.2, 0.3, 100, width=0.5).edges == (-1.5, -1, -0.5, 0, 0.5)


def test_too_narrow_bins_are_refused() -> None:
    """A width that would make a hundred thousand bins names the span that it is for."""
    with pytest.raises(DataError, match=r"would be 10,000,001; the axis spans 10"):
        Binning.over(0.0, 10.0, 100, width=1e-6)


def test_the_first_histograms_are_measured_and_the_rest_are_the_null() -> None:
    """The null's mean, quantiles and p are those of the draws; p counts the measured one in."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, (41, 2, 10))
    found = Along.of(Binning.over(0, 1, 10), counts, smoothing=0.5, direction="1||2")
    each = [float(divergence(*pair, smoothing=0.5)) for pair in counts]
    assert found.kl == each[0]
    assert found.counts == tuple(map(tuple, counts[0].tolist()))
    assert found.null is not None
    assert found.null.mean == pytest.approx(np.mean(each[1:]))
    assert found.null.low == pytest.approx(min(each[1:]))
    assert found.null.high == pytest.approx(max(each[1:]))
    assert found.null.p == sum(kl >= each[0] for kl in each) / 41
    assert found.null.draws == pytest.approx(each[1:])
    assert found.null.value == found.kl


def test_one_answer_alone_has_no_divergence() -> None:
    """Without a problem of one of the answers there is nothing to compare."""
    counts = np.ones((21, 2, 4), int)
    counts[0, 1] = 0
    found = Along.of(Binning.over(0, 1, 4), counts, smoothing=0.5, direction="1||2")
    assert found.kl is None
    assert found.null is None
