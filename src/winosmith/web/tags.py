"""Template tags of Django's whose text hangs on nothing but the language: put together once.

A page has dozens of them; a translated text, an address without arguments or the name of a static
file each cost ten times what a plain text does. The site's settings put this library in the place
of Django's `i18n` and `static`, and beside its built-in tags, so that templates are written as
ever. `{% kept NAMES… %}` keeps a whole stretch of a template, once for the values of the names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from django.template import Library, Node, NodeList, defaulttags
from django.template.base import FilterExpression, Parser, Token, TokenType
from django.template.context import Context
from django.templatetags import i18n, static
from django.urls import get_script_prefix, get_urlconf
from django.utils.translation import get_language

__all__ = ["register"]

STRETCHES = 500
"""Texts that a stretch of a template is kept in, at most: one for each set of values."""

register = Library()
register.tags.update({**i18n.register.tags, **static.register.tags})
register.filters.update(i18n.register.filters)


class Kept(Node):
    """A node whose text is the same at each place.

    Args:
        node: renders the text.
        place: returns what the text hangs on.
        name: under which the text goes into the context, instead of the page.
    """

    child_nodelists = ()

    def __init__(self, node: Node, place: Callable[[], Hashable], name: str | None = None):
        self.node, self.place, self.name = node, place, name
        self.texts: dict[Hashable, str] = {}

    def render(self, context: Context) -> str:
        """Return the text, put together at the first time."""
        place = self.place()
        text = self.texts.get(place)
        if text is None:
            text = str(self.node.render(context))
            text = self.texts[place] = text if self.name is None else context[self.name]
        if self.name is None:
            return text
        context[self.name] = text
        return ""


class Stretch(Node):
    """What stands between `{% kept … %}` and `{% endkept %}`."""

    def __init__(self, inner: NodeList, names: list[FilterExpression]):
        self.nodelist, self.names = inner, names
        self.texts = lru_cache(STRETCHES)(lambda *key: [])

    def render(self, context: Context) -> str:
        """Return the text for what the names stand for now."""
        values = (name.resolve(context) for name in self.names)
        kept = self.texts(get_language(), *values)
        if not kept:
            kept.append(self.nodelist.render(context))
        return str(kept[0])


def _address() -> Hashable:
    return get_urlconf(), get_script_prefix()


def _nowhere() -> Hashable:
    return None


def _is_text(value: FilterExpression) -> bool:
    """Tell whether an argument of a tag is a text in quotes."""
    literal = isinstance(value.var, str) or getattr(value.var, "literal", None) is not None
    return literal and not value.filters


@register.tag("translate")
@register.tag("trans")
def translate(parser: Parser, token: Token) -> Node:
    """Return Django's tag, or its text kept where it has no variable."""
    node = i18n.do_translate(parser, token)
    free = _is_text(node.filter_expression) and not node.message_context and not node.asvar
    return Kept(node, get_language) if free else node


@register.tag("blocktranslate")
@register.tag("blocktrans")
def blocktranslate(parser: Parser, token: Token) -> Node:
    """Return Django's tag, or its text kept where it has no variable."""
    node = i18n.do_block_translate(parser, token)
    told = node.extra_context or node.countervar or node.message_context or node.asvar
    free = not told and all(part.token_type == TokenType.TEXT for part in node.singular)
    return Kept(node, get_language) if free else node


@register.tag
def url(parser: Parser, token: Token) -> Node:
    """Return Django's tag, or its address kept where it has no arguments."""
    node = defaulttags.url(parser, token)
    free = _is_text(node.view_name) and not node.args and not node.kwargs
    return Kept(node, _address, node.asvar) if free else node


@register.tag("static")
def static_file(parser: Parser, token: Token) -> Node:
    """Return Django's tag, or the address of its file kept."""
    node = static.do_static(parser, token)
    free = _is_text(node.path) and node.varname is None
    return Kept(node, _nowhere) if free else node


@register.tag
def kept(parser: Parser, token: Token) -> Node:
    """Keep what stands between `{% kept NAMES… %}` and `{% endkept %}`, once for their values.

    It must hang on nothing else, but for the language.
    """
    names: list[Any] = [parser.compile_filter(bit) for bit in token.split_contents()[1:]]
    inner = parser.parse(("endkept",))
    parser.delete_first_token()
    return Stretch(inner, names)
