"""Sentences on a page: the blank as a blank, what was searched for marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from winosmith.lineage import Change
from winosmith.problem import BLANK
from winosmith.web.problems.search import Term

register = template.Library()

_BLANK = format_html('<span class="blank">{}</span>', BLANK)


@register.simple_tag
def sentence(text: str, terms: Iterable[Term] = ()) -> SafeString:
    """Return a sentence as HTML, everything in it escaped: its blank, and the words found."""
    wanted = [r"[\W_]+".join(map(re.escape, term.words)) for term in terms or () if term.wanted]
    found = re.compile(rf"(?<![^\W_])(?:{'|'.join(wanted)})(?![^\W_])", re.I) if wanted else None
    pieces = [_marked(piece, found) for piece in text.split(BLANK)]
    return mark_safe(_BLANK.join(pieces))  # noqa: S308 - all escaped


def _marked(text: str, found: re.Pattern[str] | None) -> SafeString:
    if found is None:
        return format_html("{}", text)
    parts, at = [], 0
    for match in found.finditer(text):
        parts.append(format_html("{}<mark>{}</mark>", text[at : match.start()], match[0]))
        at = match.end()
    return mark_safe("".join([*parts, format_html("{}", text[at:])]))  # noqa: S308 - all escaped


@register.filter
def edited(pieces: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML: what was taken out and put in, for the eye and for the ear."""
    spoken = {"del": _("[taken out:"), "ins": _("[put in:")}
    return mark_safe("".join(_piece(text, kind, spoken) for text, kind in pieces))  # noqa: S308


@register.filter
def marked(pieces: Iterable[Change]) -> SafeString:
    """Return a sentence as HTML: what another one does not hold is marked."""
    shown = ((_BLANK.join(map(escape, text.split(BLANK))), kind) for text, kind in pieces)
    return mark_safe("".join(f"<mark>{text}</mark>" if kind else text for text, kind in shown))  # noqa: S308


def _piece(text: str, kind: str, spoken: Mapping[str, str]) -> str:
    shown = _BLANK.join(escape(part) for part in text.split(BLANK))
    if not kind:
        return shown
    # What is said beside the words is in the page's language, and does not turn the sentence.
    said = f'<bdi class="hidden" lang="{get_language()}">{escape(spoken[kind])} </bdi>'
    return f'<{kind}>{said}{shown}<span class="hidden">]</span></{kind}>'


@register.filter
def cell(text: str) -> str:
    """Return a text for one cell of a Markdown table: nothing in it is markup."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", " ".join(str(text).split()))
