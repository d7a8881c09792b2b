"""Dictionary forms and inflected forms of English words, by lemminflect where it is right."""

from __future__ import annotations

from functools import lru_cache

from winosmith import extras
from winosmith.language._degree import degree

__all__ = ["MASS", "PLURAL_ONLY", "inflect", "lemma"]

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
