"""The Django application `problems`."""

from __future__ import annotations

from django.apps import AppConfig

__all__ = ["Config"]


class Config(AppConfig):
    """Names the application."""

    name = "winosmith.web.problems"
    label = "problems"
