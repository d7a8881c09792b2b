"""Families: trees of perturbed sentences, and the models' stability on these."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.families"

    def ready(self) -> None:
        from winosmith.web.jobs import MEASURE, register_periodic_task

        register_periodic_task(MEASURE, 600.0, _measure)


def _measure() -> None:
    from winosmith.web.families.figures import measure_if_changed  # slow to import

    measure_if_changed()
