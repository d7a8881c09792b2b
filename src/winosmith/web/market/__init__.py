"""Crowd markets: paid studies, their workers, and their pay."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and what it registers to tidy up and erase data."""

    name = "winosmith.web.market"

    def ready(self) -> None:
        """Register the functions that delete old ids and erase workers."""
        from winosmith.web.market.workers import forget_ids, forget_worker, studies_of
        from winosmith.web.people.privacy import erasing, telling, tidying

        telling["studies"] = (studies_of, "market.Participation")
        tidying["market"] = forget_ids
        erasing.append(forget_worker)
