"""The platform's area `take`: human tests online; nobody sees both halves of a twin."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and what it registers to tidy up and erase data."""

    name = "winosmith.web.take"

    def ready(self) -> None:
        """Register the functions for people who took tests."""
        from winosmith.web.judge import turns
        from winosmith.web.people import news, privacy
        from winosmith.web.take import sheets

        privacy.telling["tests"] = (sheets.tests_of, "take.Subject")
        privacy.tidying["take"] = sheets.forget_times
        privacy.erasing.append(sheets.forget_subject)
        turns.test_checks.append(sheets.in_a_test)
        news.news_sources.append(sheets.test_news)
        news.work_sources.append(sheets.test_work)
