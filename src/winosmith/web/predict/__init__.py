"""Models that predict the answers of the site's problems, in separate processes."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class Config(AppConfig):
    name = "winosmith.web.predict"

    def ready(self) -> None:
        from winosmith.web.jobs import thread_functions
        from winosmith.web.people.privacy import erasers
        from winosmith.web.predict.asking import erase_predictions

        erasers.append(erase_predictions)
        # The module loads the libraries of solvers.
        thread_functions.append(
            lambda: import_module("winosmith.web.predict.process").manage_processes()
        )
