"""The platform's area `moderate`: the queue, moderators' decisions, and the audit log."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class Config(AppConfig):
    """Names the application, and keeps the queue's indexes whatever is migrated."""

    name = "winosmith.web.moderate"

    def ready(self) -> None:
        """Register what happens to appeals; create the queue's indexes after each migration."""
        from winosmith.web.moderate import decisions, people, queue
        from winosmith.web.people import accounts, news, privacy

        post_migrate.connect(_keep_indexes, sender=self)
        privacy.erasing.append(decisions.forget_words)
        accounts.adopting.append(decisions.adopt_appeals)
        news.news_sources += [queue.moderation_news, people.votes_news]
        news.work_sources.append(queue.moderation_work)


def _keep_indexes(using: str, **_: Any) -> None:
    from django.db import connections

    from winosmith.web.moderate.queue import ensure

    if "problems_problem" in connections[using].introspection.table_names():
        ensure(using)
