"""XML, record by record, with the line of each; nothing outside the file is ever fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, indent, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from winosmith.errors import ProblemError
from winosmith.formats._base import Entry, Source

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Located(TreeBuilder):
    """Builds the tree, and notes the lines where each record starts and ends."""

    def __init__(self, record: str):
        super().__init__()
        self.record = record
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


def elements(source: Source, tag: str) -> Iterator[tuple[int, str, Element] | Entry]:
    """Yield line, text and element of each record, and an `Entry` where the XML breaks.

    A document type is passed over, not fetched; declared entities are refused. After a place
    that is not well-formed nothing more can be read, by the rules of XML.
    """
    builder = _Located(tag)
    parser = DefusedXMLParser(target=builder, forbid_dtd=False)
    builder.position = parser.parser
    # The text is decoded already: the encoding that it declares would be applied twice.
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
        reason = f"the XML declares entities, which are refused: {type(error).__name__}"
    for first, last, element in builder.found:
        yield first, source.slice(first, last), element
    if reason:
        yield Entry(line, source.slice(line, line), reason=reason)


def child_text(element: Element, path: str) -> str:
    """Return the text of one child, "" when the child is empty.

    Raises:
        ProblemError: there is no such child.
    """
    child = element.find(path)
    if child is None:
        raise ProblemError(f"the record has no <{path.split('/')[-1]}>")
    return "".join(child.itertext())


def legal(text: str) -> bool:
    r"""Tell whether XML 1.0 has a place for every character of a text.

    >>> legal("caf\u00e9"), legal("\x00")
    (True, False)
    """
    return not _ILLEGAL.search(text)


def write_tree(root: Element, file: IO[str], *prolog: str) -> None:
    """Write a tree, indented, after the XML declaration and further lines of the prolog."""
    indent(root)
    file.write("\n".join(['<?xml version="1.0" encoding="UTF-8"?>', *prolog, ""]))
    file.write(tostring(root, encoding="unicode") + "\n")
