"""Judging: several people judge each problem."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.judge"

    def ready(self) -> None:
        from winosmith.web.jobs import HOUR, ORIGINS, register_periodic_task
        from winosmith.web.judge import submissions, trust, turns, votes
        from winosmith.web.people import accounts, news, privacy

        privacy.exporters["problems"] = (submissions.export_problems, "problems.Twin")
        privacy.reference_names["problem"] = ("problem__twin", submissions.get_visible_ref)
        privacy.text_withdrawers.append(submissions.withdraw_texts)
        privacy.erasers.append(submissions.erase_judge)
        privacy.cleaners["timings"] = lambda _now, before: votes.delete_timings(before)
        accounts.adopters.append(submissions.move_texts_to_account)
        news.news_sources.append(turns.iter_judging_news)
        news.work_sources.append(turns.iter_pending_work)
        register_periodic_task(ORIGINS, HOUR, trust.delete_origins)
