"""The process of one round: `python -m winosmith.web.rounds.process NUMBER`.

It is started by a watcher (`watching`) with the lock of rounds and a pipe that ends with the
server; when the pipe ends it ends, and the round is taken up when the site is served again.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]

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
    from winosmith.web.rounds.holding import Doing, Hold

    lock = int(os.environ[LOCK])
    os.set_inheritable(lock, False)
    hold = Hold(lock)
    hold.say(Doing(os.getpid(), number))
    Site.from_environment().activate()
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.working import carry_out

    carry_out(Round.objects.select_related("last").get(pk=number), hold)
    sys.stderr.flush()
    os._exit(0)  # threads of libraries are not waited for


if __name__ == "__main__":
    main(int(sys.argv[1]))
