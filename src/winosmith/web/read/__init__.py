"""The platform's area `read`: browse, search, download; guidelines and the data card."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class Config(AppConfig):
    """The application; it creates the search index after each migration."""

    name = "winosmith.web.read"

    def ready(self) -> None:
        """Create the search index when all migrations have run."""
        # Django tells of migrations by the applications that have models; `read` has none.
        post_migrate.connect(_keep_index, sender=apps.get_app_config("problems"))


def _keep_index(using: str, **_: Any) -> None:
    from django.db import connections

    from winosmith.web.problems.search import ensure

    if "problems_problem" in connections[using].introspection.table_names():
        ensure(using)
