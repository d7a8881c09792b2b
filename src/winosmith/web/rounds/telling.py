"""How a round says how far it is: in the lock file often, in its row at each step."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from winosmith.build import Advance
from winosmith.rounds import RoundRecipe
from winosmith.web._lock import writing
from winosmith.web.rounds.holding import Doing, Hold
from winosmith.web.rounds.models import Round

__all__ = ["POOL", "STORING", "Cancelled", "Teller", "steps_of"]

POOL, STORING = "handing over", "storing"
"""The first and the last step; those between are of `winosmith.rounds.run_round`."""

OFTEN = 0.2
"""Seconds between two notes of how much of a step is done."""


class Cancelled(Exception):  # noqa: N818 - it is none: somebody wanted it
    """The round does not run any more, for somebody said so."""


def steps_of(solvers: list[str]) -> list[str]:
    """Return the titles of all steps of a round, in order."""
    building = ["reading", "checking", "embedding", "filtering", "measuring", "writing"]
    solving = [f"solving with {name}" for name in solvers]
    return [POOL, *building, *solving, "measuring", "writing", STORING]


class Teller:
    """Says which step of a round is at work, and notes those that are finished."""

    def __init__(self, round_: Round, hold: Hold, recipe: RoundRecipe) -> None:
        self.round, self.hold = round_, hold
        self.steps = steps_of([rule.name for rule in recipe.solvers])
        self.at = -1
        self.doing = Doing(os.getpid(), round_.pk, of=len(self.steps))
        self.due = 0.0
        self.timings: list[tuple[str, float]] = []

    @contextmanager
    def __call__(self, title: str, total: int | None) -> Iterator[Advance]:
        """Show a step; see `winosmith.build.Step`.

        Raises:
            Cancelled: the round is not to go on.
        """
        self.at = self._place(title)
        self.doing = replace(
            self.doing, step=title, number=self.at + 1, done=0, total=total, note="",
            since=time.time(),
        )  # fmt: skip
        self._noted(step=title)
        self.hold.say(self.doing)
        yield self._advance
        self.timings.append((title, round(time.time() - self.doing.since, 2)))
        self._noted(starts=0)

    def _place(self, title: str) -> int:
        """Return which step this is: the next one of its title; steps may be left out."""
        later = [n for n in range(self.at + 1, len(self.steps)) if self.steps[n] == title]
        return later[0] if later else self.at

    def _advance(self, done: int, note: str) -> None:
        self.doing = replace(self.doing, done=done, note=note)
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + OFTEN
            self.hold.say(self.doing)

    def _noted(self, **changes: object) -> None:
        running = Round.objects.filter(pk=self.round.pk, state=Round.State.RUNNING)
        with writing():
            if not running.update(**changes):
                raise Cancelled
