"""Predict: models that read what people wrote, in processes of their own."""

from __future__ import annotations

from django.apps import AppConfig


class Config(AppConfig):
    """Names the application, and joins what erases."""

    name = "winosmith.web.predict"

    def ready(self) -> None:
        """Forget what models made of texts that are erased."""
        from winosmith.web.people.privacy import erasing
        from winosmith.web.predict.asking import forget_texts

        erasing.append(forget_texts)
