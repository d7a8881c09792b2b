"""Families on a page: depths of versions, what models make of them, and figures of stability."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from winosmith.web.families.page import DEPTH_NAMES, Verdict
from winosmith.web.pages import fixed, percent

register = template.Library()

Ends = Sequence[float] | None


@register.filter
def verdicts(found: Sequence[Verdict], named: bool) -> SafeString:
    """Return what models make of a version as HTML; each by its name where there are several.

    In one piece, as `depths` is: a page has hundreds of both, and a template takes ten times as
    long for them.
    """
    return mark_safe("".join(_verdict(one, named) for one in found))  # noqa: S308 - all escaped


def _verdict(one: Verdict, named: bool) -> str:
    name = f"{escape(one.model)}: " if named else ""
    return (
        f'<span class="verdict {one.kind}">{name}<span aria-hidden="true">{one.sign} </span>'
        f"{escape(one.words)}</span>"
    )


@register.filter
def depths(found: Iterable[tuple[Any, int | None]]) -> SafeString:
    """Return the depths of a version as HTML, each by its name."""
    told = (f"{escape(name)} {'–' if depth is None else depth}" for name, depth in found)
    return mark_safe(" · ".join(told))  # noqa: S308 - all escaped


@register.simple_tag
def depth_name(kind: str) -> Any:
    """Return the name of a way of counting depths."""
    return DEPTH_NAMES[kind]


@register.simple_tag
def number(value: float | None, digits: int = 2) -> str:
    """Return a figure; a dash for none."""
    return "–" if value is None else fixed(value, digits)


@register.filter
def points(value: float) -> Any:
    """Return a count in which a tie is a part of one: decimals only where it is not whole."""
    if isinstance(value, int):
        return value
    return fixed(value, 1 if value == round(value, 1) else 2)


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
