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
        from winosmith.web.api.models import delete_dead_tokens, delete_tokens
        from winosmith.web.people.privacy import cleaners, erasers

        cleaners["api"] = delete_dead_tokens
        erasers.append(delete_tokens)
