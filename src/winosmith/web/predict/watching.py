"""Watchers: a thread in each worker of the server that keeps the processes of models going.

Whoever finds a model's lock free takes it, settles what the last process was at, and hands the
lock on to a new one; whoever finds a process late ends it. All know the same from the lock file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.web.predict import holding
from winosmith.web.predict.process import LEASH, LOCK

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.web._site import Site

__all__ = ["Leash", "Watcher", "start"]

EVERY = 0.25
"""Seconds between two looks."""

LONGEST_WAIT = 60.0
"""Seconds between two starts of a model that ends again and again without a prediction."""

_LOG = logging.getLogger("winosmith.web.predict")


@dataclass
class Leash:
    """A pipe whose writing end the server alone has open: where it ends, the models end."""

    end: int
    server: int | None

    @classmethod
    def new(cls) -> Leash:
        """Make one, in the server, before its workers."""
        return cls(*os.pipe())

    def drop(self) -> None:
        """Close the writing end: in the server when it stops, and in each worker as it begins."""
        if self.server is not None:
            os.close(self.server)
            self.server = None

    def ended(self, seconds: float) -> bool:
        """Wait for some seconds; return early, and True, when the server ends."""
        return bool(select.select([self.end], [], [], seconds)[0])

    def start(
        self, site: Site, module: str, name: str, lock: int, **environment: str
    ) -> subprocess.Popen[bytes]:
        """Start a process of a site that inherits a lock, keeps it, and ends with the server.

        Args:
            site: whose process it is.
            module: what runs; it finds the lock and the pipe by `process.LOCK` and `process.LEASH`.
            name: its argument, checked by now.
            lock: the number of the open lock file.
            environment: what else it finds in its environment.
        """
        return subprocess.Popen(  # noqa: S603 - a module of ours, and a name that was checked
            [sys.executable, "-P", "-m", module, name],
            stdin=subprocess.DEVNULL,
            pass_fds=(lock, self.end),
            env={
                **os.environ,
                **site.environment(),
                LOCK: str(lock),
                LEASH: str(self.end),
                "TOKENIZERS_PARALLELISM": "false",
                **environment,
            },
        )


def start(site: Site, leash: Leash) -> None:
    """Watch the models of a site in a thread of this worker, until the server ends."""
    leash.drop()
    watcher = Watcher(site, leash)
    threading.Thread(target=watcher.watch, name="models", daemon=True).start()


class Watcher:
    """Looks after the processes of a site's models."""

    def __init__(self, site: Site, leash: Leash) -> None:
        self.site, self.leash = site, leash
        self.started: list[subprocess.Popen[bytes]] = []

    def watch(self) -> None:
        """Look after every model in turn, again and again, until the server ends."""
        while not self.leash.ended(EVERY * random.uniform(0.8, 1.2)):  # noqa: S311 - not in step
            for rule in self.site.rules.models:
                try:
                    self.look_after(rule)
                except Exception:  # noqa: BLE001 - it is looked after again in a moment
                    _LOG.exception("the model %s could not be looked after", rule.name)
            self.started = [process for process in self.started if process.poll() is None]
        for rule in self.site.rules.models:
            if holding.is_held(self.site.folder, rule.name):
                _end(holding.look(self.site.folder, rule.name).process)

    def look_after(self, rule: SolverRule) -> None:
        """Start the process of a model where there is none, and end it where it is late."""
        hold = holding.take(self.site.folder, rule.name)
        if hold is None:
            self._end_late(rule)
            return
        try:
            doing = hold.said()
            if doing.rows:
                _settle(doing)
                hold.say(holding.Doing(0, doing.failures, doing.since))
            if time.monotonic() >= doing.since + _wait(doing.failures) or _rebooted(doing):
                self._start(rule, hold, doing.failures)
        finally:
            hold.close()

    def _end_late(self, rule: SolverRule) -> None:
        doing = holding.look(self.site.folder, rule.name)
        if doing.until is not None and time.monotonic() > doing.until:
            _end(doing.process)

    def _start(self, rule: SolverRule, hold: holding.Hold, failures: int) -> None:
        """Start a process that inherits the lock, and keeps it when this worker is gone."""
        hold.say(holding.Doing(0, failures + 1, time.monotonic()))
        threads = str(rule.options.get("threads", 1))
        self.started.append(
            self.leash.start(
                self.site,
                "winosmith.web.predict.process",
                rule.name,
                hold.number,
                OMP_NUM_THREADS=threads,
                OPENBLAS_NUM_THREADS=threads,
                MKL_NUM_THREADS=threads,
            )
        )


def _wait(failures: int) -> float:
    """Return the seconds between the last start and the next: none at first, then ever more."""
    return 0.0 if failures < 2 else min(LONGEST_WAIT, 2.0 ** (failures - 1))


def _rebooted(doing: holding.Doing) -> bool:
    """Tell whether the clock began anew since the last start."""
    return doing.since > time.monotonic()


def _settle(doing: holding.Doing) -> None:
    from django.db import connection

    from winosmith.web.predict.work import left_behind

    late = doing.until is not None and time.monotonic() > doing.until
    try:
        left_behind(doing.rows, late)
    finally:
        connection.close()


def _end(process: int) -> None:
    if process:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
