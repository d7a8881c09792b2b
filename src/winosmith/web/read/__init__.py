"""Reading: browsing, search, downloads, guidelines, and the data card."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.read"
