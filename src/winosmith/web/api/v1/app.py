"""Version 1 of the API, put together."""

from __future__ import annotations

from django.urls import URLResolver
from django.urls.resolvers import RegexPattern
from ninja import NinjaAPI

from winosmith import __version__
from winosmith.web.api.v1 import (
    drafts,
    families,
    faults,
    judging,
    moderating,
    own,
    perturbing,
    predictors,
    reading,
)

__all__ = ["api", "resolver"]

api = NinjaAPI(
    title="Winosmith",
    version=__version__,
    docs_url=None,
    openapi_url=None,
    urls_namespace="api-v1",
)
for _area in (reading, families, predictors, own, drafts, judging, perturbing, moderating):
    api.add_router("", _area.router)
faults.join(api)

resolver = URLResolver(RegexPattern(r"^"), api.urls[0])
"""Finds the operation of an address below the version's."""
