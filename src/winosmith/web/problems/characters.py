"""Characters that deceive: those that can't be seen, and foreign ones that look Latin."""

from __future__ import annotations

import unicodedata

_ONE_SHAPE = str.maketrans("l10", "iio")
"""Signs of ASCII that many typefaces draw alike, after capitals are gone (UTS 39, table 1)."""


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


def look(name: str) -> str:
    """Return what names have in common that look alike, whatever their alphabets and capitals.

    Each letter stands for the Latin one that it is drawn like (Unicode Technical Standard 39,
    "Confusable Detection"); so do 0 for o, and 1 and l for i.

    >>> look("Раul1") == look("paull")  # the first two are Cyrillic
    True
    """
    shown = unicodedata.normalize("NFKC", name)
    folded = "".join(map(_latin, shown)).casefold()
    return "".join(map(_latin, folded)).translate(_ONE_SHAPE)


def seen(text: str) -> str:
    """Return a text as a reader sees it: without what is invisible, in Latin letters, folded.

    >>> seen("ІDI\u00adOT")  # with a Cyrillic first letter and a soft hyphen
    'idiot'
    """
    plain = unicodedata.normalize("NFKC", text)
    shown = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    return "".join(map(_latin, shown)).casefold()


def _looks_latin(letter: str) -> bool:
    at_home = _name(letter).startswith("LATIN ")  # the dotless i of Turkish names, say
    return not letter.isascii() and not at_home and _latin(letter) != letter


def _latin(letter: str) -> str:
    """Return the sign of ASCII that a letter is drawn like; itself where there is none."""
    if letter.isascii():
        return letter
    from confusable_homoglyphs.confusables import confusables_data

    found = (each["c"] for each in confusables_data.get(letter, ()))
    sign = next((sign for sign in found if sign.isascii()), letter)
    return "I" if sign == "l" and letter.isupper() else sign


def _name(letter: str) -> str:
    return unicodedata.name(letter, f"U+{ord(letter):04X}")
