"""The platform's area `write`: a topic, a twin, live checks, drafts."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and what it registers to tidy up and erase data."""

    name = "winosmith.web.write"

    def ready(self) -> None:
        """Register the functions for drafts."""
        from winosmith.web.people import accounts, news, privacy
        from winosmith.web.write import page, rules

        privacy.tidying["write"] = rules.drop_old_drafts
        privacy.erasing.append(rules.drop_drafts)
        accounts.adopting.append(rules.adopt_drafts)
        news.news_sources.append(page.submission_news)
        news.work_sources.append(page.draft_work)
