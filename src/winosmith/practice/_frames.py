"""The frames that practice twins are written from, and what fills them.

A frame is one line of `social.txt` or `physical.txt`:

    luggage: The {A} is <larger|smaller> than the {B}, so {who} used the _^ for [bulky/thick|…] …

- `luggage` names the pool of words that the two options are drawn from (`fillers.toml`); a `+`
  after it marks a frame whose words near the options praise one and blame the other.
- `{A}` and `{B}` are the options, A always mentioned first; `{who}` is somebody's name; any other
  slot is filled from the list of its name, and the first of these is the twin's anchor.
- `<…|…>` is the *hinge*, `[…|…]` the *trigger*, with near-synonyms apart by `/`. Every frame is a
  square: with the first hinge and the first trigger, or the second and the second, the answer is
  A; otherwise it is B. So neither the hinge, nor the trigger, nor the place of mention says
  anything about the answer by itself. If a frame has several hinges, they switch together.
- `^` after the blank is where a word of emphasis may stand.
- ` ~ chain/thread, …` lists pairs of options that people associate with the triggers: the first
  of a pair with the first trigger. Only a planted association uses them.

A *draft* is a twin while it is being written: a frame, and every choice that turns it into two
halves.

How a sound twin is balanced
    A frame is a square of two hinges by two triggers whose answer is an exclusive or.
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

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from typing import Literal, TypeVar

import numpy as np

from winosmith.text import words

Domain = Literal["social", "physical"]
"""The two domains of WinoGrande (section 2)."""

_HINGE = re.compile(r"<([^|>]*)\|([^>]*)>")
_TRIGGER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_OPTION_SLOTS = ("A", "B", "who")


@dataclass(frozen=True, slots=True)
class Frame:
    """A pattern for twins.

    Attributes:
        domain: "social" or "physical".
        pool: the name of the pool of its options.
        polar: the words near one option are positive, those near the other negative, and the
            trigger's polarity agrees with them under the first hinge, not under the second.
        pairs: options associated with the first trigger and the second.
        slots: the names of the slots to fill, the anchor's first; without A, B and who.
        emphatic: a word of emphasis may stand after the blank.
        corners: sentences with slots, by hinge, trigger and synonym.
    """

    domain: Domain
    pool: str
    polar: bool
    pairs: tuple[tuple[str, str], ...]
    slots: tuple[str, ...]
    emphatic: bool
    corners: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def synonyms(self) -> int:
        """The number of wordings of the trigger."""
        return len(self.corners[0][0])

    @property
    def spread(self) -> int:
        """The number of words by which the longest corner exceeds the shortest."""
        lengths = [len(words(corner)) for row in self.corners for cell in row for corner in cell]
        return max(lengths) - min(lengths)


@dataclass(frozen=True, slots=True)
class Fillers:
    """The words that fill frames.

    Attributes:
        pools: for each pool, the lists that two options may be drawn from together. The pool
            "names" has one list a gender, for both people of a problem have the same.
        slots: the list of each slot.
        names: all names of people.
    """

    pools: Mapping[str, tuple[tuple[str, ...], ...]]
    slots: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]


@cache
def fillers() -> Fillers:
    """Return the fillers that come with winosmith."""
    tables = tomllib.loads(_read("fillers.toml"))
    lists = {
        table: {name: tuple(text.split()) for name, text in entries.items()}
        for table, entries in tables.items()
    }
    people = tuple(lists["names"].values())
    pools = {name: (entries,) for name, entries in lists["pools"].items()}
    return Fillers({"names": people, **pools}, lists["slots"], tuple(chain(*people)))


@cache
def frames() -> tuple[Frame, ...]:
    """Return the frames that come with winosmith, the social ones first."""
    return (*_of_file("social"), *_of_file("physical"))


def _of_file(domain: Domain) -> tuple[Frame, ...]:
    lines = _read(f"{domain}.txt").splitlines()
    return tuple(_frame(domain, line) for line in lines if line and not line.startswith("#"))


def _read(name: str) -> str:
    return resources.files("winosmith.practice").joinpath(name).read_text("utf-8")


def _frame(domain: Domain, line: str) -> Frame:
    """Return the frame of a line in the notation above."""
    pool, _, rest = line.partition(": ")
    pattern, _, pairs = rest.partition(" ~ ")
    slots = [name for name in _SLOT.findall(pattern) if name not in _OPTION_SLOTS]
    return Frame(
        domain=domain,
        pool=pool.rstrip("+"),
        polar=pool.endswith("+"),
        pairs=tuple((a, b) for a, b in (pair.split("/") for pair in pairs.split(", ") if pair)),
        slots=tuple(dict.fromkeys(slots)),
        emphatic="_^" in pattern,
        corners=tuple(
            tuple(_wordings(pattern, hinge, pole) for pole in (0, 1)) for hinge in (0, 1)
        ),
    )


def _wordings(pattern: str, hinge: int, pole: int) -> tuple[str, ...]:
    """Return the sentence with this hinge and this trigger, once for each synonym."""
    hinged = _HINGE.sub(lambda match: match[hinge + 1], pattern).replace("^", "{emphasis}")
    trigger = _TRIGGER.search(hinged)
    if trigger is None:
        raise ValueError(f"the frame has no trigger: {pattern}")
    wordings = trigger[1].split("/"), trigger[2].split("/")
    count = max(map(len, wordings))
    own = wordings[pole]
    return tuple(
        f"{hinged[: trigger.start()]}{own[number % len(own)]}{hinged[trigger.end() :]}"
        for number in range(count)
    )


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
