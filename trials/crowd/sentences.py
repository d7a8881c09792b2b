"""Twins for a crowd: they follow WinoGrande's rules, and each contains a unique mark."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

TOPIC = "A lantern and a kettle stood at the harbour: kettle, lantern, harbour."
"""The topic of a site under trial; every twin contains all of its possible anchors."""


@dataclass(frozen=True)
class TypedTwin:
    """A twin as typed by a contributor."""

    mark: str
    sentences: tuple[str, str]

    def halves(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Return each half's sentence and its answer."""
        return (self.sentences[0], 0), (self.sentences[1], 1)

    def form(self) -> dict[str, str]:
        """Return the fields of the site's form."""
        return {
            "domain": "physical",
            "option_1": "lantern",
            "option_2": "kettle",
            "sentence_1": self.sentences[0],
            "answer_1": "0",
            "sentence_2": self.sentences[1],
            "answer_2": "1",
        }


@functools.cache
def read_words() -> tuple[str, ...]:
    """Return words from the included articles, so that no two twins are similar."""
    from winosmith.topics import load_built_in_topics

    topics = load_built_in_topics()
    texts = (topics.draw(seed).text for seed in range(60))
    found = {word.strip(".,;:!?") for text in texts for word in text.split()}
    return tuple(sorted(w for w in found if w.isascii() and w.islower() and 4 <= len(w) <= 9))


def make_twin(mark: str) -> TypedTwin:
    """Return a twin with words of the trial's topic; both halves contain the mark as a word."""
    a, b, c, d, e, f, g, h = random.Random(mark).sample(read_words(), 8)  # noqa: S311
    text = (
        f"In {mark} {a} {b} harbour the {c} lantern {d} beside the {e} kettle and the {f} {g}, "
        f"until the _ was moved with {h}"
    )
    return TypedTwin(mark, (f"{text} brightness.", f"{text} boiling."))
