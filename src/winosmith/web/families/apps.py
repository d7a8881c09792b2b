"""The Django application `families`."""

from __future__ import annotations

from django.apps import AppConfig

__all__ = ["Config"]


class Config(AppConfig):
    """Names the application."""

    name = "winosmith.web.families"
    label = "families"
