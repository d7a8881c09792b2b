"""AFLite: Algorithm 1 of WinoGrande (Sakaguchi et al. 2020, section 3).

`aflite` checks what it is given, `phases` is the loop of lines 2 to 16, a phase at a time, and
`save` and `load` keep a run on disk after every phase, so that it can be taken up again. That
checkpoint is a .npz without pickles: the phases as JSON, the scores, what each phase removed, and
where the solver stood; with the digest of the data and the parameters, so that it is never taken
up for other data. Rows are in canonical order in it.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
import zipfile
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith._version import __version__
from winosmith.debias._chance import Null, by_chance, chance, pool_votes
from winosmith.debias._ensemble import DRAWS, Ensemble, NullMode, Remove, Settings, open_ensemble
from winosmith.debias._rows import Rows, checked_rows, number_labels
from winosmith.debias._selection import HISTOGRAM_EDGES, at_threshold, histogram, scores, select
from winosmith.debias._solver import Start
from winosmith.errors import DataError, InputError, OutputError
from winosmith.outputs import write_aside
from winosmith.records import parse_json
from winosmith.report import Svg, phase_sizes, scores as draw_scores
from winosmith.results import HIDDEN, Result, computed

StopReason = Literal["train size", "cutoff", "one class", "target size"]
"""Why AFLite stopped: no more rows than the training size were left (Algorithm 1, line 2), fewer
than the cutoff were at the threshold (line 14), or only one class was left; or the target size was
reached (only then)."""


@dataclass(frozen=True, slots=True)
class Phase(Result):
    """What happened in one filtering phase.

    Attributes:
        number: 0-based.
        size: rows before the phase.
        removed: rows removed in it.
        cutoff: rows that the phase could remove at most.
        candidates: rows whose score was at the threshold or above.
        accuracy: of all the ensemble's predictions on held-out rows, the share that was right;
            None when there was none.
        histogram: rows by score, in 20 bins from 0 to 1 (see `debias.HISTOGRAM_EDGES`).
        undefined: rows that every classifier was trained on: no score, not removed.
        tied: candidates with the score at the cutoff, when only some of them could go; otherwise 0.
        tied_removed: how many of these went.
        close: predictions with a decision value nearer to zero than 0.0001, which another
            machine's rounding may turn; converged solvers agree on all others.
        one_class: classifiers whose training set held one class only; they predict that class.
        polished: classifiers that were finished one by one in float64.
        passes: passes over the training rows that the slowest classifier took.
        chance: the candidates next to what they are when the labels mean nothing; None without a
            null.
        by_chance: how many rows have scores such as those removed when the labels mean nothing:
            an estimate of how many of the removed went by chance, on the high side, as it counts
            with no row that can be guessed. None without a null.
        seconds: that the phase took. Not compared, and in no record that is digested.
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
    chance: Null | None
    by_chance: float | None
    seconds: float = field(compare=False, metadata=HIDDEN)


@dataclass(frozen=True, slots=True, eq=False)
class AfliteResult(Result):
    """What AFLite kept and removed.

    Attributes:
        kept: ascending rows of the input that were kept.
        removed: for each phase the rows removed in it, ascending; with `kept` they are all rows.
        phases: a record of each phase.
        scores: (N,) each row's last score: at its removal, or in the last phase; NaN for a row
            that never had one. Where whole groups go, the score of its group.
        votes: (N,) the predictions that this score is the fraction of; 0 without one.
        removed_in: (N,) the 0-based phase that removed the row, -1 for the kept.
        stopped: why it ended; see `StopReason`.
        parameters: everything that the result depends on besides the arrays.
    """

    kept: NDArray[np.intp] = field(metadata={"json": len})
    removed: tuple[NDArray[np.intp], ...] = field(
        metadata={"json": lambda phases: sum(map(len, phases))}
    )
    phases: tuple[Phase, ...] = field(metadata={"rows": True})
    scores: NDArray[np.float64] = field(metadata=HIDDEN)
    votes: NDArray[np.int32] = field(metadata=HIDDEN)
    removed_in: NDArray[np.int32] = field(metadata=HIDDEN)
    stopped: StopReason
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        arrays: tuple[NDArray[Any], ...] = (
            self.kept,
            self.scores,
            self.votes,
            self.removed_in,
            *self.removed,
        )
        for array in arrays:
            array.flags.writeable = False

    def charts(self) -> list[Svg]:
        """Return the sizes by phase, and the scores in the first phase and in the last."""
        drawn = [phase_sizes([p.size for p in self.phases], [p.removed for p in self.phases])]
        shown = {phase.number: phase for phase in (*self.phases[:1], *self.phases[-1:])}
        top = 1.05 * max(1, *(count for phase in shown.values() for count in phase.histogram), 1)
        for number, phase in shown.items():
            gone = self.scores[self.removed_in == number]
            taken, _ = np.histogram(gone[np.isfinite(gone)], HISTOGRAM_EDGES)
            drawn.append(
                draw_scores(
                    HISTOGRAM_EDGES,
                    phase.histogram,
                    float(self.parameters["threshold"]),
                    taken=taken,
                    top=top,
                    title=f"Scores in phase {number + 1}",
                )
            )
        return drawn

    @property
    def seconds(self) -> float:
        """Seconds that the phases took together."""
        return sum(phase.seconds for phase in self.phases)

    @property
    @computed()
    def by_chance(self) -> float | None:
        """About how many of the rows removed went by chance; None without a null.

        The sum over the phases (`Phase.by_chance`). The removed minus these are the excess.
        """
        known = [phase.by_chance for phase in self.phases if phase.by_chance is not None]
        return sum(known) if known else None

    @property
    @computed()
    def rows(self) -> int:
        """The number of rows of the input."""
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
    """Remove the rows whose label an ensemble of linear classifiers can guess.

    While more than `train_size` rows are left, a phase trains `ensemble_size` logistic
    regressions, each on its own random `train_size` rows, and lets each predict the rows that it
    was not trained on. A row's score is the fraction of its predictions that are right; of the rows
    with a score of at least `threshold`, the `cutoff` highest go. A phase that removes fewer than
    `cutoff` is the last (WinoGrande, Algorithm 1; the defaults are the paper's, for 47,000 rows;
    `suggest_sizes` gives the same fractions of fewer).

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
        cutoff: rows that a phase removes at most (k): a number, 1 or more, or a fraction of the
            rows left in that phase, above 0 and below 1 (at least one row goes).
        threshold: fraction of right predictions from which on a row may go (τ), 0 to 1.
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
            fraction of right predictions among all those about its rows. A phase takes groups in
            the order of their scores, each that still fits into `cutoff` rows (or one, where the
            largest group is larger than that).
        null: "off"; "report": in every phase the same classifiers are also trained on labels that
            mean nothing, and the phase's record says how many rows reach the threshold so
            (`Phase.chance`). A phase takes `null_draws` + 1 times as long.
        null_draws: draws of such labels a phase, 20 or more.
        twins: (N,) the rows whose labels the null flips together, None for a single; usually
            the twin ids. Without it the `groups`; without these too, labels are permuted among
            all rows, which in data of twins is the wrong null (see `flip_twins`).
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
            is logged at level INFO before it is taken.

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
        target_size=target_size,
        remove=remove,
        null=null,
        null_draws=null_draws,
    )
    if remove == "groups" and groups is None:
        raise InputError('remove is "groups", but no groups are given')
    run = Run(rows, settings, _twins(rows, twins, settings), executor, scratch, on_draw)
    if settings.train_size >= len(rows.y):
        train, cut = suggest_sizes(len(rows.y))
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
    progress = start_progress(rows)
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


PAPER_ROWS = 47_000

PAPER_TRAIN_SIZE = 10_000

PAPER_CUTOFF = 500
"""WinoGrande, section 3: m and k for the 47k problems that went into AFLite."""


def suggest_sizes(rows: int) -> tuple[int, int]:
    """Return the training size m and the cutoff k for that many rows.

    From 47,000 rows on they are the paper's, 10,000 and 500; below, the same fractions of the rows
    (m = 0.213 N, k = 0.0106 N), at least 2 and 1. The fraction of rows that a classifier sees, and
    the number of phases that a given part of the data takes, stay what they are in the paper.

    >>> suggest_sizes(47_000), suggest_sizes(4_700)
    ((10000, 500), (1000, 50))
    """
    share = min(1.0, rows / PAPER_ROWS)
    return max(2, round(share * PAPER_TRAIN_SIZE)), max(1, round(share * PAPER_CUTOFF))


def _twins(rows: Rows, twins: Sequence[Hashable] | None, settings: Settings) -> NDArray[np.intp]:
    """Return the rows whose labels a null flips together, as a number for each row."""
    if twins is not None and len(twins) != len(rows.y):
        raise DataError(f"X has {len(rows.y)} rows, but twins has {len(twins)} entries")
    if twins is None or settings.null == "off":
        return np.arange(len(rows.y)) if rows.groups is None else rows.groups
    return number_labels(twins, rows.order)


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
        stopped=cast(StopReason, progress.stopped),  # the phases have run to their end
        parameters=parameters,
    )


@dataclass(frozen=True, slots=True)
class Run:
    """What a run is about.

    Attributes:
        rows: with their labels and groups.
        settings: the parameters.
        twins: (N,) the rows whose labels a null flips together, as a number for each row.
        executor: who does the work; None for threads.
        scratch: the folder for what does not fit into memory; see `basis_of`.
        on_draw: called with the phase and the number of draws of its null that are done.
    """

    rows: Rows
    settings: Settings
    twins: NDArray[np.intp]
    executor: Executor | None
    scratch: str | Path | None
    on_draw: Callable[[int, int], object] | None


@dataclass(slots=True)
class Progress:
    """How far a run is.

    Attributes:
        scores: (N,) last known scores.
        votes: (N,) int32, the predictions that each is the fraction of.
        removed_in: (N,) int32, the phase that removed the row, -1 for those left.
        phases: the records so far.
        stopped: why it ended; None while it continues.
        start: where the solver starts next; None before the first phase.
        saved: the phases as JSON, as far as `save` has written them.
    """

    scores: NDArray[np.float64]
    votes: NDArray[np.int32]
    removed_in: NDArray[np.int32]
    phases: list[Phase] = field(default_factory=list)
    stopped: StopReason | None = None
    start: Start | None = None
    saved: list[str] = field(default_factory=list)


def start_progress(rows: Rows) -> Progress:
    """Return the progress of a run that has done nothing yet."""
    count = len(rows.y)
    return Progress(np.full(count, np.nan), np.zeros(count, np.int32), np.full(count, -1, np.int32))


def phases(run: Run, progress: Progress) -> Iterator[None]:
    """Bring the progress forward by a phase at a time, up to its end."""
    progress.stopped = _end(run, progress)
    if progress.stopped:
        return
    with open_ensemble(run.rows, run.settings, run.executor, run.scratch) as ensemble:
        while not progress.stopped:
            _one_phase(run, ensemble, progress)
            progress.stopped = _end(run, progress)
            yield


def _end(run: Run, progress: Progress) -> StopReason | None:
    """Return why no other phase is to follow, or None."""
    settings, left = run.settings, progress.removed_in < 0
    size = int(left.sum())
    if settings.target_size is not None and size <= settings.target_size:
        return "target size"
    if progress.phases:
        last = progress.phases[-1]
        if last.candidates < last.cutoff:
            return "cutoff"
        if not last.removed:  # no group at the threshold fits into what may still go
            return "target size"
    if size <= settings.train_size:
        return "train size"
    return "one class" if len(np.unique(run.rows.y[left])) < 2 else None


REFRESH = 4
"""Phases after which the solver's Hessian is measured again, on the rows that are then left."""


def _one_phase(run: Run, ensemble: Ensemble, progress: Progress) -> None:
    began = time.perf_counter()
    settings, number = run.settings, len(progress.phases)
    left = np.flatnonzero(progress.removed_in < 0).astype(np.int32)
    groups = run.rows.groups[left] if run.rows.groups is not None else None
    start = _start(ensemble, left, progress)
    votes = ensemble.vote(left, number, start)
    correct, total = pool_votes(ensemble, left, votes)
    candidates = at_threshold(correct, total, settings.threshold)
    null: Null | None = None
    drawn: list[NDArray[np.float64]] = []
    if settings.null != "off":
        on_draw = None if run.on_draw is None else partial(run.on_draw, number)
        null, drawn = chance(ensemble, left, number, run.twins, int(candidates.sum()), on_draw)
    most = _most(settings, len(left), groups)
    chosen = select(
        correct,
        total,
        threshold=settings.threshold,
        cutoff=most,
        seed=settings.seed,
        phase=number,
        groups=groups if settings.remove == "groups" else None,
    )
    removed = chosen.removed
    voted = total > 0
    progress.scores[left[voted]] = scores(correct, total)[voted]
    progress.votes[left[voted]] = total[voted]
    progress.removed_in[left[removed]] = number
    if not votes.one_class.all():
        progress.start = replace(start, weights=votes.weights[~votes.one_class].mean(axis=0))
    progress.phases.append(
        Phase(
            number=number,
            size=len(left),
            removed=len(removed),
            cutoff=most,
            candidates=chosen.candidates,
            accuracy=float(votes.correct.sum() / votes.total.sum()) if voted.any() else None,
            histogram=histogram(correct, total),
            undefined=int((~voted).sum()),
            tied=chosen.tied,
            tied_removed=chosen.tied_removed,
            close=votes.close,
            one_class=int(votes.one_class.sum()),
            polished=int(votes.polished.sum()),
            passes=int(votes.passes.max()),
            chance=null,
            by_chance=by_chance(drawn, chosen) if null is not None else None,
            seconds=time.perf_counter() - began,
        )
    )


def _start(ensemble: Ensemble, left: NDArray[np.int32], progress: Progress) -> Start:
    """Return where the solver starts, and keep what later phases start from."""
    number = len(progress.phases)
    if progress.start is None:
        progress.start = ensemble.first_start(left)
    elif number % REFRESH == 0:
        progress.start = ensemble.start_at(progress.start.weights, left)
    return progress.start


def _most(settings: Settings, left: int, groups: NDArray[np.intp] | None) -> int:
    """Return how many rows a phase may remove: the cutoff, if the target allows so many."""
    most = settings.cutoff_of(left)
    if settings.remove == "groups" and groups is not None:
        most = max(most, int(np.bincount(groups).max()))
    return most if settings.target_size is None else min(most, left - settings.target_size)


BROKEN = (EOFError, zipfile.BadZipFile)
"""What numpy raises, besides the usual errors, for a file that is cut off."""


def save(path: Path, progress: Progress, of: Mapping[str, Any]) -> None:
    """Write the checkpoint; the old one stays until the new one is complete on the disk.

    Args:
        path: where to.
        progress: what to keep.
        of: data digest and parameters.

    Raises:
        OutputError: it can't be written.
    """
    new = progress.phases[len(progress.saved) :]
    progress.saved += [json.dumps(asdict(phase)) for phase in new]
    about = {"version": __version__, "of": dict(of), "stopped": progress.stopped}
    with write_aside(path, "wb") as file:
        np.savez(
            file,
            about=np.array(json.dumps(about)),
            phases=np.frombuffer("\n".join(progress.saved).encode(), np.uint8),
            scores=progress.scores,
            votes=progress.votes,
            removed_in=progress.removed_in,
            **({} if progress.start is None else asdict(progress.start)),
        )


def load(path: Path, of: Mapping[str, Any]) -> Progress | None:
    """Return the progress that the checkpoint holds; None when there is no file.

    Raises:
        OutputError: it is no checkpoint, or one of other data, parameters or another version.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            about = parse_json(str(file["about"]))
            arrays = {name: file[name] for name in ("scores", "votes", "removed_in")}
            held = {one.name: file[one.name] for one in fields(Start) if "weights" in file}
            start = Start(**{**held, "tolerance": float(held["tolerance"])}) if held else None
            saved = file["phases"].tobytes().decode().splitlines()
        phases = [_read_phase(parse_json(line)) for line in saved]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, *BROKEN) as error:
        raise OutputError(
            f"{path}: this is not a checkpoint of AFLite ({error}); choose another name for the "
            "checkpoint, or remove the file"
        ) from error
    _refuse_another(path, {"version": about["version"], **about["of"]}, of)
    return Progress(phases=phases, stopped=about["stopped"], start=start, saved=saved, **arrays)


def _read_phase(record: Mapping[str, Any]) -> Phase:
    chance = record["chance"]
    if chance is not None:
        chance = Null(**{**chance, "draws": tuple(chance["draws"])})
    return Phase(**{**record, "histogram": tuple(record["histogram"]), "chance": chance})


def _refuse_another(path: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    ours = {"version": __version__, **ours}
    differ = [
        f"{name} {theirs.get(name)!r}, not {ours.get(name)!r}"
        for name in {**ours, **theirs}
        if theirs.get(name) != ours.get(name)
    ]
    if differ:
        raise OutputError(
            f"{path}: this checkpoint is of another run ({'; '.join(differ)}); choose another "
            "name for the checkpoint, or remove the file"
        )
