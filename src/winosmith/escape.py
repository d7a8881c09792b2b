r"""Escape text from data: one function for each kind of output.

Data sets are untrusted. Column names, file names, ids and sentences may contain sequences that move
a terminal's cursor, set its title or enter commands (ECMA-48), characters that reverse the order of
displayed text (Boucher and Anderson 2021, "Trojan Source"), and markup. Each function below makes
text harmless for one kind of output, and is called when the output is written.

`winosmith.outputs.guard_cell` does the same for the cells of tables that spreadsheets open.
"""

from __future__ import annotations

import re

__all__ = [
    "for_csv",
    "for_github",
    "for_json",
    "for_markdown",
    "for_page",
    "for_sarif",
    "for_terminal",
    "markdown_block",
    "markdown_code",
    "one_line",
]

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""The characters of Unicode's property Bidi_Control (UAX 9)."""

_NEVER = f"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f{_BIDI}\u2028\u2029\ud800-\udfff\ufffe\uffff"
"""Control characters of C0 and C1 except tab, newline and carriage return; what displays other
text in another order; line ends other than the newline; and what UTF-8 or XML can't contain."""

_CONTROL = re.compile(f"[{_NEVER}\r]")
_ON_A_PAGE = re.compile(f"[{_NEVER}]")


def _code(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def for_terminal(text: object) -> str:
    r"""Return the text with control characters escaped as in Python, except tabs and newlines.

    >>> for_terminal("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    return _CONTROL.sub(_code, str(text))


def for_page(text: object) -> str:
    r"""Return the text with each control character replaced by U+FFFD.

    HTML and SVG have no notation for most of them. The templates escape what is markup there.

    >>> for_page("a\x00b")
    'a�b'
    """
    return _ON_A_PAGE.sub("�", str(text))


def for_json(document: str) -> str:
    r"""Return a JSON document with control characters in its strings as `\uXXXX`.

    The result is the same document, and also valid YAML. All of these characters are below U+10000,
    and occur only inside strings.

    >>> for_json('{"a": "\x9b"}')
    '{"a": "\\u009b"}'
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def for_csv(cell: str) -> str:
    r"""Return the text as one line without control characters that no spreadsheet executes.

    >>> for_csv("=1+1"), for_csv("a\x1b\nb")
    ("'=1+1", 'a\\x1b b')
    """
    from winosmith.outputs import guard_cell

    return guard_cell(one_line(cell))


def for_github(text: object, *, is_property: bool = False) -> str:
    r"""Return the text for a workflow command of GitHub, in which it can't start another command.

    >>> for_github("100 %\n::error::x"), for_github("a:b,c", is_property=True)
    ('100 %25%0A::error::x', 'a%3Ab%2Cc')
    """
    line = for_terminal(str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))
    return line.replace(":", "%3A").replace(",", "%2C") if is_property else line


def for_sarif(text: object) -> str:
    r"""Return the text as a message of SARIF, in which nothing is a link or a placeholder.

    >>> print(for_sarif("[x](y) {0}"))
    \[x\](y) {{0}}
    """
    line = re.sub(r"[\\\[\]]", lambda found: "\\" + found[0], for_terminal(text))
    return line.replace("{", "{{").replace("}", "}}")


_MARKUP = re.compile(r"[\\`*\[\]<>|$]|(?<!/)~|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_AT_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[#+=-]))")
"""What makes a line a heading, a list or a rule: digits only before ". " ("19.3" is a number)."""


def for_markdown(text: object) -> str:
    r"""Return the text as one line of Markdown with all markup and HTML escaped.

    >>> print(for_markdown("a|b <script>\n# [x](y)"))
    a\|b \<script\> # \[x\](y)
    """
    line = _MARKUP.sub(lambda found: "\\" + found[0], one_line(text))
    return _AT_START.sub(r"\1\\", line)


def markdown_code(text: object) -> str:
    r"""Return the text as a Markdown code span; it may contain backticks.

    >>> print(markdown_code("a1"), markdown_code("a`b"))
    `a1` `` a`b ``
    """
    line = one_line(text)
    ticks = max(map(len, re.findall("`+", line)), default=0)
    fence, space = "`" * (ticks + 1), " " if ticks else ""
    return f"{fence}{space}{line}{space}{fence}"


def markdown_block(text: str) -> str:
    r"""Return Markdown by the release's author without control characters; markup is kept.

    >>> markdown_block("See *this*\x9b.")
    'See *this*\\x9b.'
    """
    return for_terminal(text.replace("\r\n", "\n"))


def one_line(text: object) -> str:
    r"""Return the text as one line without control characters, for comments in files.

    >>> one_line("a\n\x1bb")
    'a \\x1bb'
    """
    return for_terminal(" ".join(str(text).split()))
