"""English words: inflected forms, part-of-speech tags, and frequencies.

Inflection uses lemminflect with corrections. Penn Treebank tags and frequencies come from the
Hanover Tagger (Wartena 2019), whose lexicon is from the British National Corpus.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from winosmith.errors import require
from winosmith.problem import BLANK

MASS_NOUNS = frozenset(
    """advice air baggage bread butter cash cheese chemistry clothing coffee cocoa concrete courage
    cutlery data dust electricity equipment evidence fun furniture garbage gasoline gear gold grass
    guidance hair happiness homework housework information jewellery jewelry knowledge laundry
    lightning luck luggage lumber machinery mail meat merchandise milk money music mud news oil
    patience petrol poetry pork progress rain research rice rubbish sand scenery silver slang snow
    software stuff sugar tea thunder timber traffic trash underwear violence water wealth weather
    wheat wool""".split()
)
"""Common nouns that have no plural form."""

PLURAL_ONLY = frozenset(
    """binoculars clothes goggles jeans knickers leggings overalls pajamas pants pincers pliers
    pyjamas scissors shears shorts spectacles sunglasses tights tongs trousers tweezers underpants
    thanks riches cattle police people""".split()
)

_IRREGULAR_PARTICIPLES = {"wake": "woken", "awake": "awoken", "prove": "proved", "hang": "hung"}

_IRREGULAR_PAST = {"wake": "woke", "broadcast": "broadcast", "forecast": "forecast", "hang": "hung",
         "light": "lit", "lie": "lay", "quit": "quit", "fit": "fit", "ring": "rang",
         "shine": "shone", "sink": "sank", "shrink": "shrank", "spring": "sprang",
         "sing": "sang"}  # fmt: skip

_IRREGULAR_LEMMAS = {("better", "J"): "good", ("best", "J"): "good", ("worse", "J"): "bad",
           ("worst", "J"): "bad", ("better", "R"): "well", ("best", "R"): "well",
           ("worse", "R"): "badly", ("left", "V"): "leave", ("found", "V"): "find",
           ("felt", "V"): "feel", ("fell", "V"): "fall", ("lay", "V"): "lay", ("saw", "V"): "see",
           ("ground", "V"): "grind", ("bound", "V"): "bind", ("wound", "V"): "wind",
           ("people", "N"): "people", ("glasses", "N"): "glasses",
           ("axes", "N"): "axe"}  # fmt: skip

_UNINFLECTED_TAGS = ("JJ", "RB", "RP", "NNP", "NNPS")
"""Tags of words that are their own dictionary form."""

_UNIVERSAL_TAGS = {"N": "NOUN", "V": "VERB", "J": "ADJ", "R": "ADV"}


@lru_cache(maxsize=100_000)
def lemmatize(word: str, tag: str) -> str:
    """Return the dictionary form of a word with a Penn Treebank tag, in lower case.

    >>> lemmatize("lent", "VBN"), lemmatize("wolves", "NNS"), lemmatize("better", "JJR")
    ('lend', 'wolf', 'good')
    """
    small, kind = word.lower(), tag[:1]
    if (small, kind) in _IRREGULAR_LEMMAS:
        return _IRREGULAR_LEMMAS[small, kind]
    if kind not in _UNIVERSAL_TAGS or tag in _UNINFLECTED_TAGS or small in PLURAL_ONLY:
        return small
    found = require("lemminflect", "language").getLemma(small, upos=_UNIVERSAL_TAGS[kind])
    return str(found[0]) if found else small


@lru_cache(maxsize=100_000)
def inflect(lemma: str, tag: str) -> str:
    """Return the inflected form of a lemma for a Penn tag.

    A verb of several words is inflected at its first word. A noun of several words is inflected at
    its last word, unless it is like "mother-in-law" or "man of letters".

    >>> inflect("lend", "VBN"), inflect("give up", "VBD"), inflect("feeding bottle", "NNS")
    ('lent', 'gave up', 'feeding bottles')
    >>> inflect("passer-by", "NNS"), inflect("enormous", "JJR")
    ('passers-by', 'more enormous')
    """
    if tag in ("JJR", "JJS", "RBR", "RBS"):
        return inflect_degree(lemma, tag)
    if tag == "NNS":
        return _pluralize(lemma)
    if tag in ("VBD", "VBG", "VBN", "VBZ"):
        verb, space, rest = lemma.partition(" ")
        return _inflect_verb(verb, tag) + space + rest
    return lemma


def _pluralize(noun: str) -> str:
    for joint in ("-in-", "-by", "-of-", " of "):
        head, found, rest = noun.partition(joint)
        if found:
            return _pluralize(head) + found + rest
    before, space, head = noun.rpartition(" ")
    if head in PLURAL_ONLY or head in MASS_NOUNS:
        return noun
    return before + space + _look_up_form("NNS", head)


def _inflect_verb(verb: str, tag: str) -> str:
    if tag == "VBN" and verb in _IRREGULAR_PARTICIPLES:
        return _IRREGULAR_PARTICIPLES[verb]
    if tag == "VBD" or (tag == "VBN" and _IRREGULAR_PAST.get(verb) in (verb, "lit", "shone")):
        return _IRREGULAR_PAST.get(verb) or ("was" if verb == "be" else _look_up_form(tag, verb))
    return _look_up_form(tag, verb)


def _look_up_form(tag: str, word: str) -> str:
    stem, hyphen, last = word.rpartition("-")
    found = require("lemminflect", "language").getInflection(last, tag=tag)
    return stem + hyphen + (str(found[0]) if found else last)


_IRREGULAR_DEGREES = {
    "good": ("better", "best"),
    "well": ("better", "best"),
    "bad": ("worse", "worst"),
    "badly": ("worse", "worst"),
    "far": ("farther", "farthest"),
    "little": ("less", "least"),
    "much": ("more", "most"),
    "many": ("more", "most"),
}

_TAKE_ENDING = frozenset("clever quiet simple narrow shallow gentle able noble humble".split())
"""Two-syllable words, other than those in -y, that take -er more often than "more"."""

_TAKE_MORE = frozenset(
    "fun real right wrong worth ill just like fake eager proper bitter tender sober upset alive "
    "alone awake asleep aware afraid alike unique spent lost worn torn".split()
)
"""Short words that form the comparative with "more" (Quirk et al. 1985, 7.81)."""


def inflect_degree(lemma: str, tag: str) -> str:
    """Return the comparative (JJR, RBR) or superlative (JJS, RBS) of an adjective or adverb.

    Words of one syllable, and of two syllables in -y, -le or -ow, take the ending. All others take
    "more" or "most" (Quirk et al. 1985, 7.81). Adverbs in -ly always take "more" or "most".

    >>> inflect_degree("big", "JJR"), inflect_degree("quickly", "RBS")
    ('bigger', 'most quickly')
    """
    place = 0 if tag.endswith("R") else 1
    if lemma in _IRREGULAR_DEGREES:
        return _IRREGULAR_DEGREES[lemma][place]
    if not _takes_ending(lemma, tag):
        return f"{('more', 'most')[place]} {lemma}"
    return _find_stem(lemma) + ("er", "est")[place]


def _takes_ending(lemma: str, tag: str) -> bool:
    if lemma in _TAKE_ENDING:
        return True
    if lemma in _TAKE_MORE or not lemma.isalpha() or lemma.endswith(("ed", "ing")):
        return False
    if tag.startswith("RB") and lemma.endswith("ly") and lemma != "early":
        return False
    syllables = _count_syllables(lemma)
    return syllables == 1 or (syllables == 2 and lemma.endswith(("y", "le", "ow")))


def _count_syllables(word: str) -> int:
    groups = len(re.findall(r"[aeiouy]+", word))
    mute = re.search(r"[^aeiouyl]e$|[aeiou]le$", word) is not None
    return max(1, groups - mute)


def _find_stem(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma[:-1]
    if re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "i"
    if _count_syllables(lemma) == 1 and re.search(r"(^|[^aeiou])[aeiou][bdgklmnprt]$", lemma):
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
_VOWEL_LETTERS = frozenset("AEFHILMNORSX")
"""Letters whose names begin with a vowel: "an MP", "an X-ray"."""

_SPOKEN_ACRONYMS = frozenset("NASA NATO NAFTA FIFA LEGO MIDI RAM ROM SIM SWAT".split())
"""Acronyms that begin with one of these letters but are pronounced as words: "a NATO base"."""


def choose_article(next_word: str) -> str:
    """Return "a" or "an" for the next word.

    >>> words = "hour university honest one-sided MP apple umbrella UFO".split()
    >>> [choose_article(word) for word in words]
    ['an', 'a', 'an', 'a', 'an', 'an', 'an', 'a']
    """
    word = next_word.lstrip("\"'“‘(")
    if not word:
        return "a"
    if re.match(r"[A-Z]([A-Z]+s?\b|\b|-)", word) and not re.search(r"[AEIOU]{2}", word[:4]):
        if word[0] == "U":
            return "a"
        return "an" if word[0] in _VOWEL_LETTERS and word not in _SPOKEN_ACRONYMS else "a"
    if word[0].isdigit():
        return "an" if re.match(r"(8|11\b|18\b)", word) else "a"
    if _SILENT_H.match(word):
        return "an"
    if _CONSONANT_SOUND.match(word) and not _VOWEL_SOUND.match(word):
        return "a"
    return "an" if word[0].lower() in "aeiou" else "a"


_MODEL_FILE = "morphmodel_en.pgz"
"""Name of the model file in the installed package. Nothing is downloaded."""

_PENN_OF_C5 = dict(
    pair.split(":")
    for pair in """
    AJ0:JJ AJC:JJR AJS:JJS AT0:DT AV0:RB AVP:RP AVQ:WRB CJC:CC CJS:IN CJT:IN CRD:CD DPS:PRP$ DT0:DT
    DTQ:WDT EX0:EX ITJ:UH NN0:NN NN1:NN NN2:NNS NP0:NNP ORD:JJ PNI:NN PNP:PRP PNQ:WP PNX:PRP POS:POS
    PRF:IN PRP:IN TO0:TO UNC:FW VM0:MD XX0:RB ZZ0:SYM
    VBB:VBP VBD:VBD VBG:VBG VBI:VB VBN:VBN VBZ:VBZ VDB:VBP VDD:VBD VDG:VBG VDI:VB VDN:VBN VDZ:VBZ
    VHB:VBP VHD:VBD VHG:VBG VHI:VB VHN:VBN VHZ:VBZ VVB:VBP VVD:VBD VVG:VBG VVI:VB VVN:VBN VVZ:VBZ
    """.split()
)
"""Maps the British National Corpus's tags (C5), which the model predicts, to Penn tags."""

_PUNCTUATION = {
    **dict.fromkeys(".?!", "."),
    ",": ",",
    **dict.fromkeys((":", ";", "--", "..."), ":"),
}

_BRACKETS = {"(": "-LRB-", "[": "-LRB-", "{": "-LRB-", ")": "-RRB-", "]": "-RRB-", "}": "-RRB-"}

_BEFORE_NOUNS = frozenset("the a an this that these those my your his her its our their".split())

_TO_BE_AND_HAVE = frozenset("am is are was were be been being 's 're 'm".split())


def tag(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the Penn Treebank tag of each token (Marcus et al. 1993).

    The blank is tagged like a person's name or, after a determiner, like a noun.

    >>> tag("The cup broke .".split())
    ('DT', 'NN', 'VBD', '.')
    """
    return _tag_cached(tuple(tokens))


@lru_cache(maxsize=20_000)
def _tag_cached(tokens: tuple[str, ...]) -> tuple[str, ...]:
    read = [
        ("box" if before.lower() in _BEFORE_NOUNS else "Robin") if word == BLANK else word
        for before, word in zip(("", *tokens), tokens, strict=False)
    ]
    found = _load_tagger().tag_sent(read, taglevel=0) if read else []
    return tuple(_correct_tags(read, list(map(_convert_to_penn, read, found))))


@lru_cache(maxsize=1)
def _load_tagger() -> Any:
    return require("HanTa.HanoverTagger", "language").HanoverTagger(_MODEL_FILE)


def _convert_to_penn(word: str, c5_tag: str) -> str:
    if not any(map(str.isalnum, word)):
        return _PUNCTUATION.get(word) or _BRACKETS.get(word) or ("''" if word in "\"'”’" else "``")
    if word.lower() == "to" and c5_tag in ("TO0", "PRP"):
        return "TO"
    return _PENN_OF_C5.get(c5_tag, "NN")


def _correct_tags(words: Sequence[str], tags: list[str]) -> list[str]:
    """Correct the tags that the word or its neighbours contradict.

    The model does not distinguish a verb's base form from its present tense, or adverbs' degrees.
    It also tags some irregular plurals as singulars.
    """
    settled = list(tags)
    for at, name in enumerate(tags):
        word, before = words[at].lower(), _classify_previous_word(words, settled, at)
        has_do = not {"do", "does", "did"}.isdisjoint(map(str.lower, words[max(0, at - 2) : at]))
        if name == "VBP" and (before in ("TO", "MD") or has_do):
            settled[at] = "VB"
        elif name == "VBD" and before in ("be", "have"):
            settled[at] = "VBN"
        elif name in ("VBN", "JJ") and _is_past_tense(words, settled, at):
            settled[at] = "VBD"
        elif name in ("JJ", "RB") and word.endswith(("er", "est")):
            graded = name + ("R" if word.endswith("er") else "S")
            if inflect(lemmatize(word, graded), graded) == word:
                settled[at] = graded
        elif name == "NN" and _is_plural(word):
            settled[at] = "NNS"
        elif name == "NN" and _is_gerund(words, settled, at):
            settled[at] = "VBG"
    return settled


def _is_plural(word: str) -> bool:
    if word in PLURAL_ONLY:
        return True
    single = lemmatize(word, "NN")
    return not word.endswith("s") and single != word and inflect(single, "NNS") == word


def _is_past_tense(words: Sequence[str], tags: Sequence[str], index: int) -> bool:
    if index == 0 or index + 1 == len(tags):
        return False
    is_object = words[index - 1].lower() in ("him", "her", "them")
    subject = tags[index - 1] in ("NNP", "PRP") and not is_object
    return subject and tags[index + 1] in ("DT", "PRP$", "PRP", "NNP")


def _is_gerund(words: Sequence[str], tags: Sequence[str], index: int) -> bool:
    if not re.fullmatch(r"(?!(any|every|no|some)thing)\w+ing", words[index], re.IGNORECASE):
        return False
    if not index or not tags[index - 1].startswith("VB"):
        return False
    return index + 1 == len(tags) or not tags[index + 1].startswith("NN")


def _classify_previous_word(words: Sequence[str], tags: Sequence[str], index: int) -> str:
    for back in range(index - 1, -1, -1):
        word = words[back].lower()
        if word in _TO_BE_AND_HAVE:
            return "be"
        if word in ("have", "has", "had", "having", "'ve"):
            return "have"
        if tags[back] != "RB":
            return tags[back]
    return ""


_POS_OF_C5 = {"NN": "n", "VV": "v", "VB": "v", "VH": "v", "VD": "v", "AJ": "a", "AV": "r"}
"""Maps the first letters of C5 tags to WordNet's parts of speech."""

_MIN_FRACTION = 0.22
"""Minimum fraction of a word's uses with the requested part of speech."""


@lru_cache(maxsize=100_000)
def estimate_log_frequency(word: str, pos: str) -> float | None:
    """Return the natural logarithm of a word's relative frequency as a given part of speech.

    `word` is a dictionary form in lower case. `pos` is "n", "v", "a", or "r" for an adverb. For a
    multiword term, the frequency of its rarest word is used. The result is None if a word is
    unknown, or rarely has this part of speech.

    >>> round(estimate_log_frequency("car", "n")), estimate_log_frequency("ready", "v")
    (-8, None)
    """
    before, _, last = word.rpartition(" ")
    shares = [sum(_sum_frequencies_by_pos(one).values()) for one in before.split()]
    kinds = _sum_frequencies_by_pos(last)
    own = kinds.get(pos, 0.0)
    if not own or own < _MIN_FRACTION * sum(kinds.values()) or not all(shares):
        return None
    return math.log(min(own, *shares)) if shares else math.log(own)


def _sum_frequencies_by_pos(word: str) -> dict[str, float]:
    kinds: defaultdict[str, float] = defaultdict(float)
    for name, share in look_up_tags(word):
        kinds[_POS_OF_C5.get(name[:2], name)] += math.exp(share)
    return kinds


def look_up_tags(word: str) -> list[tuple[str, float]]:
    """Return the C5 tags of a known word, each with the logarithm of its relative frequency."""
    model = _load_tagger()
    return list(model.tag_word(word, casesensitive=False)) if word in model.cache else []


_MIN_FREQUENCY = 2e-5
"""Relative frequency of a noun, about 40 in 2 million words, above which a missing plural is not
due to chance."""


def find_head(noun: str) -> str:
    """Return the head of a compound noun: the word that is inflected.

    >>> find_head("feeding bottle"), find_head("body of water")
    ('bottle', 'body')
    """
    return noun.partition(" of ")[0].rpartition(" ")[2]


def find_countability(noun: str) -> Literal["mass", "count"] | None:
    """Return whether a noun is a mass or count noun, or None if neither is attested.

    >>> [find_countability(noun) for noun in ("rain", "employment", "body of water", "piddle")]
    ['mass', 'mass', 'count', None]
    """
    head = find_head(noun)
    if head in MASS_NOUNS:
        return "mass"
    plural = inflect(head, "NNS")
    if plural == head:
        return None
    if _sum_noun_frequency(plural, "NN2"):
        return "count"
    return "mass" if _sum_noun_frequency(head, "NN1") >= _MIN_FREQUENCY else None


def _sum_noun_frequency(word: str, c5_tag: str) -> float:
    return sum(math.exp(share) for tag, share in look_up_tags(word) if tag == c5_tag)


def is_mass(noun: str) -> bool:
    """Return whether a noun is a mass noun, such as "luggage" (see `find_countability`).

    >>> is_mass("rain"), is_mass("bag of rice")
    (True, False)
    """
    return find_countability(noun) == "mass"
