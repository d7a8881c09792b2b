"""Take: human tests on line, of which nobody sees both halves of anything."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.take"

    def ready(self) -> None:
        """Connect what the site does with people who took tests."""
        from winosmith.web.judge.turns import tests
        from winosmith.web.people.erasure import Telling, erasing, telling, tidying
        from winosmith.web.people.news import happenings, works
        from winosmith.web.take.sheets import begun, offered
        from winosmith.web.take.subjects import forget_subject, forget_times, in_a_test, tests_of

        telling["tests"] = Telling(tests_of, "take.Subject")
        tidying["take"] = forget_times
        erasing.append(forget_subject)
        tests.append(in_a_test)
        happenings.append(offered)
        works.append(begun)
