"""API operations on families, their versions and predictions, and the site's models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Query, Router, Schema
from pydantic import Field

from winosmith.web.api.schemas import Problem, Ref, to_records
from winosmith.web.families.lists import get_families_page
from winosmith.web.families.trees import DEPTHS, load_tree
from winosmith.web.families.views import get_version_number, load_family_problem
from winosmith.web.predict import asking
from winosmith.web.predict.asking import get_current_models
from winosmith.web.predict.models import Model as ModelRow, Prediction
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.search import parse_terms


class FamiliesQuery(Schema):
    """The query parameters of the list of families: filters and order."""

    q: str = Field("", max_length=200, description='words, "phrases", and -words')
    sort: Literal["size", "newest", "fooling"] = "size"
    page: int = Field(1, ge=1, le=10_000_000)


class VersionsQuery(Schema):
    """The query parameters of a list of versions: the position at which the page starts."""

    after: str = Field("", max_length=80, description="the `next` value of the previous page")


class ErrorCount(Schema):
    """A model's number of errors; a tie counts as 1 minus its credit."""

    model: str
    wrong: int | float
    answered: int
    ties: int


class Family(Schema):
    """A family in a list; only public versions are counted."""

    root: Problem
    versions: int
    deepest: int
    errors: list[ErrorCount]


class FamilyPage(Schema):
    """A page of at most 20 families."""

    items: list[Family]
    count: int
    page: int
    pages: int


class ModelPrediction(Schema):
    """A model's prediction for a version; `choice` is null if the model has not answered.

    For a tie, `tie` is true, `choice` is the first of the tied options, and `right` is null.
    """

    model: str
    choice: int | None
    right: bool | None
    tie: bool


class TreeVersion(Schema):
    """A version in its tree; `parent` is its nearest public ancestor, if any."""

    problem: Problem
    parent: str | None
    declared: int | None
    lineage: int | None
    edit: int | None
    predictions: list[ModelPrediction]


class TreeVersions(Schema):
    """A page of at most 100 versions, each after its parent."""

    items: list[TreeVersion]
    next: str | None


router = Router(tags=["families"])

PAGE_SIZE = 100
"""Maximum number of versions on a page."""


@router.get("/families", response=FamilyPage, summary="Families")
def list_families(request: HttpRequest, query: Query[FamiliesQuery]) -> dict[str, Any]:
    """List the families with a public root."""
    shown = get_families_page(parse_terms(query.q), query.sort, query.page)
    models = get_current_models()
    roots = [family.problem for family in shown]
    return {
        "items": [
            {
                "root": root,
                "versions": family.versions,
                "deepest": family.deepest,
                "errors": [family.get_model_counts(model) for model in models],
            }
            for family, root in zip(shown, to_records(roots), strict=True)
        ],
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
    }


@router.get("/families/{ref}/versions", response=TreeVersions, summary="Versions")
def list_versions(request: HttpRequest, ref: Ref, query: Query[VersionsQuery]) -> dict[str, Any]:
    """List the public versions of a family, each after its parent, with models' predictions."""
    root = load_family_problem(ref, None)
    if version := getattr(root, "version", None):
        root = version.root
    tree = load_tree(root, None)
    first = 0 if root.public else 1  # a hidden root is omitted
    start = get_version_number(tree, query.after) + 1 if query.after else first
    here = range(start, min(start + PAGE_SIZE, len(tree)))
    numbers = {*here, *(int(tree.parents[at]) for at in here)} - {-1}
    keys = {int(tree.rows[number]): number for number in numbers}
    known = Row.objects.select_related("twin__contributor").in_bulk(list(keys))
    rows = {keys[key]: row for key, row in known.items()}
    records = dict(zip(here, to_records([rows[at] for at in here]), strict=True))
    answers = Prediction.objects.filter(problem__in=list(rows.values()), model__current=True)
    found = answers.values("problem_id", "model_id", *_NO_CHOICE)
    predictions = {(row.pop("problem_id"), row.pop("model_id")): row for row in found}
    models = get_current_models()
    return {
        "items": [
            {
                "problem": records[at],
                "parent": rows[parent].ref if (parent := int(tree.parents[at])) >= first else None,
                **{kind: tree.get_depth(kind, at) for kind in DEPTHS},
                "predictions": [
                    {"model": model.name, **predictions.get((rows[at].pk, model.pk), _NO_CHOICE)}
                    for model in models
                ],
            }
            for at in here
        ],
        "next": rows[here[-1]].ref if here and here[-1] + 1 < len(tree) else None,
    }


_NO_CHOICE = {"choice": None, "right": None, "tie": False}


Name = Annotated[str, Field(pattern=r"^[-A-Za-z0-9_]{1,30}$")]


class Model(Schema):
    """A model, and the progress of its predictions."""

    name: str
    solver: str
    revision: str
    digest: str
    state: str
    alive: bool
    done: int
    late: int
    failed: int
    waiting: int
    total: int
    seconds: float | None
    predictions: str = Field(description="URL of the file with all predictions of the model")


class Revision(Schema):
    """A previous revision of a model."""

    revision: str
    digest: str
    since: datetime
    predictions: int


class ModelDetail(Model):
    """A model with its full description and its previous revisions."""

    about: dict[str, Any]
    revisions: list[Revision]


@router.get("/models", tags=["models"], response=list[Model], summary="Models")
def list_models(request: HttpRequest) -> list[dict[str, Any]]:
    """List the models that predict perturbed problems."""
    statuses = asking.list_model_statuses(get_current_models())
    return [_make_model_record(request, status) for status in statuses]


@router.get("/models/{name}", tags=["models"], response=ModelDetail, summary="A model")
def read_model(request: HttpRequest, name: Name) -> dict[str, Any]:
    """Read a model's full description and its previous revisions."""
    row = get_object_or_404(ModelRow, name=name, current=True)
    return {
        **_make_model_record(request, asking.list_model_statuses([row])[0]),
        "about": row.about,
        "revisions": [
            {
                "revision": one.revision,
                "digest": one.digest,
                "since": one.since,
                "predictions": count,
            }
            for one, count in asking.list_previous_revisions(row)
        ],
    }


def _make_model_record(request: HttpRequest, status: dict[str, Any]) -> dict[str, Any]:
    row = status["model"]
    file = reverse("families:file", args=[f"{row.name}.jsonl"])
    return {
        **status,
        **{name: getattr(row, name) for name in ("name", "solver", "revision", "digest")},
        "predictions": request.build_absolute_uri(f"{file}?of=all"),
    }
