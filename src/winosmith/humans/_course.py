"""Do people get better or worse, faster or slower, over a sheet? And who was oddly fast?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.humans._tally import crossed_share
from winosmith.metrics import Proportion

Floats = npt.NDArray[np.float64]


_PARTS = 8
"""Into how many parts of equal length a sheet is cut for the drawing."""

_FAST, _SLOW = 0.5, 2.0
"""Times of the median pace at which a subject stands out. The one speedy subject of Davis et al.
(2016, section 3) took 7.6 s a question where an hour makes 18.3: 0.42 of it."""


@dataclass(frozen=True, slots=True)
class Slope:
    """How much something changes from the first question to the last.

    Attributes:
        change: the mean over subjects of each one's own least-squares line.
        interval: its 95 % interval, by Student's t over subjects; None for fewer than two.
        subjects: how many lines there are.
    """

    change: float
    interval: tuple[float, float] | None
    subjects: int


@dataclass(frozen=True, slots=True)
class Course:
    """One test from its first question to its last.

    Attributes:
        parts: for each part of the sheet its first and last question, and the share right.
        seconds: the median time of a question in each part; None where nothing was timed.
        right: the change of the share right, items set aside where `adjusted`.
        time: the change of the seconds; None without times.
        adjusted: whether each answer was compared with the others' on the same item, which needs
            at least two orders of the items; with one order, place and item can't be told apart.
    """

    parts: tuple[tuple[int, int, Proportion], ...]
    seconds: tuple[float | None, ...]
    right: Slope | None
    time: Slope | None
    adjusted: bool

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "parts": [
                {"first": first, "last": last, **share.record(), "seconds": seconds}
                for (first, last, share), seconds in zip(self.parts, self.seconds, strict=True)
            ],
            "right": _slope_record(self.right),
            "seconds": _slope_record(self.time),
            "items_set_aside": self.adjusted,
        }


def _slope_record(slope: Slope | None) -> dict[str, Any] | None:
    if slope is None:
        return None
    interval = None if slope.interval is None else list(slope.interval)
    return {"change": slope.change, "interval": interval, "subjects": slope.subjects}


def course(
    right: Floats, places: npt.NDArray[np.int64], seconds: Floats, length: int
) -> Course | None:
    """Return how a test went from start to end; None for fewer than two questions.

    Args:
        right: 1 and 0, NaN for no answer, (subjects, items).
        places: the number of each item on the subject's sheet, from 1; 0 where it was not asked.
        seconds: for each answer, NaN where it was not timed.
        length: of the sheet, in questions.
    """
    there = ~np.isnan(right) & (places > 0)
    if length < 2 or not there.any():
        return None
    orders = {tuple(row) for row in places}
    adjusted = len(orders) > 1
    excess = right - _others(right) if adjusted else right
    along = (places - 1) / (length - 1)
    edges = np.linspace(0, length, min(_PARTS, length) + 1).round().astype(int)
    parts, medians = [], []
    for first, last in zip(edges[:-1] + 1, edges[1:], strict=True):
        here = there & (places >= first) & (places <= last)
        if here.any():
            part = np.where(here, right, np.nan)
            parts.append((int(first), int(last), crossed_share(part)))
            timed = seconds[here & ~np.isnan(seconds)]
            medians.append(float(np.median(timed)) if len(timed) else None)
    return Course(
        tuple(parts),
        tuple(medians),
        _slope(excess, along, there),
        _slope(seconds, along, there & ~np.isnan(seconds)),
        adjusted,
    )


def _others(right: Floats) -> Floats:
    """Return for each answer the share right of the others on that item; NaN without others."""
    known = ~np.isnan(right)
    total, count = np.nansum(right, axis=0), known.sum(axis=0)
    shares = np.full(right.shape, np.nan)
    own = np.where(known, right, 0.0)
    np.divide(total - own, count - known, out=shares, where=(count - known) > 0)
    return shares


def _slope(values: Floats, along: Floats, there: npt.NDArray[np.bool_]) -> Slope | None:
    """Return the mean of the subjects' least-squares slopes; None where there is no line."""
    from scipy.stats import t

    lines = []
    for value, at, known in zip(values, along, there & ~np.isnan(values), strict=True):
        x, y = at[known], value[known]
        if len(np.unique(x)) > 1:
            centred = x - x.mean()
            lines.append(float(centred @ (y - y.mean()) / (centred @ centred)))
    if not lines:
        return None
    mean = float(np.mean(lines))
    if len(lines) < 2:
        return Slope(mean, None, 1)
    half = float(t.ppf(0.975, len(lines) - 1) * np.std(lines, ddof=1) / np.sqrt(len(lines)))
    return Slope(mean, (mean - half, mean + half), len(lines))


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a subject took a question.

    Attributes:
        subject: the code.
        seconds: a question, over all their sheets.
        questions: how many they were asked.
        times_median: in medians of all subjects.
        odd: "fast" (half the median or less), "slow" (twice it or more), or "".
    """

    subject: str
    seconds: float
    questions: int
    times_median: float
    odd: str

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "subject": self.subject,
            "seconds": self.seconds,
            "questions": self.questions,
            "times_median": self.times_median,
            "odd": self.odd,
        }


def paces(taken: Mapping[str, tuple[float, int]]) -> Sequence[Pace]:
    """Return the pace of each subject, the fastest first.

    Args:
        taken: subject → seconds in all, and questions.

    >>> hour, half = (3600.0, 197), (25 * 60.0, 197)  # Davis et al. 2016, section 3
    >>> [(p.subject, round(p.seconds, 1), p.odd) for p in paces({"a": hour, "b": hour, "c": half})]
    [('c', 7.6, 'fast'), ('a', 18.3, ''), ('b', 18.3, '')]
    """
    each = {who: seconds / questions for who, (seconds, questions) in taken.items() if questions}
    if not each:
        return ()
    median = float(np.median(list(each.values())))
    found = []
    for who, seconds in sorted(each.items(), key=lambda pair: (pair[1], pair[0])):
        times = seconds / median if median else 1.0
        odd = "fast" if times <= _FAST else "slow" if times >= _SLOW else ""
        found.append(Pace(who, seconds, taken[who][1], times, odd))
    return tuple(found)
