"""What every page knows: the site's name and rules."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest

__all__ = ["site"]


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the site's rules for the templates."""
    return {"rules": settings.RULES, "areas": ("read", "write", "judge", "moderate", "people")}
