"""The platform's area `read`: browse, search, download; guidelines and the data card."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application."""

    name = "winosmith.web.read"
