"""Crowd markets: paid studies, their workers, and their pay."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.market"

    def ready(self) -> None:
        from winosmith.web.market.workers import delete_old_ids, erase_worker, export_studies
        from winosmith.web.people.privacy import cleaners, erasers, exporters

        exporters["studies"] = (export_studies, "market.Participation")
        cleaners["market"] = delete_old_ids
        erasers.append(erase_worker)
