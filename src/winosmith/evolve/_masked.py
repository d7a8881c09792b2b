"""Perturbation by a masked language model: one token for what the model would say there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from winosmith import models
from winosmith.errors import InputError
from winosmith.language import article, is_name, tag
from winosmith.lineage import perturbed
from winosmith.problem import BLANK, Problem
from winosmith.text import FUNCTION_WORDS, tokens

FLIPPED = "evolve.flipped"
"""The extra key that is True on a child whose answer is claimed to be the other one."""

_OPEN = ("NN", "VB", "JJ", "RB")
"""How the tags of the words begin that may be replaced."""


@dataclass(frozen=True)
class MaskedPerturber:
    """Replaces one token by what a masked language model proposes there.

    The model reads the sentence with the token hidden, and the blank hidden or filled with its
    pronoun where that is known: it never sees the answer. Content words that belong to no name and
    no option are replaced by whole words of the same Penn tag that are in neither sentence nor
    options, and "a" and "an" follow. The answer is kept, though nothing but people's judgement can
    tell whether it still holds.

    Contrast words ("because" for "although", "large" for "small") are sought out: the likeliest of
    them is taken, and the answer flipped. That is a claim, too, as in EvoGrad's dialogue (2024,
    appendix A.1), and the child's extra says so ("evolve.flipped"); only problems with two options
    get such children. Where a problem has no answer, neither have its children.

    Constructing it loads and downloads nothing; the first `perturb` does.

    Attributes:
        model: a folder with a saved masked model, or a hub id.
        count: how many children a problem gets at most.
        flips: the share of the children, 0–1, that are to flip the answer while there are contrast
            words in the sentence.
        proposals: how many of the model's likeliest words are drawn from.
        device: as torch names it; the GPU when there is one when None.

    Raises:
        InputError: a number is out of its range.

    >>> MaskedPerturber("FacebookAI/roberta-large", count=10).flips
    0.5
    """

    model: str | Path
    count: int = 2
    flips: float = 0.5
    proposals: int = 20
    device: str | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or self.proposals < 1 or not 0 <= self.flips <= 1:
            raise InputError(
                f"count {self.count} and proposals {self.proposals} must be 1 or more, and flips "
                f"{self.flips} 0 to 1"
            )

    def perturb(self, problem: Problem, seed: int) -> Iterator[Problem]:
        """Yield up to `count` children of a problem, each with another word replaced.

        Raises:
            InputError: the model can't be loaded, or the sentence is too long for it.
            MissingExtraError: the extra `models` or `language` is not installed.
        """
        digest = hashlib.sha256(problem.id.encode()).digest()
        luck = np.random.default_rng([seed, int.from_bytes(digest[:8])])
        sentence = _Sentence(problem)
        flips = _shuffled(sentence.contrasts() if len(problem.options) == 2 else [], luck)
        swaps = _shuffled(sentence.content(), luck)
        turned = self._proposed(sentence, flips, contrast=True)
        kept = self._proposed(sentence, swaps, contrast=False)
        wants = luck.random(self.count) < self.flips
        children = {
            True: self._children(sentence, flips, turned, None),
            False: self._children(sentence, swaps, kept, luck),
        }
        made: set[str] = set()
        for flip in wants.tolist():
            for kind in (flip, not flip):
                child = next((c for c in children[kind] if c.sentence not in made), None)
                if child is not None:
                    made.add(child.sentence)
                    yield child
                    break

    def _proposed(
        self, sentence: _Sentence, places: Sequence[int], *, contrast: bool
    ) -> list[tuple[models.Proposal, ...]]:
        gaps = [sentence.gap(at, contrast) for at in places]
        return _proposer(self.model, self.device).propose(gaps, self.proposals) if gaps else []

    def _children(
        self,
        sentence: _Sentence,
        places: Sequence[int],
        proposed: Sequence[Sequence[models.Proposal]],
        luck: np.random.Generator | None,
    ) -> Iterator[Problem]:
        """Yield the child of each place: the likeliest word, or with `luck`, one of the likely."""
        for at, words in zip(places, proposed, strict=True):
            order = range(len(words)) if luck is None else luck.permutation(len(words)).tolist()
            for number in order:
                child = sentence.child(at, words[number].word, flip=luck is None)
                if child is not None:
                    yield child
                    break


class _Sentence:
    """A problem's sentence, token by token."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.cut = tokens(problem.sentence)
        self.tags = tag(self.cut)
        self.where: list[tuple[int, int]] = []
        for token in self.cut:
            start = problem.sentence.index(token, self.where[-1][1] if self.where else 0)
            self.where.append((start, start + len(token)))
        options = {word.lower() for option in problem.options for word in tokens(option)}
        self.taken = options | {word.lower() for word in self.cut}
        self.options = options

    def contrasts(self) -> list[int]:
        """Return the tokens that a contrast word may replace."""
        return [
            at
            for at, word in enumerate(self.cut)
            if word.lower() in CONTRASTS and word.lower() not in self.options
        ]

    def content(self) -> list[int]:
        """Return the content words that belong to no name and no option."""
        return [
            at
            for at, word in enumerate(self.cut)
            if word != BLANK
            and word.isalpha()
            and word.lower() not in FUNCTION_WORDS | self.options
            and self.tags[at].startswith(_OPEN)
            and not self.tags[at].startswith("NNP")
            and not is_name(self.cut, at)
        ]

    def gap(self, at: int, contrast: bool) -> models.Gap:
        """Return what the model is asked: the token hidden, and the blank hidden or filled."""
        text, (start, end) = self.problem.sentence, self.where[at]
        blank = text.index(BLANK)
        filling = self.problem.pronoun or BLANK
        text = text[:blank] + filling + text[blank + 1 :]
        shift = len(filling) - 1 if start > blank else 0
        unseen = () if self.problem.pronoun else ((blank, blank + 1),)
        among = CONTRASTS[self.cut[at].lower()] if contrast else None
        return models.Gap(text, start + shift, end + shift, unseen, among)

    def child(self, at: int, word: str, *, flip: bool) -> Problem | None:
        """Return the problem with this word there, or None where it does not fit."""
        problem, old = self.problem, self.cut[at]
        new = word.capitalize() if old[0].isupper() else word.lower()
        contrasts = CONTRASTS.get(old.lower(), frozenset())
        if new.lower() == old.lower() or (not flip and not self._fits(at, new, contrasts)):
            return None
        start, end = self.where[at]
        text = problem.sentence[:start] + new + problem.sentence[end:]
        before = self.cut[at - 1] if at else ""
        if before.lower() in ("a", "an"):
            first, last = self.where[at - 1]
            own = article(new).capitalize() if before[0].isupper() else article(new)
            text = text[:first] + own + text[last:]
        answer = problem.answer
        if flip and answer is not None:
            answer = 1 - answer
        extra = {FLIPPED: True} if flip else {}
        return perturbed(problem, text, problem.options, answer, source="masked", extra=extra)

    def _fits(self, at: int, new: str, contrasts: frozenset[str]) -> bool:
        """Tell whether a content word may take a place: known sort, not said yet, no opposite."""
        small = new.lower()
        if len(small) < 2 or small in self.taken | FUNCTION_WORDS | contrasts:
            return False
        return tag([*self.cut[:at], new, *self.cut[at + 1 :]])[at] == self.tags[at]


def _shuffled(places: Sequence[int], luck: np.random.Generator) -> list[int]:
    return [places[at] for at in luck.permutation(len(places)).tolist()]


@lru_cache(maxsize=1)
def _proposer(model: str | Path, device: str | None) -> models.Proposer:
    """Return the model ready to be asked; loaded once in each process, and never pickled."""
    return models.Proposer(models.load_masked_model(model, device=device))


_CONNECTIVES = {
    "because": "although though but",
    "since": "although though",
    "so": "but yet",
    "therefore": "however",
    "although": "because since",
    "though": "because since",
    "but": "so",
    "before": "after",
    "after": "before",
    "if": "unless",
    "unless": "if",
}
"""From a cause to a concession and back (EvoGrad, appendix A.1: "although" for "because"), and from
before to after. Both sides need not be whole opposites: the answer is a claim that people judge."""

_OPPOSITES = """
large small/big small/big little/tall short/long short/heavy light/thick thin/wide narrow/high low/
deep shallow/fast slow/quick slow/strong weak/hard soft/hard easy/difficult easy/rough smooth/
hot cold/warm cool/wet dry/full empty/clean dirty/new old/young old/rich poor/cheap expensive/
good bad/better worse/best worst/happy sad/brave afraid/calm nervous/kind cruel/polite rude/
careful careless/patient impatient/honest dishonest/guilty innocent/healthy sick/loud quiet/
bright dark/sharp dull/safe dangerous/early late/near far/more less/most least/larger smaller/
bigger smaller/taller shorter/longer shorter/heavier lighter/faster slower/stronger weaker/
richer poorer/older younger/harder easier/always never/often rarely/win lose/
won lost/love hate/loved hated/liked disliked/give take/gave took/buy sell/bought sold/push pull/
lend borrow/lent borrowed/teach learn/taught learned/open closed/accept refuse/accepted refused/
arrive leave/arrived left/remember forget/remembered forgot/succeeded failed/succeed fail
"""


def _both_ways() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {word: set(to.split()) for word, to in _CONNECTIVES.items()}
    for pair in _OPPOSITES.split("/"):
        one, other = pair.split()
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


CONTRASTS: Mapping[str, frozenset[str]] = _both_ways()
"""For a word in small letters, those that turn its sentence around."""
