"""The platform's area `problems`: what people write, and what happens to it."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and publishes what has waited for its other half long enough."""

    name = "winosmith.web.problems"

    def ready(self) -> None:
        """Join what is done every hour."""
        from winosmith.web._background import hourly
        from winosmith.web.problems.states import publish_due

        hourly.append(publish_due)
