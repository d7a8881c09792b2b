"""How far a round is: the step, its share, since when, and when it may be over."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from django.conf import settings

from winosmith.web.rounds import holding, words
from winosmith.web.rounds.models import Round
from winosmith.web.rounds.telling import steps_of

__all__ = ["Standing", "standing"]


@dataclass(frozen=True)
class Standing:
    """How far a round is.

    Attributes:
        at_work: a process is at it; where none is, it waits for one.
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
    doing = holding.look(settings.SITE.folder)
    if doing is None or doing.round != round_.pk:
        holding.wake(settings.SITE.folder)
        return Standing(False)
    if not doing.step:
        return Standing(True)
    share = _share(doing)
    seconds = _left(round_, doing, share)
    return Standing(
        True,
        words.step(doing.step),
        doing.number,
        doing.of,
        round(100 * (doing.number - 1 + (share or 0)) / max(doing.of, 1)),
        doing.done,
        doing.total,
        doing.note,
        datetime.fromtimestamp(doing.since, UTC),
        None if seconds is None else datetime.fromtimestamp(time.time() + seconds, UTC),
    )


def _share(doing: holding.Doing) -> float | None:
    """Return the share of the step that is done, 0–1."""
    return min(1.0, doing.done / doing.total) if doing.total else None


def _left(round_: Round, doing: holding.Doing, share: float | None) -> float | None:
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
