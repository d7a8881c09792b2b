"""What time brings about by itself, looked for every hour.

A half that has waited long enough for the other one becomes public, and one worker a day deletes
what the site no longer keeps.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from pathlib import Path

from winosmith.web._locked import locked

DAY = 24 * 3600.0
HOUR = 3600.0

MARK = "tidied"
"""In the site's folder: its time says when it was done last, its lock who is at it."""


def start(folder: Path) -> None:
    """Look every hour what is due, in a thread of this worker that ends with it."""
    threading.Thread(target=_watch, args=(folder,), name="tidy", daemon=True).start()


def _watch(folder: Path) -> None:
    from django.db import connection

    from winosmith.web.judge.trust import forget_origins
    from winosmith.web.problems.public import publish_due

    time.sleep(random.uniform(30, 90))  # noqa: S311 - not all workers at once
    while True:
        try:
            publish_due()
            forget_origins()
            tidy_when_due(folder)
        except Exception:
            logging.getLogger("winosmith.web").exception("what is due could not be done")
        finally:
            connection.close()
        time.sleep(HOUR)


def tidy_when_due(folder: Path) -> bool:
    """Delete what is too old unless somebody did within a day; return whether it was done now."""
    from winosmith.web.people.erasure import tidy

    number = locked(folder / MARK)
    if number is None:
        return False
    try:
        about = os.fstat(number)
        if about.st_size and time.time() - about.st_mtime < DAY:
            return False
        tidy()
        os.pwrite(number, b"done\n", 0)
        os.utime(number)
        return True
    finally:
        os.close(number)
