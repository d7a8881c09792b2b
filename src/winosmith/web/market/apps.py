"""The Django application `market`."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.market"
    label = "market"

    def ready(self) -> None:
        """Connect what the site does with ids that are old, and with workers who are erased."""
        from winosmith.web.market.workers import forget_ids, forget_worker
        from winosmith.web.people.erasure import erasing, tidying

        tidying.connect(forget_ids, dispatch_uid="market.ids")
        erasing.connect(forget_worker, dispatch_uid="market.workers")
