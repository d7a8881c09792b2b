"""Predict: models that read what people wrote, in processes of their own."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what erases and what the worker does."""

    name = "winosmith.web.predict"

    def ready(self) -> None:
        """Forget what models made of texts that are erased; let the worker run the models."""
        from winosmith.web.jobs import watchers
        from winosmith.web.people.privacy import erasing
        from winosmith.web.predict.asking import forget_texts

        erasing.append(forget_texts)
        # Its module loads what solvers need.
        watchers.append(lambda: import_module("winosmith.web.predict.process").watch())
