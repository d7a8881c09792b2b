"""Perturbation by WordNet: replace one word by a synonym in the same inflection.

By default, a synonym must fit the word's likely sense, so most words are not replaced. With
`as_published`, as in EvoGrad, any word except stop words and names is replaced by any synonym of
any of its senses. The set nearly triples, as in the paper, but many children have a different
meaning. Only people can judge whether a child is valid.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from winosmith import language
from winosmith.errors import InputError
from winosmith.language import Sense, Synonym, WordNet, lemmatize
from winosmith.lineage import make_child
from winosmith.options import Count, checked
from winosmith.problem import BLANK, Problem
from winosmith.text import FUNCTION_WORDS, compute_edit_distance, find_content_words, tokenize


class WordNetPerturber:
    """Replaces one random content word by a random synonym (EvoGrad 2024, section 3.3).

    The word is neither a stop word nor part of a name. The synonym fits the likely sense, takes the
    word's inflection, and also replaces the word in the options. The answer does not change. A
    child's depth is the parent's depth plus one, and no depth is declared.

    Args:
        count: maximum number of children of a problem; each child changes a different word if
            possible. A count of 2 corresponds to the paper, which "nearly tripled" its set.
        wordnet: source of the synonyms; by default the WordNet installed on this machine.
        wide: also accept less certain synonyms, which gives twice as many children, but more than
            twice as many incorrect ones.
        as_published: replace as in the paper: any word that is neither a stop word nor a name, by
            any synonym of any sense. Most problems get all their children, most children are
            incorrect or odd, and their source is "wordnet-paper".

    Raises:
        RecipeError: `count` is below 1.
        InputError: both `wide` and `as_published` are set.
    """

    @checked
    def __init__(
        self,
        count: Annotated[Count, Field(description="Maximum number of children of a problem.")] = 2,
        wordnet: WordNet | None = None,
        *,
        wide: bool = False,
        as_published: bool = False,
    ):
        if wide and as_published:
            raise InputError(
                "'wide' has no effect with 'as_published', which accepts every synonym; omit 'wide'"
            )
        self.count = count
        self.wordnet = wordnet or WordNet()
        self.wide = wide
        self.as_published = as_published

    @property
    def source(self) -> str:
        """The `origin.source` of the children."""
        return "wordnet-paper" if self.as_published else "wordnet"

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield up to `count` children of a problem.

        Raises:
            InputError: WordNet is not installed on this machine.
            MissingExtraError: the `language` extra is not installed.
        """
        made = {problem.sentence}
        for at, new in self._draw_replacements(problem, seed):
            if len(made) > self.count:
                return
            changed = language.replace_word(problem.sentence, problem.options, at, new)
            if changed is not None and changed[0] not in made:
                made.add(changed[0])
                yield make_child(problem, *changed, problem.answer, source=self.source)

    def _draw_replacements(self, problem: Problem, seed: int) -> Iterator[tuple[int, str]]:
        digest = hashlib.sha256(problem.id.encode()).digest()
        luck = np.random.default_rng([seed, int.from_bytes(digest[:8])])
        if self.as_published:
            found = list(find_all_synonyms(problem, self.wordnet))
        else:
            thresholds = LOOSE_THRESHOLDS if self.wide else STRICT_THRESHOLDS
            found = list(find_fitting_synonyms(problem, self.wordnet, thresholds))
        order = [found[at] for at in luck.permutation(len(found))]
        shuffled = [
            (at, [synonyms[other] for other in luck.permutation(len(synonyms))])
            for at, synonyms in order
        ]
        for turn in range(max((len(words) for _, words in shuffled), default=0)):
            for at, words in shuffled:
                if turn < len(words):
                    yield at, words[turn]


MIN_LOG_FREQUENCY = -13.1
"""Minimum frequency of a synonym, as a natural logarithm: two per million words."""

MIN_PHRASE_FRACTION = 0.1
"""Minimum count of a multi-word synonym, as a fraction of the count of its sense. The limit
excludes, for example, "oral cavity"."""

_POS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}

_LIGHT_VERBS = frozenset(
    """be have do get make take go put give keep let come say tell see want need try use ask seem
    like know think feel find leave look turn run set become start begin end help""".split()
)
"""Light verbs, whose meaning depends on their object."""

_WITH_PREPOSITION = frozenset(
    """refer bask revel consist depend rely belong comply insist object listen look aspire cater
    delve dwell abide allude adhere appeal apologize apologise rejoice partake indulge result
    resort subscribe succumb yearn opt reply""".split()
)
"""Verbs that need a preposition before their object."""

_ADVERBS = frozenset("really quite very too so more most less least almost even ever never".split())

_INDEFINITE = frozenset(
    """one ones lot lots thing things something anything everything nothing someone anyone everyone
    nobody somebody everybody""".split()
)
"""Indefinite pronouns and nouns without a specific meaning."""

_LINKING = frozenset(
    "be seem become look feel get sound taste smell grow stay remain turn make keep find".split()
)
"""Verbs that an adjective may follow (Quirk et al. 1985, 16.21)."""


@dataclass(frozen=True, slots=True)
class SynonymThresholds:
    """Thresholds for a synonym. Looser thresholds give more children, but also more incorrect ones.

    Attributes:
        certainty: minimum estimated probability of the most likely sense, 0–1.
        min_fraction: minimum fraction of the synonym's uses that are in a sense of the word, 0–1.
            Below this fraction, readers would think of a different sense.
        max_rarity: maximum difference between the logarithms of the word's and the synonym's
            frequencies. At 2.8, the synonym is a sixteenth as frequent. Most readers don't read
            "potpourri" as "variety".
    """

    certainty: float = 0.6
    min_fraction: float = 0.75
    max_rarity: float = 2.8


STRICT_THRESHOLDS = SynonymThresholds()
LOOSE_THRESHOLDS = SynonymThresholds(certainty=0.4, min_fraction=0.15, max_rarity=4.5)


Replacements = Iterator[tuple[int, tuple[str, ...]]]
"""The index of a replaceable token, and the token's synonyms, starting with the most frequent."""


def find_fitting_synonyms(
    problem: Problem, wordnet: WordNet, thresholds: SynonymThresholds = STRICT_THRESHOLDS
) -> Replacements:
    """Yield the index and the fitting synonyms of each content word with such synonyms, in order.

    A word is replaced only if one of its senses is clearly the most likely, given the sense's count
    in WordNet's tagged texts and its overlap with the sentence. The overlap is that of Lesk (1986),
    with the words of the gloss and of neighbouring senses. Synonyms must be used mostly in the
    word's senses, and verbs must have the same sentence frames. Names, parts of compounds, and
    verbs with a particle or preposition are not replaced. Antonyms in any sense, and words of the
    sentence or the options, are excluded.
    """
    words = tokenize(problem.sentence)
    tags = language.tag(words)
    context = frozenset(find_content_words(problem.sentence))
    lemmas = list(map(lemmatize, words, tags))
    options = {word.lower() for option in problem.options for word in tokenize(option)}
    edits = problem.lineage.edits if problem.lineage else ()
    # A word that the last edits removed would restore the grandparent.
    removed = {lemmatize(edit.old, tag) for edit in edits for tag in ("NNS", "VBD", "JJR", "RB")}
    banned = {*options, *lemmas, *removed, *map(str.lower, words)} - FUNCTION_WORDS
    named = {lemma for word, lemma in zip(words, lemmas, strict=True) if word in options}
    repeated = {lemma for lemma, count in Counter(lemmas).items() if count > 1} - named
    for index, word in enumerate(words):
        pos = _POS.get(tags[index][:2])
        if pos is None or not _can_replace(words, tags, index, wordnet):
            continue
        lemma = lemmas[index]
        if lemma in repeated:
            continue
        senses = wordnet.find_senses(lemma, pos)
        sense = _choose_sense(senses, context - {word.lower(), lemma}, thresholds.certainty)
        if sense is not None and not (pos == "v" and lemma in _LIGHT_VERBS):
            excluded = frozenset().union(*(other.antonyms for other in senses))
            shares = defaultdict[str, float](float)
            for synonym in (one for other in senses for one in other.synonyms):
                shares[synonym.lemma] += synonym.fraction
            found = tuple(
                synonym.lemma
                for synonym in sense.synonyms
                if _fits_sense(synonym, sense, lemma, pos, thresholds.max_rarity)
                and shares[synonym.lemma] >= thresholds.min_fraction
                and synonym.lemma not in excluded
                and banned.isdisjoint(synonym.lemma.lower().split())
            )
            if found:
                yield index, found


def find_all_synonyms(problem: Problem, wordnet: WordNet) -> Replacements:
    """Yield the index and all synonyms of each word that is neither a stop word nor a name.

    EvoGrad (2024, section 3.3) states no other condition. Only senses with the tagged part of
    speech are used.
    """
    words = tokenize(problem.sentence)
    for index, tag in enumerate(language.tag(words)):
        word, pos = words[index], _POS.get(tag[:2])
        if (
            pos is None
            or word == BLANK
            or word.lower() in FUNCTION_WORDS
            or language.is_name(words, index)
        ):
            continue
        lemma = lemmatize(word, tag)
        found = {
            synonym.lemma: None
            for sense in wordnet.find_senses(lemma, pos)
            for synonym in sense.synonyms
            if synonym.lemma.replace(" ", "").isalpha()
        }
        if found:
            yield index, tuple(found)


def _can_replace(words: Sequence[str], tags: Sequence[str], index: int, wordnet: WordNet) -> bool:
    word = words[index].lower()
    if word == BLANK or word in FUNCTION_WORDS | _ADVERBS | _INDEFINITE or not word.isalpha():
        return False
    if language.is_name(words, index) or len(word) < 3:
        return False
    before = tags[index - 1] if index else ""
    after = tags[index + 1] if index + 1 < len(words) else ""
    passive = tags[index] == "VBN" and words[index + 1 : index + 2] == ["by"]
    if tags[index].startswith("VB") and after in ("RP", "IN", "TO", "RB") and not passive:
        return False
    if tags[index] == "VBN" and before.startswith("RB"):
        return False  # "so encouraged" describes a state
    if tags[index].startswith("NN") and (after.startswith("NN") or before.startswith("NN")):
        return False
    if tags[index].startswith("RB") and not word.endswith("ly"):
        return False
    if tags[index].startswith("JJ") and not _is_clearly_adjective(words, tags, index):
        return False
    pairs = [words[start : start + 2] for start in (index - 1, index) if start >= 0]
    return not any(  # the word is not part of a phrase
        len(pair) == 2 and all(map(str.isalpha, pair)) and wordnet.has_sense(" ".join(pair), pos)
        for pair in pairs
        for pos in "nvar"
    )


def _is_clearly_adjective(words: Sequence[str], tags: Sequence[str], index: int) -> bool:
    if tags[index + 1 : index + 2] and tags[index + 1].startswith(("NN", "JJ")):
        return not tags[index + 1].startswith("NNP")
    back = index - 1
    while back >= 0 and tags[back] == "RB":
        back -= 1
    return back >= 0 and lemmatize(words[back], tags[back]) in _LINKING


def _choose_sense(
    senses: Sequence[Sense], context: frozenset[str], certainty: float
) -> Sense | None:
    if not senses:
        return None
    weights = [(sense.count + 0.5) * (1 + len(context & sense.near)) ** 2 for sense in senses]
    best = max(range(len(senses)), key=weights.__getitem__)
    return senses[best] if weights[best] >= certainty * sum(weights) else None


def _fits_sense(synonym: Synonym, sense: Sense, lemma: str, pos: str, max_rarity: float) -> bool:
    new = synonym.lemma
    if len(new) < 3 or not new.replace(" ", "").isalpha() or new != new.lower():
        return False
    stem = min(len(new), len(lemma)) - 1  # excludes variants: "colour", "tubing", "min"
    if new[:stem] == lemma[:stem] or compute_edit_distance(new, lemma) == 1 or new == "little":
        return False
    theirs, mine = (language.estimate_log_frequency(word, pos) for word in (new, lemma))
    if theirs is None or mine is None or theirs < max(MIN_LOG_FREQUENCY, mine - max_rarity):
        return False
    if " " in new and (pos != "n" or synonym.count < max(1.0, MIN_PHRASE_FRACTION * sense.count)):
        return False
    if pos == "n":
        return language.is_mass(new) == language.is_mass(lemma) and (
            new.endswith("ss") or lemmatize(new, "NNS") == new
        )
    if pos == "v":
        return sense.frames <= synonym.frames and new not in _WITH_PREPOSITION | _LIGHT_VERBS
    return pos != "r" or new.endswith("ly")
