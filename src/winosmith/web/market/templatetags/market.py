"""How far a worker is, above every page that they see."""

from __future__ import annotations

from typing import Any

from django import template

from winosmith.web.market.models import WORKING
from winosmith.web.market.workers import count_done, part_of

register = template.Library()


@register.simple_tag
def study_progress(user: Any) -> dict[str, Any] | None:
    """Return how much of a worker's study is stored; None once it is over."""
    part = part_of(user)
    if part is None or part.state != WORKING:
        return None
    done, amount = count_done(part), part.study.amount
    return {"done": min(done, amount), "amount": amount, "complete": done >= amount}
