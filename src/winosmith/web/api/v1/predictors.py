"""The models of the site: what they are, and how far each has come."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Router
from pydantic import Field

from winosmith.web.api.v1.access import asks
from winosmith.web.api.v1.shapes import Shape
from winosmith.web.predict import asking
from winosmith.web.predict.models import Model as Row

router = Router(tags=["models"])

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


@router.get("/models", response=list[Model], summary="Models", **asks("read", public=True))
def list_models(request: HttpRequest) -> list[dict[str, Any]]:
    """List the models that perturbations are sent to."""
    return [_model(request, figures) for figures in asking.all_figures()]


@router.get("/models/{name}", response=WholeModel, summary="A model", **asks("read", public=True))
def read_model(request: HttpRequest, name: Name) -> dict[str, Any]:
    """Read what determines a model's predictions, and its former revisions."""
    row = get_object_or_404(Row, name=name, current=True)
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
