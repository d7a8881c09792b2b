"""The data of families: the problems, and what each model made of them, as files to measure again.

What a model was measured on is what its file holds: `winosmith score` gives the same figures for
the problems and the predictions that are downloaded here.
"""

from __future__ import annotations

import hashlib
import tempfile

from django.db.models import F, QuerySet

from winosmith import Dataset, Prediction, __version__, formats
from winosmith.answers import best_of
from winosmith.records import canonical, problem_record
from winosmith.web.predict.models import Model, Stand
from winosmith.web.predict.models import Prediction as Row
from winosmith.web.problems.lineages import as_public
from winosmith.web.problems.models import Problem
from winosmith.web.problems.public import public_problems
from winosmith.web.problems.records import lean, numbers, rows
from winosmith.web.read.aside import Aside

__all__ = [
    "answered_by",
    "in_families",
    "parameters",
    "predictions_file",
    "predictions_of",
]


def in_families() -> QuerySet[Problem]:
    """Return the public problems of families, the roots included."""
    return public_problems().filter(version__isnull=False).alias(place=F("id"))


def answered_by(model: Model, *, families: bool = True) -> QuerySet[Problem]:
    """Return the public problems with an answer about which a model has predicted something.

    Args:
        model: any revision.
        families: those of families alone.
    """
    public = in_families() if families else public_problems().alias(place=F("id"))
    return public.filter(
        answer__isnull=False,
        predictions__model=model,
        predictions__stand=Stand.DONE,
        predictions__choice__isnull=False,
    )


def predictions_of(model: Model, problems: dict[int, str]) -> list[Prediction]:
    """Return what a model predicted about problems, given their rows and ids."""
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
    """Return what a file of predictions tells of the model that made them."""
    return {"solver": model.solver, "revision": model.revision, "digest": model.digest}


def predictions_file(model: Model, *, families: bool = True) -> tuple[str, Aside]:
    """Return a digest of a model's file of predictions, and its bytes, to be closed.

    The file is that of `winosmith.formats.write_predictions`, written in constant memory.
    """
    query = answered_by(model, families=families)
    aside = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when it has been sent
    seen, said, count = hashlib.sha256(), hashlib.sha256(), 0
    for chunk in rows(numbers(query.order_by("place")), lean(public_problems())):
        blind = Dataset(as_public(chunk)).blind()
        known = {row.pk: row.ref for row in chunk}
        for prediction in predictions_of(model, known):
            line = f"{formats.prediction_record(prediction)}\n".encode("utf-8", "surrogatepass")
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
