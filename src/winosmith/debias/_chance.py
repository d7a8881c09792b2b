"""Null distributions of a filter with random labels, and comparisons between runs.

*Nulls.* The halves of a twin have nearly the same embedding and opposite answers. Permuting all
answers freely would break this structure and change how much is predictable by chance. So in a draw
under the null, the answers of both halves are flipped together, and only the answers of singles are
permuted. Pure noise also passes AFLite's threshold. The number of rows that a phase finds by chance
is estimated with random labels, the same rows and the same partitions.

*Repeated runs.* AFLite is chaotic: each phase depends on the problems removed before, so that even
a tiny change in the vectors grows. On 6,000 practice problems, 76 to 80 % of the problems removed
with one seed are also removed with another (Jaccard index .55 to .69). So the removals of a run are
one random draw. Compare them with those of runs with other seeds, and of runs on slightly noisy
vectors.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias import _rows, _selection
from winosmith.debias._ensemble import DRAWS, Ensemble, Settings, Votes, open_ensemble
from winosmith.debias._selection import Counts, Selection, pool_by_group
from winosmith.errors import InputError
from winosmith.metrics import find_critical_value
from winosmith.results import Result, computed


@dataclass(frozen=True, slots=True)
class NullTest(Result):
    """A number and its null distribution under random labels.

    Attributes:
        value: The number observed with the real labels.
        mean: The mean of the draws.
        high: The chance limit, which a draw exceeds with a probability of at most 5 %. The value
            exceeds it exactly if `p` is at most 0.05.
        p: The Monte Carlo p-value, the probability that chance gives a number at least as high: (1
            + draws at or above the value) / (1 + draws) (Davison & Hinkley 1997, section 4.2.3).
        draws: The number observed in each draw.
    """

    value: float
    mean: float
    high: float
    p: float
    draws: tuple[float, ...]


def compare_with_null(value: float, draws: Sequence[float]) -> NullTest:
    reached = sum(number >= value for number in draws)
    return NullTest(
        value=value,
        mean=float(np.mean(draws)),
        high=find_critical_value(draws),
        p=(1 + reached) / (1 + len(draws)),
        draws=tuple(draws),
    )


Labels = TypeVar("Labels", bound=np.generic)


def flip_twins(
    y: NDArray[Labels], groups: Sequence[Sequence[int]], rng: np.random.Generator
) -> NDArray[Labels]:
    """Return randomly flipped labels that keep the structure of twins.

    The labels of a group of two rows or more (a twin) are all flipped or all kept, with equal
    probability; the labels of singles are permuted among themselves.

    Args:
        y: (n,) labels, 0 or 1.
        groups: The rows that belong together, such as `Dataset.groups`, or `blocks.find_blocks` if
            there are copies; every row is in one group.
        rng: The generator for the flips and then for the permutation.

    Raises:
        DataError: The groups do not list each row once.

    >>> y = np.array([0, 1, 1, 0, 1, 1])
    >>> flip_twins(y, [(0, 1), (2, 3), (4,), (5,)], np.random.default_rng(0)).tolist()
    [0, 1, 0, 1, 1, 1]
    """
    return flip_labels(np.asarray(y), _rows.encode_groups(groups, len(y)), rng)


def flip_labels(
    y: NDArray[Labels],
    group_of: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    permute: bool = True,
) -> NDArray[Labels]:
    """Flip labels like `flip_twins`, given each row's group number.

    Without `permute`, the labels of singles are flipped instead of permuted. This is valid if the
    order of the options has no meaning, because then it does not matter how many first options are
    correct.
    """
    sizes = np.bincount(group_of)
    flips = rng.random(len(sizes)) < 0.5
    if not permute:
        return np.where(flips[group_of], 1 - y, y).astype(y.dtype)
    single = sizes[group_of] == 1
    drawn = np.where(flips[group_of] & ~single, 1 - y, y).astype(y.dtype)
    drawn[single] = rng.permutation(y[single])
    return drawn


OnDraw = Callable[[int], object]
"""A callback that receives the number of completed draws of a null."""


def compute_threshold_null(
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
) -> NullTest:
    """Count the rows that reach AFLite's threshold in the first phase, and compute the null.

    The number of rows that AFLite removes means little without a null, because pure noise also
    passes the threshold. This function measures the first phase, which includes all rows, with the
    same partitions for the real labels and for every draw; `debias.aflite` with `null="report"`
    measures every phase. If the observed number is within the null distribution, AFLite removes
    only noise.

    Args:
        X: (N, d) rows as for `aflite`.
        y: (N,) labels, 0 or 1.
        groups: The rows of each twin, such as `Dataset.groups`; see `flip_twins`.
        ensemble_size: See `aflite`.
        train_size: The number of training rows, less than N.
        threshold: See `aflite`.
        C: See `aflite`.
        seed: The random seed for the partitions and the draws.
        ids: See `aflite`.
        draws: The number of draws, 20 or more; each draw takes as long as a phase.
        executor: See `aflite`.
        scratch: See `aflite`.
        on_draw: Called after each draw with the number of completed draws.

    Raises:
        DataError: The data is invalid for `aflite`, or the groups do not list each row once.
        InputError: A parameter is out of range.
    """
    rows = _rows.check_rows(X, y, ids, None, scratch)
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
            f"train_size is {settings.train_size}; it must be below {len(rows.y)}, the "
            "number of rows"
        )
    twins = _rows.encode_group_labels(_rows.encode_groups(groups, len(rows.y)).tolist(), rows.order)
    all_rows = np.arange(len(rows.y), dtype=np.int32)
    with open_ensemble(rows, settings, executor, scratch) as ensemble:
        votes = ensemble.collect_votes(all_rows, 0, ensemble.compute_starting_point(all_rows))
        reached = _selection.reaches_threshold(votes.correct, votes.total, settings.threshold)
        return draw_phase_null(ensemble, all_rows, 0, twins, int(reached.sum()), on_draw)[0]


def draw_phase_null(
    ensemble: Ensemble,
    rows: NDArray[np.int32],
    phase: int,
    twins: NDArray[np.intp],
    observed: int,
    on_draw: OnDraw | None = None,
) -> tuple[NullTest, list[NDArray[np.float64]]]:
    """Return the null distribution of the number of rows that a phase could remove.

    Each draw flips the labels again and restarts the solver. A draw depends only on the rows left,
    not on earlier draws, so that a resumed run draws the same labels.

    `twins` are the rows' twin numbers, (N,). `observed` is the number of candidates with the real
    labels. The second return value contains, for each draw, the scores of the rows left.
    """
    settings = ensemble.settings
    drawn, scores = [], []
    for draw in range(settings.null_draws):
        labels = ensemble.y.copy()
        labels[rows] = flip_labels(
            ensemble.y[rows],
            twins[rows],
            np.random.default_rng([settings.seed, draw, _rows.FLIPS, phase]),
        )
        relabelled = replace(ensemble, y=labels)
        votes = relabelled.collect_votes(rows, phase, relabelled.compute_starting_point(rows))
        correct, total = pool_votes(relabelled, rows, votes)
        drawn.append(int(_selection.reaches_threshold(correct, total, settings.threshold).sum()))
        scores.append(_selection.compute_scores(correct, total))
        if on_draw is not None:
            on_draw(draw + 1)
    return compare_with_null(observed, drawn), scores


def pool_votes(ensemble: Ensemble, rows: NDArray[np.int32], votes: Votes) -> tuple[Counts, Counts]:
    """Return the numbers of correct and of all predictions for each row, or for its group."""
    if ensemble.settings.remove == "groups" and ensemble.groups is not None:
        groups = ensemble.groups[rows]
        return pool_by_group(votes.correct, groups), pool_by_group(votes.total, groups)
    return votes.correct, votes.total


def estimate_chance_removals(scores: Sequence[NDArray[np.float64]], chosen: Selection) -> float:
    """Return the mean number of rows per null draw that score at least as high as removed rows.

    `scores` contains the scores of the phase's rows in each draw. If only a fraction of the rows
    with the lowest removed score was removed, the same fraction of such rows is counted in the
    draws.
    """
    if not chosen.removed.size:
        return 0.0
    fraction = chosen.tied_removed / chosen.tied if chosen.tied else 1.0
    reached = [
        (score > chosen.lowest).sum() + fraction * (score == chosen.lowest).sum()
        for score in scores
    ]
    return float(np.minimum(reached, len(chosen.removed)).mean())


NOISE = 1e-4
"""Standard deviation of the noise, relative to each number: about the rounding error of half
precision, or the difference between an encoder's results on two machines."""


@dataclass(frozen=True, slots=True)
class RunOverlap(Result):
    """The overlap of the problems that two runs of a filter removed.

    Attributes:
        removed: The number of problems that this run removed.
        other: The number of problems that the other run removed.
        both: The number of problems that both runs removed.
    """

    removed: int
    other: int
    both: int

    @property
    @computed()
    def share(self) -> float | None:
        """The fraction of removals that the other run also made, 0–1; None without removals."""
        return self.both / self.removed if self.removed else None

    @property
    @computed()
    def jaccard(self) -> float | None:
        """The Jaccard index of both runs' removed problems, 0–1; None if there are none."""
        either = self.removed + self.other - self.both
        return self.both / either if either else None


def compare_runs(kept: ArrayLike, other_kept: ArrayLike, row_count: int) -> RunOverlap:
    """Compare the removals of two runs of a filter on the same rows.

    Args:
        kept: The rows that the filter kept.
        other_kept: The rows that the other run kept.
        row_count: The number of rows before filtering.

    Raises:
        InputError: A row number is out of range.

    >>> compare_runs([0, 1], [0, 2], 5)
    RunOverlap(share=0.6667, jaccard=0.5, removed=3, other=3, both=2)
    """
    removed = np.ones((2, row_count), np.bool_)
    for run, kept_rows in enumerate((kept, other_kept)):
        rows_kept = np.asarray(kept_rows, np.intp)
        if len(rows_kept) and (rows_kept.min() < 0 or rows_kept.max() >= row_count):
            raise InputError(f"a kept row is out of range; there are {row_count} rows")
        removed[run, rows_kept] = False
    first, second = removed
    return RunOverlap(int(first.sum()), int(second.sum()), int((first & second).sum()))


@contextlib.contextmanager
def perturb_vectors(
    X: NDArray[Any],
    ids: Sequence[Hashable],
    *,
    seed: int = 0,
    scratch: str | Path | None = None,
) -> Iterator[NDArray[np.float32]]:
    """Yield a copy of vectors in which each number is multiplied by 1 + `NOISE` × a normal draw.

    A row's noise depends on the seed and on the rank of its id among the sorted ids, not on the
    order of the rows. The copy of memory-mapped vectors is also memory-mapped.

    Args:
        X: (n, d) vectors, or (n, K, d) vectors of all options. All options of a problem get the
            same noise.
        ids: (n,) distinct, sortable ids of one type.
        seed: The random seed, 0 or more.
        scratch: The folder for the copy, as for `debias.aflite`.
    """
    order = sorted(range(len(ids)), key=ids.__getitem__)  # type: ignore[arg-type]
    folder, shape = _rows.choose_scratch_folder(X, scratch), (len(X), math.prod(X.shape[1:]))
    copy: contextlib.AbstractContextManager[tuple[NDArray[np.float32], object]] = (
        contextlib.nullcontext((np.empty(shape, np.float32), None))
        if folder is None
        else _rows.map_scratch_matrix(shape, folder)
    )
    with copy as (matrix, _):
        perturbed = matrix.reshape(X.shape)
        for place, row in enumerate(order):
            draw = np.random.default_rng([seed, place]).standard_normal(X.shape[-1])
            perturbed[row] = X[row] * (1 + NOISE * draw)
        yield perturbed
