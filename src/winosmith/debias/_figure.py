"""One figure of a kept set beside the same of random subsets made up like it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

About = Literal["people", "labels", "domain", "words"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Measure:
    """Something that can be measured of every subset of a pool.

    Attributes:
        about: what it is about.
        name: in words.
        form: how to print it, a format specification.
        of: (n,) mask → the figure; NaN where it is not defined.
    """

    about: About
    name: str
    form: str
    of: Callable[[Mask], float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a kept set.

    Attributes:
        about: "people", "labels", "domain" or "words".
        name: what is measured.
        form: how to print it.
        pool: of all problems.
        kept: of the kept ones; None, with all that follows, where it is not defined.
        mean: of the random subsets, on average.
        low: the lower end of the central 95 % of them.
        high: the upper end.
        spread: their standard deviation.
        p: how likely a random subset is as far out as the kept set, on either side: twice the
            smaller Monte Carlo p-value (Davison & Hinkley 1997, section 4.2.3), 1 at most.
        adjusted: p, for so many figures of the same kept set (Holm 1979).
    """

    about: About
    name: str
    form: str
    pool: float | None
    kept: float | None
    mean: float | None
    low: float | None
    high: float | None
    spread: float | None
    p: float | None
    adjusted: float | None

    @property
    def shift(self) -> float | None:
        """How many standard deviations of the random subsets the kept set is off their mean."""
        if self.kept is None or self.mean is None or not self.spread:
            return None
        return (self.kept - self.mean) / self.spread

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)


def share_of(about: About, name: str, values: NDArray[Any], form: str = ".1%") -> Measure:
    """Return the mean of a column, over the rows where it is known.

    >>> measure = share_of("people", "agree", np.array([1.0, 0.0, np.nan]))
    >>> measure.of(np.array([True, True, True])), measure.of(np.array([True, False, True]))
    (0.5, 1.0)
    """
    column = np.asarray(values, np.float64)
    known = ~np.isnan(column)
    filled = np.where(known, column, 0.0)

    def of(mask: Mask) -> float:
        count = int((mask & known).sum())
        return float(filled[mask].sum() / count) if count else float("nan")

    return Measure(about, name, form, of)


def compared(
    measures: Sequence[Measure], kept: Mask, subsets: Sequence[Mask]
) -> tuple[Figure, ...]:
    """Measure a kept set, everything, and random subsets.

    Args:
        measures: what to measure.
        kept: (n,) which rows were kept.
        subsets: masks of random subsets; see `alike`.
    """
    everything = np.ones(len(kept), np.bool_)
    found = [
        _figure(measure, measure.of(everything), measure.of(kept),
                np.array([measure.of(subset) for subset in subsets]))
        for measure in measures
    ]  # fmt: skip
    return _adjusted(found)


def _figure(measure: Measure, pool: float, kept: float, drawn: NDArray[Any]) -> Figure:
    about = (measure.about, measure.name, measure.form)
    known = drawn[~np.isnan(drawn)]
    whole = None if np.isnan(pool) else pool
    if np.isnan(kept) or not known.size:
        return Figure(*about, whole, None, None, None, None, None, None, None)
    low, high = np.quantile(known, [0.025, 0.975])
    close = 1e-9 * max(1.0, abs(kept))  # sums of the same numbers in another order are the same
    above, below = (known >= kept - close).sum(), (known <= kept + close).sum()
    p = min(1.0, 2 * (1 + min(above, below)) / (1 + len(known)))
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return Figure(
        *about,
        whole,
        kept,
        float(known.mean()),
        float(low),
        float(high),
        spread if spread > close else 0.0,
        float(p),
        None,
    )


def _adjusted(found: Sequence[Figure]) -> tuple[Figure, ...]:
    from dataclasses import replace

    from statsmodels.stats.multitest import multipletests

    known = [place for place, figure in enumerate(found) if figure.p is not None]
    told = list(found)
    if known:
        adjusted = multipletests([found[place].p for place in known], method="holm")[1]
        for place, p in zip(known, adjusted, strict=True):
            told[place] = replace(found[place], adjusted=float(p))
    return tuple(told)
