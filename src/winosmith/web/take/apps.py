"""The Django application `take`."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what tidies up and what erases."""

    name = "winosmith.web.take"
    label = "take"

    def ready(self) -> None:
        """Connect what the site does with people who took tests."""
        from winosmith.web.people.erasure import erasing, tidying
        from winosmith.web.take.subjects import forget_subject, forget_times

        tidying.connect(forget_times, dispatch_uid="take.times")
        erasing.connect(forget_subject, dispatch_uid="take.subjects")
