"""What every page knows: the name, rules and languages of the site, its version, the place."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from winosmith import __version__


def site(request: HttpRequest) -> dict[str, Any]:
    """Return what the templates that all pages share need."""
    return {
        "rules": settings.RULES,
        "winosmith_version": __version__,
        "area": _area(request),
        "languages": settings.LANGUAGES,
    }


def _area(request: HttpRequest) -> str:
    """Return the entry of the main navigation that leads here, or "" for none."""
    match = request.resolver_match
    if match is None:
        return ""
    if match.namespace == "read":
        return "browse" if match.url_name in ("browse", "problem", "download") else match.url_name
    return match.namespace
