"""The platform's area `write`: a topic, a twin, live checks, drafts."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.write"

    def ready(self) -> None:
        """Connect what the site does with drafts."""
        from winosmith.web.people.accounts import adopting
        from winosmith.web.people.erasure import erasing, tidying
        from winosmith.web.people.news import happenings, works
        from winosmith.web.write.page import heard, unsent
        from winosmith.web.write.rules import adopt_drafts, drop_drafts, drop_old_drafts

        tidying["write"] = drop_old_drafts
        erasing.append(drop_drafts)
        adopting.append(adopt_drafts)
        happenings.append(heard)
        works.append(unsent)
