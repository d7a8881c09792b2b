"""Judging: several different people judge each problem."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The Django application; registers its functions for accounts and privacy."""

    name = "winosmith.web.judge"

    def ready(self) -> None:
        """Register the functions that export, hide, adopt, erase and clean up judging data."""
        from winosmith.web.jobs import HOUR, ORIGINS, add_duty
        from winosmith.web.judge import submissions, trust, turns, votes
        from winosmith.web.people import accounts, news, privacy

        privacy.exporters["problems"] = (submissions.export_problems, "problems.Twin")
        privacy.reference_names["problem"] = ("problem__twin", submissions.visible_ref)
        privacy.hiders.append(submissions.hide_texts)
        privacy.erasers.append(submissions.erase_judge)
        privacy.cleaners["timings"] = lambda _now, before: votes.delete_timings(before)
        privacy.cleaners["origins"] = lambda now, _before: trust.delete_origins(now)
        accounts.adopters.append(submissions.adopt_texts)
        news.news_sources.append(turns.judging_news)
        news.work_sources.append(turns.judging_work)
        add_duty(ORIGINS, HOUR, trust.delete_origins)
