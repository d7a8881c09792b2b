"""XML files. External files are not fetched, and declared entities are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from winosmith.data._source import Place, Row, Source

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")


def iterate_elements(source: Source, tag: str) -> Iterator[Row[Element]]:
    """Yield the elements with a tag, followed by a bad row if the XML is malformed.

    A document type is skipped without being fetched, and declared entities are refused. According
    to XML's rules, nothing after an error can be read.
    """
    builder = _LocatingBuilder(tag)
    parser = DefusedXMLParser(target=builder, forbid_dtd=False)
    builder.position = parser.parser
    # The text is already decoded, so the parser must not see the declared encoding.
    text = _DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), source.text, count=1)
    reason, line = None, 1
    try:
        parser.feed(text)
        parser.close()
    except ParseError as error:
        line = error.position[0]
        reason = f"the XML is not well-formed, and nothing after it can be read: {error}"
    except DefusedXmlException as error:
        line = parser.parser.CurrentLineNumber
        reason = f"the XML declares entities, which are not allowed: {type(error).__name__}"
    for first, last, element in builder.found:
        yield Row(*_locate_lines(source, first, last), element)
    if reason:
        yield Row(*_locate_lines(source, line, line), None, reason)


def _locate_lines(source: Source, first: int, last: int) -> tuple[Place, str]:
    starts = source.starts
    first = min(first, len(starts))  # expat counts a lone carriage return, too
    start = starts[first - 1]
    raw = source.text[start : starts[last] - 1 if last < len(starts) else None]
    return Place(str(source.path), first, "line", start, start + len(raw)), raw


class _LocatingBuilder(TreeBuilder):
    def __init__(self, tag: str):
        super().__init__()
        self.record = tag
        self.position: Any = None
        self.found: list[tuple[int, int, Element]] = []
        self._started = 0

    def start(self, tag: str, attrs: Mapping[str, str], /) -> Element:
        if tag == self.record:
            self._started = self.position.CurrentLineNumber
        return super().start(tag, dict(attrs))

    def end(self, tag: str, /) -> Element:
        element = super().end(tag)
        if tag == self.record:
            self.found.append((self._started, self.position.CurrentLineNumber, element))
        return element
