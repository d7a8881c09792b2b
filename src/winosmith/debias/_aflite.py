"""AFLite: Algorithm 1 of WinoGrande (Sakaguchi et al. 2020, section 3).

A checkpoint is written after every phase, so that a run can be resumed. It is a .npz file without
pickles. It contains the phases as JSON, the scores, the rows that each phase removed, and the state
of the solver. Rows are in canonical order. The checkpoint also contains the digest of the data and
the parameters, so that a run is never resumed with other data.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
import zipfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith._version import __version__
from winosmith.debias import _selection
from winosmith.debias._chance import (
    NullTest,
    compare_with_null,
    draw_phase_null,
    estimate_chance_removals,
    pool_votes,
)
from winosmith.debias._ensemble import DRAWS, Ensemble, NullMode, Remove, Settings, open_ensemble
from winosmith.debias._rows import Rows, check_rows, encode_group_labels, make_read_only
from winosmith.debias._solver import Start
from winosmith.errors import DataError, InputError, OutputError
from winosmith.outputs import atomic_write
from winosmith.records import parse_json
from winosmith.report import Svg, draw_phase_sizes, draw_scores
from winosmith.results import HIDDEN, Result, computed

StopReason = Literal["train size", "cutoff", "one class", "target size"]
"""Why AFLite stopped: at most as many rows as the training size were left (Algorithm 1, line 2),
fewer rows than the cutoff reached the threshold (line 14), all rows left had the same class, or the
target size was reached."""


@dataclass(frozen=True, slots=True)
class Phase(Result):
    """The record of a filtering phase.

    Attributes:
        number: The number of the phase, from 0.
        size: The number of rows before the phase.
        removed: The number of rows that the phase removed.
        cutoff: The maximum number of rows that the phase could remove.
        candidates: The number of rows that scored at or above the threshold.
        accuracy: The fraction of correct predictions on held-out rows; None if nothing was
            predicted.
        histogram: The number of rows by score, in 20 bins from 0 to 1 (see
            `debias.HISTOGRAM_EDGES`).
        undefined: The number of rows without a score, because every classifier was trained on them;
            these rows are kept.
        tied: The number of candidates with the lowest removed score, if only some of them could be
            removed; otherwise 0.
        tied_removed: The number of tied candidates that were removed.
        close: The number of predictions with a decision value within 0.0001 of zero. Rounding on
            another machine may flip these predictions; converged solvers agree on all others.
        one_class: The number of classifiers whose training set had only one class, which they
            always predict.
        polished: The number of classifiers whose training was finished individually in float64.
        passes: The number of passes over the training rows that the slowest classifier needed.
        chance: The number of candidates, with its null distribution under random labels; None if
            there is no null.
        by_chance: The number of rows that score as high as the removed rows when labels are random.
            It estimates how many rows were removed by chance, and tends to be too high, because it
            assumes that no row is predictable. None if there is no null.
        seconds: The duration of the phase, which comparisons and digests ignore.
    """

    number: int
    size: int
    removed: int
    cutoff: int
    candidates: int
    accuracy: float | None
    histogram: tuple[int, ...]
    undefined: int
    tied: int
    tied_removed: int
    close: int
    one_class: int
    polished: int
    passes: int
    chance: NullTest | None
    by_chance: float | None
    seconds: float = field(compare=False, metadata=HIDDEN)


@dataclass(frozen=True, slots=True, eq=False)
class AfliteResult(Result):
    """The rows that AFLite kept and removed.

    Attributes:
        kept: The kept rows of the input, in ascending order.
        removed: The rows removed in each phase, in ascending order.
        phases: The record of each phase.
        scores: (N,) the score of each row in its last phase; NaN for a row that never had a score.
            If whole groups are removed, it is the score of the row's group.
        votes: (N,) the number of predictions on which each score is based; 0 if there is no score.
        removal_phase: (N,) the 0-based phase that removed each row, -1 for kept rows.
        stop_reason: Why the run ended; see `StopReason`.
        parameters: All parameters that the result depends on, except the arrays.
    """

    kept: NDArray[np.intp] = field(metadata={"json": len})
    removed: tuple[NDArray[np.intp], ...] = field(
        metadata={"json": lambda phases: sum(map(len, phases))}
    )
    phases: tuple[Phase, ...] = field(metadata={"rows": True})
    scores: NDArray[np.float64] = field(metadata=HIDDEN)
    votes: NDArray[np.int32] = field(metadata=HIDDEN)
    removal_phase: NDArray[np.int32] = field(metadata=HIDDEN)
    stop_reason: StopReason = field(metadata={"key": "stopped"})
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        make_read_only(self.kept, self.scores, self.votes, self.removal_phase, *self.removed)

    def charts(self) -> list[Svg]:
        """Return charts of the size per phase and of the scores in the first and last phases."""
        charts = [draw_phase_sizes([p.size for p in self.phases], [p.removed for p in self.phases])]
        shown = {phase.number: phase for phase in (*self.phases[:1], *self.phases[-1:])}
        top = 1.05 * max(1, *(count for phase in shown.values() for count in phase.histogram), 1)
        for number, phase in shown.items():
            removed = self.scores[self.removal_phase == number]
            taken, _ = np.histogram(removed[np.isfinite(removed)], _selection.HISTOGRAM_EDGES)
            charts.append(
                draw_scores(
                    _selection.HISTOGRAM_EDGES,
                    phase.histogram,
                    float(self.parameters["threshold"]),
                    removed=taken,
                    top=top,
                    title=f"Scores in phase {number + 1}",
                )
            )
        return charts

    @property
    def seconds(self) -> float:
        """The total duration of the phases in seconds."""
        return sum(phase.seconds for phase in self.phases)

    @property
    @computed()
    def by_chance(self) -> float | None:
        """The estimated number of rows removed by chance; None without a null distribution.

        This is the sum of `Phase.by_chance` over all phases.
        """
        known = [phase.by_chance for phase in self.phases if phase.by_chance is not None]
        return sum(known) if known else None

    @property
    @computed()
    def rows(self) -> int:
        """The number of input rows."""
        return len(self.scores)


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
    executor: Executor | None = None,
    on_phase: Callable[[Phase], object] | None = None,
    on_draw: Callable[[int, int], object] | None = None,
    checkpoint: str | Path | None = None,
    scratch: str | Path | None = None,
) -> AfliteResult:
    """Remove the rows whose label an ensemble of linear classifiers can predict.

    While more than `train_size` rows are left, a phase trains `ensemble_size` logistic regressions.
    Each is trained on its own random `train_size` rows and predicts the rows that it was not
    trained on. A row's score is the fraction of its predictions that are correct. The phase removes
    the `cutoff` highest-scoring rows with a score of at least `threshold`. A phase that removes
    fewer than `cutoff` rows is the last (WinoGrande, Algorithm 1). The defaults are the paper's
    values for 47,000 rows; `suggest_sizes` scales them to fewer rows.

    The paper leaves some details open, which are settled as follows:

    - The paper's text removes scores "above" the threshold; Algorithm 1 also removes scores equal
      to the threshold. In the text, the loop stops at "fewer than m remaining" rows; in Algorithm
      1, it stops at m or fewer. We follow Algorithm 1 in both cases. Rows that reach the threshold
      in the last phase stay removed, because line 13 comes before line 14.
    - A row that every classifier was trained on has no score in that phase and is kept. This is
      common when only slightly more than `train_size` rows are left.
    - Ties at the cutoff are broken at random by the phase's own generator, never by the order of
      the rows, which may depend on their content.
    - Le Bras et al. (2020, "Adversarial Filters of Dataset Biases", Algorithm 1) give the same
      loop, except that it stops at a separate target size n > m instead of at m. The parameter
      `target_size` is that n. Their last phase may remove up to k - 1 rows more than the target
      allows; ours removes only as many rows as needed.
    - A classifier whose training set has only one class always predicts this class, as the
      regression does in the limit. The run ends when all rows left have the same class.

    The result depends only on the arrays and the parameters: not on the executor, the number of
    workers or the order of the rows, which are first put in a canonical order. Rows are sorted by
    `ids` or, without ids, by a digest of their numbers and label (so that only equal rows with
    equal labels are interchangeable). Other kinds of machines may round differently; `Phase.close`
    counts the votes that rounding could flip.

    The regressions are solved to the optimum (decision values within about 1e-4), in float32 with
    sums in float64. Tests check that scikit-learn removes the same rows with the same partitions.

    Args:
        X: (N, d) numbers of any real type, such as embeddings, with one row per problem. They are
            stored as float32.
        y: (N,) labels: 0 or 1, the index of the correct option. (`debias.mirror` supports more
            options.)
        ensemble_size: The number of classifiers per phase (n), 1 or more.
        train_size: The number of rows that each classifier is trained on (m), 2 or more.
        cutoff: The maximum number of rows that a phase removes (k), 1 or more; or a fraction of the
            rows left in that phase, above 0 and below 1 (but at least one row).
        threshold: The minimum fraction of correct predictions at which a row may be removed (τ),
            0 to 1.
        C: The inverse strength of the penalty, as in scikit-learn: the objective is ``1/(2C) |w|² +
            sum of log losses``, with a free intercept. The paper does not state C; 1 is
            scikit-learn's default.
        seed: The random seed, 0 or more.
        ids: (N,) distinct strings or integers.
        groups: (N,) the group of each row; None for a row without a group. If the groups are twin
            ids, both halves of a twin are on the same side of every partition. Training sets then
            have at most `train_size` rows. Rows are still scored and removed individually, unless
            `remove` is "groups". By default twins are split freely, as in the paper.
        target_size: The number of rows at which to stop (the n of Le Bras et al. 2020); 1 or more.
            The last phase removes only as many rows as needed. If the run ends before reaching this
            size, `stop_reason` has a value other than "target size".
        remove: "groups" keeps or removes each of the `groups` as a whole; "rows" ignores them. The
            score of a group is the fraction of correct predictions for all its rows. A phase
            removes groups in the order of their scores, skipping groups that no longer fit into
            `cutoff` rows (or into the size of the largest group, if that is larger).
        null: "off" or "report". With "report", the same classifiers are also trained on random
            labels in every phase, and `Phase.chance` records how many rows then reach the
            threshold. A phase takes `null_draws` + 1 times as long.
        null_draws: The number of draws of random labels per phase, 20 or more.
        twins: (N,) the group of each row, None for a single; usually the twin ids. Under the null,
            the labels of a group are flipped together. By default, these are the `groups`. Without
            `twins` and `groups`, labels are permuted among all rows, which is the wrong null for
            data with twins (see `flip_twins`).
        executor: The executor that trains the classifiers: any `concurrent.futures.Executor` whose
            workers run on this machine (or can access the folder `scratch`), or an executor of
            `winosmith.cluster`, with workers anywhere. By default one thread per processor.
        on_phase: Called with the record of each phase when it is complete.
        on_draw: Called with the number of the phase, from 0, and the number of completed draws of
            its null.
        checkpoint: A .npz file that is written after every phase. If the file exists, the run is
            resumed and ends with the same result as an uninterrupted run.
        scratch: A folder for the rotated copy of the rows, which takes 4 bytes per number. By
            default the copy is in memory; but if X is a `numpy.memmap` (from ``np.load(file,
            mmap_mode="r")``), the copy is in the system's temporary folder, so that X can be larger
            than memory. An executor's processes always read the copy from a file. Its size is
            logged in advance at level INFO.

    Raises:
        DataError: X is not 2-dimensional, empty, not real or not finite; lengths differ; a label is
            not 0 or 1, or all labels are equal; an id occurs twice; a group is too large.
        InputError: A parameter is out of range, or the executor has lost its workers.
        OutputError: The checkpoint can't be written or belongs to another run, or there is no space
            for the rotated copy.
        KeyboardInterrupt: The run was interrupted; the checkpoint contains the completed phases.

    Warns:
        UserWarning: `train_size` is not smaller than N, so nothing is removed.

    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 5)), rng.permutation(400) % 2
    >>> X[:60, 0] += np.where(y[:60], 4, -4)  # 60 rows reveal their labels
    >>> result = aflite(X, y, train_size=90, cutoff=10, ensemble_size=16)
    >>> result.phases[0].size, result.phases[0].removed
    (400, 10)
    >>> len(result.kept) + sum(len(rows) for rows in result.removed)
    400
    """
    rows = check_rows(X, y, ids, groups, scratch)
    settings = Settings(
        ensemble_size, train_size, cutoff, threshold, C, seed, target_size, remove, null, null_draws
    )
    if remove == "groups" and groups is None:
        raise InputError('remove is "groups", but groups is missing')
    twin_of = _encode_twins(rows, twins, settings)
    if settings.train_size >= len(rows.y):
        train, cut = suggest_sizes(len(rows.y))
        warnings.warn(
            f"train_size is {settings.train_size}, but there are only {len(rows.y)} rows, so "
            f"nothing is removed. Scaled to this number of rows, the paper's sizes are "
            f"train_size={train} and cutoff={cut}",
            UserWarning,
            stacklevel=3,
        )
    parameters = {
        **asdict(settings),
        "rows": len(rows.y),
        "columns": rows.X.shape[1],
        "groups": rows.groups is not None,
    }
    count = len(rows.y)
    nothing = np.full(count, np.nan), np.zeros(count, np.int32), np.full(count, -1, np.int32)
    progress = Progress(*nothing)
    if checkpoint is not None:
        twins_digest = hashlib.blake2b(twin_of.astype("<i8").data, digest_size=16).hexdigest()
        identity = {"version": __version__, "data": rows.digest(), "twins": twins_digest}
        identity |= parameters
        progress = load_progress(Path(checkpoint), identity) or progress
        save_progress(Path(checkpoint), progress, identity)
    progress.stop_reason = _find_stop_reason(settings, rows.y, progress)
    if not progress.stop_reason:
        with open_ensemble(rows, settings, executor, scratch) as ensemble:
            while not progress.stop_reason:
                _run_phase(ensemble, twin_of, progress, on_draw)
                progress.stop_reason = _find_stop_reason(settings, rows.y, progress)
                if checkpoint is not None:
                    save_progress(Path(checkpoint), progress, identity)
                if on_phase is not None:
                    on_phase(progress.phases[-1])
    back = np.argsort(rows.order)
    removal_phase = progress.removal_phase[back]
    return AfliteResult(
        kept=np.flatnonzero(removal_phase < 0),
        removed=tuple(np.flatnonzero(removal_phase == phase.number) for phase in progress.phases),
        phases=tuple(progress.phases),
        scores=progress.scores[back],
        votes=progress.votes[back],
        removal_phase=removal_phase,
        stop_reason=progress.stop_reason,
        parameters=parameters,
    )


def suggest_sizes(rows: int) -> tuple[int, int]:
    """Return the training size m and the cutoff k for a number of rows.

    For 47,000 rows or more, the sizes are the paper's, 10,000 and 500 (WinoGrande, section 3). For
    fewer rows, they are the same fractions (m = 0.213 N, k = 0.0106 N), but at least 2 and 1. So
    the fraction of rows that a classifier is trained on, and the number of phases needed to remove
    a given fraction, are the same as in the paper.

    >>> suggest_sizes(47_000), suggest_sizes(4_700)
    ((10000, 500), (1000, 50))
    """
    fraction = min(1.0, rows / 47_000)
    return max(2, round(fraction * 10_000)), max(1, round(fraction * 500))


def _encode_twins(
    rows: Rows, twins: Sequence[Hashable] | None, settings: Settings
) -> NDArray[np.intp]:
    if twins is not None and len(twins) != len(rows.y):
        raise DataError(f"X has {len(rows.y)} rows, but twins has {len(twins)} entries")
    if twins is None or settings.null == "off":
        return np.arange(len(rows.y)) if rows.groups is None else rows.groups
    return encode_group_labels(twins, rows.order)


@dataclass(slots=True)
class Progress:
    """The state of an AFLite run.

    Attributes:
        scores: (N,) the most recent score of each row.
        votes: (N,) int32, the number of predictions on which each score is based.
        removal_phase: (N,) int32, the phase that removed each row, -1 for rows left.
        stop_reason: Why the run ended; None while it continues.
        start: The solver's starting point in the next phase; None before the first phase.
        saved: The phases that `save_progress` has already written, as JSON.
    """

    scores: NDArray[np.float64]
    votes: NDArray[np.int32]
    removal_phase: NDArray[np.int32]
    phases: list[Phase] = field(default_factory=list)
    stop_reason: StopReason | None = None
    start: Start | None = None
    saved: list[str] = field(default_factory=list)


def _find_stop_reason(
    settings: Settings, y: NDArray[np.float32], progress: Progress
) -> StopReason | None:
    left = progress.removal_phase < 0
    size = int(left.sum())
    if settings.target_size is not None and size <= settings.target_size:
        return "target size"
    if progress.phases:
        last = progress.phases[-1]
        if last.candidates < last.cutoff:
            return "cutoff"
        if not last.removed:  # each group at the threshold is larger than the number left to remove
            return "target size"
    if size <= settings.train_size:
        return "train size"
    return "one class" if len(np.unique(y[left])) < 2 else None


PHASES_PER_HESSIAN = 4
"""The number of phases after which the solver's Hessian is recomputed for the rows left."""


def _run_phase(
    ensemble: Ensemble,
    twins: NDArray[np.intp],
    progress: Progress,
    report_draw: Callable[[int, int], object] | None,
) -> None:
    """Run a phase; the labels of a group in `twins`, (N,), flip together under the null."""
    started = time.perf_counter()
    settings, number = ensemble.settings, len(progress.phases)
    left = np.flatnonzero(progress.removal_phase < 0).astype(np.int32)
    groups = ensemble.groups[left] if ensemble.groups is not None else None
    if progress.start is None:
        progress.start = ensemble.compute_starting_point(left)
    elif number % PHASES_PER_HESSIAN == 0:
        progress.start = ensemble.compute_start_at(progress.start.weights, left)
    start = progress.start
    votes = ensemble.collect_votes(left, number, start)
    correct, total = pool_votes(ensemble, left, votes)
    limit = settings.compute_cutoff(len(left))
    if settings.remove == "groups" and groups is not None:
        limit = max(limit, int(np.bincount(groups).max()))
    if settings.target_size is not None:
        limit = min(limit, len(left) - settings.target_size)
    chosen = _selection.select(
        correct,
        total,
        threshold=settings.threshold,
        cutoff=limit,
        seed=settings.seed,
        phase=number,
        groups=groups if settings.remove == "groups" else None,
    )
    null = by_chance = None
    if settings.null != "off":
        on_draw = None if report_draw is None else partial(report_draw, number)
        null, drawn = draw_phase_null(ensemble, left, number, twins, chosen.candidates, on_draw)
        by_chance = estimate_chance_removals(drawn, chosen)
    removed = chosen.removed
    voted = total > 0
    progress.scores[left[voted]] = _selection.compute_scores(correct, total)[voted]
    progress.votes[left[voted]] = total[voted]
    progress.removal_phase[left[removed]] = number
    if not votes.one_class.all():
        progress.start = replace(start, weights=votes.weights[~votes.one_class].mean(axis=0))
    progress.phases.append(
        Phase(
            number=number,
            size=len(left),
            removed=len(removed),
            cutoff=limit,
            candidates=chosen.candidates,
            accuracy=float(votes.correct.sum() / votes.total.sum()) if voted.any() else None,
            histogram=_selection.make_histogram(correct, total),
            undefined=int((~voted).sum()),
            tied=chosen.tied,
            tied_removed=chosen.tied_removed,
            close=votes.close,
            one_class=int(votes.one_class.sum()),
            polished=int(votes.polished.sum()),
            passes=int(votes.passes.max()),
            chance=null,
            by_chance=by_chance,
            seconds=time.perf_counter() - started,
        )
    )


READ_ERRORS = (OSError, EOFError, zipfile.BadZipFile)
"""Exceptions that numpy raises for a truncated file, in addition to ValueError."""


def save_progress(path: Path, progress: Progress, identity: Mapping[str, Any]) -> None:
    """Write the checkpoint atomically.

    `identity` is the program's version, the digests of the data, and the parameters of the run.
    """
    new = progress.phases[len(progress.saved) :]
    progress.saved += [json.dumps(asdict(phase)) for phase in new]
    about = {"of": dict(identity), "stopped": progress.stop_reason}
    with atomic_write(path, "wb") as file:
        np.savez(
            file,
            about=np.array(json.dumps(about)),
            phases=np.frombuffer("\n".join(progress.saved).encode(), np.uint8),
            scores=progress.scores,
            votes=progress.votes,
            removed_in=progress.removal_phase,
            **({} if progress.start is None else asdict(progress.start)),
        )


def load_progress(path: Path, identity: Mapping[str, Any]) -> Progress | None:
    """Return the progress from a checkpoint of the same run, or None if there is no file."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            about = parse_json(str(file["about"]))
            scores, votes, removal_phase = (
                file[name] for name in ("scores", "votes", "removed_in")
            )
            state = {one.name: file[one.name] for one in fields(Start) if "weights" in file}
            start = Start(**{**state, "tolerance": float(state["tolerance"])}) if state else None
            saved = file["phases"].tobytes().decode().splitlines()
        phases = [_parse_phase(parse_json(line)) for line in saved]
    except (*READ_ERRORS, ValueError, LookupError, TypeError, AttributeError) as error:
        raise OutputError(
            f"{path}: this is not an AFLite checkpoint ({error}); choose another path for "
            "the checkpoint, or delete the file"
        ) from error
    stored = about["of"]
    differ = [
        f"{name} {stored.get(name)!r}, not {identity.get(name)!r}"
        for name in {**identity, **stored}
        if stored.get(name) != identity.get(name)
    ]
    if differ:
        raise OutputError(
            f"{path}: this checkpoint belongs to another run ({'; '.join(differ)}); choose "
            "another path for the checkpoint, or delete the file"
        )
    return Progress(scores, votes, removal_phase, phases, about["stopped"], start, saved)


def _parse_phase(record: Mapping[str, Any]) -> Phase:
    chance = record["chance"]
    if chance is not None:
        chance = compare_with_null(chance["value"], chance["draws"])
    return Phase(**{**record, "histogram": tuple(record["histogram"]), "chance": chance})
