"""The platform's area `problems`: problems, their states, families and near-duplicates."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and its regular duties."""

    name = "winosmith.web.problems"

    def ready(self) -> None:
        """Add the site's duties: publish halves after their waiting time, and train the meter."""
        from winosmith.web.jobs import HOUR, LEARN, PUBLISH, add_duty
        from winosmith.web.problems import association
        from winosmith.web.problems.states import publish_due

        add_duty(PUBLISH, HOUR, publish_due)
        add_duty(LEARN, association.EVERY, association.relearn)
