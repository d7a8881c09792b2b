"""How many rows reach AFLite's threshold by chance: its ensemble, asked about flipped labels.

Noise gets past the threshold too. Of the rows that a phase finds, as many are found for nothing as
there are when the labels mean nothing: the same rows, the same partitions, labels flipped twin by
twin (see `_null`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._ensemble import Ensemble, assembled
from winosmith.debias._groups import group_numbers, numbered
from winosmith.debias._null import Null, flipped, null_from
from winosmith.debias._partition import FLIPS
from winosmith.debias._rows import ONE_CLASSIFIER, checked_rows
from winosmith.debias._selection import Counts, Selection, at_threshold, pooled, scores
from winosmith.debias._settings import DRAWS, Settings
from winosmith.debias._share import Votes
from winosmith.errors import InputError, gone

OnDraw = Callable[[int], object]
"""Is told how many draws of a null are done."""


def chance(
    ensemble: Ensemble,
    left: NDArray[np.int32],
    phase: int,
    twins: NDArray[np.intp],
    found: int,
    on_draw: OnDraw | None = None,
) -> tuple[Null, list[NDArray[np.float64]]]:
    """Return the candidates of a phase beside those of labels that mean nothing.

    Each draw flips anew, and is solved from a start of its own: it depends on the rows left and
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
        labels[left] = flipped(
            ensemble.y[left], twins[left], _generator(settings.seed, draw, phase)
        )
        other = ensemble.with_labels(labels)
        votes = other.vote(left, phase, other.first_start(left))
        correct, total = counted(other, left, votes)
        drawn.append(int(at_threshold(correct, total, settings.threshold).sum()))
        known.append(scores(correct, total))
        if on_draw is not None:
            on_draw(draw + 1)
    return null_from(found, drawn), known


def counted(ensemble: Ensemble, left: NDArray[np.int32], votes: Votes) -> tuple[Counts, Counts]:
    """Return the right and all predictions of each row left, or those of its group."""
    if ensemble.settings.remove == "groups" and ensemble.groups is not None:
        groups = ensemble.groups[left]
        return pooled(votes.correct, groups), pooled(votes.total, groups)
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


def _generator(seed: int, draw: int, phase: int) -> np.random.Generator:
    """Return the generator of one draw's flips in one phase."""
    return np.random.default_rng([seed, draw, FLIPS, phase])


@gone(classifier=ONE_CLASSIFIER)
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
    kernel: str = "numba",
    executor: Executor | None = None,
    scratch: str | Path | None = None,
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
        kernel: see `aflite`, as of `executor` and `scratch`.
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
        kernel,
        null="report",
        null_draws=draws,
    )
    if settings.train_size >= len(rows.y):
        raise InputError(
            f"train_size is {settings.train_size}; with {len(rows.y)} rows it must be smaller"
        )
    twins = group_numbers(numbered(groups, len(rows.y)).tolist(), rows.order)
    everything = np.arange(len(rows.y), dtype=np.int32)
    with assembled(rows, settings, executor, scratch) as ensemble:
        votes = ensemble.vote(everything, 0, ensemble.first_start(everything))
        at = at_threshold(votes.correct, votes.total, settings.threshold)
        return chance(ensemble, everything, 0, twins, int(at.sum()), on_draw)[0]
