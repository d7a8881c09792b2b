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
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from winosmith.solver_rule import SolverRule
    from winosmith.study import MadeSolver
    from winosmith.web._site import Site
    from winosmith.web.predict.holding import Hold
    from winosmith.web.predict.working import Worker

__all__ = ["LEASH", "LOCK", "end_with", "fault_file", "main"]

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


def end_with(leash: int) -> None:
    """End this process as soon as the pipe does, whatever it is at."""
    os.set_inheritable(leash, False)

    def wait() -> None:
        while os.read(leash, 1):
            pass
        os._exit(0)

    threading.Thread(target=wait, name="leash", daemon=True).start()


def _loaded(site: Site, rule: SolverRule, hold: Hold) -> Worker | None:
    """Load the model and register it; None, with the reason written down, where that fails."""
    from winosmith import study
    from winosmith.web.predict import registry
    from winosmith.web.predict.working import Worker

    told = fault_file(site.folder, rule.name)
    try:
        made = study.made_solver(
            rule,
            site.folder,
            cache=site.folder / "models" / "texts",
            patience=site.rules.model_seconds,
        )
        _warm(made, rule)
        model = registry.register(rule, made)
    except Exception as error:  # noqa: BLE001 - whatever it is, the site goes on
        _LOG.error("the model %s can't be loaded: %s: %s", rule.name, type(error).__name__, error)
        told.write_text(f"{error or type(error).__name__}\n")
        with suppress(Exception):
            registry.blame(rule.name, registry.NOT_LOADED)
        return None
    told.unlink(missing_ok=True)
    return Worker(site, rule, hold, made, model)


def _warm(made: MadeSolver, rule: SolverRule) -> None:
    """Ask once, so that weights are loaded before anybody waits; a chat server is not asked."""
    if rule.solver == "chat":
        from winosmith.extras import require

        require("openai", "chat")
        return
    from winosmith import practice

    made.solver.score([practice.handwritten()[0].blind()])


if __name__ == "__main__":
    main(sys.argv[1])
