"""The Django application `write`."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.write"
    label = "write"

    def ready(self) -> None:
        """Connect what the site does with drafts."""
        from winosmith.web.people.erasure import erasing, tidying
        from winosmith.web.write.drafts import drop_drafts, drop_old_drafts

        tidying.connect(drop_old_drafts, dispatch_uid="write.drafts")
        erasing.connect(drop_drafts, dispatch_uid="write.drafts")
