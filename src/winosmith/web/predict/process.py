"""The process of one model, `python -m winosmith.web.predict.process NAME`, and who starts it.

A watcher is a thread in each worker of the server. Whichever finds a model's lock free takes it,
settles what the last process was at, and hands the lock on to a new one, with a pipe that ends with
the server; whichever finds a process late ends it. All know the same from the lock file: the kernel
gives the lock back however a process ends, and what stands in the file tells what it was at. The
process loads the model once, looks for work five times a second, and predicts until the pipe ends.
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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from winosmith import locks
from winosmith.locks import FileLock

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver
    from winosmith.web._site import Site
    from winosmith.web.predict.worker import Worker


LOCK, LEASH = "WINOSMITH_PROCESS_LOCK", "WINOSMITH_PROCESS_LEASH"
"""In the environment: the numbers of the open lock file, and of the pipe that ends with the
server."""

LOADING = 900.0
"""Seconds that a model may take to be loaded, or downloaded."""

_LOG = logging.getLogger("winosmith.web.predict")


def main(name: str) -> NoReturn:
    """Predict until the server ends; the exit code is 1 when the model can't be loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    end_with(int(os.environ[LEASH]))
    from winosmith.web import Site

    site = Site.from_environment()
    rule = next(rule for rule in site.rules.models if rule.name == name)
    number = int(os.environ[LOCK])
    os.set_inheritable(number, False)
    lock = ModelLock(number)
    before = lock.said()
    lock.say(
        Doing(os.getpid(), before.failures, before.since, until=time.monotonic() + LOADING, rows=[])
    )
    site.activate()
    worker = _loaded(site, rule, lock)
    if worker is not None:
        worker.work()
    sys.stderr.flush()
    os._exit(0 if worker else 1)  # threads of libraries are not waited for


def end_with(leash: int) -> None:
    """End this process as soon as the pipe does, whatever it is at."""
    os.set_inheritable(leash, False)

    def wait() -> None:
        while os.read(leash, 1):
            pass
        os._exit(0)

    threading.Thread(target=wait, name="leash", daemon=True).start()


def _loaded(site: Site, rule: SolverRule, lock: ModelLock) -> Worker | None:
    """Load the model and register it; None, with the reason written down, where that fails."""
    from winosmith import study
    from winosmith.web.predict import asking
    from winosmith.web.predict.worker import Worker

    told = fault_file(site.folder, rule.name)
    try:
        made = study.made_solver(
            rule,
            site.folder,
            cache=site.folder / PLACE / "texts",
            patience=site.rules.model_seconds,
        )
        _warm(made, rule)
        model = asking.register(rule, made)
    except Exception as error:  # noqa: BLE001 - whatever it is, the site goes on
        _LOG.error("the model %s can't be loaded: %s: %s", rule.name, type(error).__name__, error)
        told.write_text(f"{error or type(error).__name__}\n")
        with contextlib.suppress(Exception):
            asking.blame(rule.name, asking.NOT_LOADED)
        return None
    told.unlink(missing_ok=True)
    return Worker(site, rule, lock, made, model)


def _warm(made: MadeSolver, rule: SolverRule) -> None:
    """Ask once, so that weights are loaded before anybody waits; a chat server is not asked."""
    if rule.solver == "chat":
        from winosmith.errors import require

        require("openai", "chat")
        return
    from winosmith import practice

    made.solver.score([practice.handwritten()[0].blind()])


EVERY = 0.25
"""Seconds between two looks."""

LONGEST_WAIT = 60.0
"""Seconds between two starts of a model that ends again and again without a prediction."""


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

    def start(self, site: Site, rule: SolverRule, lock: int) -> subprocess.Popen[bytes]:
        """Start the process of a model, which inherits a lock, keeps it, and ends with the server.

        Args:
            site: whose process it is.
            rule: of the model.
            lock: the number of the open lock file.
        """
        threads = str(getattr(rule.settings, "threads", 1))
        return subprocess.Popen(  # noqa: S603 - a module of ours, and a name that was checked
            [sys.executable, "-P", "-m", "winosmith.web.predict.process", rule.name],
            stdin=subprocess.DEVNULL,
            pass_fds=(lock, self.end),
            env={
                **os.environ,
                **site.environment(),
                LOCK: str(lock),
                LEASH: str(self.end),
                "TOKENIZERS_PARALLELISM": "false",
                "OMP_NUM_THREADS": threads,
                "OPENBLAS_NUM_THREADS": threads,
                "MKL_NUM_THREADS": threads,
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
            if is_held(self.site.folder, rule.name):
                _end(look(self.site.folder, rule.name).process)

    def look_after(self, rule: SolverRule) -> None:
        """Start the process of a model where there is none, and end it where it is late."""
        lock = take(self.site.folder, rule.name)
        if lock is None:
            self._end_late(rule)
            return
        try:
            doing = lock.said()
            if doing.rows:
                _settle(doing)
                lock.say(Doing(0, doing.failures, doing.since))
            if time.monotonic() >= doing.since + _wait(doing.failures) or _rebooted(doing):
                self._start(rule, lock, doing.failures)
        finally:
            lock.close()

    def _end_late(self, rule: SolverRule) -> None:
        doing = look(self.site.folder, rule.name)
        if doing.until is not None and time.monotonic() > doing.until:
            _end(doing.process)

    def _start(self, rule: SolverRule, lock: ModelLock, failures: int) -> None:
        """Start a process that inherits the lock, and keeps it when this worker is gone."""
        lock.say(Doing(0, failures + 1, time.monotonic()))
        self.started.append(self.leash.start(self.site, rule, lock.number))


def _wait(failures: int) -> float:
    """Return the seconds between the last start and the next: none at first, then ever more."""
    return 0.0 if failures < 2 else min(LONGEST_WAIT, 2.0 ** (failures - 1))


def _rebooted(doing: Doing) -> bool:
    """Tell whether the clock began anew since the last start."""
    return doing.since > time.monotonic()


def _settle(doing: Doing) -> None:
    from django.db import connection

    from winosmith.web.predict.asking import left_behind

    late = doing.until is not None and time.monotonic() > doing.until
    try:
        left_behind(doing.rows, late)
    finally:
        connection.close()


def _end(process: int) -> None:
    if process:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


PLACE = "models"
"""In the site's folder: what the processes of models keep there."""

MOST_ROWS = 300
"""Predictions that a file has room for."""


@dataclass(frozen=True)
class Doing:
    """What the process of a model does.

    Attributes:
        process: its id; 0 before there was one.
        failures: how often it ended in a row without having predicted anything.
        since: when it was started, on the machine's monotonic clock.
        until: when it is late with what it does; None while it waits.
        rows: the predictions that it works on.
    """

    process: int = 0
    failures: int = 0
    since: float = 0.0
    until: float | None = None
    rows: list[int] = field(default_factory=list)


class ModelLock(FileLock):
    """The lock of a model, which this process has."""

    def say(self, doing: Doing) -> None:
        """Write down what is done."""
        self.write({**asdict(doing), "rows": doing.rows[:MOST_ROWS]})

    def said(self) -> Doing:
        """Return what was written last."""
        return _doing(self.read())


def take(folder: Path, name: str) -> ModelLock | None:
    """Take the lock of a model; None while somebody has it."""
    return ModelLock.take(_path(folder, name))


def is_held(folder: Path, name: str) -> bool:
    """Tell whether the process of a model lives."""
    return locks.look(_path(folder, name))[0]


def look(folder: Path, name: str) -> Doing:
    """Return what the process of a model does, without its lock."""
    return _doing(locks.look(_path(folder, name))[1])


def _path(folder: Path, name: str) -> Path:
    return folder / PLACE / f"{name}.lock"


def _doing(note: Any) -> Doing:
    try:
        return Doing(**note)
    except TypeError:
        return Doing()  # nothing was written yet, or by another version


def fault_file(folder: Path, name: str) -> Path:
    """Return the file that says why a model can't be loaded, for the site's admin alone."""
    return folder / PLACE / f"{name}.fault"


if __name__ == "__main__":
    main(sys.argv[1])
