"""What a filter or a measure finds by chance: on labels that mean nothing, and when it runs again.

*Nulls.* The halves of a twin have nearly the same embedding and opposite answers. Permuting all
answers freely would break that, and change how much there is to guess by chance; so a null flips
the answers of both halves together, and permutes freely only among problems that have no other
half. Noise gets past AFLite's threshold too: of the rows that a phase finds, as many are found for
nothing as there are when the labels mean nothing, with the same rows and the same partitions.

*Again.* AFLite is chaotic: which problems go in one phase decides what the next ones see, so that a
change of the last digits grows. Of 6,000 practice problems another seed removes 76 to 80 % of what
one removes (Jaccard .55 to .69). What one run removed is one draw, and is to be read beside others:
by another seed, and on vectors with a little noise.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._ensemble import DRAWS, Ensemble, Settings, Votes, open_ensemble
from winosmith.debias._rows import (
    FLIPS,
    checked_rows,
    number_labels,
    number_rows,
    scratch_folder,
    scratch_matrix,
)
from winosmith.debias._selection import Counts, Selection, at_threshold, pool_by_group, scores
from winosmith.errors import InputError
from winosmith.metrics import null_interval, null_interval_label
from winosmith.results import Result, computed


@dataclass(frozen=True, slots=True)
class Null(Result):
    """A figure, and the same figure if there is nothing to find.

    Attributes:
        value: the figure, of the real answers.
        mean: its mean over the draws.
        low: the lower end of the interval of the draws (`metrics.null_interval`).
        high: the upper end.
        interval: what this interval is: 95 % of the draws, or the range of few.
        p: how likely so high a figure is by chance: (1 + draws at or above the value) over
            (1 + draws), the Monte Carlo p-value (Davison & Hinkley 1997, section 4.2.3).
        draws: the figure of each draw.
    """

    value: float
    mean: float
    low: float
    high: float
    interval: str
    p: float
    draws: tuple[float, ...]


def make_null(value: float, drawn: Sequence[float]) -> Null:
    """Return a number with the draws of its null."""
    low, high = null_interval(drawn)
    reached = sum(figure >= value for figure in drawn)
    return Null(
        value=value,
        mean=float(np.mean(drawn)),
        low=low,
        high=high,
        interval=null_interval_label(len(drawn)),
        p=(1 + reached) / (1 + len(drawn)),
        draws=tuple(drawn),
    )


Labels = TypeVar("Labels", bound=np.generic)


def flip_twins(
    y: NDArray[Labels], groups: Sequence[Sequence[int]], rng: np.random.Generator
) -> NDArray[Labels]:
    """Return labels that mean nothing, with the structure of the real ones.

    The labels of a group of two rows or more (a twin) are all flipped or all kept, with equal
    chance; those of the groups of one are permuted among these.

    Args:
        y: (n,) labels, 0 or 1.
        groups: the rows that belong together, such as `Dataset.groups`, or `blocks.blocks`, where
            there are copies; every row in one.
        rng: draws the flips, then the permutation.

    Raises:
        DataError: the groups do not name each row once.

    >>> y = np.array([0, 1, 1, 0, 1, 1])
    >>> flip_twins(y, [(0, 1), (2, 3), (4,), (5,)], np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 1, 1]
    """
    return flip_labels(np.asarray(y), number_rows(groups, len(y)), rng)


def flip_labels(
    y: NDArray[Labels],
    numbers: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    permute: bool = True,
) -> NDArray[Labels]:
    """Flip as `flip_twins` does, by the number of each row's group.

    Without `permute` the groups of one are flipped like the others: where the order of the options
    means nothing, so does the number of those whose first option is right.
    """
    sizes = np.bincount(numbers)
    flips = rng.random(len(sizes)) < 0.5
    if not permute:
        return np.where(flips[numbers], 1 - y, y).astype(y.dtype)
    single = sizes[numbers] == 1
    drawn = np.where(flips[numbers] & ~single, 1 - y, y).astype(y.dtype)
    drawn[single] = rng.permutation(y[single])
    return drawn


OnDraw = Callable[[int], object]
"""Called with the number of draws of a null that are done."""


def threshold_null(
    X: ArrayLike,
    y: ArrayLike,
    groups: Sequence[Sequence[int]],
    *,
    ensemble_size: int = 64,
    train_size: int = 10_000,
    threshold: float = 0.75,
    C: float = 1.0,
    seed: int = 0,
    ids: Sequence[Hashable] | None = None,
    draws: int = DRAWS,
    executor: Executor | None = None,
    scratch: str | Path | None = None,
    on_draw: OnDraw | None = None,
) -> Null:
    """Return how many rows are at AFLite's threshold in its first phase, next to the null.

    The number that AFLite removes says little alone: noise gets past the threshold too. The first
    phase, in which all rows take part, is asked here, with the same partitions for the real labels
    and every draw; `debias.aflite` with `null="report"` asks every phase. Where the real number is
    not above the null's, AFLite removes rows for nothing.

    Args:
        X: (N, d) as for `aflite`.
        y: (N,) labels, 0 or 1.
        groups: the twins, such as `Dataset.groups`; see `flip_twins`.
        ensemble_size: see `aflite`, as of `train_size`, `threshold`, `C`, `seed` and `ids`.
        train_size: less than N.
        threshold: see `aflite`.
        C: see `aflite`.
        seed: of the partitions and of the draws.
        ids: see `aflite`.
        draws: 20 or more; each takes as long as a phase.
        executor: see `aflite`.
        scratch: see `aflite`.
        on_draw: called with the number of draws done, after each.

    Raises:
        DataError: as for `aflite`, or the groups do not name each row once.
        InputError: a parameter is out of its range.
    """
    rows = checked_rows(X, y, ids, None, scratch)
    settings = Settings(
        ensemble_size,
        train_size,
        1,
        threshold,
        C,
        seed,
        null="report",
        null_draws=draws,
    )
    if settings.train_size >= len(rows.y):
        raise InputError(
            f"train_size is {settings.train_size}; with {len(rows.y)} rows it must be smaller"
        )
    twins = number_labels(number_rows(groups, len(rows.y)).tolist(), rows.order)
    everything = np.arange(len(rows.y), dtype=np.int32)
    with open_ensemble(rows, settings, executor, scratch) as ensemble:
        votes = ensemble.vote(everything, 0, ensemble.first_start(everything))
        at = at_threshold(votes.correct, votes.total, settings.threshold)
        return chance(ensemble, everything, 0, twins, int(at.sum()), on_draw)[0]


def chance(
    ensemble: Ensemble,
    left: NDArray[np.int32],
    phase: int,
    twins: NDArray[np.intp],
    found: int,
    on_draw: OnDraw | None = None,
) -> tuple[Null, list[NDArray[np.float64]]]:
    """Return the candidates of a phase next to those of labels that mean nothing.

    Each draw flips again, and is solved from a start of its own: it depends on the rows left and
    on nothing that was drawn before, so that a run that is taken up draws the same.

    Args:
        ensemble: of the real labels.
        left: the rows left.
        phase: 0-based.
        twins: (N,) the twin of each row, as a number.
        found: the candidates by the real labels.
        on_draw: called after each draw.

    Returns:
        The null, and the scores of the rows left in each draw.
    """
    settings = ensemble.settings
    drawn, known = [], []
    for draw in range(settings.null_draws):
        labels = ensemble.y.copy()
        labels[left] = flip_labels(
            ensemble.y[left],
            twins[left],
            np.random.default_rng([settings.seed, draw, FLIPS, phase]),
        )
        other = ensemble.with_labels(labels)
        votes = other.vote(left, phase, other.first_start(left))
        correct, total = pool_votes(other, left, votes)
        drawn.append(int(at_threshold(correct, total, settings.threshold).sum()))
        known.append(scores(correct, total))
        if on_draw is not None:
            on_draw(draw + 1)
    return make_null(found, drawn), known


def pool_votes(ensemble: Ensemble, left: NDArray[np.int32], votes: Votes) -> tuple[Counts, Counts]:
    """Return the right and all predictions of each row left, or those of its group."""
    if ensemble.settings.remove == "groups" and ensemble.groups is not None:
        groups = ensemble.groups[left]
        return pool_by_group(votes.correct, groups), pool_by_group(votes.total, groups)
    return votes.correct, votes.total


def by_chance(drawn: Sequence[NDArray[np.float64]], chosen: Selection) -> float:
    """Return how many rows have scores such as those chosen, on average over the draws of a null.

    Args:
        drawn: the scores of the phase's rows in each draw.
        chosen: by the real labels; of those tied for the last places the same share is counted.
    """
    if not chosen.removed.size:
        return 0.0
    share = chosen.tied_removed / chosen.tied if chosen.tied else 1.0
    reached = [
        (score > chosen.lowest).sum() + share * (score == chosen.lowest).sum() for score in drawn
    ]
    return float(np.minimum(reached, len(chosen.removed)).mean())


Z = 1.959963984540054
"""The 97.5 % point of the normal distribution, for a 95 % interval."""

NOISE = 1e-4
"""Standard deviation of the noise, relative to each number: about the rounding of half precision,
or of an encoder on another machine."""


@dataclass(frozen=True, slots=True)
class RunOverlap(Result):
    """Of the problems that a filter removed, how many another run of it removes too.

    Attributes:
        removed: problems that the filter removed.
        other: those that the other run removed.
        both: those that both removed.
    """

    removed: int
    other: int
    both: int

    @property
    @computed()
    def share(self) -> float | None:
        """The fraction of the removed that the other run removes too, 0–1; None without any."""
        return self.both / self.removed if self.removed else None

    @property
    @computed()
    def jaccard(self) -> float | None:
        """Those that both removed over those that either did, 0–1; None when neither did."""
        either = self.removed + self.other - self.both
        return self.both / either if either else None


def compare_runs(kept: ArrayLike, other: ArrayLike, rows: int) -> RunOverlap:
    """Compare what two runs of a filter removed of the same rows.

    Args:
        kept: the rows that the filter kept.
        other: those that the other run kept.
        rows: how many there were.

    Raises:
        InputError: a row that there is not.

    >>> compare_runs([0, 1], [0, 2], 5)
    RunOverlap(share=0.6667, jaccard=0.5, removed=3, other=3, both=2)
    """
    gone = np.ones((2, rows), np.bool_)
    for run, left in enumerate((kept, other)):
        known = np.asarray(left, np.intp)
        if len(known) and (known.min() < 0 or known.max() >= rows):
            raise InputError(f"there are {rows} rows; a kept row is not among them")
        gone[run, known] = False
    return RunOverlap(int(gone[0].sum()), int(gone[1].sum()), int((gone[0] & gone[1]).sum()))


@contextlib.contextmanager
def perturb_vectors(
    X: NDArray[Any],
    ids: Sequence[Hashable],
    *,
    seed: int = 0,
    noise: float = NOISE,
    scratch: str | Path | None = None,
) -> Iterator[NDArray[np.float32]]:
    """Lend vectors with each number multiplied by 1 + `noise` × a standard normal one.

    What a row is multiplied by depends on the seed and on its id's place among the sorted ids, not
    on the order of the rows. Vectors that are mapped from a file are lent from a file too.

    Args:
        X: (n, d) vectors; or (n, K, d), those of all options, with the same noise
            in a problem.
        ids: (n,) distinct ids of one kind that can be put in order.
        seed: 0 or more.
        noise: the standard deviation, relative to each number.
        scratch: a folder for the copy, as for `debias.aflite`.
    """
    order = sorted(range(len(ids)), key=ids.__getitem__)  # type: ignore[arg-type]
    folder = scratch_folder(X, scratch)
    with contextlib.ExitStack() as stack:
        moved: NDArray[np.float32] = (
            np.empty(X.shape, np.float32)
            if folder is None
            else stack.enter_context(scratch_matrix((X.shape[0], math.prod(X.shape[1:])), folder))[
                0
            ].reshape(X.shape)
        )
        for place, row in enumerate(order):
            draw = np.random.default_rng([seed, place]).standard_normal(X.shape[-1])
            moved[row] = X[row] * (1 + noise * draw)
        yield moved
