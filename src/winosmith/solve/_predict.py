"""Solve a data set into a file of predictions, so that an interrupt costs little."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

from winosmith import formats
from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.errors import OutputError
from winosmith.locks import try_lock
from winosmith.outputs import write_error
from winosmith.parallel import ordered_map, workers_of
from winosmith.problem import Problem
from winosmith.solve._solver import Solver, predict

_CHUNK = 256
"""Problems that are solved at once; what an interrupt loses at most. Even, to part few twins."""

_SHOWN = 4
"""Differences that a message names at most."""


def predict_to_file(
    solver: Solver,
    dataset: Dataset,
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
    on_progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
) -> formats.Predictions:
    """Solve the problems, and write the predictions to a file that appears when it is complete.

    What was solved is kept aside, in `.NAME.part`, after every 256 problems; the same call goes on
    from there, and a call whose file is complete reads it. The chunks are the same however often
    the work was stopped, so the file is, too.

    Args:
        solver: gets the problems without their answers.
        dataset: the problems.
        path: the file, `.jsonl` by custom.
        parameters: what else determines the scores, beside the solver's own `parameters`; both go
            into the header. `solver`, in either, is the name.
        force: replace a file, or unfinished work, of other problems or parameters; without it,
            that is refused.
        on_progress: called with the number of problems done, at the start and after each chunk.
        executor: who solves the chunks; without one they are solved here. What the solver needs,
            such as a model's folder, must be where the executor's workers are; each loads it once.

    Raises:
        OutputError: the file holds other predictions (and how they differ), or can't be written,
            or another process is writing it.
        DataError: the solver does not give one finite score an option.
    """
    path = Path(path)
    told = {**getattr(solver, "parameters", {}), **(parameters or {})}
    name = str(told.pop("solver", type(solver).__name__))
    header = formats.prediction_header(dataset, name, told)
    if path.exists() and _same(path, header, force):
        return formats.read_predictions(path, dataset)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, path) from error
    part = path.with_name(f".{path.name}.part")
    with _locked(part) as file:
        done = _resumed(part, file, header, force)
        starts = range(done, len(dataset), _CHUNK)
        chunks = (dataset[start : start + _CHUNK] for start in starts)
        ahead = 2 * (workers_of(executor) or 8) if executor is not None else 1
        work = partial(predict if executor is None else _solved, solver)
        solved = ordered_map(work, chunks, executor, ahead=ahead)
        for start in starts:
            if on_progress:
                on_progress(start)
            for prediction in next(solved):
                file.write(formats.prediction_record(prediction) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if on_progress:
            on_progress(len(dataset))
        part.replace(path)
    return formats.read_predictions(path, dataset)


_last: list[Solver] = []
"""The solver that was asked last in this process."""


def _solved(solver: Solver, chunk: Sequence[Problem]) -> tuple[Prediction, ...]:
    """Solve a chunk; in a worker, with the equal solver of the last one, whose model is loaded."""
    if not _last or _last[0] != solver:
        _last[:] = [solver]
    return predict(_last[0], chunk)


def _same(path: Path, header: str, force: bool) -> bool:
    """Tell whether a file was written by the same call; refuse another one's, unless forced."""
    if not path.is_file():
        raise OutputError(f"{path} is no file; name one")
    with path.open(encoding="utf-8", errors="replace") as file:
        held = file.readline().rstrip("\n")
    if held == header and not force:
        return True
    if not force:
        raise OutputError(f"{path} {_differs(held, header)}; name another file, or add --force")
    return False


def _resumed(part: Path, file: IO[str], header: str, force: bool) -> int:
    """Leave whole chunks in the file of unfinished work; return how many problems they hold."""
    file.seek(0)
    lines = file.read().split("\n")[:-1]  # what follows the last line end was cut short
    if lines and lines[0] != header and not force:
        raise OutputError(
            f"{part} {_differs(lines[0], header)}: it is unfinished work; run the command that "
            "began it, name another file, or add --force to drop it"
        )
    kept = lines if lines and lines[0] == header and not force else [header]
    done = (len(kept) - 1) // _CHUNK * _CHUNK
    file.seek(0)
    file.truncate()
    file.writelines(line + "\n" for line in kept[: done + 1])
    file.flush()
    return done


def _differs(held: str, header: str) -> str:
    """Say how what a file holds differs from what is asked."""
    there, here = _header(held), _header(header)
    if "predictions" not in there:
        return "was not written by winosmith solve"
    names = {"predictions": "solver", "data": "the data's digest"}
    found = [
        f"{names.get(key, key)} is {_brief(there.get(key))} there, {_brief(here.get(key))} here"
        for key in dict.fromkeys((*there, *here))
        if there.get(key) != here.get(key)
    ]
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"holds other predictions ({'; '.join(found[:_SHOWN])}{more})"


def _header(line: str) -> dict[str, Any]:
    """Return the header that a line holds, its parameters beside the rest; empty if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("parameters"), dict):
        return {}
    parameters = record.pop("parameters")
    return {**record, **parameters}


def _brief(value: object) -> str:
    return repr(value[:12] if isinstance(value, str) and len(value) == 64 else value)


@contextmanager
def _locked(part: Path) -> Iterator[IO[str]]:
    """Open the file of unfinished work for this process alone, where the system can tell."""
    with part.open("a+", encoding="utf-8", newline="\n") as file:
        if not try_lock(file.fileno()):
            raise OutputError(f"{part}: another process is writing it; wait for it")
        yield file
