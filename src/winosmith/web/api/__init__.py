"""The API: programs read the site's data with personal tokens."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.api"

    def ready(self) -> None:
        from winosmith.web.api.models import delete_inactive_tokens, delete_tokens
        from winosmith.web.people.privacy import cleaners, erasers

        cleaners["api"] = delete_inactive_tokens
        erasers.append(delete_tokens)
