"""The platform's area `judge`: k distinct people judge each problem."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and answers for what people wrote and judged."""

    name = "winosmith.web.judge"

    def ready(self) -> None:
        """Join what tells, hides, adopts, erases and tidies up."""
        from winosmith.web._background import hourly
        from winosmith.web.judge import history, submissions
        from winosmith.web.judge.trust import forget_origins
        from winosmith.web.judge.votes import forget_timings
        from winosmith.web.people import accounts, erasure, news

        erasure.telling["problems"] = erasure.Telling(submissions.problems_of, "problems.Twin")
        erasure.naming["problem"] = erasure.Naming("problem__twin", submissions.name_of)
        erasure.hiding.append(submissions.hide_texts)
        erasure.erasing.append(submissions.erase_judge)
        erasure.tidying["timings"] = lambda _now, before: forget_timings(before)
        erasure.tidying["origins"] = lambda now, _before: forget_origins(now)
        accounts.adopting.append(submissions.adopt_texts)
        news.happenings.append(history.heard)
        news.works.append(history.waiting)
        hourly.append(forget_origins)
