"""A loaded model at work: it waits at its bell, predicts in batches, and says what it does.

The solver may be slow, wrong, or broken over one of its tasks; the others get their predictions.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import Error, connection
from django.utils.translation import gettext_noop

from winosmith.chat import ChatError
from winosmith.errors import DataError, InputError
from winosmith.study import MadeSolver
from winosmith.web.predict import asking, work
from winosmith.web.predict.process import Bell, Hold
from winosmith.web.predict.work import Outcome, Task

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.web._site import Site
    from winosmith.web.predict.models import Model


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


GRACE = 1.0
"""Seconds beyond the limit after which a process is ended from outside."""

OWN_GRACE = 5.0
"""The same for a solver that keeps the time itself, as a chat client does; it is ended only if it
fails to."""

EVERY = 1.0
"""Seconds after which a process looks for work though nobody rang."""

SWEEP = 60.0
"""Seconds between two looks for problems that were never asked about."""

LONGEST_REST = 1.0
"""Seconds; between batches in the background a process rests as long as one took, at most this."""

SOUND = 20.0
"""Seconds after which a process that lives counts as sound, whether it had work or not."""

GROWTH = 1.5
"""GB that a process may grow, where `memory_gb` does not say; then another takes its place."""

_LOG = logging.getLogger("winosmith.web.predict")


class Worker:
    """A loaded model at work."""

    def __init__(
        self, site: Site, rule: SolverRule, hold: Hold, made: MadeSolver, model: Model
    ) -> None:
        self.site, self.made, self.model, self.hold = site, made, model, hold
        self.limit = float(site.rules.model_seconds)
        self.bell = Bell(site.folder, rule.name)
        self.pace = Pace(made.at_once)
        self.doing = hold.said()
        self.due = 0.0
        self.found: list[Outcome] = []
        own = rule.options.get("memory_gb")
        self.most = own * 2.0**30 if own else _memory() + GROWTH * 2.0**30

    def work(self) -> None:
        """Predict, until the server ends or the process has grown too large."""
        self._idle()
        while self.found or _memory() < self.most:
            try:
                if not self._step():
                    self._settled()
                    self.bell.wait(EVERY)
            except Error as error:  # the database is away: whatever waits, waits on
                _LOG.warning("the model %s has no database: %s", self.model.name, error)
                connection.close()
                self._idle()
                time.sleep(EVERY)

    def _step(self) -> bool:
        """Predict one batch; tell whether there may be more to do.

        What was predicted last is written in one transaction with the next claim.
        """
        room = self.pace.size if _memory() < self.most else 0
        tasks = work.turn(self.model, self.found, room, self.limit + 30)
        self._written()
        if tasks:
            start = time.monotonic()
            self.found = outcomes(self.made, tasks, self.limit, self._begin)
            took = time.monotonic() - start
            self.pace.note(took, len(tasks))
            self._say(None, self.doing.rows)  # in time; to be written
            if not tasks[0].urgent:
                work.write_down(self.model, self.found)
                self._written()
                self.bell.wait(min(took, LONGEST_REST))  # pages, and other models, come first
            return True
        if time.monotonic() < self.due:
            return False
        more = asking.fill(self.model) == asking.CHUNK
        self.due = 0.0 if more else time.monotonic() + SWEEP
        return True

    def _written(self) -> None:
        if self.found:
            self.found = []
            self._idle(failures=0)

    def _begin(self, tasks: Sequence[Task]) -> None:
        """Say what is done, and until when somebody else may end this process over it."""
        grace = OWN_GRACE if self.made.at_once > 1 else GRACE
        self._say(time.monotonic() + self.limit + grace, [task.prediction for task in tasks])

    def _idle(self, failures: int | None = None) -> None:
        self._say(None, [], failures)

    def _settled(self) -> None:
        if self.doing.failures and time.monotonic() > self.doing.since + SOUND:
            self._idle(failures=0)

    def _say(self, until: float | None, rows: list[int], failures: int | None = None) -> None:
        failures = self.doing.failures if failures is None else failures
        self.doing = replace(self.doing, until=until, rows=rows, failures=failures)
        self.hold.say(self.doing)


def _memory() -> float:
    """Return the bytes that this process has in memory; 0 where the system doesn't tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
