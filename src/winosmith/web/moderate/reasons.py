"""Reasons that are kept in the site's language and read in the language of whoever looks.

Most reasons begin with one of the texts that an action offers. The log holds that text in the
site's language, so that it says the same whoever decided; a reader gets it in their own. What
somebody added in words of their own stays as it is.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext

from winosmith.web.moderate.actions import ACTIONS
from winosmith.web.people.erasure import HIDDEN

__all__ = ["in_the_log", "told"]


def in_the_log(text: Any) -> str:
    """Return a text that is looked up later as the log keeps it: in the site's language."""
    with translation.override(settings.LANGUAGE_CODE):
        return str(text)


def told(reason: str) -> str:
    """Return a kept reason in the language of the page, as far as the site knows its words."""
    if translation.get_language() == settings.LANGUAGE_CODE:
        return reason
    for known in _known():
        if reason == known or reason.startswith(f"{known} "):
            return gettext(known) + reason[len(known) :]
    return reason


def _known() -> tuple[str, ...]:
    """Return the texts that the site itself puts into reasons, as the log keeps them."""
    offered = tuple(in_the_log(reason) for action in ACTIONS.values() for reason in action.reasons)
    return (*offered, HIDDEN)
