"""The Django application `judge`."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application."""

    name = "winosmith.web.judge"
    label = "judge"
