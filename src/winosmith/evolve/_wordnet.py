"""Perturbation by WordNet: one word for a synonym, in the form that its place asks for.

With care (the default), the synonym has the sense that is likely to be meant, and most words stay
as they are. As EvoGrad did it (`as_published`), any word but stop words and names gets any synonym
of any of its senses: the set nearly triples, as in the paper, and many children mean something
else. Which of them hold, only people can tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from winosmith.errors import InputError
from winosmith.evolve._synonyms import SURE, WIDE, any_places, places
from winosmith.language import WordNet, replace_word
from winosmith.lineage import perturbed
from winosmith.problem import Problem

__all__ = ["WordNetPerturber"]


class WordNetPerturber:
    """Replaces one random content word by a random synonym (EvoGrad 2024, section 3.3).

    The word is neither a stop word nor part of a name; the synonym has the sense that is meant,
    takes the original's form, and an option that holds the word changes along, however many
    options there are. The answer stays. A child's depth is one more than its parent's along the
    lineage; nothing is declared.

    Args:
        count: how many children a problem gets at most; each changes another word while there
            are words left. The paper "nearly tripled" its set: 2.
        wordnet: where the synonyms come from; by default found on this machine.
        wide: take synonyms that are less sure, too: twice as many children, of which more than
            twice as many are wrong.
        as_published: do as the paper says and no more: any word that is neither a stop word nor a
            name, any synonym of any sense. Most problems get all their children, most of them are
            wrong or odd, and their source says "wordnet-paper".

    Raises:
        InputError: fewer than one child is asked for, or both `wide` and `as_published`.
    """

    def __init__(
        self,
        count: int = 2,
        wordnet: WordNet | None = None,
        *,
        wide: bool = False,
        as_published: bool = False,
    ):
        if count < 1:
            raise InputError(f"a problem can't get {count} children; ask for 1 or more")
        if wide and as_published:
            raise InputError("'wide' loosens the care that 'as_published' does not take at all")
        self.count = count
        self.wordnet = wordnet or WordNet()
        self.wide = wide
        self.as_published = as_published

    @property
    def source(self) -> str:
        """What the children's `origin.source` says."""
        return "wordnet-paper" if self.as_published else "wordnet"

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield up to `count` children of a problem.

        Raises:
            InputError: WordNet is not on this machine.
            MissingExtraError: the extra `language` is not installed.
        """
        made = {problem.sentence}
        for at, new in self._drawn(problem, seed):
            if len(made) > self.count:
                return
            changed = replace_word(problem.sentence, problem.options, at, new)
            if changed is not None and changed[0] not in made:
                made.add(changed[0])
                yield perturbed(problem, *changed, problem.answer, source=self.source)

    def _drawn(self, problem: Problem, seed: int) -> Iterator[tuple[int, str]]:
        """Yield words and synonyms at random: first one synonym of each word, then the next."""
        digest = hashlib.sha256(problem.id.encode()).digest()
        luck = np.random.default_rng([seed, int.from_bytes(digest[:8])])
        found = list(
            any_places(problem, self.wordnet)
            if self.as_published
            else places(problem, self.wordnet, WIDE if self.wide else SURE)
        )
        order = [found[at] for at in luck.permutation(len(found))]
        shuffled = [
            (place.at, [place.synonyms[at] for at in luck.permutation(len(place.synonyms))])
            for place in order
        ]
        for turn in range(max((len(words) for _, words in shuffled), default=0)):
            for at, words in shuffled:
                if turn < len(words):
                    yield at, words[turn]
