"""A run of AFLite on disk after every phase, so that it can be taken up again.

The file is a .npz without pickles: the phases as JSON, the scores, what each phase removed, and
where the solver stood; with the digest of the data and the parameters, so that it is never taken
up for other data. Rows are in canonical order.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith._version import __version__
from winosmith.debias._null import Null
from winosmith.debias._result import Phase, Stopped
from winosmith.debias._start import Start
from winosmith.errors import OutputError
from winosmith.outputs import write_aside

BROKEN = (EOFError, zipfile.BadZipFile)
"""What numpy raises, beside the usual, for a file that is cut off."""


@dataclass(slots=True)
class Progress:
    """How far a run is.

    Attributes:
        scores: (N,) last known scores.
        votes: (N,) int32, the predictions that each is the share of.
        removed_in: (N,) int32, the phase that removed the row, -1 for those left.
        phases: the records so far.
        stopped: why it ended; None while it goes on.
        start: where the solver starts next; None before the first phase.
    """

    scores: NDArray[np.float64]
    votes: NDArray[np.int32]
    removed_in: NDArray[np.int32]
    phases: list[Phase] = field(default_factory=list)
    stopped: Stopped | None = None
    start: Start | None = None


def save(path: Path, progress: Progress, of: Mapping[str, Any]) -> None:
    """Write the checkpoint; the old one stays until the new one is complete on the disk.

    Args:
        path: where to.
        progress: what to keep.
        of: data digest and parameters.

    Raises:
        OutputError: it can't be written.
    """
    about = {
        "version": __version__,
        "of": dict(of),
        "phases": [asdict(phase) for phase in progress.phases],
        "stopped": progress.stopped,
    }
    with write_aside(path, "wb") as file:
        np.savez(
            file,
            about=np.array(json.dumps(about)),
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
            about = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in ("scores", "votes", "removed_in")}
            start = _start(file)
        phases = [_phase(record) for record in about["phases"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, *BROKEN) as error:
        raise OutputError(
            f"{path}: this is not a checkpoint of AFLite ({error}); choose another name for the "
            "checkpoint, or remove the file"
        ) from error
    _refuse_another(path, {"version": about["version"], **about["of"]}, of)
    return Progress(phases=phases, stopped=about["stopped"], start=start, **arrays)


def _start(file: Any) -> Start | None:
    if "weights" not in file:
        return None
    held = {known.name: file[known.name] for known in fields(Start)}
    return Start(**{**held, "tolerance": float(held["tolerance"])})


def _phase(record: Mapping[str, Any]) -> Phase:
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
