"""Rounds of the benchmark on the site: started by an admin, published, told to contributors."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.rounds"

    def ready(self) -> None:
        """Connect what the site does with texts of people who were erased."""
        from winosmith.web.people.erasure import erasing, tidying
        from winosmith.web.rounds.results import forget_texts, forget_what_is_left

        erasing.append(forget_texts)
        tidying["rounds"] = lambda _now, _before: forget_what_is_left()
