"""`Solver` scores the options of problems, and `predict` returns the best option of each problem.

`predict_to_file` saves predictions in chunks, so that an interrupted run can resume.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from winosmith import answers
from winosmith.dataset import Dataset
from winosmith.errors import DataError, OutputError, join_ids
from winosmith.locks import try_lock
from winosmith.outputs import make_write_error
from winosmith.parallel import get_worker_count, ordered_map
from winosmith.prediction import Prediction, find_best_options
from winosmith.problem import Problem
from winosmith.records import parse_json

Scores = Sequence[tuple[float, ...]]
"""A tuple for each problem, in order, with a finite score for each option. Higher scores are
better."""


class Solver(Protocol):
    """Scores the options of problems, without using the answers.

    Scores don't depend on the answers. The order and the number of the problems change a score by
    less than 1e-4. An option's score does not depend on the order of options, unless the solver's
    documentation says so.

    A solver that learns from solved problems is made by a function or class method that takes the
    problems and a seed. Constructors only store their arguments.
    """

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one finite score per option for each problem, in the order of the problems."""
        ...


def predict(solver: Solver, problems: Sequence[Problem]) -> tuple[Prediction, ...]:
    """Return each problem's best option according to the solver's scores.

    The solver gets the problems without their answers. Options whose scores differ from the best by
    at most `winosmith.prediction.TIE` are tied. The choice is the first of them.

    Raises:
        DataError: the solver does not return one finite score per option.

    >>> from winosmith.solve import Random
    >>> [answer.choice for answer in predict(Random(), [Problem("a", "A _ b.", ("x", "y"))])]
    [1]
    """
    scores = solver.score([problem.blind() for problem in problems])
    if len(scores) != len(problems):
        raise DataError(f"the solver returned {len(scores)} results for {len(problems)} problems")
    predictions = []
    for problem, given in zip(problems, scores, strict=True):
        if len(given) != len(problem.options) or not all(map(math.isfinite, given)):
            raise DataError(
                f"the solver returned the scores {tuple(given)} for {problem.id!r}; it must return "
                f"one finite score for each of the {len(problem.options)} options"
            )
        own = tuple(map(float, given))
        best = find_best_options(own)
        predictions.append(Prediction(problem.id, best[0], own, best if len(best) > 1 else ()))
    return tuple(predictions)


def get_answers(train: Dataset) -> list[int]:
    if not train:
        raise DataError("there are no problems to learn from")
    withheld = [problem.id for problem in train if problem.answer is None]
    if withheld:
        raise DataError(
            f"{len(withheld):,} of the {len(train):,} problems to learn from have no answer "
            f"({join_ids(withheld)})"
        )
    return [answer for answer in train.answers if answer is not None]


def sample_solved(problems: Sequence[Problem], count: int, seed: int | list[int]) -> list[Problem]:
    solved = [problem for problem in problems if problem.answer is not None]
    if not 0 < count <= len(solved):
        raise DataError(f"{count} shots can't be drawn from {len(solved)} problems with an answer")
    return [solved[row] for row in np.random.default_rng(seed).permutation(len(solved))[:count]]


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Applies a solver for two options to every pair of options.

    An option's score is its lead over the other option, averaged over all pairs that contain it. If
    the solver scores options independently, the best option stays the best. Scores of problems with
    two options don't change.

    Attributes:
        solver: a solver for two options.
    """

    solver: Solver

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        return dict(getattr(self.solver, "parameters", {}))

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one score per option, from the scores of all pairs."""
        asked: list[Problem] = []
        for problem in problems:
            if len(problem.options) == 2:
                asked.append(problem)
                continue
            for pair in combinations(problem.options, 2):
                name = ":".join([problem.id, *sorted(pair)])
                asked.append(replace(problem, id=name, options=pair, answer=None))
        given = iter(self.solver.score(asked))
        scores = []
        for problem in problems:
            count = len(problem.options)
            if count == 2:
                scores.append(next(given))
                continue
            sums = [0.0] * count
            for one, other in combinations(range(count), 2):
                first, second = next(given)
                sums[one] += first - second
                sums[other] += second - first
            scores.append(tuple(total / (count - 1) for total in sums))
        return scores


_CHUNK = 256
"""Number of problems in a chunk. An interruption loses at most one chunk. The number is even, so
that few twins are separated."""

_MAX_SHOWN = 4
"""Maximum number of differences to list in a message."""


def predict_to_file(
    solver: Solver,
    dataset: Dataset,
    path: str | Path,
    *,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
    on_progress: Callable[[int], None] | None = None,
    executor: Executor | None = None,
) -> answers.Answers:
    """Solve the problems and write the predictions to a file, or read them if it exists.

    Finished work is saved in `.NAME.part` after every 256 problems, so that the same call resumes
    it. The file appears when it is complete. Interruptions don't change the result.

    Args:
        solver: the solver, which gets the problems without their answers.
        dataset: the problems.
        path: path of the file, usually `.jsonl`.
        parameters: additional parameters for the header, if the scores depend on more than the
            solver's `parameters`. The key `solver` is the solver's name.
        force: whether to replace predictions, or unfinished work, of other problems or parameters.
        on_progress: called with the number of solved problems, at the start and after each chunk.
        executor: runs the work; by default, the current process does. Files that the solver needs,
            such as a model's folder, must be accessible to the workers. Each worker loads them
            once.

    Raises:
        OutputError: the file contains other predictions, can't be written, or is being written by
            another process.
        DataError: the solver does not return one finite score per option.
    """
    path = Path(path)
    stated = {**getattr(solver, "parameters", {}), **(parameters or {})}
    name = str(stated.pop("solver", type(solver).__name__))
    header = answers.prediction_header(dataset, name, stated)
    if path.exists():
        if not path.is_file():
            raise OutputError(f"{path} is not a file; choose another path")
        with path.open(encoding="utf-8", errors="replace") as existing:
            held = existing.readline().rstrip("\n")
        if held != header and not force:
            difference = _describe_difference(held, header)
            raise OutputError(f"{path} {difference}; choose another file, or add `force=True`")
        if not force:
            return answers.read_predictions(path, dataset)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(error, path) from error
    part = path.with_name(f".{path.name}.part")
    with part.open("a+", encoding="utf-8", newline="\n") as file:
        if not try_lock(file.fileno()):
            raise OutputError(f"{part}: another process is writing this file; try again later")
        done = _keep_complete_chunks(part, file, header, force)
        starts = range(done, len(dataset), _CHUNK)
        chunks = (dataset[start : start + _CHUNK] for start in starts)
        ahead = 2 * (get_worker_count(executor) or 8) if executor is not None else 1
        work = partial(predict if executor is None else _predict_in_worker, solver)
        solved = ordered_map(work, chunks, executor, max_pending=ahead)
        for start in starts:
            if on_progress:
                on_progress(start)
            for prediction in next(solved):
                file.write(answers.prediction_record(prediction) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if on_progress:
            on_progress(len(dataset))
        part.replace(path)
    return answers.read_predictions(path, dataset)


_last_solver: list[Solver] = []
"""The last solver that this process used, so that its model is loaded only once."""


def _predict_in_worker(solver: Solver, chunk: Sequence[Problem]) -> tuple[Prediction, ...]:
    if not _last_solver or _last_solver[0] != solver:
        _last_solver[:] = [solver]
    return predict(_last_solver[0], chunk)


def _keep_complete_chunks(path: Path, file: IO[str], header: str, force: bool) -> int:
    file.seek(0)
    lines = file.read().split("\n")[:-1]  # a last line without a newline is incomplete
    if lines and lines[0] != header and not force:
        raise OutputError(
            f"{path} {_describe_difference(lines[0], header)}: it is unfinished work; run the "
            "command that started it, choose another file, or add `force=True` to discard it"
        )
    kept = lines if lines and lines[0] == header and not force else [header]
    done = (len(kept) - 1) // _CHUNK * _CHUNK
    file.seek(0)
    file.truncate()
    file.writelines(line + "\n" for line in kept[: done + 1])
    file.flush()
    return done


def _describe_difference(existing: str, expected: str) -> str:
    there, here = _parse_header(existing), _parse_header(expected)
    if "predictions" not in there:
        return "was not written by winosmith solve"
    names = {"predictions": "solver", "data": "the data's digest"}
    found = [
        f"{names.get(key, key)} is {_shorten(there.get(key))}, not {_shorten(here.get(key))}"
        for key in dict.fromkeys((*there, *here))
        if there.get(key) != here.get(key)
    ]
    more = f"; and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
    return f"contains other predictions ({'; '.join(found[:_MAX_SHOWN])}{more})"


def _parse_header(line: str) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except ValueError:
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("parameters"), dict):
        return {}
    parameters = record.pop("parameters")
    return {**record, **parameters}


def _shorten(value: object) -> str:
    return repr(value[:12] if isinstance(value, str) and len(value) == 64 else value)
