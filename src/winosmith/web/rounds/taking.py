"""A round is carried out by the process that asks for it, as a terminal does."""

from __future__ import annotations

import os
import time
from pathlib import Path

from winosmith.web.rounds import holding
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.working import carry_out

__all__ = ["carried_out_here"]

PATIENCE = 2.0
"""Seconds in which a lock that somebody only looked at comes free."""


def carried_out_here(folder: Path, round_: Round) -> bool:
    """Carry a round out in this process; return False where another process is at one.

    Args:
        folder: the site's.
        round_: one that waits, or that a process left.
    """
    until = time.monotonic() + PATIENCE
    while (hold := holding.take(folder)) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    try:
        hold.say(holding.Doing(os.getpid(), round_.pk))
        carry_out(round_, hold)
        return True
    finally:
        hold.close()
