"""Crowd markets: paid studies by link, what their workers did, and what they were paid."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.market"

    def ready(self) -> None:
        """Connect what the site does with ids that are old, and with workers who are erased."""
        from winosmith.web.market.workers import forget_ids, forget_worker, studies_of
        from winosmith.web.people.privacy import erasing, telling, tidying

        telling["studies"] = (studies_of, "market.Participation")
        tidying["market"] = forget_ids
        erasing.append(forget_worker)
