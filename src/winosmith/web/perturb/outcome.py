"""What the models make of a version: predictions with probabilities, and who was fooled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from winosmith.web.people.models import Person
from winosmith.web.perturb.models import Version
from winosmith.web.perturb.standing import down
from winosmith.web.predict.asking import of
from winosmith.web.predict.models import Prediction, Stand
from winosmith.web.problems.models import Problem, State

__all__ = ["Bar", "Shown", "outcome", "softmax"]

PACE = ((timedelta(seconds=8), 500), (timedelta(minutes=1), 2_000), (timedelta(minutes=10), 5_000))
"""How long after the question a page asks how often, in milliseconds."""

SLOWEST = 30_000


@dataclass(frozen=True, slots=True)
class Bar:
    """One option in a prediction.

    Attributes:
        option: its text.
        percent: its probability, 0–100; None where there is no score.
        chosen: the model's choice.
        answer: the contributor's.
    """

    option: str
    percent: int | None
    chosen: bool
    answer: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """One model's prediction.

    Attributes:
        prediction: the row, with its model.
        target: the contributor wanted to fool this one.
        waits: it is not there yet.
        fooled: the model's choice is not the contributor's answer; None while that is not known,
            and where it could not decide.
        bars: the options in order; empty before it is done.
        down: why the model can't answer now; "".
        parent: whether the model was right on the parent; None where that is not known.
    """

    prediction: Prediction
    target: bool
    waits: bool
    fooled: bool | None
    bars: list[Bar]
    down: str
    parent: bool | None


def softmax(scores: Sequence[float]) -> list[float]:
    """Return probabilities: scores are log-probabilities up to a constant (metrics.calibration).

    >>> [round(share, 3) for share in softmax([0.0, math.log(3)])]
    [0.25, 0.75]
    """
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]


VOID = (State.REJECTED, State.WITHDRAWN, State.REVISED)
"""States in which a version fools nobody, whatever the models say of it."""


def outcome(
    person: Person | None, problem: Problem, version: Version, parent: Problem | None
) -> dict[str, Any]:
    """Return the context of the predictions.

    Args:
        person: who reads it.
        problem: the version's.
        version: where it stands.
        parent: None where its reader may not see it.
    """
    before = {row.model_id: row.right for row in of(parent)} if parent else {}
    shown = [_shown(row, problem, version, before.get(row.model_id)) for row in of(problem)]
    shown.sort(key=lambda one: not one.target)
    done = [one for one in shown if not one.waits]
    return {
        "problem": problem,
        "shown": shown,
        "done": len(done),
        "waiting": [one for one in shown if one.waits],
        "judged": [one for one in shown if one.fooled is not None],
        "fooled": [one for one in shown if one.fooled],
        "undecided": [one for one in shown if one.prediction.tie],
        "own": person is not None and problem.twin.contributor_id == person.pk,
        "void": problem.state in VOID,
        "confirmed": problem.state == State.VALID and not problem.embargo,
        "pace": _pace(shown),
    }


def _shown(row: Prediction, problem: Problem, version: Version, parent: bool | None) -> Shown:
    done = row.stand == Stand.DONE
    waits = row.stand == Stand.WAITING
    return Shown(
        row,
        row.model_id == version.against_id,
        waits,
        None if row.right is None or not done else not row.right,
        _bars(row, problem) if done else [],
        down(row.model) if waits else "",
        parent,
    )


def _bars(row: Prediction, problem: Problem) -> list[Bar]:
    known = len(row.scores) == len(problem.options)
    shares = [round(100 * share) for share in softmax(row.scores)] if known else None
    chosen = None if row.tie else row.choice
    return [
        Bar(option, shares[n] if shares else None, n == chosen, n == problem.answer)
        for n, option in enumerate(problem.options)
    ]


def _pace(shown: Sequence[Shown]) -> int:
    """Return after how many milliseconds a page should ask again; 0 when nothing is awaited."""
    asked = [one.prediction.asked_at for one in shown if one.waits]
    if not asked:
        return 0
    age = timezone.now() - max(asked)
    return next((pace for until, pace in PACE if age < until), SLOWEST)
