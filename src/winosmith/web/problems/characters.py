"""Characters that deceive: those that can't be seen, and foreign ones that look Latin."""

from __future__ import annotations

import unicodedata

__all__ = ["foreign_lookalikes", "invisible", "seen"]

_LOOK_LATIN = str.maketrans(
    # Cyrillic, then Greek: the letters whose shapes are those of Latin ones.
    "асԁеһіјӏорԛѕԝхуАВЕЅІЈКМНОРСТУХ" + "ονυρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "acdehijlopqswxyABESIJKMHOPCTYX" + "ovupABEZHIKMNOPTYX",
)


def invisible(text: str) -> list[str]:
    """Return the names of the characters that can't be seen: zero-width, of direction, controls.

    >>> invisible("so\u200bft")
    ['ZERO WIDTH SPACE']
    """
    if text.isascii() and text.isprintable():
        return []
    found = (letter for letter in text if unicodedata.category(letter) in ("Cf", "Cc", "Co", "Cn"))
    return sorted({_name(letter) for letter in found if letter not in "\n\r\t"})


def foreign_lookalikes(text: str) -> list[str]:
    """Return the names of characters that look like Latin letters, in a text that is Latin.

    >>> foreign_lookalikes("a sаfe word")  # the second "а" is Cyrillic
    ['CYRILLIC SMALL LETTER A']
    """
    if text.isascii():
        return []
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter.isascii() for letter in letters) * 2 <= len(letters):
        return []  # written in another script, where they are at home
    return sorted({_name(letter) for letter in letters if _looks_latin(letter)})


def seen(text: str) -> str:
    """Return a text as a reader sees it: without what is invisible, in Latin letters, folded.

    >>> seen("ІDI\u00adOT")  # with a Cyrillic first letter and a soft hyphen
    'idiot'
    """
    plain = unicodedata.normalize("NFKC", text)
    shown = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    return shown.translate(_LOOK_LATIN).casefold()


def _looks_latin(letter: str) -> bool:
    if letter.isascii():
        return False
    if ord(letter) in _LOOK_LATIN:
        return True
    plain = unicodedata.normalize("NFKC", letter)  # full-width and mathematical letters
    return plain != letter and plain.isascii() and len(plain) == 1


def _name(letter: str) -> str:
    return unicodedata.name(letter, f"U+{ord(letter):04X}")
