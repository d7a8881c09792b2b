"""Problems, their states, families and near-duplicates."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class Config(AppConfig):
    name = "winosmith.web.problems"

    def ready(self) -> None:
        from winosmith.web.jobs import HOUR, PUBLISH, register_periodic_task
        from winosmith.web.problems.states import publish_due_halves

        register_periodic_task(PUBLISH, HOUR, publish_due_halves)
        post_migrate.connect(_create_indexes, sender=self)


def _create_indexes(using: str, **_: Any) -> None:
    from django.db import connections

    from winosmith.web.problems import search

    if "problems_problem" in connections[using].introspection.table_names():
        for create in search.index_creators:
            create(using)
