"""Rounds of the benchmark on the site: carried out, published, told to contributors."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up, what erases and what the worker does."""

    name = "winosmith.web.rounds"

    def ready(self) -> None:
        """Connect what the worker does, and what becomes of texts of people who were erased."""
        from winosmith.web.jobs import ROUND, lost, stops, works
        from winosmith.web.people.privacy import erasing, tidying

        # Both load `winosmith.rounds`: no command waits for that to set a site up.
        running = partial(import_module, "winosmith.web.rounds.running")
        results = partial(import_module, "winosmith.web.rounds.results")
        works[ROUND] = lambda job, progress: running().carry_out(job, progress)
        lost[ROUND] = lambda job: running().lose(job)
        stops[ROUND] = lambda job: running().cancel(running().find_round(job))
        erasing.append(lambda person, texts: results().forget_texts(person, texts))
        tidying["rounds"] = lambda _now, _before: results().forget_what_is_left()
