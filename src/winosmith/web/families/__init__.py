"""Families: trees of perturbed sentences, and how stable each model is on them."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and its regular measurement."""

    name = "winosmith.web.families"

    def ready(self) -> None:
        """Let the worker measure families every ten minutes if something has changed."""
        from winosmith.web.jobs import MEASURE, add_duty

        add_duty(MEASURE, 600.0, _measure)


def _measure() -> None:
    from winosmith.web.families.measuring import measure  # which loads what draws

    measure()
