"""The Django application `take`."""

from __future__ import annotations

from django.apps import AppConfig

__all__ = ["Config"]


class Config(AppConfig):
    """Names the application."""

    name = "winosmith.web.take"
    label = "take"
