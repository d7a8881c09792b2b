"""The process of one round, `python -m winosmith.web.rounds.process NUMBER`, and who starts it.

A watcher is a thread in each worker of the server. Whichever finds the lock of rounds free, and a
round that waits or was running, hands the lock on to a new process, with a pipe that ends with the
server. When the pipe ends the process ends, and the round is taken up when the site is served
again.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

from winosmith.web.rounds import lock

if TYPE_CHECKING:
    import subprocess

    from winosmith.web._site import Site
    from winosmith.web.predict.process import Leash
    from winosmith.web.rounds.models import Round


NICE = 10
"""Pages come first."""


def main(number: int) -> NoReturn:
    """Carry the round out, until it ends or the server does."""
    from winosmith.web.predict.process import LEASH, LOCK, end_with

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    os.umask(0o077)
    os.nice(NICE)
    end_with(int(os.environ[LEASH]))
    from winosmith.web import Site

    inherited = int(os.environ[LOCK])
    os.set_inheritable(inherited, False)
    hold = lock.Hold(inherited)
    hold.say(lock.Doing(os.getpid(), number))
    Site.from_environment().activate()
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.running import carry_out

    carry_out(Round.objects.select_related("last").get(pk=number), hold)
    sys.stderr.flush()
    os._exit(0)  # threads of libraries are not waited for


EVERY = 1.0
"""Seconds between two looks."""

MOST_STARTS = 3
"""Processes that may end in a row over one step before the round is taken to have failed."""

_LOG = logging.getLogger("winosmith.web.rounds")


def start(site: Site, leash: Leash) -> None:
    """Watch the rounds of a site in a thread of this worker, until the server ends."""
    lock.wake(site.folder)  # for a round that an earlier server left
    watcher = Watcher(site, leash)
    threading.Thread(target=watcher.watch, name="rounds", daemon=True).start()


class Watcher:
    """Looks after the process of a site's round."""

    def __init__(self, site: Site, leash: Leash) -> None:
        self.site, self.leash = site, leash
        self.started: list[subprocess.Popen[bytes]] = []

    def watch(self) -> None:
        """Look again and again, until the server ends."""
        from django.db import connection

        while not self.leash.ended(EVERY * random.uniform(0.8, 1.2)):  # noqa: S311 - not in step
            try:
                self.look()
            except Exception:  # noqa: BLE001 - it is looked after again in a moment
                _LOG.exception("the rounds could not be looked after")
            finally:
                connection.close()
            self.started = [process for process in self.started if process.poll() is None]

    def look(self) -> None:
        """Start a process where a round wants one and has none."""
        mark = lock.wanted(self.site.folder)
        if mark is None:
            return
        hold = lock.take(self.site.folder)
        if hold is None:
            return
        try:
            mark.unlink(missing_ok=True)  # first: whoever leaves it after the look is seen
            round_ = _next()
            if round_ is not None:
                mark.touch(mode=0o600)
                # It inherits the lock, and keeps it when this worker is gone.
                self.started.append(
                    self.leash.start(
                        self.site, "winosmith.web.rounds.process", str(round_.pk), hold.number
                    )
                )
        finally:
            hold.close()


def _next() -> Round | None:
    """Return the round that wants a process, its start counted; None where there is none."""
    from winosmith.web._lock import writing
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.running import fail

    with writing():
        found = Round.objects.select_for_update(no_key=True).filter(busy=True).first()
        if found is None:
            return None
        if found.starts >= MOST_STARTS:
            fail(found, _gave_up(found))
            return None
        found.starts += 1
        found.save(update_fields=["starts"])
        return found


def _gave_up(round_: Round) -> str:
    return (
        f"its process ended {MOST_STARTS} times in a row over the step {round_.step!r}, without "
        "a word; it was killed, perhaps for want of memory, or broke down: see what the server "
        "printed"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
