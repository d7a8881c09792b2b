"""Penn Treebank tags of words, and how common words are, from the Hanover Tagger (Wartena 2019).

Its lexicon counts the British National Corpus.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from winosmith import extras
from winosmith.language._forms import MASS, PLURAL_ONLY, inflect, lemma
from winosmith.problem import BLANK

_MODEL = "morphmodel_en.pgz"
"""Comes inside the installed package; nothing is downloaded."""

_PENN = dict(
    pair.split(":")
    for pair in """
    AJ0:JJ AJC:JJR AJS:JJS AT0:DT AV0:RB AVP:RP AVQ:WRB CJC:CC CJS:IN CJT:IN CRD:CD DPS:PRP$ DT0:DT
    DTQ:WDT EX0:EX ITJ:UH NN0:NN NN1:NN NN2:NNS NP0:NNP ORD:JJ PNI:NN PNP:PRP PNQ:WP PNX:PRP POS:POS
    PRF:IN PRP:IN TO0:TO UNC:FW VM0:MD XX0:RB ZZ0:SYM
    VBB:VBP VBD:VBD VBG:VBG VBI:VB VBN:VBN VBZ:VBZ VDB:VBP VDD:VBD VDG:VBG VDI:VB VDN:VBN VDZ:VBZ
    VHB:VBP VHD:VBD VHG:VBG VHI:VB VHN:VBN VHZ:VBZ VVB:VBP VVD:VBD VVG:VBG VVI:VB VVN:VBN VVZ:VBZ
    """.split()
)
"""The British National Corpus' tags (C5), which the model was trained on, as Penn's."""

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

    The blank is read as a person's name would be, or as a thing after an article.

    Raises:
        MissingExtraError: HanTa is not installed.

    >>> tag("The cup broke .".split())
    ('DT', 'NN', 'VBD', '.')
    """
    return _tagged(tuple(tokens))


@lru_cache(maxsize=20_000)
def _tagged(tokens: tuple[str, ...]) -> tuple[str, ...]:
    read = [
        _word_for_blank(tokens, at) if word == BLANK else word for at, word in enumerate(tokens)
    ]
    found = _model().tag_sent(read, taglevel=0) if read else []
    found = [_penn(word, c5) for word, c5 in zip(read, found, strict=True)]
    return tuple(_corrected(read, found))


def _word_for_blank(tokens: Sequence[str], at: int) -> str:
    """Return a word for the blank: a thing after an article, else a person."""
    return "box" if at and tokens[at - 1].lower() in _BEFORE_NOUNS else "Robin"


@lru_cache(maxsize=1)
def _model() -> Any:
    return extras.require("HanTa.HanoverTagger", "language").HanoverTagger(_MODEL)


def _penn(word: str, c5: str) -> str:
    if not any(map(str.isalnum, word)):
        return _PUNCTUATION.get(word) or _BRACKETS.get(word) or ("''" if word in "\"'”’" else "``")
    if word.lower() == "to" and c5 in ("TO0", "PRP"):
        return "TO"
    return _PENN.get(c5, "NN")


def _corrected(words: Sequence[str], tags: list[str]) -> list[str]:
    """Return the tags after what the word itself or its neighbours settle for certain.

    The model's tags do not tell a verb's base form from its plain present, nor an adverb's degree;
    and it takes some irregular plurals for singulars.
    """
    settled = list(tags)
    for at, name in enumerate(tags):
        word, before = words[at].lower(), _verb_before(words, settled, at)
        if name == "VBP" and (before in ("TO", "MD") or _is_do(words, at)):
            settled[at] = "VB"
        elif name == "VBD" and before in ("be", "have"):
            settled[at] = "VBN"
        elif name in ("VBN", "JJ") and _is_predicate(words, settled, at):
            settled[at] = "VBD"
        elif name in ("JJ", "RB") and word.endswith(("er", "est")):
            settled[at] = _with_degree(word, name)
        elif name == "NN" and _is_plural(word):
            settled[at] = "NNS"
        elif name == "NN" and _is_gerund(words, settled, at):
            settled[at] = "VBG"
    return settled


def _with_degree(word: str, name: str) -> str:
    """Return the tag of an adjective or adverb in -er or -est: with its degree, if it has one."""
    graded = name + ("R" if word.endswith("er") else "S")
    return graded if inflect(lemma(word, graded), graded) == word else name


def _is_plural(word: str) -> bool:
    if word in PLURAL_ONLY:
        return True
    single = lemma(word, "NN")
    return not word.endswith("s") and single != word and inflect(single, "NNS") == word


def _is_predicate(words: Sequence[str], tags: Sequence[str], at: int) -> bool:
    """Tell whether what looks like a participle has a subject before it and an object after it."""
    if at == 0 or at + 1 == len(tags):
        return False
    subject = tags[at - 1] in ("NNP", "PRP") and words[at - 1].lower() not in ("him", "her", "them")
    return subject and tags[at + 1] in ("DT", "PRP$", "PRP", "NNP")


def _is_gerund(words: Sequence[str], tags: Sequence[str], at: int) -> bool:
    """Tell whether a noun in -ing is a verb's form: right after a verb, and before no noun."""
    if not re.fullmatch(r"(?!(any|every|no|some)thing)\w+ing", words[at], re.IGNORECASE):
        return False
    if not at or not tags[at - 1].startswith("VB"):
        return False
    return at + 1 == len(tags) or not tags[at + 1].startswith("NN")


def _verb_before(words: Sequence[str], tags: Sequence[str], at: int) -> str:
    """Return what governs a verb: TO, MD, "be" or "have", past adverbs; else the tag before."""
    for back in range(at - 1, -1, -1):
        word = words[back].lower()
        if word in _TO_BE_AND_HAVE:
            return "be"
        if word in ("have", "has", "had", "having", "'ve"):
            return "have"
        if tags[back] != "RB":
            return tags[back]
    return ""


def _is_do(words: Sequence[str], at: int) -> bool:
    near = [word.lower() for word in words[max(0, at - 2) : at]]
    return not {"do", "does", "did"}.isdisjoint(near)


_KINDS_OF_C5 = {"NN": "n", "VV": "v", "VB": "v", "VH": "v", "VD": "v", "AJ": "a", "AV": "r"}
"""The first letters of the corpus' tags (C5): the kinds of words that WordNet has."""

_MAIN = 0.22
"""The least share of a word's uses that are the part of speech asked for."""


@lru_cache(maxsize=100_000)
def usage(word: str, pos: str) -> float | None:
    """Return how common a word is as one part of speech: the natural logarithm of its share.

    Of several words the rarest tells.

    Args:
        word: in its dictionary form, in small letters.
        pos: "n", "v", "a" or "r" for an adverb.

    Returns:
        None where a word is unknown, or seldom that part of speech.

    Raises:
        MissingExtraError: HanTa is not installed.

    >>> round(usage("car", "n")), round(usage("automobile", "n")), usage("ready", "v")
    (-8, -11, None)
    """
    before, _, last = word.rpartition(" ")
    shares = [sum(_shares(one).values()) for one in before.split()]
    kinds = _shares(last)
    own = kinds.get(pos, 0.0)
    if not own or own < _MAIN * sum(kinds.values()) or not all(shares):
        return None
    return math.log(min(own, *shares)) if shares else math.log(own)


def _shares(word: str) -> dict[str, float]:
    """Return the share of a word as each part of speech."""
    kinds: defaultdict[str, float] = defaultdict(float)
    for name, share in lexicon(word):
        kinds[_KINDS_OF_C5.get(name[:2], name)] += math.exp(share)
    return kinds


def lexicon(word: str) -> list[tuple[str, float]]:
    """Return the corpus' tags (C5) of a known word, with the logarithm of its share as each."""
    model = _model()
    return list(model.tag_word(word, casesensitive=False)) if word in model.cache else []


def is_mass(noun: str) -> bool:
    """Tell whether a noun, or the last word of one, has no plural ("luggage").

    >>> is_mass("rain"), is_mass("rainfall")
    (True, False)
    """
    return noun.rpartition(" ")[2] in MASS
