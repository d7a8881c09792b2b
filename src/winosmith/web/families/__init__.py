"""Families: trees of perturbed sentences, and the stability of each model on them."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The Django application; registers its regular measurement."""

    name = "winosmith.web.families"

    def ready(self) -> None:
        """Make the worker measure families every ten minutes if something has changed."""
        from winosmith.web.jobs import MEASURE, add_duty

        add_duty(MEASURE, 600.0, _measure)


def _measure() -> None:
    from winosmith.web.families.measuring import measure_if_changed  # which loads what draws

    measure_if_changed()
