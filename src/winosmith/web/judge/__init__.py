"""The platform's area `judge`: k distinct people judge each problem."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """The application, and what it registers for accounts and privacy."""

    name = "winosmith.web.judge"

    def ready(self) -> None:
        """Register the functions that export, hide, adopt, erase and tidy up data of judging."""
        from winosmith.web.jobs import HOUR, ORIGINS, add_duty
        from winosmith.web.judge import submissions, trust, turns, votes
        from winosmith.web.people import accounts, news, privacy

        privacy.telling["problems"] = (submissions.problems_of, "problems.Twin")
        privacy.naming["problem"] = ("problem__twin", submissions.name_of)
        privacy.hiding.append(submissions.hide_texts)
        privacy.erasing.append(submissions.erase_judge)
        privacy.tidying["timings"] = lambda _now, before: votes.forget_timings(before)
        privacy.tidying["origins"] = lambda now, _before: trust.forget_origins(now)
        accounts.adopting.append(submissions.adopt_texts)
        news.news_sources.append(turns.judging_news)
        news.work_sources.append(turns.judging_work)
        add_duty(ORIGINS, HOUR, trust.forget_origins)
