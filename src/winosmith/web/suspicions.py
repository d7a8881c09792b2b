"""What in a text may concern real people, is unpleasant to read, or deceives the reader's eye.

Functions return what they found, as the text has it; nothing for a text that is as it should be.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from winosmith.text import FUNCTION_WORDS, words

_CONTACTS = re.compile(
    r"""[\w.+-]+@[\w-]+\.[\w.-]*\w                                   # an e-mail address
    | \b(?:https?://|www\.)\S+                                       # an address of the web
    | \b[\w-]+\.(?:com|org|net|edu|gov|info|io|co|uk|de|fr|eu|me)\b(?:/\S*)?
    | (?<!\w)@\w{3,}                                                 # a name in social media
    | (?<![\w.])\+\d[\d\s().-]{5,}\d                                 # telephone numbers
    | (?<![\w.])\(?\d{3}\)?[-.\s]\d{3}[-.\s]\d{4}\b | \b\d{3}[-.]\d{4}\b
    """,
    re.VERBOSE | re.IGNORECASE,
)

_INITIAL = re.compile(r"[A-Z]\.")
_CAPITALISED = re.compile(rf"[A-Z][a-z]+(?:['’-][A-Z]?[a-z]+)*|{_INITIAL.pattern}")
_ENDS_SENTENCE = re.compile(r"[.?!:;\"”’)]$")
_NO_NAMES = frozenset(
    """mr mrs ms miss dr prof sir lady lord aunt uncle grandma grandpa king queen prince princess
    president doctor professor officer captain coach saint st santa
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december christmas easter thanksgiving halloween new
    year years eve day north south east west northern southern eastern western central
    york orleans san los las angeles vegas united states kingdom great britain america american
    europe european english french german spanish chinese italian mexican
    lake mount river sea ocean island bay beach valley park street avenue road city town county
    university college school high academy museum hospital church club company inc restaurant
    state house court world war olympics cup league bowl national international
    internet i ok tv english math mathematics science history biology chemistry""".split()
)
"""Capitalised words that are beside names, or part of what is no person's."""

MOST_SHOUTED = 2
"""Words in capitals that are taken for abbreviations."""

_OPENERS = frozenset(
    """after although later today tonight tomorrow yesterday when whenever unlike like despite
    perhaps maybe luckily unfortunately fortunately sadly finally eventually suddenly once first
    last next little poor young old big even only usually normally surprisingly according instead
    everyone everybody someone somebody nobody both since because while if as so but and yet
    thankfully recently apparently obviously clearly naturally""".split()
)
"""Words that often begin a sentence before a name."""

_ONE_SHAPE = str.maketrans("l10", "iio")
"""Signs of ASCII that many typefaces draw alike, after capitals are gone (UTS 39, table 1)."""


def flagged_words(text: str, listed: Iterable[str]) -> list[str]:
    """Return the listed words and phrases that a text holds, however they are spelt to hide.

    A word of the list stands for itself alone, whatever its case; with "*" at its end for all that
    begin with it.

    >>> flagged_words("What an IDIOT, idiotically!", ["idiot", "dunce*"])
    ['idiot']
    """
    listed = tuple(listed)
    shown = seen(text) if listed else ""
    return [word for word in listed if word.strip(" *") and _pattern(word).search(shown)]


def contact_data(text: str) -> list[str]:
    """Return e-mail and web addresses, telephone numbers and names in social media.

    >>> contact_data("Write to ann@example.org or call 555-0134 from 1990-2000.")
    ['ann@example.org', '555-0134']
    """
    return [found[0].rstrip(".,;") for found in _CONTACTS.finditer(text)]


def full_names(text: str, options: Sequence[str] = ()) -> list[str]:
    """Return what may be the full names of real persons: two capitalised words in a row.

    First names alone are what Winograd sentences are made of. A word that is an option of its own,
    a title, a place or a day is no part of a name here, nor is a small word that begins a sentence.

    >>> full_names("Ann read that Ada Lovelace met Bob in New York.", ["Ann", "Bob"])
    ['Ada Lovelace']
    """
    own = {option.strip() for option in options}
    found: list[str] = []
    for first, second in _pairs(text):
        if {first, second} & own or {first.lower(), second.lower()} & _NO_NAMES:
            continue
        found.append(f"{first} {second}")
    return list(dict.fromkeys(found))


def shouting(text: str) -> list[str]:
    """Return words in capitals, where there are more than abbreviations, and repeated marks.

    >>> shouting("NASA called. THIS IS NOT FUNNY AT ALL!!!")
    ['NASA', 'THIS', 'FUNNY', '!!!']
    """
    loud = [w for w in re.findall(r"\b[^\W\d_]{4,}\b", text) if w.isupper()]
    marks = re.findall(r"[!?]{2,}", text)
    return [*(loud if len(loud) > MOST_SHOUTED else ()), *marks]


def _pattern(listed: str) -> re.Pattern[str]:
    word = seen(listed.strip())
    begins = word.endswith("*")
    inside = r"\s+".join(map(re.escape, word.rstrip("*").split()))
    return re.compile(rf"(?<!\w){inside}" + ("" if begins else r"(?!\w)"))


def _pairs(text: str) -> Iterable[tuple[str, str]]:
    """Yield the capitalised words that follow each other, cut of marks and possessives."""
    starts, before = True, ""
    for word in words(text):
        initial = bool(_INITIAL.fullmatch(word))
        bare = word if initial else re.sub(r"['’]s?$", "", word.strip("\"'“”‘’().,;:?!"))
        name = bare if _CAPITALISED.fullmatch(bare) else ""
        if starts and name.lower() in FUNCTION_WORDS | _OPENERS:
            name = ""
        if before and name:
            yield before, name
        starts = bool(_ENDS_SENTENCE.search(word)) and not initial
        before = "" if starts or word.endswith(",") else name


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
