"""The platform's area `api`: what its pages show, for programs, by tokens of people's own."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases.

    What answers requests of programs is loaded with the first of them (`door`).
    """

    name = "winosmith.web.api"

    def ready(self) -> None:
        """Connect what the site does with tokens."""
        from winosmith.web.api.models import drop_dead_tokens, drop_tokens
        from winosmith.web.people.privacy import erasing, tidying

        tidying["api"] = drop_dead_tokens
        erasing.append(drop_tokens)
