"""Measuring all models over all families: outside of requests, kept in the database.

The figures are those of `winosmith.metrics.stability`. A look at their page starts a thread where
something else would come out now; nobody waits for it. One process measures at a time.
"""

from __future__ import annotations

import hashlib
import time
from typing import Any

from django.db import connection
from django.utils import timezone

from winosmith import Dataset, __version__, metrics
from winosmith.errors import DataError, MissingExtraError
from winosmith.metrics import Graded, Stability
from winosmith.web._background import Background
from winosmith.web._lock import writing
from winosmith.web.families.data import answered_by, predictions_of
from winosmith.web.families.drawings import drawings
from winosmith.web.families.kinds import kinds_over_all
from winosmith.web.families.models import EditKind, Measured
from winosmith.web.families.tagging import tell_kinds
from winosmith.web.families.tree import DEPTHS
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model
from winosmith.web.problems.lineages import as_public

__all__ = ["look_again", "measure", "measured", "stamp"]

EVERY = 15.0
"""Seconds between two looks of a process at whether something has changed."""

PATIENCE = 0.3
"""Seconds that the first look waits for the first figures."""

SEED = 0
"""Of bootstraps and nulls: what `winosmith score` takes by itself."""


def measured(depth: str) -> Measured | None:
    """Return what was measured last; None before the first time. Starts measuring anew when due."""
    found = Measured.objects.filter(depth=depth).first()
    _AT_WORK.start_when_due()
    if found is None:
        _AT_WORK.wait(PATIENCE)
        found = Measured.objects.filter(depth=depth).first()
    return found


def look_again() -> None:
    """Start to measure, and to tell the kinds of new edits, when that is due."""
    _AT_WORK.start_when_due()


def stamp() -> str:
    """Return a digest of what the figures hang on: versions, answers, models, kinds, winosmith."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP)
        counted = [[int(value) for value in row] for row in cursor.fetchall()]
    names = [(model.pk, model.name) for model in current_models()]
    said = repr((names, sorted(counted), EditKind.objects.count(), __version__))
    return hashlib.sha256(said.encode()).hexdigest()


_STAMP = """SELECT r.model_id, count(*), sum(v.problem_id), sum(v.problem_id * v.problem_id),
    sum(CASE WHEN r."right" THEN v.problem_id ELSE 0 END),
    sum(CASE WHEN r.tie THEN v.problem_id ELSE 0 END)
    FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE p.public AND r.stand = 'done'
    GROUP BY r.model_id"""


def measure() -> bool:
    """Measure what has changed since the last time; return whether something had."""
    now = stamp()
    known = Measured.objects.filter(stamp=now).count()
    if known == len(DEPTHS):
        return False
    start = time.monotonic()
    graded = [(model, *_graded(model)) for model in current_models()]
    made = [_measured(depth, graded) for depth in DEPTHS]
    for one in made:
        one.stamp, one.made_at, one.seconds = now, timezone.now(), time.monotonic() - start
    with writing():
        Measured.objects.bulk_create(
            made,
            update_conflicts=True,
            unique_fields=["depth"],
            update_fields=["stamp", "made_at", "seconds", "answers", "drawings", "fault"],
        )
    return True


def _graded(model: Model) -> tuple[Graded | None, str]:
    """Return a model's answers beside what is right; None and why where there are none."""
    found = list(answered_by(model).order_by("place"))
    dataset = Dataset(as_public(found))
    predictions = predictions_of(model, {row.pk: row.ref for row in found})
    try:
        return metrics.grade(dataset, predictions), ""
    except DataError as error:
        return None, str(error)


def _measured(depth: Any, graded: list[tuple[Model, Graded | None, str]]) -> Measured:
    found: dict[str, Stability] = {}
    answers = []
    for model, answered, fault in graded:
        record: dict[str, Any] = {"name": model.name, "revision": model.revision, "fault": fault}
        if answered is not None:
            try:
                of = metrics.stability(answered, depth=depth, seed=SEED)
            except MissingExtraError as error:
                return Measured(depth=depth, fault=str(error))
            except DataError as error:
                record["fault"] = str(error)
            else:
                found[model.name] = of
                record["stability"] = {k: v for k, v in of.record().items() if k != "families"}
                record["families"] = len(of.families)
                record["kinds"] = kinds_over_all(model)
        answers.append(record)
    return Measured(depth=depth, answers=answers, drawings=drawings(found) if found else [])


def _work() -> None:
    measure()
    if tell_kinds():
        measure()


_AT_WORK = Background("families", EVERY, _work)
