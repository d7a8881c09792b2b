"""The API: programs read the site's data with personal tokens."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The Django application; registers the functions that delete tokens.

    The operations are not loaded until the first request.
    """

    name = "winosmith.web.api"

    def ready(self) -> None:
        """Register the functions that delete inactive tokens and the tokens of erased people."""
        from winosmith.web.api.models import delete_inactive_tokens, delete_tokens
        from winosmith.web.people.privacy import cleaners, erasers

        cleaners["api"] = delete_inactive_tokens
        erasers.append(delete_tokens)
