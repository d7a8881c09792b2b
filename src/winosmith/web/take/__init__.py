"""Take: human tests on line, of which nobody sees both halves of anything."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.take"

    def ready(self) -> None:
        """Connect what the site does with people who took tests."""
        from winosmith.web.judge import turns
        from winosmith.web.people import news, privacy
        from winosmith.web.take import sheets

        privacy.telling["tests"] = (sheets.tests_of, "take.Subject")
        privacy.tidying["take"] = sheets.forget_times
        privacy.erasing.append(sheets.forget_subject)
        turns.test_checks.append(sheets.in_a_test)
        news.news_sources.append(sheets.test_news)
        news.work_sources.append(sheets.test_work)
