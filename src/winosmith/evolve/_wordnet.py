"""Perturbation by WordNet: replace one word by a synonym in the same inflection.

By default, a synonym must fit the word's likely sense, so most words are not replaced. With
`as_published`, as in EvoGrad, any word except stop words and names is replaced by any synonym of
any of its senses: the set nearly triples, as in the paper, but many children change their meaning.
Only people can judge whether a child is valid.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from winosmith.text import FUNCTION_WORDS, content_words, edit_distance, tokens


class WordNetPerturber:
    """Replaces one random content word by a random synonym (EvoGrad 2024, section 3.3).

    The word is neither a stop word nor part of a name. The synonym fits the likely sense, takes the
    word's inflection, and also replaces the word in the options. The answer does not change. A
    child's depth is the parent's depth plus one, and no depth is declared.

    Args:
        count: maximum number of children of a problem; each child changes a different word if
            possible. A count of 2 corresponds to the paper, which "nearly tripled" its set.
        wordnet: source of the synonyms; by default the WordNet installed on this machine.
        wide: also accept less certain synonyms: gives twice as many children, and more than twice
            as many incorrect children.
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
                "'wide' has no effect with 'as_published', which accepts every synonym; omit it"
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
        found = list(
            find_any_places(problem, self.wordnet)
            if self.as_published
            else find_places(problem, self.wordnet, WIDE if self.wide else SURE)
        )
        order = [found[at] for at in luck.permutation(len(found))]
        shuffled = [
            (at, [synonyms[other] for other in luck.permutation(len(synonyms))])
            for at, synonyms in order
        ]
        for turn in range(max((len(words) for _, words in shuffled), default=0)):
            for at, words in shuffled:
                if turn < len(words):
                    yield at, words[turn]


COMMON = -13.1
"""Minimum frequency of a synonym, as a natural logarithm: twice in a million words."""

USUAL = 0.1
"""Minimum count of a multi-word synonym, as a fraction of its sense's count. It excludes, for
example, "oral cavity"."""

_POS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}

_LIGHT_VERBS = frozenset(
    """be have do get make take go put give keep let come say tell see want need try use ask seem
    like know think feel find leave look turn run set become start begin end help""".split()
)
"""Light verbs: their meaning depends on their object."""

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
class Care:
    """Thresholds for a synonym; looser thresholds give more children, and more incorrect children.

    Attributes:
        certainty: minimum estimated probability of the most likely sense, 0–1.
        own: minimum fraction of the synonym's uses that are in a sense of the word, 0–1; below
            this, readers would think of a different sense.
        rarer: maximum difference between the logarithms of the word's and the synonym's
            frequencies; at 2.8, the synonym is a sixteenth as frequent. Most readers don't read
            "potpourri" as "variety".
    """

    certainty: float = 0.6
    own: float = 0.75
    rarer: float = 2.8


SURE = Care()
WIDE = Care(certainty=0.4, own=0.15, rarer=4.5)


Places = Iterator[tuple[int, tuple[str, ...]]]
"""The index of a token that may be replaced, and the token's synonyms, the most frequent first."""


def find_places(problem: Problem, wordnet: WordNet, care: Care = SURE) -> Places:
    """Yield the content words of a sentence that have a fitting synonym, from left to right.

    A word is replaced only if one of its senses is clearly the most likely, given the sense's count
    in WordNet's tagged texts and its overlap with the sentence (Lesk 1986: words of the gloss and
    of neighbouring senses). Synonyms must be used mostly in the word's senses, and verbs must have
    the same sentence frames. Names, parts of compounds, and verbs with a particle or preposition
    are not replaced. Antonyms in any sense, and words in the sentence or options, are not used.
    """
    cut = tokens(problem.sentence)
    tags = language.tag(cut)
    context = frozenset(content_words(problem.sentence))
    banned = _find_banned_words(problem, cut, tags)
    repeated = _find_repeated_words(problem, cut, tags)
    for at, word in enumerate(cut):
        pos = _POS.get(tags[at][:2])
        if pos is None or not _can_replace(cut, tags, at, wordnet):
            continue
        own = lemmatize(word, tags[at])
        if own in repeated:
            continue
        senses = wordnet.senses(own, pos)
        sense = _choose_sense(senses, context - {word.lower(), own}, care.certainty)
        if sense is not None and not (pos == "v" and own in _LIGHT_VERBS):
            against = frozenset().union(*(other.antonyms for other in senses))
            shares = _compute_shares(senses)
            found = tuple(
                synonym.lemma
                for synonym in sense.synonyms
                if _fits(synonym, sense, own, pos, care.rarer) and synonym.lemma not in against
                and shares[synonym.lemma] >= care.own
                and banned.isdisjoint(synonym.lemma.lower().split())
            )  # fmt: skip
            if found:
                yield at, found


def find_any_places(problem: Problem, wordnet: WordNet) -> Places:
    """Yield every word that is neither a stop word nor a name, with all synonyms of all its senses.

    EvoGrad (2024, section 3.3) specifies nothing else. Only senses with the tagged part of speech
    are used.
    """
    cut = tokens(problem.sentence)
    for at, name in enumerate(language.tag(cut)):
        word, pos = cut[at], _POS.get(name[:2])
        if (
            pos is None
            or word == BLANK
            or word.lower() in FUNCTION_WORDS
            or language.is_name(cut, at)
        ):
            continue
        own = lemmatize(word, name)
        found = {
            synonym.lemma: None
            for sense in wordnet.senses(own, pos)
            for synonym in sense.synonyms
            if synonym.lemma.replace(" ", "").isalpha()
        }
        if found:
            yield at, tuple(found)


def _find_banned_words(problem: Problem, cut: Sequence[str], tags: Sequence[str]) -> frozenset[str]:
    """Return the words that a synonym must not contain.

    A synonym can't contain words of the options or the sentence, or words that the last edits
    removed, because these would restore the grandparent.
    """
    options = {word.lower() for option in problem.options for word in tokens(option)}
    own = {lemmatize(word, name) for word, name in zip(cut, tags, strict=True)}
    edits = problem.lineage.edits if problem.lineage else ()
    gone = {lemmatize(edit.old, name) for edit in edits for name in ("NNS", "VBD", "JJR", "RB")}
    return frozenset(options | own | gone | {word.lower() for word in cut}) - FUNCTION_WORDS


def _find_repeated_words(
    problem: Problem, cut: Sequence[str], tags: Sequence[str]
) -> frozenset[str]:
    times = Counter(lemmatize(word, name) for word, name in zip(cut, tags, strict=True))
    options = {word.lower() for option in problem.options for word in tokens(option)}
    named = {lemmatize(word, name) for word, name in zip(cut, tags, strict=True) if word in options}
    return frozenset(one for one, count in times.items() if count > 1) - named


def _can_replace(cut: Sequence[str], tags: Sequence[str], at: int, wordnet: WordNet) -> bool:
    word = cut[at].lower()
    if word == BLANK or word in FUNCTION_WORDS | _ADVERBS | _INDEFINITE or not word.isalpha():
        return False
    if language.is_name(cut, at) or len(word) < 3:
        return False
    before = tags[at - 1] if at else ""
    after = tags[at + 1] if at + 1 < len(cut) else ""
    passive = tags[at] == "VBN" and cut[at + 1 : at + 2] == ["by"]
    if tags[at].startswith("VB") and after in ("RP", "IN", "TO", "RB") and not passive:
        return False
    if tags[at] == "VBN" and before.startswith("RB"):
        return False  # "so encouraged" describes a state
    if tags[at].startswith("NN") and (after.startswith("NN") or before.startswith("NN")):
        return False
    if tags[at].startswith("RB") and not word.endswith("ly"):
        return False
    if tags[at].startswith("JJ") and not _is_surely_adjective(cut, tags, at):
        return False
    return not _is_phrase(cut, at, wordnet)


def _is_surely_adjective(cut: Sequence[str], tags: Sequence[str], at: int) -> bool:
    if tags[at + 1 : at + 2] and tags[at + 1].startswith(("NN", "JJ")):
        return not tags[at + 1].startswith("NNP")
    back = at - 1
    while back >= 0 and tags[back] == "RB":
        back -= 1
    return back >= 0 and lemmatize(cut[back], tags[back]) in _LINKING


def _is_phrase(cut: Sequence[str], at: int, wordnet: WordNet) -> bool:
    pairs = [cut[start : start + 2] for start in (at - 1, at) if start >= 0]
    return any(
        len(pair) == 2 and all(map(str.isalpha, pair)) and wordnet.has_sense(" ".join(pair), pos)
        for pair in pairs
        for pos in "nvar"
    )


def _choose_sense(
    senses: Sequence[Sense], context: frozenset[str], certainty: float
) -> Sense | None:
    if not senses:
        return None
    weights = [(sense.count + 0.5) * (1 + len(context & sense.near)) ** 2 for sense in senses]
    best = max(range(len(senses)), key=weights.__getitem__)
    return senses[best] if weights[best] >= certainty * sum(weights) else None


def _compute_shares(senses: Sequence[Sense]) -> Mapping[str, float]:
    shares: defaultdict[str, float] = defaultdict(float)
    for sense in senses:
        for synonym in sense.synonyms:
            shares[synonym.lemma] += synonym.share
    return shares


def _fits(synonym: Synonym, sense: Sense, own: str, pos: str, rarer: float) -> bool:
    new = synonym.lemma
    if len(new) < 3 or not new.replace(" ", "").isalpha() or new != new.lower():
        return False
    stem = min(len(new), len(own)) - 1  # excludes variants: "colour", "tubing", "min"
    if new[:stem] == own[:stem] or edit_distance(new, own) == 1 or new == "little":
        return False
    theirs, mine = language.estimate_usage(new, pos), language.estimate_usage(own, pos)
    if theirs is None or mine is None or theirs < max(COMMON, mine - rarer):
        return False
    if " " in new and (pos != "n" or synonym.count < max(1.0, USUAL * sense.count)):
        return False
    if pos == "n":
        return language.is_mass(new) == language.is_mass(own) and (
            new.endswith("ss") or lemmatize(new, "NNS") == new
        )
    if pos == "v":
        return sense.frames <= synonym.frames and new not in _WITH_PREPOSITION | _LIGHT_VERBS
    return pos != "r" or new.endswith("ly")
