"""The KL divergence between the answers along an axis, and what noise alone gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winosmith.debias._null import Null
from winosmith.errors import DataError

Direction = Literal["1||2", "2||1", "mean"]

_MOST_BINS = 100_000


@dataclass(frozen=True, slots=True)
class Along:
    """How the two answers lie along an axis.

    Attributes:
        edges: of the bins.
        counts: of the bins, for option 1 and for option 2.
        kl: their divergence in nats, 0 or more; None where it can't be measured, as with one
            answer only.
        null: the same with the labels of whole blocks flipped; None with `kl`.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    kl: float | None
    null: Null | None

    @classmethod
    def of(
        cls,
        binning: Binning,
        counts: NDArray[np.intp],
        *,
        smoothing: float,
        direction: Direction,
    ) -> Along:
        """Return the divergence of the first of several pairs of histograms, the rest as its null.

        Args:
            binning: of the histograms.
            counts: (1 + draws, 2, bins), from `Binning.count`; the first is what was measured.
            smoothing: what is added to every bin of both histograms.
            direction: of the divergence.
        """
        shown = tuple(tuple(row) for row in counts[0].tolist())
        if not counts[0].sum(axis=-1).all():
            return cls(binning.edges, shown, None, None)
        found = divergence(counts[:, 0], counts[:, 1], smoothing=smoothing, direction=direction)
        kl, drawn = float(found[0]), found[1:]
        low, high = map(float, np.quantile(drawn, [0.025, 0.975]))
        p = (1 + int((drawn >= kl).sum())) / (1 + len(drawn))
        null = Null(kl, float(drawn.mean()), low, high, p, tuple(drawn.tolist()))
        return cls(binning.edges, shown, kl, null)


@dataclass(frozen=True, slots=True)
class Binning:
    """How positions on an axis fall into bins of equal width.

    Attributes:
        low: the lower edge of the first bin.
        width: of a bin.
        bins: how many.
    """

    low: float
    width: float
    bins: int

    @classmethod
    def over(cls, low: float, high: float, bins: int, width: float | None = None) -> Binning:
        """Return `bins` equal bins from `low` to `high`, or bins of that `width`.

        Bins of a given width begin at multiples of it.

        Raises:
            DataError: the width asks for more than 100,000 bins.
        """
        if width is None:
            return cls(low, ((high - low) or 1.0) / bins, bins)
        start = float(np.floor(low / width))
        number = float(np.floor(high / width)) - start + 1
        if number > _MOST_BINS:
            raise DataError(
                f"bins of width {width:g} would be {number:,.0f}; the axis spans {high - low:.3g}: "
                "choose a larger width, or a number of bins"
            )
        return cls(start * width, float(width), int(number))

    @property
    def edges(self) -> tuple[float, ...]:
        """The edges of the bins, one more than there are bins."""
        return tuple((self.low + self.width * np.arange(self.bins + 1)).tolist())

    def count(self, positions: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many rows of each answer fall into each bin, (…, 2, bins).

        The largest position of the range is in the last bin, as in `numpy.histogram`; what lies
        outside is in the last bin on its side.

        Args:
            positions: (n,), or (k, n) with other positions for each labelling.
            labels: (n,) or (k, n), 0 or 1.
        """
        places = np.floor((positions - self.low) / self.width).astype(np.intp)
        places = np.clip(places, 0, self.bins - 1)
        places, labels = np.broadcast_arrays(places, labels)
        shape = (*labels.shape[:-1], 2, self.bins)
        cells = places + self.bins * labels
        cells += (2 * self.bins * np.arange(len(cells)))[:, None] if cells.ndim == 2 else 0
        return np.bincount(cells.ravel(), minlength=int(np.prod(shape))).reshape(shape)


def divergence(
    first: NDArray[Any], second: NDArray[Any], *, smoothing: float, direction: Direction = "1||2"
) -> Any:
    """Return KL(p || q) in nats between two histograms: sum over bins of p · ln(p / q).

    Each histogram becomes a distribution after `smoothing` is added to every bin of both, so
    that an empty bin does not make the divergence infinite. Leading axes broadcast.

    >>> round(float(divergence(np.array([8, 2]), np.array([2, 8]), smoothing=0.0)), 4)
    0.8318
    """
    if direction == "2||1":
        first, second = second, first
    p, q = first + smoothing, second + smoothing
    p = p / p.sum(axis=-1, keepdims=True)
    q = q / q.sum(axis=-1, keepdims=True)
    ratio = np.log(np.where(p > 0, p, 1)) - np.log(np.where(p > 0, q, 1))
    forward = np.maximum((p * ratio).sum(axis=-1), 0)
    if direction == "mean":
        return (forward + divergence(second, first, smoothing=smoothing)) / 2
    return forward
