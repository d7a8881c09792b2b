"""People: accounts, roles, and what people agreed to."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class Config(AppConfig):
    name = "winosmith.web.people"

    def ready(self) -> None:
        from winosmith.web.jobs import DAY, MAIL, TIDY, register_periodic_task, runners
        from winosmith.web.people import news, privacy

        register_periodic_task(TIDY, DAY, privacy.delete_old_rows)
        runners[MAIL] = news.send_mail
        post_migrate.connect(_create_missing_documents, sender=self)


def _create_missing_documents(sender: Any, using: str, **_: Any) -> None:
    from django.db import connections

    from winosmith.web.people.models import Document
    from winosmith.web.people.privacy import create_first_documents

    if Document._meta.db_table in connections[using].introspection.table_names():
        create_first_documents()
