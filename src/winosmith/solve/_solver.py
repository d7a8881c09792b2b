"""`Solver` scores the options of problems; `predict` returns the best ones.

`predict_to_file` writes them chunk by chunk, so that an interrupt costs little.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from winosmith import answers
from winosmith.dataset import Dataset
from winosmith.errors import DataError, OutputError
from winosmith.locks import try_lock
from winosmith.outputs import write_error
from winosmith.parallel import ordered_map, workers_of
from winosmith.prediction import Prediction, best_options
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.text import first_three

Scores = Sequence[tuple[float, ...]]
"""One tuple a problem, in their order: a finite score for each option, higher is better."""


class Solver(Protocol):
    """Gives each option of a problem a score, without the answers.

    Answers kept, flipped or absent give equal scores; the order of the problems, and how many are
    asked at once, change a score by less than 1e-4. An option keeps its score wherever it is
    written among the others; exceptions are documented with their reason.

    A solver that learns from solved problems is made by a function or class method that takes
    them, and a seed; constructors only store what they are given.
    """

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one finite score an option for each problem, in the order of the problems."""
        ...


def predict(solver: Solver, problems: Sequence[Problem]) -> tuple[Prediction, ...]:
    """Return the best option of each problem by the solver's scores.

    The solver gets the problems without their answers. If the best scores are equal, within
    `winosmith.prediction.TIE`, those options are tied in the prediction, and the choice is the
    first of them.

    Raises:
        DataError: the solver does not keep its promise of one finite score an option.

    >>> from winosmith.solve import Random
    >>> [answer.choice for answer in predict(Random(), [Problem("a", "A _ b.", ("x", "y"))])]
    [1]
    """
    scores = solver.score([problem.blind() for problem in problems])
    if len(scores) != len(problems):
        raise DataError(f"the solver gave {len(scores)} results for {len(problems)} problems")
    predictions = []
    for problem, given in zip(problems, scores, strict=True):
        if len(given) != len(problem.options) or not all(map(math.isfinite, given)):
            raise DataError(
                f"the solver gave {problem.id!r} the scores {tuple(given)}; one finite score for "
                f"each of its {len(problem.options)} options is needed"
            )
        own = tuple(map(float, given))
        best = best_options(own)
        predictions.append(Prediction(problem.id, best[0], own, best if len(best) > 1 else ()))
    return tuple(predictions)


def known_answers(train: Dataset) -> list[int]:
    """Return the answers of the problems that a solver learns from.

    Raises:
        DataError: there are no problems, or an answer is withheld.
    """
    if not train:
        raise DataError("there are no problems to learn from")
    withheld = [problem.id for problem in train if problem.answer is None]
    if withheld:
        raise DataError(
            f"{len(withheld):,} of the {len(train):,} problems to learn from have no answer "
            f"({first_three(withheld)})"
        )
    return [answer for answer in train.answers if answer is not None]


def draw_solved(problems: Sequence[Problem], count: int, seed: int | list[int]) -> list[Problem]:
    """Draw problems with an answer at random.

    Raises:
        DataError: too few have an answer.
    """
    solved = [problem for problem in problems if problem.answer is not None]
    if not 0 < count <= len(solved):
        raise DataError(f"{count} shots can't be drawn from {len(solved)} problems with an answer")
    return [solved[row] for row in np.random.default_rng(seed).permutation(len(solved))[:count]]


@dataclass(frozen=True, slots=True)
class TwoWay:
    """Asks a solver that takes two options about every pair of them.

    An option's score is the mean, over its comparisons, of its own score less the other's. For a
    solver with independent scores this selects the option with the best one, as for a two-option
    model on the Pronoun Disambiguation Problems. Problems of two options are
    asked as they are, their scores unchanged.

    Attributes:
        solver: a solver of two options.
    """

    solver: Solver

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the scores, for a signature."""
        return dict(getattr(self.solver, "parameters", {}))

    def score(self, problems: Sequence[Problem]) -> Scores:
        """Return one score an option, from the scores of all comparisons."""
        asked = [pair for problem in problems for pair in _comparisons(problem)]
        given = iter(self.solver.score(asked))
        return [
            next(given) if len(problem.options) == 2 else _means(len(problem.options), given)
            for problem in problems
        ]


def _comparisons(problem: Problem) -> Iterator[Problem]:
    if len(problem.options) == 2:
        yield problem
        return
    for one, other in combinations(range(len(problem.options)), 2):
        yield replace(
            problem,
            id=":".join([problem.id, *sorted((problem.options[one], problem.options[other]))]),
            options=(problem.options[one], problem.options[other]),
            answer=None,
        )


def _means(options: int, given: Iterator[tuple[float, ...]]) -> tuple[float, ...]:
    sums = [0.0] * options
    for (one, other), (first, second) in zip(combinations(range(options), 2), given, strict=False):
        sums[one] += first - second
        sums[other] += second - first
    return tuple(total / (options - 1) for total in sums)


_CHUNK = 256
"""Problems in a chunk; an interrupt loses one at most. Even, so that few twins are separated."""

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
) -> answers.Answers:
    """Solve the problems, and write the predictions to a file that appears when it is complete.

    Finished work is saved in `.NAME.part` after every 256 problems. The same call continues from
    there, and a call whose file is complete reads it. The chunks are the same however often
    the work was stopped, so the file is, too.

    Args:
        solver: gets the problems without their answers.
        dataset: the problems.
        path: the file, `.jsonl` by custom.
        parameters: what else determines the scores, next to the solver's own `parameters`; both go
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
    stated = {**getattr(solver, "parameters", {}), **(parameters or {})}
    name = str(stated.pop("solver", type(solver).__name__))
    header = answers.prediction_header(dataset, name, stated)
    if path.exists() and _is_finished(path, header, force):
        return answers.read_predictions(path, dataset)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(error, path) from error
    part = path.with_name(f".{path.name}.part")
    with part.open("a+", encoding="utf-8", newline="\n") as file:
        if not try_lock(file.fileno()):
            raise OutputError(f"{part}: another process is writing it; wait for it")
        done = _keep_whole_chunks(part, file, header, force)
        starts = range(done, len(dataset), _CHUNK)
        chunks = (dataset[start : start + _CHUNK] for start in starts)
        ahead = 2 * (workers_of(executor) or 8) if executor is not None else 1
        work = partial(predict if executor is None else _predict_in_worker, solver)
        solved = ordered_map(work, chunks, executor, ahead=ahead)
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


_last: list[Solver] = []
"""The solver that was asked last in this process."""


def _predict_in_worker(solver: Solver, chunk: Sequence[Problem]) -> tuple[Prediction, ...]:
    if not _last or _last[0] != solver:
        _last[:] = [solver]
    return predict(_last[0], chunk)


def _is_finished(path: Path, header: str, force: bool) -> bool:
    if not path.is_file():
        raise OutputError(f"{path} is not a file; name one")
    with path.open(encoding="utf-8", errors="replace") as file:
        held = file.readline().rstrip("\n")
    if held != header and not force:
        raise OutputError(
            f"{path} {_difference(held, header)}; name another file, or add `force=True`"
        )
    return not force


def _keep_whole_chunks(part: Path, file: IO[str], header: str, force: bool) -> int:
    file.seek(0)
    lines = file.read().split("\n")[:-1]  # what follows the last newline was cut short
    if lines and lines[0] != header and not force:
        raise OutputError(
            f"{part} {_difference(lines[0], header)}: it is unfinished work; run the command that "
            "started it, name another file, or add `force=True` to drop it"
        )
    kept = lines if lines and lines[0] == header and not force else [header]
    done = (len(kept) - 1) // _CHUNK * _CHUNK
    file.seek(0)
    file.truncate()
    file.writelines(line + "\n" for line in kept[: done + 1])
    file.flush()
    return done


def _difference(held: str, header: str) -> str:
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
    try:
        record = parse_json(line)
    except ValueError:
        return {}
    if not isinstance(record, dict) or not isinstance(record.get("parameters"), dict):
        return {}
    parameters = record.pop("parameters")
    return {**record, **parameters}


def _brief(value: object) -> str:
    return repr(value[:12] if isinstance(value, str) and len(value) == 64 else value)
