"""Rounds of the benchmark on the site: their execution, publication, and flags."""

from __future__ import annotations

from types import ModuleType

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.rounds"

    def ready(self) -> None:
        from winosmith.web.jobs import ROUND, crash_hooks, runners, stop_hooks
        from winosmith.web.people.privacy import cleaners, erasers

        runners[ROUND] = lambda job, progress: _load_running().run_job(job, progress)
        crash_hooks[ROUND] = lambda job: _load_running().fail_lost_round(job)
        stop_hooks[ROUND] = lambda job: _load_running().cancel_round(
            _load_running().find_round(job)
        )
        erasers.append(lambda person, texts: _load_results().erase_texts(person, texts))
        cleaners["rounds"] = lambda _now, _before: _load_results().erase_remaining_texts()


# Both modules load `winosmith.rounds`, which is slow, so they are imported only when needed.
def _load_running() -> ModuleType:
    from winosmith.web.rounds import running

    return running


def _load_results() -> ModuleType:
    from winosmith.web.rounds import results

    return results
