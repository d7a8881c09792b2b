"""For how long a question was seen, never more than has passed; and how fast a sheet was filled."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from django.core import signing

if TYPE_CHECKING:
    from winosmith.web.take.models import Sitting

__all__ = ["FEWEST", "LONGEST_UNSEEN", "mark_shown", "pace_of", "seconds_seen"]

FEWEST = 5
"""Answers that a sheet must have before its pace says anything."""

LONGEST_UNSEEN = 600.0
"""Seconds that count at most where no script tells when the page was hidden or left open."""

_SALT = "take.shown"


def mark_shown(sitting: Sitting, number: int) -> str:
    """Return what a question's page carries: when it was shown; nobody else can make it."""
    return signing.dumps([sitting.pk, number, time.time()], salt=_SALT)


def seconds_seen(mark: str, told: str, sitting: Sitting, number: int) -> float:
    """Return the seconds that are to be counted for one look at a question.

    Args:
        mark: from `mark_shown`.
        told: the seconds in which the page was visible, by its script; "" without one, and then
            all that passed counts, up to `LONGEST_UNSEEN`.
        sitting: where the form was sent to.
        number: of the question there; a mark of another one counts nothing.
    """
    try:
        of, at, shown = signing.loads(mark, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return 0.0
    if [of, at] != [sitting.pk, number]:
        return 0.0
    passed = max(0.0, time.time() - shown)
    if not told:
        return min(passed, LONGEST_UNSEEN)
    try:
        visible = float(told)
    except ValueError:
        return 0.0
    return min(max(0.0, visible), passed) if math.isfinite(visible) else 0.0


def pace_of(sitting: Sitting) -> float | None:
    """Return the median seconds between the answers of a sheet, by the server's clock.

    The first one's run from when the sheet was given. None for fewer than `FEWEST` answers.
    """
    if sitting.given is None:
        return None
    times = sorted(sitting.answers.exclude(letter="").values_list("at", flat=True))
    if len(times) < FEWEST:
        return None
    gaps = pairwise([min(sitting.given, times[0]), *times])
    return round(median((later - earlier).total_seconds() for earlier, later in gaps), 1)
