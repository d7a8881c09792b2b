"""Which models can't answer now, and why."""

from __future__ import annotations

from winosmith.web.predict.models import Model
from winosmith.web.predict.register import state_of

__all__ = ["down"]


def down(model: Model) -> str:
    """Return why a model can't answer at the moment, a sentence for people; "" while it can."""
    alive, why = state_of(model)
    return "" if alive else why
