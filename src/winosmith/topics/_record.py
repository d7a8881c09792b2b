"""Topics as records ({"title", "text", "domain"}) and as plain texts, made safe to show."""

from __future__ import annotations

import re
from typing import Any

from winosmith.errors import InputError
from winosmith.topics._topic import Topic

__all__ = ["topic_of_record", "topic_of_text"]

MOST_TITLE, MOST_TEXT, MOST_DOMAIN = 200, 20_000, 40
"""Characters; longer titles and texts are cut, for a writer reads a page and no book."""

_KEYS = ("title", "text", "domain")


def topic_of_record(record: Any, source: str) -> Topic:
    """Return the topic of a JSON object with a title, a text and, if it likes, a domain.

    Other keys are left alone: articles come with dates and addresses.

    Raises:
        InputError: it is no object, or a value is missing or no text.
    """
    if not isinstance(record, dict):
        raise InputError(f"a topic is an object with a title and a text, not {record!r:.60}")
    for key in _KEYS:
        value = record.get(key)
        if not isinstance(value, str) and not (key == "domain" and value is None):
            raise InputError(f"the topic's {key!r} must be text, not {value!r:.60}")
    domain = _line(record.get("domain") or "")[:MOST_DOMAIN]
    return _topic(record["title"], record["text"], domain or None, source)


def topic_of_text(text: str, source: str, title: str = "") -> Topic:
    """Return the topic of a plain text; its first line is the title where that is a heading.

    A heading is marked as in Markdown ("# How to fold a map"), or is a line by itself with an
    empty line below. Without one the title that is given stands.

    Raises:
        InputError: nothing is in the text.
    """
    head, _, rest = text.lstrip("\ufeff \n\r\t").partition("\n")
    marked = re.fullmatch(r"#{1,6}\s+(.+?)\s*#*\s*", head)
    alone = rest.strip() and not rest.split("\n", 1)[0].strip()
    if marked:
        return _topic(marked[1], rest, None, source)
    if alone and len(head) <= MOST_TITLE:
        return _topic(head, rest, None, source)
    return _topic(title or head, text, None, source)


def _topic(title: str, text: str, domain: str | None, source: str) -> Topic:
    title, text = _line(title), _paragraphs(text)
    if not title or not text:
        raise InputError(f"the topic {title!r} has no {'text' if title else 'title'}")
    return Topic(_cut(title, MOST_TITLE), _cut(text, MOST_TEXT), (), domain, source)


def _line(text: str) -> str:
    """Return the text on one line, without what can't be seen or stored."""
    return " ".join(_visible(text).split())


def _paragraphs(text: str) -> str:
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", _visible(text)).strip()


def _visible(text: str) -> str:
    """Return the text without control characters and halves of characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "ignore").decode()
    return "".join(letter for letter in text if letter in "\n\t" or letter.isprintable())


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(maxsplit=1)[0] + "…"
