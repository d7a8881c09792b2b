"""How models stand: which can't answer now, and why."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.web.predict.models import Model

__all__ = ["down"]

SILENT = timedelta(seconds=60)
"""After so long without a sign of life a model's process counts as gone."""


def down(model: Model) -> str:
    """Return why a model can't answer at the moment, for people; "" while it can."""
    if model.fault:
        return model.fault
    if model.seen is None or timezone.now() - model.seen > SILENT:
        return _("it does not run at the moment")
    return ""
