"""A loaded model at work: it waits at its bell, predicts in batches, and says what it does."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import Error, connection

from winosmith.web.predict import backfill, work
from winosmith.web.predict.bell import Bell
from winosmith.web.predict.solving import Pace, outcomes

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver
    from winosmith.web._site import Site
    from winosmith.web.predict.holding import Hold
    from winosmith.web.predict.models import Model
    from winosmith.web.predict.work import Outcome, Task

__all__ = ["Worker"]

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
        more = backfill.fill(self.model) == backfill.CHUNK
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
