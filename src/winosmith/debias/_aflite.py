"""AFLite: Algorithm 1 of WinoGrande (Sakaguchi et al. 2020, section 3)."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._checkpoint import Progress, load, save
from winosmith.debias._groups import group_numbers
from winosmith.debias._phases import Run, begun, phases
from winosmith.debias._result import AfliteResult, Phase, Stopped
from winosmith.debias._rows import ONE_CLASSIFIER, Rows, checked_rows
from winosmith.debias._settings import DRAWS, NullMode, Remove, Settings
from winosmith.debias._sizes import suggested_sizes
from winosmith.errors import DataError, InputError, gone


@gone(classifier=ONE_CLASSIFIER)
def aflite(
    X: ArrayLike,
    y: ArrayLike,
    *,
    ensemble_size: int = 64,
    train_size: int = 10_000,
    cutoff: int | float = 500,
    threshold: float = 0.75,
    C: float = 1.0,
    seed: int = 0,
    ids: Sequence[Hashable] | None = None,
    groups: Sequence[Hashable] | None = None,
    target_size: int | None = None,
    remove: Remove = "rows",
    null: NullMode = "off",
    null_draws: int = DRAWS,
    twins: Sequence[Hashable] | None = None,
    kernel: str = "numba",
    executor: Executor | None = None,
    on_phase: Callable[[Phase], object] | None = None,
    on_draw: Callable[[int, int], object] | None = None,
    checkpoint: str | Path | None = None,
    scratch: str | Path | None = None,
) -> AfliteResult:
    """Remove the rows whose label an ensemble of linear classifiers can guess.

    While more than `train_size` rows are left, a phase trains `ensemble_size` logistic
    regressions, each on its own random `train_size` rows, and lets each predict the rows that it
    was not trained on. A row's score is the share of its predictions that are right; of the rows
    with a score of at least `threshold`, the `cutoff` highest go. A phase that removes fewer than
    `cutoff` is the last (WinoGrande, Algorithm 1; the defaults are the paper's, for 47,000 rows;
    `suggested_sizes` gives the same shares of fewer).

    What the paper leaves open, and what is done here:

    - The text removes scores "above" the threshold, Algorithm 1 those at it: at it. The text ends
      with "fewer than m remaining", Algorithm 1 with m or fewer: m or fewer. What the last phase
      found stays removed (line 13 comes before line 14).
    - A row that every classifier was trained on has no score in that phase and stays; this is
      common when little more than `train_size` rows are left.
    - Ties at the cutoff are broken by a draw of the phase's own generator, never by the order of
      the rows, which may go with what they say.
    - Le Bras et al. (2020, "Adversarial Filters of Dataset Biases", Algorithm 1) print the same
      loop with a target size n of their own in place of m as its end, m < n, and the same break
      below the cutoff. That is `target_size`, but that their last phase may take up to k - 1 rows
      more than the target allows; ours takes just what is needed.
    - A training set of one class trains a classifier that always predicts that class, the limit
      of the regression. When one class only is left of all rows, it ends.

    The result depends on the arrays, the parameters and nothing else: not on the executor or the
    number of workers, and not on the order of the rows, as these are first put in a canonical
    order. That is the order of `ids` or, without them, of a digest of each row's numbers and label
    (then only rows equal in both can stand for one another). Another kind of machine may round
    otherwise; the phases count the votes that this could turn (`Phase.close`).

    The regressions are solved to the optimum (decision values within about 1e-4 of it), in float32
    with sums in float64; tests hold that scikit-learn on the same partitions removes the same rows.

    Args:
        X: (N, d) numbers, such as embeddings: one row a problem. Any real type, held as float32.
        y: (N,) labels: 0 or 1, the right one of two options. (`debias.mirror` takes more.)
        ensemble_size: classifiers a phase (n), 1 or more.
        train_size: rows that each is trained on (m), 2 or more.
        cutoff: rows that a phase removes at most (k): a number, 1 or more, or a share of the
            rows left in that phase, above 0 and below 1 (at least one row goes).
        threshold: share of right predictions from which on a row may go (τ), 0 to 1.
        C: inverse strength of the penalty, as in scikit-learn: it minimises
            ``1/(2C) |w|² + sum of log losses``, the intercept free. The paper states none; 1 is
            scikit-learn's default.
        seed: 0 or more.
        ids: (N,) distinct texts or whole numbers.
        groups: (N,) the group of each row, None for a group of its own: with twin ids, both
            halves of a twin fall on the same side of every partition. Training sets then hold at
            most `train_size` rows. Rows are still scored and removed one by one, unless `remove`
            says otherwise. The paper splits freely, which is the default.
        target_size: stop when so many rows are left (the n of Le Bras et al. 2020); 1 or more.
            The last phase removes no more than that takes. When the run ends before it is
            reached, `stopped` is not "target size".
        remove: "rows", or "groups": each of the `groups` goes whole or stays. Its score is the
            share of right predictions among all those about its rows. A phase takes groups in
            the order of their scores, each that still fits into `cutoff` rows (or one, where the
            largest group is larger than that).
        null: "off"; "report": in every phase the same classifiers are also trained on labels that
            mean nothing, and the phase's record says how many rows reach the threshold so
            (`Phase.chance`). A phase takes `null_draws` + 1 times as long.
        null_draws: draws of such labels a phase, 20 or more.
        twins: (N,) the rows whose labels the null flips together, None for a single; as a rule
            the twin ids. Without it the `groups`; without these too, labels are permuted among
            all rows, which in data of twins is the wrong null (see `twin_flipped`).
        kernel: "numba"; or "torch" (extra `models`), on its GPU if there is one, "torch:cpu",
            "torch:cuda:1". Rows are the same but for votes that are too close to call
            (`Phase.close`).
        executor: who trains the classifiers of a phase: any `concurrent.futures.Executor` whose
            workers run on this machine (or see the folder `scratch`), or one of
            `winosmith.cluster`, with workers anywhere. A thread for each processor when None.
        on_phase: called with the record of each phase when it is complete.
        on_draw: called with the 0-based phase and the number of draws of its null that are done.
        checkpoint: a .npz file, written after every phase. When it exists, the run it holds is
            taken up and ends in the same result as one without interruption.
        scratch: a folder for the rotated copy of the rows, of 4 bytes a number. When None, that
            is held in memory; but when X is a `numpy.memmap` (as of ``np.load(file,
            mmap_mode="r")``) it goes to the system's folder for temporary files, so that X can be
            larger than memory. Processes of an executor find it in a file in any case. The size
            is told at level INFO before it is taken.

    Raises:
        DataError: X is not 2-dimensional, empty, not real or not finite; lengths differ; a label is
            not 0 or 1, or one of the two is missing; ids occur twice; a group does not fit.
        InputError: a parameter is out of its range, or the executor's workers are gone.
        OutputError: the checkpoint can't be written, or is of another run; or there is no room
            for the rotated copy.
        KeyboardInterrupt: is passed on; the checkpoint holds the phases that were complete.

    Warns:
        UserWarning: `train_size` is not smaller than N, so that nothing is removed.

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 5)), rng.permutation(400) % 2
    >>> X[:60, 0] += np.where(y[:60], 4, -4)  # 60 rows give themselves away
    >>> result = aflite(X, y, train_size=90, cutoff=10, ensemble_size=16)
    >>> result.phases[0].size, result.phases[0].removed
    (400, 10)
    >>> len(result.kept) + sum(len(rows) for rows in result.removed)
    400
    """
    rows = checked_rows(X, y, ids, groups, scratch)
    settings = Settings(
        ensemble_size,
        train_size,
        cutoff,
        threshold,
        C,
        seed,
        kernel,
        target_size=target_size,
        remove=remove,
        null=null,
        null_draws=null_draws,
    )
    if remove == "groups" and groups is None:
        raise InputError('remove is "groups", but no groups are given')
    run = Run(rows, settings, _twins(rows, twins, settings), executor, scratch, on_draw)
    if settings.train_size >= len(rows.y):
        train, cut = suggested_sizes(len(rows.y))
        warnings.warn(
            f"train_size is {settings.train_size}, but there are only {len(rows.y)} rows: nothing "
            f"is removed; the paper's shares of so many rows are train_size={train} and "
            f"cutoff={cut}",
            UserWarning,
            stacklevel=3,
        )
    parameters = {
        **asdict(settings),
        "rows": len(rows.y),
        "columns": rows.X.shape[1],
        "groups": rows.groups is not None,
    }
    progress = begun(rows)
    if checkpoint is not None:
        of = {"data": rows.digest(), "twins": _digest(run.twins), **parameters}
        progress = load(Path(checkpoint), of) or progress
        save(Path(checkpoint), progress, of)
    for _ in phases(run, progress):
        if checkpoint is not None:
            save(Path(checkpoint), progress, of)
        if on_phase is not None:
            on_phase(progress.phases[-1])
    return _result(rows, progress, parameters)


def _twins(rows: Rows, twins: Sequence[Hashable] | None, settings: Settings) -> NDArray[np.intp]:
    """Return the rows whose labels a null flips together, as a number for each row."""
    if twins is not None and len(twins) != len(rows.y):
        raise DataError(f"X has {len(rows.y)} rows, but twins has {len(twins)} entries")
    if twins is None or settings.null == "off":
        return np.arange(len(rows.y)) if rows.groups is None else rows.groups
    return group_numbers(twins, rows.order)


def _digest(numbers: NDArray[np.intp]) -> str:
    return hashlib.blake2b(numbers.astype("<i8").tobytes(), digest_size=16).hexdigest()


def _result(rows: Rows, progress: Progress, parameters: dict[str, Any]) -> AfliteResult:
    """Put what is known in canonical order back into the order of the input."""
    removed_in = np.empty_like(progress.removed_in)
    last_scores = np.empty_like(progress.scores)
    votes = np.empty_like(progress.votes)
    removed_in[rows.order] = progress.removed_in
    last_scores[rows.order] = progress.scores
    votes[rows.order] = progress.votes
    return AfliteResult(
        kept=np.flatnonzero(removed_in < 0),
        removed=tuple(np.flatnonzero(removed_in == phase.number) for phase in progress.phases),
        phases=tuple(progress.phases),
        scores=last_scores,
        votes=votes,
        removed_in=removed_in,
        stopped=cast(Stopped, progress.stopped),  # the phases have run to their end
        parameters=parameters,
    )
