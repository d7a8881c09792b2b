"""Rounds of the benchmark on the site: their execution, publication, and flags."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.rounds"

    def ready(self) -> None:
        from winosmith.web.jobs import ROUND, crash_hooks, runners, stop_hooks
        from winosmith.web.people.privacy import cleaners, erasers

        # Both load `winosmith.rounds`, which is slow, so they are imported only when needed.
        running = partial(import_module, "winosmith.web.rounds.running")
        results = partial(import_module, "winosmith.web.rounds.results")
        runners[ROUND] = lambda job, progress: running().run_job(job, progress)
        crash_hooks[ROUND] = lambda job: running().fail_lost_round(job)
        stop_hooks[ROUND] = lambda job: running().cancel_round(running().find_round(job))
        erasers.append(lambda person, texts: results().erase_texts(person, texts))
        cleaners["rounds"] = lambda _now, _before: results().erase_remaining_texts()
