"""Version 1 of the API, put together."""

from __future__ import annotations

from functools import wraps
from typing import Any

from django.http import HttpRequest
from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI
from ninja.params.models import QueryModel

from winosmith import __version__
from winosmith.web.api.v1 import (
    drafts,
    families,
    faults,
    own,
    perturbing,
    predictors,
    reading,
)


def _known_alone(operation: Any) -> None:
    """Let an operation refuse parameters that it does not know, such as misspelt ones.

    django-ninja passes over them, whatever the parameters' model forbids.
    """
    act = operation.view_func
    known = {
        name
        for model in operation.models
        if issubclass(model, QueryModel)
        for name in model.__ninja_flatten_map__
    }

    @wraps(act)
    def acted(request: HttpRequest, *args: Any, **named: Any) -> Any:
        if unknown := sorted(set(request.GET) - known):
            raise faults.Malformed(
                {f"query.{name}": ["Extra inputs are not permitted"] for name in unknown}
            )
        return act(request, *args, **named)

    operation.view_func = acted


api = NinjaAPI(
    title="Winosmith",
    version=__version__,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api-v1",
)
for _area in (reading, families, predictors, own, drafts, perturbing):
    for _path in _area.router.path_operations.values():
        for _operation in _path.operations:
            _known_alone(_operation)
    api.add_router("", _area.router)
faults.join(api)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Finds the operation of an address below the version's."""
