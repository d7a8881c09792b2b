"""Versions on a page: their sentences with what was changed, and figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from winosmith.problem import BLANK
from winosmith.web.families.changes import Change
from winosmith.web.families.nodes import DEPTH_NAMES

__all__ = ["changed", "depth_name", "number", "register"]

register = template.Library()

_BLANK = format_html('<span class="blank">{}</span>', BLANK)
_TAGS = {"added": "ins", "removed": "del"}


@register.filter
def changed(runs: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML, everything in it escaped: what was put in, and what was lost."""
    return mark_safe("".join(map(_run, runs)))  # noqa: S308 - all escaped


def _run(run: Change) -> str:
    text = _BLANK if run.blank and run.mark != "removed" else escape(run.text)
    tag = _TAGS.get(run.mark)
    return f"<{tag}>{text}</{tag}>" if tag else text


@register.simple_tag
def depth_name(kind: str) -> Any:
    """Return the name of a way of counting depths."""
    return DEPTH_NAMES[kind]


@register.simple_tag
def number(value: float | None, digits: int = 2) -> str:
    """Return a figure; a dash for none."""
    return "–" if value is None else f"{value:.{digits}f}"
