"""How far a round is: who carries it out has a lock, and says in its file what is done.

In the row of the round stands the last step that was finished.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from winosmith import locks
from winosmith.build import Advance
from winosmith.locks import FileLock
from winosmith.rounds import RoundRecipe
from winosmith.web._lock import writing
from winosmith.web._site import ROUNDS
from winosmith.web.rounds.models import Round

POOL, STORING = "handing over", "storing"
"""The first and the last step; those between are of `winosmith.rounds.run_round`."""

OFTEN = 0.2
"""Seconds between two notes of how much of a step is done."""


@dataclass(frozen=True)
class Doing:
    """What is done for a round.

    Attributes:
        round: the number of the round.
        step: the title of the step; of all steps it is the `number`-th, from 1 on, of `of`.
        done, total: how much of the step is done; None where that is not known.
        note: more about it, such as the phase.
        since: when the step began, seconds since 1970.
    """

    round: int = 0
    step: str = ""
    number: int = 0
    of: int = 0
    done: int = 0
    total: int | None = None
    note: str = ""
    since: float = 0.0

    def say(self, lock: FileLock) -> None:
        """Write it into the lock file."""
        text = {"step": self.step[:200], "note": self.note[:200]}
        lock.write({**asdict(self), **text})


def lock_file(folder: Path) -> Path:
    """Return the file of the lock that whoever carries out a round of a site has."""
    return folder / ROUNDS / "lock"


def look(folder: Path) -> Doing | None:
    """Return what is done for a site's round; None while nobody is at one."""
    held, note = locks.look(lock_file(folder))
    if not held:
        return None
    try:
        return Doing(**note)
    except TypeError:
        return Doing()  # nothing was written yet, or by another version


class Cancelled(Exception):  # noqa: N818 - it is none: somebody wanted it
    """The round does not run any more, for somebody said so."""


def steps_of(solvers: list[str]) -> list[str]:
    """Return the titles of all steps of a round, in order."""
    building = ["reading", "checking", "embedding", "filtering", "measuring", "writing"]
    solving = [f"solving with {name}" for name in solvers]
    return [POOL, *building, *solving, "measuring", "writing", STORING]


class Teller:
    """Says which step of a round is at work, and notes those that are finished."""

    def __init__(self, round_: Round, lock: FileLock, recipe: RoundRecipe) -> None:
        self.round, self.lock = round_, lock
        self.steps = steps_of([rule.name for rule in recipe.solvers])
        self.at = -1
        self.doing = Doing(round_.pk, of=len(self.steps))
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
        self.doing.say(self.lock)
        yield self._advance
        self.timings.append((title, round(time.time() - self.doing.since, 2)))

    def _place(self, title: str) -> int:
        """Return which step this is: the next one of its title; steps may be left out."""
        later = [n for n in range(self.at + 1, len(self.steps)) if self.steps[n] == title]
        return later[0] if later else self.at

    def _advance(self, done: int, note: str) -> None:
        self.doing = replace(self.doing, done=done, note=note)
        if time.monotonic() >= self.due:
            self.due = time.monotonic() + OFTEN
            self.doing.say(self.lock)

    def _noted(self, **changes: object) -> None:
        running = Round.objects.filter(pk=self.round.pk, state=Round.State.RUNNING)
        with writing():
            if not running.update(**changes):
                raise Cancelled


@dataclass(frozen=True)
class Standing:
    """How far a round is.

    Attributes:
        at_work: a process is at it; where none is, it was broken off.
        step: what is done, in words; "" before the first step.
        number, of: of all steps it is this one.
        percent: of all steps that is done, 0–100, each counted as one.
        done, total: of this step; None where it is not known.
        note: more about it, such as the phase.
        since: when the step began.
        until: when the round may be over; None where nothing tells.
    """

    at_work: bool
    step: str = ""
    number: int = 0
    of: int = 0
    percent: int = 0
    done: int = 0
    total: int | None = None
    note: str = ""
    since: datetime | None = None
    until: datetime | None = None


def standing(round_: Round) -> Standing | None:
    """Return how far a round is that waits or runs; None for one that is over."""
    if not round_.busy:
        return None
    doing = look(settings.SITE.folder)
    if doing is None or doing.round != round_.pk:
        return Standing(False)
    if not doing.step:
        return Standing(True)
    share = _share(doing)
    seconds = _left(round_, doing, share)
    return Standing(
        True,
        _step(doing.step),
        doing.number,
        doing.of,
        round(100 * (doing.number - 1 + (share or 0)) / max(doing.of, 1)),
        doing.done,
        doing.total,
        doing.note,
        datetime.fromtimestamp(doing.since, UTC),
        None if seconds is None else datetime.fromtimestamp(time.time() + seconds, UTC),
    )


def _share(doing: Doing) -> float | None:
    """Return the share of the step that is done, 0–1."""
    return min(1.0, doing.done / doing.total) if doing.total else None


def _left(round_: Round, doing: Doing, share: float | None) -> float | None:
    """Return the seconds that the round may take yet, by the round before it; None without one.

    The steps of that one took as long as they took; this one's are longer by as much as its step
    at work is, where that can be told.
    """
    took = _usual(round_)
    if took is None:
        return None
    steps = steps_of([table["name"] for table in round_.recipe["solvers"]])
    passed = time.time() - doing.since
    usual = took.get((doing.number, doing.step), 0.0)
    whole = passed / share if share and share > 0.05 else max(usual, passed)
    pace = max(1.0, whole / usual) if usual > 1 else 1.0
    later = sum(took.get((n, steps[n - 1]), 0.0) for n in range(doing.number + 1, len(steps) + 1))
    return max(0.0, whole - passed) + pace * later


def _usual(round_: Round) -> dict[tuple[int, str], float] | None:
    """Return how long each step of the round before took, by number and title."""
    before = Round.objects.filter(state=Round.State.DONE, pk__lt=round_.pk).order_by("-pk").first()
    if before is None:
        return None
    titles = steps_of([table["name"] for table in before.recipe["solvers"]])
    found: dict[tuple[int, str], float] = {}
    at = 0
    for title, seconds in before.timings:
        later = [n for n in range(at, len(titles)) if titles[n] == title]
        if later:
            at = later[0] + 1
            found[at, title] = float(seconds)
    return found


_STEPS = {
    POOL: gettext_lazy("the public problems are handed over"),
    "reading": gettext_lazy("the pool is read"),
    "checking": gettext_lazy("structure and votes are checked"),
    "embedding": gettext_lazy("problems become vectors"),
    "filtering": gettext_lazy("the filter looks for what linear models can guess"),
    "measuring": gettext_lazy("figures are found"),
    "writing": gettext_lazy("files are written"),
    STORING: gettext_lazy("the results are stored"),
}


def _step(title: str) -> str:
    """Return the words for a step of a round."""
    if title.startswith("solving with "):
        return _("%s answers") % title.removeprefix("solving with ")
    return str(_STEPS.get(title, title))
