"""How many rows reach AFLite's threshold by chance: its ensemble, asked about flipped labels.

Noise gets past the threshold too. Of the rows that a phase finds, as many are found for nothing as
there are when the labels mean nothing: the same rows, the same partitions, labels flipped twin by
twin (see `_null`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._ensemble import Ensemble, assembled
from winosmith.debias._groups import group_numbers, numbered
from winosmith.debias._null import Null, flipped, null_from
from winosmith.debias._partition import FLIPS
from winosmith.debias._rows import checked_rows
from winosmith.debias._selection import Counts, Selection, at_threshold, pooled, scores, select
from winosmith.debias._settings import DRAWS, Settings
from winosmith.debias._share import Votes
from winosmith.errors import InputError

__all__ = ["chance", "counted", "threshold_null"]

OnDraw = Callable[[int], object]
"""Is told how many draws of a null are done."""


def chance(
    ensemble: Ensemble,
    left: NDArray[np.int32],
    phase: int,
    twins: NDArray[np.intp],
    chosen: Selection,
    on_draw: OnDraw | None = None,
) -> tuple[Null, float]:
    """Return what a phase finds when the labels mean nothing, beside what it found.

    Each draw flips anew, and is solved from a start of its own: it depends on the rows left and
    on nothing that was drawn before, so that a run that is taken up draws the same.

    Args:
        ensemble: of the real labels.
        left: the rows left.
        phase: 0-based.
        twins: (N,) the twin of each row, as a number.
        chosen: what the phase chose by the real labels.
        on_draw: called after each draw.

    Returns:
        The number of candidates beside the null; and how many rows reach the scores of those that
        were chosen when the labels mean nothing: the mean over the draws, at most as many as were
        chosen.
    """
    settings = ensemble.settings
    drawn, reached = [], []
    for draw in range(settings.null_draws):
        labels = ensemble.y.copy()
        labels[left] = flipped(
            ensemble.y[left], twins[left], _generator(settings.seed, draw, phase)
        )
        other = ensemble.with_labels(labels)
        votes = other.vote(left, phase, other.first_start(left))
        correct, total = counted(other, left, votes)
        drawn.append(int(at_threshold(correct, total, settings.threshold).sum()))
        reached.append(_reached(scores(correct, total), chosen))
        if on_draw is not None:
            on_draw(draw + 1)
    return null_from(chosen.candidates, drawn), float(np.mean(reached))


def counted(ensemble: Ensemble, left: NDArray[np.int32], votes: Votes) -> tuple[Counts, Counts]:
    """Return the right and all predictions of each row left, or those of its group."""
    if ensemble.settings.remove == "groups" and ensemble.groups is not None:
        groups = ensemble.groups[left]
        return pooled(votes.correct, groups), pooled(votes.total, groups)
    return votes.correct, votes.total


def _reached(score: NDArray[np.float64], chosen: Selection) -> float:
    """Return how many rows have the scores of those chosen, of the ties as large a share."""
    if not chosen.removed.size:
        return 0.0
    share = chosen.tied_removed / chosen.tied if chosen.tied else 1.0
    reached = (score > chosen.lowest).sum() + share * (score == chosen.lowest).sum()
    return min(float(reached), float(len(chosen.removed)))


def _generator(seed: int, draw: int, phase: int) -> np.random.Generator:
    """Return the generator of one draw's flips in one phase."""
    return np.random.default_rng([seed, draw, FLIPS, phase])


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
    on_draw: OnDraw | None = None,
) -> Null:
    """Return how many rows are at AFLite's threshold in its first phase, beside the null.

    The number that AFLite removes says little alone: noise gets past the threshold too. The first
    phase, in which all rows take part, is asked here, with the same partitions for the real labels
    and every draw; `debias.aflite` with `null="report"` asks every phase. Where the real number is
    not above the null's, AFLite removes rows for nothing.

    Args:
        X: (N, d) as for `aflite`.
        y: (N,) labels, 0 or 1.
        groups: the twins, such as `Dataset.groups`; see `twin_flipped`.
        ensemble_size: see `aflite`, as of `train_size`, `threshold`, `C`, `seed` and `ids`.
        train_size: less than N.
        threshold: see `aflite`.
        C: see `aflite`.
        seed: of the partitions and of the draws.
        ids: see `aflite`.
        draws: 20 or more; each takes as long as a phase.
        on_draw: called with the number of draws done, after each.

    Raises:
        DataError: as for `aflite`, or the groups do not name each row once.
        InputError: a parameter is out of its range.
    """
    settings = Settings(ensemble_size, train_size, 1, threshold, C, seed, "numba", null_draws=draws)
    rows = checked_rows(X, y, ids, None)
    if settings.train_size >= len(rows.y):
        raise InputError(
            f"train_size is {settings.train_size}; with {len(rows.y)} rows it must be smaller"
        )
    twins = group_numbers(numbered(groups, len(rows.y)).tolist(), rows.order)
    everything = np.arange(len(rows.y), dtype=np.int32)
    with assembled(rows, settings) as ensemble:
        votes = ensemble.vote(everything, 0, ensemble.first_start(everything))
        chosen = select(
            votes.correct,
            votes.total,
            threshold=settings.threshold,
            cutoff=1,
            seed=settings.seed,
            phase=0,
        )
        return chance(ensemble, everything, 0, twins, chosen, on_draw)[0]
