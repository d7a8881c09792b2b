"""Reasons out of the log on a page."""

from __future__ import annotations

from django import template

from winosmith.web.moderate import actions

register = template.Library()


@register.filter
def told(reason: str) -> str:
    """Return a reason in the language of the page; see `moderate.actions`."""
    return actions.told(reason)
