r"""Escape text from untrusted data sets, with one function for each kind of output.

Column names, file names, ids and sentences may contain markup, escape sequences that control a
terminal (ECMA-48), and characters that reverse the order of displayed text (Boucher and Anderson
2021, "Trojan Source"). Each function makes text harmless for one kind of output, and is called when
that output is written.

`winosmith.outputs.guard_cell` escapes cells of tables that spreadsheets open.
"""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters of Unicode's property Bidi_Control (UAX 9)."""

_UNSAFE = f"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ud800-\udfff\ufffe\uffff"
"""Control characters (C0 and C1) except tab, newline and carriage return; characters that reorder
displayed text; Unicode's line separators; and characters that UTF-8 or XML can't contain."""

_CONTROL = re.compile(f"[{_UNSAFE}\r]")
_UNSAFE_ON_PAGE = re.compile(f"[{_UNSAFE}]")


def escape_terminal(text: object) -> str:
    r"""Return the text with control characters escaped as in Python, except tabs and newlines.

    >>> escape_terminal("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], str(text))


def escape_page(text: object) -> str:
    r"""Return the text with each control character replaced by U+FFFD.

    HTML and SVG can't represent most control characters. The templates escape the markup.

    >>> escape_page("a\x00b")
    'a�b'
    """
    return _UNSAFE_ON_PAGE.sub("�", str(text))


def escape_json(document: str) -> str:
    r"""Return a JSON document with the control characters in its strings written as `\uXXXX`.

    The document is equivalent, and also valid YAML. All of these characters are below U+10000 and
    occur only inside strings.

    >>> escape_json('{"a": "\x9b"}')
    '{"a": "\\u009b"}'
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def escape_csv(cell: str) -> str:
    r"""Return the text as a single-line CSV cell that spreadsheets do not run as a formula.

    >>> escape_csv("=1+1"), escape_csv("a\x1b\nb")
    ("'=1+1", 'a\\x1b b')
    """
    from winosmith.outputs import guard_cell

    return guard_cell(escape_line(cell))


def escape_github(text: object, *, is_property: bool = False) -> str:
    r"""Return the text escaped for a GitHub workflow command.

    >>> escape_github("100 %\n::error::x"), escape_github("a:b,c", is_property=True)
    ('100 %25%0A::error::x', 'a%3Ab%2Cc')
    """
    line = escape_terminal(str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return line.replace(":", "%3A").replace(",", "%2C") if is_property else line


def escape_sarif(text: object) -> str:
    r"""Return the text as a SARIF message without links or placeholders.

    >>> print(escape_sarif("[x](y) {0}"))
    \[x\](y) {{0}}
    """
    line = re.sub(r"[\\\[\]]", lambda found: "\\" + found[0], escape_terminal(text))
    return line.replace("{", "{{").replace("}", "}}")


_MARKUP = re.compile(r"[\\`*\[\]<>|$]|(?<!/)~|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_LINE_START_MARKUP = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[#+=-]))")
"""The start of a heading, list or rule. Digits start a list only before "." or ")" and a space, so
that "19.3" is a number."""


def escape_markdown(text: object) -> str:
    r"""Return the text as one line of Markdown with all markup and HTML escaped.

    >>> print(escape_markdown("a|b <script>\n# [x](y)"))
    a\|b \<script\> # \[x\](y)
    """
    line = _MARKUP.sub(lambda found: "\\" + found[0], escape_line(text))
    return _LINE_START_MARKUP.sub(r"\1\\", line)


def escape_markdown_code(text: object) -> str:
    r"""Return the text, which may contain backticks, as a Markdown code span.

    >>> print(escape_markdown_code("a1"), escape_markdown_code("a`b"))
    `a1` `` a`b ``
    """
    line = escape_line(text)
    ticks = max(map(len, re.findall("`+", line)), default=0)
    fence, space = "`" * (ticks + 1), " " if ticks else ""
    return f"{fence}{space}{line}{space}{fence}"


def escape_markdown_block(text: str) -> str:
    r"""Return a release author's Markdown with control characters escaped but markup unchanged.

    >>> escape_markdown_block("See *this*\x9b.")
    'See *this*\\x9b.'
    """
    return escape_terminal(text.replace("\r\n", "\n"))


def escape_line(text: object) -> str:
    r"""Return the text as one line without control characters, for comments in files.

    >>> escape_line("a\n\x1bb")
    'a \\x1bb'
    """
    return escape_terminal(" ".join(str(text).split()))
