"""The work of a model's process: rows are taken up, shown to the solver, and written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop

from winosmith import Problem as Datum
from winosmith.answers import best_of
from winosmith.web._lock import writing
from winosmith.web.predict.models import Model, Prediction, Stand
from winosmith.web.problems.models import State

MOST_TRIES = 3
"""How often a process may end over a problem before the problem is taken for the cause."""

BROKE_DOWN = gettext_noop("The model broke down over this sentence, several times.")

TOO_LATE = gettext_noop("The model took too long.")


@dataclass(frozen=True)
class Task:
    """One prediction to make.

    Attributes:
        prediction: the number of its row.
        datum: all that the model sees: the sentence, the options, the pronoun. No answer, nothing
            of who wrote it, nor of what it was made from.
        answer: what the contributor says; compared after the model has answered.
        urgent, tries: as in the row.
    """

    prediction: int
    datum: Datum
    answer: int | None
    urgent: bool
    tries: int

    @property
    def input(self) -> str:
        """The digest of what the model is shown, 64 hexadecimal digits."""
        shown = [self.datum.sentence, list(self.datum.options), self.datum.pronoun]
        return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: which.
        scores: one finite score an option; empty where there is none.
        seconds: how long it took; in a batch, its share.
        error: why there are no scores, in words for people.
        late: that is because it took too long.
    """

    task: Task
    scores: tuple[float, ...] = ()
    seconds: float = 0.0
    error: str = ""
    late: bool = False

    def columns(self) -> dict[str, Any]:
        """Return the columns of the row."""
        told: dict[str, Any] = {
            "seconds": round(self.seconds, 4),
            "answered_at": timezone.now(),
            "leased_until": None,
            "input": self.task.input,
        }
        if not self.scores:
            stand = Stand.LATE if self.late else Stand.FAILED
            return {**told, "stand": stand, "error": TOO_LATE if self.late else self.error}
        best = best_of(self.scores)
        answer, tie = self.task.answer, len(best) > 1
        return {
            **told,
            "stand": Stand.DONE,
            "scores": list(self.scores),
            "choice": best[0],
            "right": None if answer is None or tie else best[0] == answer,
            "tie": tie,
            "error": "",
        }


def turn(model: Model, outcomes: Sequence[Outcome], most: int, seconds: float) -> list[Task]:
    """Write down what came of the last tasks and take up the next ones, in one transaction."""
    if not outcomes:
        return claim(model, most, seconds)
    with writing():
        write_down(model, outcomes)
        return claim(model, most, seconds)


def claim(model: Model, most: int, seconds: float) -> list[Task]:
    """Take up what waits for a model, for so many seconds: urgent rows first, of one urgency.

    What a process ended over before is taken up alone, and after a third time it has failed.
    """
    if not _free(model).exists():
        return []
    with writing():
        rows = list(_locked(_free(model).select_related("problem"))[:most])
        hopeless = [row.pk for row in rows if row.tries >= MOST_TRIES]
        if hopeless:
            _waiting(hopeless).update(
                stand=Stand.FAILED, error=BROKE_DOWN, leased_until=None, answered_at=timezone.now()
            )
            rows = [row for row in rows if row.tries < MOST_TRIES]
        if not rows:
            return []
        alike = [row for row in rows if row.urgent == rows[0].urgent and not row.tries]
        rows = rows[:1] if rows[0].tries else alike
        _waiting([row.pk for row in rows]).update(
            leased_until=timezone.now() + timedelta(seconds=seconds), tries=rows[0].tries + 1
        )
    return [_task(row) for row in rows]


def write_down(model: Model, outcomes: Sequence[Outcome]) -> None:
    """Write what came of the tasks, all at once; what was decided meanwhile stays."""
    with writing():
        for outcome in outcomes:
            _waiting([outcome.task.prediction]).update(**outcome.columns())
        Model.objects.filter(pk=model.pk).update(seen=timezone.now())


def left_behind(rows: Sequence[int], late: bool) -> None:
    """Settle what a process was at when it ended.

    What it was late with, and alone, is late. Of several rows any may have been the cause: they
    are taken up again, one by one.
    """
    if not rows:
        return
    with writing():
        if late and len(rows) == 1:
            _waiting(rows).update(
                stand=Stand.LATE, error=TOO_LATE, leased_until=None, answered_at=timezone.now()
            )
        else:
            _waiting(rows).update(leased_until=None)


def _free(model: Model) -> QuerySet[Prediction]:
    """Return what waits for a model, is leased by nobody, and may be shown to it."""
    waiting = Prediction.objects.filter(model=model, stand=Stand.WAITING)
    return waiting.filter(
        Q(leased_until=None) | Q(leased_until__lt=timezone.now()),
        problem__embargo=False,
        problem__gold=False,
    ).exclude(problem__state=State.WITHDRAWN)


def _waiting(rows: Sequence[int]) -> QuerySet[Prediction]:
    return Prediction.objects.filter(pk__in=rows, stand=Stand.WAITING)


def _locked(rows: QuerySet[Prediction]) -> QuerySet[Prediction]:
    ordered = rows.order_by("-urgent", "tries", "pk")
    if connection.features.has_select_for_update_skip_locked:
        return ordered.select_for_update(skip_locked=True, of=("self",))
    return ordered


def _task(row: Prediction) -> Task:
    problem = row.problem
    datum = Datum(
        problem.ref,
        problem.sentence,
        tuple(problem.options),
        pronoun=problem.record.get("pronoun"),
    )
    return Task(row.pk, datum, problem.answer, row.urgent, row.tries + 1)
