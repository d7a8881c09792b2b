"""The Django application `families`."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application."""

    name = "winosmith.web.families"
    label = "families"
