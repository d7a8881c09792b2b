"""Reading: browsing, search, downloads, guidelines, and the data card."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The Django application."""

    name = "winosmith.web.read"
