"""What several embedders agree to drop: AFLite, once for each, and a vote.

A problem that one embedder finds predictable may be so to that embedder alone. Phang et al. (2021)
show how far the order of models on a filtered set hangs on the adversary that filtered it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._aflite import aflite
from winosmith.debias._consensus_result import ConsensusResult, decided
from winosmith.debias._floor import agreed_units, check_floor
from winosmith.debias._partition import VOTES, generator
from winosmith.debias._result import AfliteResult, Phase
from winosmith.debias._rows import checked_rows
from winosmith.debias._settings import Remove
from winosmith.errors import DataError, InputError


def consensus(
    Xs: Mapping[str, ArrayLike],
    y: ArrayLike,
    *,
    least: int | None = None,
    floor: float = 0.0,
    agreement: ArrayLike | None = None,
    agreed: float = 1.0,
    seed: int = 0,
    ids: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
    remove: Remove = "rows",
    on_phase: Callable[[str, Phase], object] | None = None,
    on_draw: Callable[[str, int, int], object] | None = None,
    checkpoint: str | Path | None = None,
    **settings: Any,
) -> ConsensusResult:
    """Remove the rows that several embedders find predictable.

    AFLite runs to its own end for each embedder, all with the same parameters and seed. A row (with
    `remove="groups"`, a group) goes when at least `least` of these runs removed it. With one
    embedder that is AFLite. The more must agree, the more is kept: what `least` + 1 keeps holds
    what `least` keeps.

    The floor keeps what people agree on. Of the rows whose `agreement` is at least `agreed`, at
    least the share `floor` is kept, rounded up: 1 keeps all of them, 0 is no floor. Where the vote
    would take more, those go first that the most embedders removed, among these those with the
    highest mean score at their removal, among equals by a draw of `seed`; the others are given
    back. A floor only gives back, never takes.

    The runs are apart, instead of one loop over what all leave, so that each can be resumed and
    compared, and so that these laws hold; a run's later phases do not see what others removed.

    Args:
        Xs: by name of the embedder, (N, d) numbers; see `aflite`. Their d may differ.
        y: (N,) labels; see `aflite`.
        least: how many embedders must find a row predictable, 1 to all; more than half when None.
        floor: the share of the agreed rows that is kept at the least, 0–1.
        agreement: (N,) the share of people who chose the row's answer, NaN where nobody was asked
            (see `human_agreement`); needed for a floor.
        agreed: the share from which on people agree on a row; by default all of them.
        seed: see `aflite`, as of `ids`, `groups` and `remove`. Without ids, rows are put in the
            order of the first embedder's numbers.
        ids: see `aflite`.
        groups: see `aflite`; with `remove="groups"` people agree on a group when they agree on
            each of its rows.
        remove: see `aflite`.
        on_phase: called with the embedder's name and the record of each phase.
        on_draw: called with the embedder's name, the phase and the number of its draws done.
        checkpoint: a .npz file for the first embedder; those of the others lie beside it, as
            `name.2.npz` for the second. What they hold is taken up; see `aflite`.
        settings: everything else of `aflite`, for each run.

    Raises:
        InputError: no embedder, `least` or a share out of its range, a floor without agreement, or
            a parameter that `aflite` refuses.
        DataError: what `aflite` refuses, with the embedder's name, or agreement that does not fit.

    >>> rng = np.random.default_rng(0)
    >>> y = rng.permutation(600) % 2
    >>> one, two = rng.normal(size=(2, 600, 5))
    >>> one[:60, 0] += np.where(y[:60], 6, -6)  # these give themselves away to one embedder,
    >>> two[30:90, 0] += np.where(y[30:90], 6, -6)  # these to the other, so that 30 do to both
    >>> how = {"train_size": 150, "cutoff": 10, "ensemble_size": 32, "threshold": 0.9}
    >>> found = consensus({"one": one, "two": two}, y, **how)
    >>> found.least, len(found.removed), int(np.isin(range(30, 60), found.removed).sum())
    (2, 21, 20)
    >>> len(found.decided_by(1).removed)  # what either finds
    90
    """
    if not Xs:
        raise InputError("a consensus needs the numbers of one embedder or more")
    least = len(Xs) // 2 + 1 if least is None else least
    if not 1 <= least <= len(Xs):
        raise InputError(f"least is 1 to {len(Xs)}, the number of embedders; not {least}")
    check_floor(floor, agreed, agreement is not None)
    rows = checked_rows(next(iter(Xs.values())), y, ids, groups, settings.get("scratch"))
    units = np.arange(len(rows.y))
    if remove == "groups" and rows.groups is not None:
        units[rows.order] = rows.groups
    runs: dict[str, AfliteResult] = {}
    agreeing = agreed_units(agreement, agreed, units)
    for place, (name, X) in enumerate(Xs.items()):
        try:
            runs[name] = aflite(
                X,
                y,
                seed=seed,
                ids=ids,
                groups=groups,
                remove=remove,
                on_phase=None if on_phase is None else partial(on_phase, name),
                on_draw=None if on_draw is None else partial(on_draw, name),
                checkpoint=None if checkpoint is None else checkpoint_of(checkpoint, place),
                **settings,
            )
        except DataError as error:
            raise DataError(f"{name}: {error}") from error
    case = _case(runs, units, rows.order, seed)
    found = np.sum([run.removed_in >= 0 for run in runs.values()], axis=0).astype(np.int32)
    return decided(runs, found, units, agreeing, case, least, floor, agreed)


def checkpoint_of(path: str | Path, place: int) -> Path:
    """Return where the run of one embedder is kept.

    >>> [checkpoint_of("phases.npz", place).name for place in range(3)]
    ['phases.npz', 'phases.2.npz', 'phases.3.npz']
    """
    path = Path(path)
    return path if not place else path.with_name(f"{path.stem}.{place + 1}{path.suffix}")


def _case(
    runs: Mapping[str, AfliteResult],
    units: NDArray[np.intp],
    order: NDArray[np.intp],
    seed: int,
) -> NDArray[np.intp]:
    """Return the place of each unit in the order of the case against it, the strongest first."""
    gone = np.stack([run.removed_in >= 0 for run in runs.values()])
    scores = np.where(gone, np.stack([run.scores for run in runs.values()]), 0)
    count = int(units.max()) + 1
    found, score = np.empty(count, np.int64), np.empty(count)
    found[units] = gone.sum(axis=0)  # the rows of a unit have gone together
    score[units] = scores.sum(axis=0) / np.maximum(gone.sum(axis=0), 1)
    drawn = np.empty(len(units), np.intp)
    drawn[order] = generator(seed, 0, VOTES).permutation(len(units))
    priority = np.full(count, len(units))
    np.minimum.at(priority, units, drawn)
    place = np.empty(count, np.intp)
    place[np.lexsort((priority, -score, -found))] = np.arange(count)
    return place
