"""A twin while it is being written: a frame, and every choice that turns it into two halves.

How a sound twin is balanced
    A frame is a square of two hinges by two triggers whose answer is an exclusive or (`_frames`).
    A twin is one side of that square, and which side is drawn evenly: the halves differ in the
    trigger, under either hinge, or in the hinge, under either trigger. Who is A, which option is
    listed first, which half comes first, and which half (if any) has a word of emphasis are
    drawn evenly too. So, in expectation, each option, place of mention, place in the list,
    trigger word, hinge word, and each two of these together, go with a right answer as often as
    with a wrong one. Only three of them together decide, which is what reading means. A
    representation that joins three can still learn frames by heart, since each is used for many
    twins; of twins from another frame it then knows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from winosmith.practice._frames import Fillers, Frame

EMPHASES = (" quite clearly", " quite obviously", " most certainly", " most definitely")
"""What may stand after the blank; all have two words, so that they lengthen a half alike."""

EMPHASISED = 0.25
"""The share of sound twins, where their frame allows it, of which one half is emphatic."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Draft:
    """The choices that make a twin.

    Attributes:
        frame: the frame.
        along: what the halves differ in, the trigger or the hinge.
        fixed: which of the two values of the other one both halves have.
        synonym: which wording of the trigger.
        options: the words for A and for B.
        swapped: whether B is listed before A.
        fill: the words for the other slots.
        emphasis: what stands after the blank of each half.
    """

    frame: Frame
    along: Literal["trigger", "hinge"]
    fixed: int
    synonym: int
    options: tuple[str, str]
    swapped: bool
    fill: dict[str, str]
    emphasis: tuple[str, str]

    def corner(self, half: int) -> tuple[int, int]:
        """Return the hinge and the trigger of a half."""
        return (self.fixed, half) if self.along == "trigger" else (half, self.fixed)

    def right(self, half: int) -> int:
        """Return who is right in a half: 0 for A, 1 for B."""
        hinge, pole = self.corner(half)
        return hinge ^ pole

    def answer(self, half: int) -> int:
        """Return the index of the right option in the list."""
        return self.right(half) ^ self.swapped

    def listed(self) -> tuple[str, str]:
        """Return the options in the order in which they are listed."""
        return self.options[::-1] if self.swapped else self.options

    def sentence(self, half: int) -> str:
        """Return the sentence of a half."""
        hinge, pole = self.corner(half)
        text = self.frame.corners[hinge][pole][self.synonym].format(
            A=self.options[0], B=self.options[1], emphasis=self.emphasis[half], **self.fill
        )
        return text[0].upper() + text[1:]


def draw(frame: Frame, fillers: Fillers, rng: np.random.Generator) -> Draft:
    """Return a sound twin of this frame, with every choice drawn evenly."""
    fill = {slot: pick(fillers.slots[slot], rng) for slot in frame.slots}
    fill["who"] = pick(fillers.names, rng)
    return Draft(
        frame=frame,
        along="trigger" if rng.random() < 0.5 else "hinge",
        fixed=int(rng.random() < 0.5),
        synonym=int(rng.random() * frame.synonyms),
        options=draw_options(frame, fillers, rng),
        swapped=rng.random() < 0.5,
        fill=fill,
        emphasis=_emphasis(frame, rng),
    )


def draw_options(frame: Frame, fillers: Fillers, rng: np.random.Generator) -> tuple[str, str]:
    """Return two different options of the frame's pool."""
    words = pick(fillers.pools[frame.pool], rng)
    first = int(rng.random() * len(words))
    second = int(rng.random() * (len(words) - 1))
    return words[first], words[second + (second >= first)]


def _emphasis(frame: Frame, rng: np.random.Generator) -> tuple[str, str]:
    if not frame.emphatic or rng.random() >= EMPHASISED:
        return "", ""
    return (pick(EMPHASES, rng), "") if rng.random() < 0.5 else ("", pick(EMPHASES, rng))


def pick(items: tuple[Item, ...], rng: np.random.Generator) -> Item:
    """Return one of the items, each as likely as the others."""
    return items[int(rng.random() * len(items))]
