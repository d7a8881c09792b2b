"""Texts that would control a terminal, and a function that finds control characters in output."""

import unicodedata

BIDI_CONTROL = {*"\u061c\u200e\u200f", *map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))}
"""Unicode's property Bidi_Control (UAX 9)."""

HOSTILE = {
    "csi": "a\x1b[31mb",
    "osc": "a\x1b]0;title\x07b",
    "c1": "a\x9b31mb\x85\x90",
    "back": "a\rb\x08\x7f",
    "bidi": "a\u202eb\u2066c\u200f",
    "lines": "a\u2028b\u2029c",
}
"""Texts that move the cursor, set the title, or hide or reverse other text, by their effect."""


def controls(text: str) -> list[str]:
    """Return the characters that control the display of text, except tab and newline."""
    return [
        one
        for one in text
        if (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") and one not in "\t\n")
        or one in BIDI_CONTROL
    ]
