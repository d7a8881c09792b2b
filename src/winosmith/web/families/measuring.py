"""The stability of models over all families: measured by the worker, stored in the database.

The results are those of `winosmith.metrics.stability`. The worker measures them every ten minutes
if something has changed. The data are files, too: `winosmith score` gives the same results for the
downloaded problems and predictions.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import tostring

from django.db import connection
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from winosmith import Dataset, Prediction, __version__, answers, metrics
from winosmith.errors import DataError, MissingExtraError
from winosmith.metrics import Graded, Stability, draw_stability
from winosmith.prediction import best_of
from winosmith.records import canonical, problem_record
from winosmith.web._lock import writing
from winosmith.web.families.models import Measured
from winosmith.web.families.trees import DEPTHS
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model, Prediction as Row, Stand
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public, lean, numbers, rows
from winosmith.web.problems.states import public_problems
from winosmith.web.read.downloads import Aside


def in_families() -> QuerySet[Problem]:
    """Return the public problems of families, the roots included."""
    return public_problems().filter(version__isnull=False).alias(place=F("id"))


def written_against() -> list[tuple[str, int]]:
    """Return the models against which public versions were written, with their numbers, most first.

    Contributors chose these models and saw their answers, so the versions are selected against
    them: such a model seems worse than it is in comparison with others.
    """
    rows = in_families().filter(version__against__isnull=False).order_by()
    counts = dict(rows.values_list("version__against__name").annotate(n=Count("pk")))
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def answered_by(model: Model, *, families: bool = True) -> QuerySet[Problem]:
    """Return the public problems with an answer that a model has predicted.

    Args:
        model: any revision.
        families: only problems of families.
    """
    public = in_families() if families else public_problems().alias(place=F("id"))
    return public.filter(
        answer__isnull=False,
        predictions__model=model,
        predictions__stand=Stand.DONE,
        predictions__choice__isnull=False,
    )


def predictions_of(model: Model, problems: dict[int, str]) -> list[Prediction]:
    """Return a model's predictions on problems, given their rows and ids."""
    found = Row.objects.filter(model=model, problem__in=list(problems), stand=Stand.DONE)
    return [
        _prediction(problems[number], choice, tuple(scores))
        for number, choice, scores in found.order_by("problem").values_list(
            "problem", "choice", "scores"
        )
        if choice is not None
    ]


def _prediction(ref: str, choice: int, scores: tuple[float, ...]) -> Prediction:
    best = best_of(scores) if scores else ()
    return Prediction(ref, choice, scores, best if len(best) > 1 and choice in best else ())


def parameters(model: Model) -> dict[str, str]:
    """Return the model's parameters for the header of its file of predictions."""
    return {"solver": model.solver, "revision": model.revision, "digest": model.digest}


def predictions_file(model: Model, *, families: bool = True) -> tuple[str, Aside]:
    """Return a digest of a model's file of predictions, and its bytes; the caller closes them.

    The file is that of `winosmith.answers.write_predictions`, written in constant memory.
    """
    query = answered_by(model, families=families)
    aside = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it has been sent
    seen, said, count = hashlib.sha256(), hashlib.sha256(), 0
    for chunk in rows(numbers(query.order_by("place")), lean(public_problems())):
        blind = Dataset(as_public(chunk)).blind()
        known = {row.pk: row.ref for row in chunk}
        for prediction in predictions_of(model, known):
            line = f"{answers.prediction_record(prediction)}\n".encode("utf-8", "surrogatepass")
            said.update(line)
            aside.write(line)
        for problem in blind:
            seen.update(
                (canonical(problem_record(problem)) + "\n").encode("utf-8", "surrogatepass")
            )
        count += len(blind)
    header = {
        "predictions": model.name,
        "parameters": parameters(model),
        "data": seen.hexdigest(),
        "n": count,
        "version": __version__,
    }
    first = f"{canonical(header)}\n".encode()
    said.update(first)
    return said.hexdigest(), Aside(first, aside)


SEED = 0
"""The seed of bootstraps and nulls: the default of `winosmith score`."""


def measured(depth: str) -> Measured | None:
    """Return the last measurement; None before the first."""
    return Measured.objects.filter(depth=depth).first()


def stamp() -> str:
    """Return a digest of the results' inputs: versions, answers, models, winosmith."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP)
        counted = [[int(value) for value in row] for row in cursor.fetchall()]
    names = [(model.pk, model.name) for model in current_models()]
    said = repr((names, sorted(counted), __version__))
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
    """Measure again if something has changed since the last time; return whether it had."""
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
    """Return a model's graded answers, or None and why there are none."""
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
        answers.append(record)
    return Measured(depth=depth, answers=answers, drawings=drawings(found) if found else [])


def drawings(found: Mapping[str, Stability]) -> list[str]:
    """Return the survival curves and the accuracies by depth, as SVG for a page.

    Args:
        found: the result of each model by its name, all by one way of counting depths.
    """
    made = [svg for panels in draw_stability(found) for svg in panels]
    return [without_styles(svg.inline(f"d{at}")) for at, svg in enumerate(made)]


def without_styles(markup: str) -> str:
    """Return an SVG whose style properties are attributes, which the content policy allows.

    >>> without_styles('<svg><path style="fill: none; stroke-width: 0.8" /></svg>')
    '<svg><path fill="none" stroke-width="0.8" /></svg>'
    """
    from defusedxml.ElementTree import fromstring

    root = fromstring(markup.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    for element in root.iter():
        for part in element.attrib.pop("style", "").split(";"):
            name, colon, value = part.partition(":")
            if colon:
                element.set(name.strip(), value.strip())
    return tostring(root, encoding="unicode")
