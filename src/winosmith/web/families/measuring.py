"""The stability of models over all families, which the worker measures and stores.

The results are those of `winosmith.metrics.measure_stability`. The worker computes them every ten
minutes if the data have changed. `winosmith score` gives the same results for the downloaded
problems and predictions.
"""

from __future__ import annotations

import hashlib
import tempfile
from typing import Any
from xml.etree.ElementTree import tostring

from django.db import connection
from django.db.models import Count, F, QuerySet
from django.utils import timezone

from winosmith import Dataset, Prediction, __version__, answers, metrics
from winosmith.errors import DataError, MissingExtraError
from winosmith.metrics import Graded, Stability
from winosmith.prediction import find_best_options
from winosmith.records import dump_json
from winosmith.web._lock import writing
from winosmith.web.families.models import Measured
from winosmith.web.families.trees import DEPTHS
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model, Prediction as Row, Status
from winosmith.web.problems.models import Problem
from winosmith.web.problems.records import as_public, iter_public_rows, load_keys
from winosmith.web.problems.states import get_public_problems
from winosmith.web.read.downloads import HeadedFile, encode_for_digest


def get_family_problems() -> QuerySet[Problem]:
    """Return the public problems of all families, including the roots."""
    return get_public_problems().filter(version__isnull=False).alias(place=F("id"))


def count_versions_by_target_model() -> list[tuple[str, int]]:
    """Count, for each model, the public versions written to fool it; the largest count is first.

    Contributors chose these models and saw their answers. These versions are therefore selected
    against these models, which makes the models look worse than others.
    """
    rows = get_family_problems().filter(version__against__isnull=False).order_by()
    counts = dict(rows.values_list("version__against__name").annotate(n=Count("pk")))
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def get_answered_problems(model: Model, *, families: bool = True) -> QuerySet[Problem]:
    public = get_family_problems() if families else get_public_problems().alias(place=F("id"))
    return public.filter(
        answer__isnull=False,
        predictions__model=model,
        predictions__stand=Status.DONE,
        predictions__choice__isnull=False,
    )


def load_predictions(model: Model, problems: dict[int, str]) -> list[Prediction]:
    """Load a model's predictions for problems; `problems` maps the problems' keys to their ids."""
    rows = Row.objects.filter(model=model, problem__in=list(problems), stand=Status.DONE)
    rows = rows.filter(choice__isnull=False).order_by("problem")
    found = []
    for key, choice, scores in rows.values_list("problem", "choice", "scores"):
        best = find_best_options(scores) if scores else ()
        tied = best if len(best) > 1 and choice in best else ()
        found.append(Prediction(problems[key], choice, tuple(scores), tied))
    return found


def write_predictions_file(model: Model, *, families: bool = True) -> tuple[str, HeadedFile]:
    """Write a model's predictions to a temporary file; return a digest and the open file.

    The caller closes the file. The format is that of `winosmith.answers.write_predictions`. Memory
    use does not grow with the number of problems.
    """
    query = get_answered_problems(model, families=families)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed after sending
    data_digest, file_digest, count = hashlib.sha256(), hashlib.sha256(), 0
    for chunk in iter_public_rows(load_keys(query.order_by("place"))):
        blind = Dataset(as_public(chunk)).blind()
        known = {row.pk: row.ref for row in chunk}
        for prediction in load_predictions(model, known):
            line = f"{answers.prediction_record(prediction)}\n".encode("utf-8", "surrogatepass")
            file_digest.update(line)
            file.write(line)
        for problem in blind:
            data_digest.update(encode_for_digest(problem))
        count += len(blind)
    header = {
        "predictions": model.name,
        "parameters": {"solver": model.solver, "revision": model.revision, "digest": model.digest},
        "data": data_digest.hexdigest(),
        "n": count,
        "version": __version__,
    }
    first = f"{dump_json(header)}\n".encode()
    file_digest.update(first)
    return file_digest.hexdigest(), HeadedFile(first, file)


SEED = 0
"""The random seed of bootstraps and null models: the default of `winosmith score`."""


_INPUTS = """SELECT r.model_id, count(*), sum(v.problem_id), sum(v.problem_id * v.problem_id),
    sum(CASE WHEN r."right" THEN v.problem_id ELSE 0 END),
    sum(CASE WHEN r.tie THEN v.problem_id ELSE 0 END)
    FROM perturb_version v
    JOIN problems_problem p ON p.id = v.problem_id
    JOIN predict_prediction r ON r.problem_id = v.problem_id
    WHERE p.public AND r.stand = 'done'
    GROUP BY r.model_id"""


def measure_if_changed() -> bool:
    models = get_current_models()
    with connection.cursor() as cursor:
        cursor.execute(_INPUTS)
        sums = [[int(value) for value in row] for row in cursor.fetchall()]
    inputs = repr(([(model.pk, model.name) for model in models], sorted(sums), __version__))
    stamp = hashlib.sha256(inputs.encode()).hexdigest()
    if Measured.objects.filter(stamp=stamp).count() == len(DEPTHS):
        return False
    graded: list[tuple[Model, Graded | None, str]] = []
    for model in models:
        found = list(get_answered_problems(model).order_by("place"))
        dataset = Dataset(as_public(found))
        predictions = load_predictions(model, {row.pk: row.ref for row in found})
        try:
            graded.append((model, metrics.grade(dataset, predictions), ""))
        except DataError as error:
            graded.append((model, None, str(error)))
    rows = [_measure_depth(depth, graded) for depth in DEPTHS]
    for row in rows:
        row.stamp, row.made_at = stamp, timezone.now()
    with writing():
        Measured.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["depth"],
            update_fields=["stamp", "made_at", "answers", "drawings", "fault"],
        )
    return True


def _measure_depth(depth: Any, graded: list[tuple[Model, Graded | None, str]]) -> Measured:
    found: dict[str, Stability] = {}
    answers = []
    for model, answered, fault in graded:
        record: dict[str, Any] = {"name": model.name, "revision": model.revision, "fault": fault}
        if answered is not None:
            try:
                of = metrics.measure_stability(answered, depth=depth, seed=SEED)
            except MissingExtraError as error:
                return Measured(depth=depth, fault=str(error))
            except DataError as error:
                record["fault"] = str(error)
            else:
                found[model.name] = of
                record["stability"] = {k: v for k, v in of.record().items() if k != "families"}
                record["families"] = len(of.families)
        answers.append(record)
    panels = metrics.draw_stability(found) if found else ()
    drawn = [svg for row in panels for svg in row]
    drawings = [convert_styles_to_attributes(svg.inline(f"d{at}")) for at, svg in enumerate(drawn)]
    return Measured(depth=depth, answers=answers, drawings=drawings)


def convert_styles_to_attributes(markup: str) -> str:
    """Turn an SVG's inline styles into attributes, which the content security policy allows.

    >>> convert_styles_to_attributes('<svg><path style="fill: none; stroke-width: 0.8" /></svg>')
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
