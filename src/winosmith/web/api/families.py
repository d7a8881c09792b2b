"""Families: how they grew, and how far each model follows; the models of the site.

The shapes of what is asked and told come before the operations.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Query, Router
from pydantic import Field

from winosmith.web.api.door import Asked, Problem, Ref, Shape, asks, problems, reader
from winosmith.web.families.lists import listed
from winosmith.web.families.page import place_of, root_of
from winosmith.web.families.trees import DEPTHS, Tree, tree_of
from winosmith.web.judge.models import note_read
from winosmith.web.predict import asking
from winosmith.web.predict.asking import current_models
from winosmith.web.predict.models import Model as ModelRow, Prediction
from winosmith.web.problems.models import Problem as Row
from winosmith.web.problems.search import parse


class FamiliesWanted(Asked):
    """Which families, in which order."""

    q: str = Field("", max_length=200, description='words, "phrases", and -words')
    sort: Literal["size", "newest", "fooling"] = "size"
    page: int = Field(1, ge=1, le=10_000_000)


class VersionsWanted(Asked):
    """Where a page of versions begins."""

    after: str = Field("", max_length=80, description="`next` of the page before")


class ErrorCount(Shape):
    """How often a model is wrong; a tie counts for what it is not worth."""

    model: str
    wrong: int | float
    answered: int
    ties: int


class Family(Shape):
    """A family in a list: public versions alone."""

    root: Problem
    versions: int
    deepest: int
    errors: list[ErrorCount]


class Families(Shape):
    """A page of families, 20 or fewer."""

    items: list[Family]
    count: int
    page: int
    pages: int


class Choice(Shape):
    """What a model makes of a version; null where it has not answered.

    With `tie` it could not decide between options: `choice` is the first of them, `right` is null.
    """

    model: str
    choice: int | None
    right: bool | None
    tie: bool


class TreeVersion(Shape):
    """A version in its tree, below the next one above that you can see."""

    problem: Problem
    public: bool
    parent: str | None
    declared: int | None
    lineage: int | None
    edit: int | None
    predictions: list[Choice]


class TreeVersions(Shape):
    """A page of versions, each after its parent, 100 or fewer."""

    items: list[TreeVersion]
    next: str | None


router = Router(tags=["families"])

SIZE = 100
"""Versions on a page."""


@router.get("/families", response=Families, summary="Families", **asks(public=True))
def list_families(request: HttpRequest, wanted: Query[FamiliesWanted]) -> dict[str, Any]:
    """List the families whose root is public."""
    shown = listed(parse(wanted.q), wanted.sort, wanted.page)
    models = current_models()
    roots = [family.problem for family in shown]
    note_read(reader(request), roots)
    return {
        "items": [
            {
                "root": root,
                "versions": family.versions,
                "deepest": family.deepest,
                "errors": [family.told_of(model) for model in models],
            }
            for family, root in zip(shown, problems(roots), strict=True)
        ],
        "count": shown.paginator.count,
        "page": shown.number,
        "pages": shown.paginator.num_pages,
    }


@router.get(
    "/families/{ref}/versions",
    response=TreeVersions,
    summary="Versions",
    **asks(public=True),
)
def list_versions(request: HttpRequest, ref: Ref, wanted: Query[VersionsWanted]) -> dict[str, Any]:
    """List the versions of a family, each after its parent, with what the models make of them."""
    root = _root(request, ref)
    tree = tree_of(root, reader(request))
    start = place_of(tree, wanted.after) + 1 if wanted.after else 0
    here = range(start, min(start + SIZE, len(tree)))
    rows = _rows(tree, here)
    above = _rows(tree, {int(tree.parents[at]) for at in here} - {-1})
    note_read(reader(request), [rows[at] for at in here if tree.public[at] or at == 0])
    told = dict(zip(here, problems([rows[at] for at in here]), strict=True))
    made = _predictions([row.pk for row in rows.values()])
    models = current_models()
    return {
        "items": [
            {
                "problem": told[at],
                "public": bool(tree.public[at]),
                "parent": above[int(tree.parents[at])].ref if at else None,
                **{kind: _depth(tree, kind, at) for kind in DEPTHS},
                "predictions": [
                    made.get((rows[at].pk, model.pk))
                    or {"model": model.name, "choice": None, "right": None, "tie": False}
                    for model in models
                ],
            }
            for at in here
        ],
        "next": rows[here[-1]].ref if here and here[-1] + 1 < len(tree) else None,
    }


def _root(request: HttpRequest, ref: str) -> Row:
    """Return the root of a family by any of its versions; both must be for the reader to see."""
    found = root_of(ref, reader(request))
    version = getattr(found, "version", None)
    return found if version is None else root_of(version.root.ref, reader(request))


def _rows(tree: Tree, numbers: Any) -> dict[int, Row]:
    """Return the rows of versions, by their numbers in the tree."""
    keys = {int(tree.rows[number]): number for number in numbers}
    found = Row.objects.select_related("twin__contributor").in_bulk(list(keys))
    return {keys[key]: row for key, row in found.items()}


def _depth(tree: Tree, kind: Any, at: int) -> int | None:
    depth = int(tree.depths[kind][at])
    return None if depth < 0 else depth


def _predictions(keys: list[int]) -> dict[tuple[int, int], dict[str, Any]]:
    rows = Prediction.objects.filter(problem__in=keys, model__current=True).select_related("model")
    return {
        (row.problem_id, row.model_id): {
            "model": row.model.name,
            "choice": row.choice,
            "right": row.right,
            "tie": row.tie,
        }
        for row in rows
    }


Name = Annotated[str, Field(pattern=r"^[-A-Za-z0-9_]{1,30}$")]


class Model(Shape):
    """A model, and how far it has come."""

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
    predictions: str = Field(description="the address of a file with all that it answered")


class Revision(Shape):
    """A former revision of a model."""

    revision: str
    digest: str
    since: datetime
    predictions: int


class WholeModel(Model):
    """A model, what determines its predictions, and its former revisions."""

    about: dict[str, Any]
    revisions: list[Revision]


@router.get(
    "/models",
    operation_id="predictors_list_models",
    tags=["models"],
    response=list[Model],
    summary="Models",
    **asks(public=True),
)
def list_models(request: HttpRequest) -> list[dict[str, Any]]:
    """List the models that perturbations are sent to."""
    return [_model(request, figures) for figures in asking.all_figures()]


@router.get(
    "/models/{name}",
    operation_id="predictors_read_model",
    tags=["models"],
    response=WholeModel,
    summary="A model",
    **asks(public=True),
)
def read_model(request: HttpRequest, name: Name) -> dict[str, Any]:
    """Read what determines a model's predictions, and its former revisions."""
    row = get_object_or_404(ModelRow, name=name, current=True)
    return {
        **_model(request, asking.figures(row)),
        "about": row.about,
        "revisions": [
            {
                **{field: getattr(one, field) for field in ("revision", "digest", "since")},
                "predictions": count,
            }
            for one, count in asking.revisions(row)
        ],
    }


def _model(request: HttpRequest, figures: asking.Figures) -> dict[str, Any]:
    row = figures.model
    counts = ("state", "alive", "done", "late", "failed", "waiting", "total", "seconds")
    file = reverse("families:file", args=[f"{row.name}.jsonl"])
    return {
        **{name: getattr(row, name) for name in ("name", "solver", "revision", "digest")},
        **{name: getattr(figures, name) for name in counts},
        "predictions": request.build_absolute_uri(f"{file}?of=all"),
    }
