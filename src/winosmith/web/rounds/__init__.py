"""Rounds of the benchmark on the site: carried out, published, told to contributors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from winosmith.web.jobs import Job, Progress
    from winosmith.web.people.models import Person


class Config(AppConfig):
    """Names the application, and joins what tidies up, what erases and what the worker does."""

    name = "winosmith.web.rounds"

    def ready(self) -> None:
        """Connect what the site does with texts of people who were erased."""
        from winosmith.web.jobs import ROUND, lost, works
        from winosmith.web.people.privacy import erasing, tidying

        works[ROUND], lost[ROUND] = _carry_out, _lose
        erasing.append(_forget_texts)
        tidying["rounds"] = lambda _now, _before: _forget_what_is_left()


def _carry_out(job: Job, _: Progress) -> None:
    from winosmith.web.rounds.running import carry_out

    carry_out(job)


def _lose(job: Job) -> None:
    from winosmith.web.rounds.running import lose

    lose(job)


def _forget_texts(person: Person, texts: bool) -> None:
    # What it stands next to loads `winosmith.rounds`: no command waits for that to set a site up.
    from winosmith.web.rounds.results import forget_texts

    forget_texts(person, texts)


def _forget_what_is_left() -> int:
    from winosmith.web.rounds.results import forget_what_is_left

    return forget_what_is_left()
