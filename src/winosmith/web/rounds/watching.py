"""Watchers: a thread in each worker of the server that starts a round, and takes it up again.

Whoever finds the lock of rounds free, and a round that waits or was running, hands the lock on to
a new process.
"""

from __future__ import annotations

import logging
import random
import threading
from typing import TYPE_CHECKING

from winosmith.web.rounds import holding

if TYPE_CHECKING:
    import subprocess

    from winosmith.web._site import Site
    from winosmith.web.predict.process import Leash
    from winosmith.web.rounds.models import Round

__all__ = ["Watcher", "start"]

EVERY = 1.0
"""Seconds between two looks."""

MOST_STARTS = 3
"""Processes that may end in a row over one step before the round is taken to have failed."""

_LOG = logging.getLogger("winosmith.web.rounds")


def start(site: Site, leash: Leash) -> None:
    """Watch the rounds of a site in a thread of this worker, until the server ends."""
    holding.wake(site.folder)  # for a round that an earlier server left
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
        mark = holding.wanted(self.site.folder)
        if mark is None:
            return
        hold = holding.take(self.site.folder)
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
    from winosmith.web.rounds.working import fail

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
