"""Tasks to outcomes, by a solver that may be slow, wrong, or broken over one of them."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.utils.translation import gettext_noop

from winosmith.chat import ChatError
from winosmith.errors import DataError, InputError
from winosmith.study import MadeSolver
from winosmith.web.predict.work import Outcome, Task

__all__ = ["LONGEST_BATCH", "Pace", "outcomes"]

LONGEST_BATCH = 0.3
"""Seconds that a batch is meant to take: what somebody waits for who comes after it began."""

MOST_AT_ONCE = 128

_REASONS = (
    (ChatError, gettext_noop("The model's server gave no answer that can be used.")),
    (DataError, gettext_noop("The model gave no usable scores for this sentence.")),
    (InputError, gettext_noop("The model can't read this sentence.")),
    (MemoryError, gettext_noop("The model ran out of memory over this sentence.")),
    (Exception, gettext_noop("The model failed over this sentence.")),
)
"""What people are told, the most special first; the log has the error itself."""

_LOG = logging.getLogger("winosmith.web.predict")

Begin = Callable[[Sequence[Task]], None]
"""Is told what begins now, so that somebody outside may keep the time."""


class Pace:
    """How many problems a batch takes, so that it lasts about as long as it should."""

    def __init__(self, at_once: int = 1) -> None:
        self.least = self.size = at_once

    def note(self, seconds: float, tasks: int) -> None:
        """Learn from a batch: larger next time where it was quick, smaller where it was not."""
        if seconds > LONGEST_BATCH:
            self.size = max(self.least, min(self.size, tasks) // 2)
        elif seconds < LONGEST_BATCH / 3 and tasks >= self.size:
            self.size = min(MOST_AT_ONCE, self.size * 2)


def outcomes(made: MadeSolver, tasks: Sequence[Task], limit: float, begin: Begin) -> list[Outcome]:
    """Ask a solver about some problems.

    Where a batch fails, each of its problems is asked alone, so that one bad sentence costs no
    other its prediction.

    Args:
        made: the solver.
        tasks: at least one.
        limit: seconds; an error after them means that the model was too slow.
        begin: is told before each call of the solver.
    """
    if made.at_once > 1:
        begin(tasks)
        with ThreadPoolExecutor(made.at_once) as pool:
            return list(pool.map(lambda task: _alone(made, task, limit), tasks))
    if len(tasks) > 1:
        begin(tasks)
        try:
            return _together(made, tasks)
        except Exception:  # noqa: BLE001 - one by one it shows whose fault it is
            _LOG.info("a batch of %d failed; they are asked one by one", len(tasks))
    found = []
    for task in tasks:
        begin([task])
        found.append(_alone(made, task, limit))
    return found


def _alone(made: MadeSolver, task: Task, limit: float) -> Outcome:
    start = time.monotonic()
    try:
        return _together(made, [task])[0]
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        seconds = time.monotonic() - start
        _LOG.warning("a prediction failed: %s: %s", type(error).__name__, error)
        return Outcome(task, (), seconds, _reason(error), late=seconds >= limit * 0.95)


def _together(made: MadeSolver, tasks: Sequence[Task]) -> list[Outcome]:
    start = time.monotonic()
    given = made.solver.score([task.datum for task in tasks])
    each = (time.monotonic() - start) / len(tasks)
    if len(given) != len(tasks):
        raise DataError(f"the solver gave {len(given)} results for {len(tasks)} problems")
    return [
        Outcome(task, _checked(task, scores), each)
        for task, scores in zip(tasks, given, strict=True)
    ]


def _checked(task: Task, scores: Sequence[float]) -> tuple[float, ...]:
    if len(scores) != len(task.datum.options) or not all(map(math.isfinite, scores)):
        raise DataError("the solver gave no finite score for each option")
    return tuple(map(float, scores))


def _reason(error: Exception) -> str:
    return next(text for kind, text in _REASONS if isinstance(error, kind))
