"""The API: the content of pages for programs, with personal tokens."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The Django application; registers its functions to delete and erase tokens.

    The code of the operations is loaded with the first request (`door`).
    """

    name = "winosmith.web.api"

    def ready(self) -> None:
        """Register the functions for tokens."""
        from winosmith.web.api.models import drop_dead_tokens, drop_tokens
        from winosmith.web.people.privacy import cleaners, erasers

        cleaners["api"] = drop_dead_tokens
        erasers.append(drop_tokens)
