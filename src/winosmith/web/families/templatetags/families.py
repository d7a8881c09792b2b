"""Versions on a page: their depths, what models make of them, and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from winosmith.web.families.page import DEPTH_NAMES, Verdict
from winosmith.web.pages import fixed

register = template.Library()


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
