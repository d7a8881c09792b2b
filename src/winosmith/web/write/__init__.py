"""Writing: topics, twins, live checks, and drafts."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.write"

    def ready(self) -> None:
        from winosmith.web.people import accounts, news, privacy
        from winosmith.web.write import page, rules

        privacy.cleaners["write"] = rules.delete_old_drafts
        privacy.erasers.append(rules.delete_drafts)
        accounts.adopters.append(rules.transfer_drafts)
        news.news_sources.append(page.iter_submission_news)
        news.work_sources.append(page.iter_draft_reminders)
