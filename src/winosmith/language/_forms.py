"""The forms of English words: of the dictionary, inflected, compared, and after "a" or "an".

Inflection is lemminflect's where it is right.
"""

from __future__ import annotations

import re
from functools import lru_cache

from winosmith import extras

MASS = frozenset(
    """advice air baggage bread butter cash cheese chemistry clothing coffee cocoa concrete courage
    cutlery data dust electricity equipment evidence fun furniture garbage gasoline gear gold grass
    guidance hair happiness homework housework information jewellery jewelry knowledge laundry
    lightning luck luggage lumber machinery mail meat merchandise milk money music mud news oil
    patience petrol poetry pork progress rain research rice rubbish sand scenery silver slang snow
    software stuff sugar tea thunder timber traffic trash underwear violence water wealth weather
    wheat wool""".split()
)
"""Nouns without a plural, of those that sentences like ours use."""

PLURAL_ONLY = frozenset(
    """binoculars clothes goggles jeans knickers leggings overalls pajamas pants pincers pliers
    pyjamas scissors shears shorts spectacles sunglasses tights tongs trousers tweezers underpants
    thanks riches cattle police people""".split()
)
"""Nouns without a singular."""

_PARTICIPLES = {"wake": "woken", "awake": "awoken", "prove": "proved", "hang": "hung"}

_PAST = {"wake": "woke", "broadcast": "broadcast", "forecast": "forecast", "hang": "hung",
         "light": "lit", "lie": "lay", "quit": "quit", "fit": "fit", "ring": "rang",
         "shine": "shone", "sink": "sank", "shrink": "shrank", "spring": "sprang",
         "sing": "sang"}  # fmt: skip

_LEMMAS = {("better", "J"): "good", ("best", "J"): "good", ("worse", "J"): "bad",
           ("worst", "J"): "bad", ("better", "R"): "well", ("best", "R"): "well",
           ("worse", "R"): "badly", ("left", "V"): "leave", ("found", "V"): "find",
           ("felt", "V"): "feel", ("fell", "V"): "fall", ("lay", "V"): "lay", ("saw", "V"): "see",
           ("ground", "V"): "grind", ("bound", "V"): "bind", ("wound", "V"): "wind",
           ("people", "N"): "people", ("glasses", "N"): "glasses",
           ("axes", "N"): "axe"}  # fmt: skip

_AS_THEY_ARE = ("JJ", "RB", "RP", "NNP", "NNPS")
"""Tags of words that are their own dictionary form."""

_KINDS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}


@lru_cache(maxsize=100_000)
def lemma(word: str, tag: str) -> str:
    """Return the dictionary form of a word with a Penn tag; other tags give the word itself.

    Raises:
        MissingExtraError: lemminflect is not installed.

    >>> lemma("lent", "VBN"), lemma("wolves", "NNS"), lemma("better", "JJR")
    ('lend', 'wolf', 'good')
    """
    small, kind = word.lower(), tag[:1]
    if (small, kind) in _LEMMAS:
        return _LEMMAS[small, kind]
    if kind not in _KINDS or tag in _AS_THEY_ARE or small in PLURAL_ONLY:
        return small
    found = extras.require("lemminflect", "language").getLemma(small, upos=_KINDS[kind])
    return str(found[0]) if found else small


@lru_cache(maxsize=100_000)
def inflect(lemma: str, tag: str) -> str:
    """Return the form of a dictionary word that a Penn tag asks for; several words may be given.

    The verb of a multiword verb is inflected, the last word of a multiword noun; "mother-in-law"
    and "man of letters" have their head first.

    Raises:
        MissingExtraError: lemminflect is not installed.

    >>> inflect("lend", "VBN"), inflect("give up", "VBD"), inflect("feeding bottle", "NNS")
    ('lent', 'gave up', 'feeding bottles')
    >>> inflect("passer-by", "NNS"), inflect("enormous", "JJR")
    ('passers-by', 'more enormous')
    """
    if tag in ("JJR", "JJS", "RBR", "RBS"):
        return degree(lemma, tag)
    if tag == "NNS":
        return _plural(lemma)
    if tag in ("VBD", "VBG", "VBN", "VBZ"):
        verb, space, rest = lemma.partition(" ")
        return _verb(verb, tag) + space + rest
    return lemma


def _plural(noun: str) -> str:
    for joint in ("-in-", "-by", "-of-", " of "):
        head, found, rest = noun.partition(joint)
        if found:
            return _plural(head) + found + rest
    before, space, head = noun.rpartition(" ")
    if head in PLURAL_ONLY or head in MASS:
        return noun
    return before + space + _first("NNS", head)


def _verb(verb: str, tag: str) -> str:
    if tag == "VBN" and verb in _PARTICIPLES:
        return _PARTICIPLES[verb]
    if tag == "VBD" or (tag == "VBN" and _PAST.get(verb) in (verb, "lit", "shone")):
        return _PAST.get(verb) or ("was" if verb == "be" else _first(tag, verb))
    return _first(tag, verb)


def _first(tag: str, word: str) -> str:
    stem, hyphen, last = word.rpartition("-")
    found = extras.require("lemminflect", "language").getInflection(last, tag=tag)
    return stem + hyphen + (str(found[0]) if found else last)


_IRREGULAR = {
    "good": ("better", "best"),
    "well": ("better", "best"),
    "bad": ("worse", "worst"),
    "badly": ("worse", "worst"),
    "far": ("farther", "farthest"),
    "little": ("less", "least"),
    "much": ("more", "most"),
    "many": ("more", "most"),
}

_WITH_ENDING = frozenset("clever quiet simple narrow shallow gentle able noble humble".split())
"""Of two syllables and not in -y, but with an ending more often than with "more"."""

_WITH_MORE = frozenset(
    "fun real right wrong worth ill just like fake eager proper bitter tender sober upset alive "
    "alone awake asleep aware afraid alike unique spent lost worn torn".split()
)
"""Short, but with "more" (Quirk et al. 1985, 7.81)."""


def degree(lemma: str, tag: str) -> str:
    """Return the comparative (JJR, RBR) or superlative (JJS, RBS) of an adjective or adverb.

    Words of one syllable and those of two in -y, -le, -ow take the ending, all others "more" or
    "most" (Quirk et al. 1985, 7.81); adverbs in -ly always take "more".

    >>> degree("big", "JJR"), degree("enormous", "JJR"), degree("quickly", "RBS")
    ('bigger', 'more enormous', 'most quickly')
    """
    place = 0 if tag.endswith("R") else 1
    if lemma in _IRREGULAR:
        return _IRREGULAR[lemma][place]
    if not _takes_ending(lemma, tag):
        return f"{('more', 'most')[place]} {lemma}"
    return _stem(lemma) + ("er", "est")[place]


def _takes_ending(lemma: str, tag: str) -> bool:
    if lemma in _WITH_ENDING:
        return True
    if lemma in _WITH_MORE or not lemma.isalpha() or lemma.endswith(("ed", "ing")):
        return False
    if tag.startswith("RB") and lemma.endswith("ly") and lemma != "early":
        return False
    syllables = _syllables(lemma)
    return syllables == 1 or (syllables == 2 and lemma.endswith(("y", "le", "ow")))


def _syllables(word: str) -> int:
    """Return about how many syllables a word has: its groups of vowels, less a mute final e."""
    groups = len(re.findall(r"[aeiouy]+", word))
    mute = re.search(r"[^aeiouyl]e$|[aeiou]le$", word) is not None
    return max(1, groups - mute)


def _stem(lemma: str) -> str:
    """Return what the endings -er and -est are put after."""
    if lemma.endswith("e"):
        return lemma[:-1]
    if re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "i"
    if _syllables(lemma) == 1 and re.search(r"(^|[^aeiou])[aeiou][bdgklmnprt]$", lemma):
        return lemma + lemma[-1]
    return lemma


_SILENT_H = re.compile(r"(hour|honest|honou?r|heir)", re.IGNORECASE)
_CONSONANT_SOUND = re.compile(
    r"(eu|ewe|one\b|one[-s]|once|ouija|u[bcfhjkqrst][aeiou]|uni([^nm]|ned)|unio|unan\w*imous\b)",
    re.IGNORECASE,
)
_VOWEL_SOUND = re.compile(
    r"(unin|unim|uninterest|unidentif|unind|urin|ulul|uku|ushe|uta?h?ter|usher|utter|upa)",
    re.IGNORECASE,
)
_SPELT_OUT = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel: "an MP", "an X-ray"."""

_READ_AS_WORDS = frozenset("NASA NATO NAFTA FIFA LEGO MIDI RAM ROM SIM SWAT".split())
"""Of those letters, but said as words: "a NATO base"."""


def article(following: str) -> str:
    """Return "a" or "an" for the word that follows.

    >>> [article(word) for word in "hour university honest one-sided MP apple umbrella UFO".split()]
    ['an', 'a', 'an', 'a', 'an', 'an', 'an', 'a']
    """
    word = following.lstrip("\"'“‘(")
    if not word:
        return "a"
    if re.match(r"[A-Z]([A-Z]+s?\b|\b|-)", word) and not re.search(r"[AEIOU]{2}", word[:4]):
        if word[0] == "U":
            return "a"
        return "an" if word[0] in _SPELT_OUT and word not in _READ_AS_WORDS else "a"
    if word[0].isdigit():
        return "an" if re.match(r"(8|11\b|18\b)", word) else "a"
    if _SILENT_H.match(word):
        return "an"
    if _CONSONANT_SOUND.match(word) and not _VOWEL_SOUND.match(word):
        return "a"
    return "an" if word[0].lower() in "aeiou" else "a"
