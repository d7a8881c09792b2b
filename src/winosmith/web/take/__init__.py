"""Human tests online, in which nobody sees both halves of a twin."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.take"

    def ready(self) -> None:
        from winosmith.web.jobs import TEST_CLOSE, runners
        from winosmith.web.judge import turns
        from winosmith.web.people import news, privacy
        from winosmith.web.take import rounds, sheets

        runners[TEST_CLOSE] = rounds.run_results_job
        privacy.exporters["tests"] = (sheets.export_tests, "take.Subject")
        privacy.cleaners["take"] = sheets.delete_old_times
        privacy.erasers.append(sheets.erase_subject)
        turns.test_checks.append(sheets.is_taking_test)
        news.news_sources.append(sheets.iter_test_news)
        news.work_sources.append(sheets.iter_test_reminders)
