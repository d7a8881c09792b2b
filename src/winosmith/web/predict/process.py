"""The process of one model: `python -m winosmith.web.predict.process NAME`.

It is started by a watcher (`watching`) with the model's lock and a pipe that ends with the server,
loads the model once, and predicts until the pipe ends.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from winosmith.web._models import ModelRule
    from winosmith.web._site import Site
    from winosmith.web.predict.holding import Hold
    from winosmith.web.predict.kinds import Made
    from winosmith.web.predict.models import Model
    from winosmith.web.predict.work import Outcome, Task

__all__ = ["LEASH", "LOCK", "fault_file", "main"]

LOCK, LEASH = "WINOSMITH_MODEL_LOCK", "WINOSMITH_MODEL_LEASH"
"""In the environment: the numbers of the open lock file, and of the pipe that ends with the
server."""

LOADING = 900.0
"""Seconds that a model may take to be loaded, or downloaded."""

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


def main(name: str) -> NoReturn:
    """Predict until the server ends; the exit code is 1 when the model can't be loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    _end_with(int(os.environ[LEASH]))
    from winosmith.web import Site
    from winosmith.web.predict.holding import Doing, Hold

    site = Site.from_environment()
    rule = next(rule for rule in site.rules.models if rule.name == name)
    number = int(os.environ[LOCK])
    os.set_inheritable(number, False)
    hold = Hold(number)
    before = hold.said()
    hold.say(
        Doing(os.getpid(), before.failures, before.since, until=time.monotonic() + LOADING, rows=[])
    )
    site.activate()
    worker = _loaded(site, rule, hold)
    if worker is not None:
        worker.work()
    sys.stderr.flush()
    os._exit(0 if worker else 1)  # threads of libraries are not waited for


def fault_file(folder: Path, name: str) -> Path:
    """Return the file that says why a model can't be loaded, for the site's admin alone."""
    return folder / "models" / f"{name}.fault"


def _end_with(leash: int) -> None:
    """End this process as soon as the pipe does, whatever it is at."""
    os.set_inheritable(leash, False)

    def wait() -> None:
        while os.read(leash, 1):
            pass
        os._exit(0)

    threading.Thread(target=wait, name="leash", daemon=True).start()


def _loaded(site: Site, rule: ModelRule, hold: Hold) -> _Worker | None:
    """Load the model and register it; None, with the reason written down, where that fails."""
    from winosmith.web.predict import kinds, registry

    told = fault_file(site.folder, rule.name)
    try:
        made = kinds.made(rule, site.folder, site.rules.model_seconds)
        _warm(made, rule)
        model = registry.register(rule, made)
    except Exception as error:  # noqa: BLE001 - whatever it is, the site goes on
        _LOG.error("the model %s can't be loaded: %s: %s", rule.name, type(error).__name__, error)
        told.write_text(f"{error or type(error).__name__}\n")
        with suppress(Exception):
            registry.blame(rule.name, registry.NOT_LOADED)
        return None
    told.unlink(missing_ok=True)
    return _Worker(site, rule, hold, made, model)


def _warm(made: Made, rule: ModelRule) -> None:
    """Ask once, so that weights are loaded before anybody waits; a chat server is not asked."""
    if rule.solver == "chat":
        from winosmith.extras import require

        require("openai", "chat")
        return
    from winosmith import practice

    made.solver.score([practice.handwritten()[0].blind()])


class _Worker:
    """A loaded model at work."""

    def __init__(self, site: Site, rule: ModelRule, hold: Hold, made: Made, model: Model) -> None:
        from winosmith.web.predict.bell import Bell
        from winosmith.web.predict.solving import Pace

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
        from django.db import Error, connection

        _write_lightly()
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
        from winosmith.web.predict import backfill, work
        from winosmith.web.predict.solving import outcomes

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
        from dataclasses import replace

        failures = self.doing.failures if failures is None else failures
        self.doing = replace(self.doing, until=until, rows=rows, failures=failures)
        self.hold.say(self.doing)


def _write_lightly() -> None:
    """Let this process's commits reach the disk with the next one of somebody else's.

    What a power cut takes back is predicted again; nothing that people wrote is ever at stake.
    """
    from django.db import connection
    from django.db.backends.signals import connection_created

    def loosen(connection: Any, **_: Any) -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA synchronous=NORMAL")
            else:
                cursor.execute("SET synchronous_commit TO off")

    connection_created.connect(loosen, weak=False)
    connection.close()


def _memory() -> float:
    """Return the bytes that this process has in memory; 0 where the system doesn't tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


if __name__ == "__main__":
    main(sys.argv[1])
