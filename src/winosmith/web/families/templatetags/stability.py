"""Figures of stability on a page, from the records of `winosmith.metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from winosmith.web.pages import fixed, percent

register = template.Library()

Ends = Sequence[float] | None


@register.simple_tag
def interval(ends: Ends) -> str:
    """Return an interval of depths; a dash for none."""
    return "–" if not ends else f"{fixed(ends[0], 2)}–{fixed(ends[1], 2)}"


@register.simple_tag
def share(value: float | str | None) -> str:
    """Return a share in percent; a dash for none."""
    return percent(value) if isinstance(value, int | float) else "–"


@register.simple_tag
def shares(ends: Ends | str) -> str:
    """Return an interval of shares in percent; a dash for none."""
    if not ends or isinstance(ends, str):
        return "–"
    return f"{fixed(100 * ends[0], 1)}–{fixed(100 * ends[1], 1)}"


@register.simple_tag
def p_value(value: float | None) -> str:
    """Return a probability; a dash for none."""
    return "–" if value is None else f"< {fixed(0.001, 3)}" if value < 0.001 else fixed(value, 3)


@register.simple_tag
def error_depths(stability: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the three error depths with their names."""
    of = stability["error_depth"]
    return [
        (_("errors"), of["mean"]),
        (_("families"), of["family_mean"]),
        (_("first errors"), of["first"]),
    ]


@register.simple_tag
def curve(survival: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a survival curve: depth, at risk, errors, censored, share."""
    columns = ("depths", "at_risk", "errors", "censored", "share")
    return list(zip(*(survival[name] for name in columns), strict=True))


@register.simple_tag
def drawn(markup: str) -> SafeString:
    """Return a drawing that this site made: text in it is escaped, and no style is inline."""
    return mark_safe(markup)  # noqa: S308 - made by `winosmith.report`, not by people
