"""The platform's area `problems`: what people write, and what happens to it."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and publishes what has waited for its other half long enough."""

    name = "winosmith.web.problems"

    def ready(self) -> None:
        """Join the site's duties."""
        from winosmith.web.jobs import HOUR, LEARN, PUBLISH, add_duty
        from winosmith.web.problems import association
        from winosmith.web.problems.states import publish_due

        add_duty(PUBLISH, HOUR, publish_due)
        add_duty(LEARN, association.EVERY, association.relearn)
