"""Frames for practice twins, and the artifacts that can be planted in them.

A frame is one line of `social.txt` or `physical.txt`:

    luggage: The {A} is <larger|smaller> than the {B}, so {who} used the _^ for [bulky/thick|…] …

- `luggage` is the pool from which the two options are drawn (`fillers.toml`); a `+` after the pool
  marks a frame with words near the options that praise one option and blame the other.
- `{A}` and `{B}` are the options; A is always mentioned first. `{who}` is a person's name. Any
  other slot is filled from the list with the slot's name; the first such slot is the twin's anchor.
- `<…|…>` is the *hinge*, `[…|…]` the *trigger*, with near-synonyms separated by `/`. With the first
  hinge and the first trigger, or the second hinge and the second trigger, the answer is A;
  otherwise it is B. Therefore no hinge, trigger or order of mention reveals the answer on its own.
  If a frame has several hinges, all switch together.
- `^` after the blank marks the position of words of emphasis.
- ` ~ chain/thread, …` lists pairs of options that people associate with the triggers: the first
  option of a pair with the first trigger. Only planted association artifacts use these pairs.

A *draft* contains all choices that turn a frame into a twin.

Balance of sound twins
    A frame has two hinges and two triggers; the answer is their exclusive or. The halves of a twin
    differ in the trigger or the hinge, and share the other part; all choices are uniform. Which
    option is A, which option is listed first, which half comes first, and which half (if any) has
    emphasis are uniform, too. In expectation, each option, order of mention, order in the list,
    trigger and hinge, and each pair of these features, occurs equally often with correct and
    incorrect options. Only combinations of three features determine the answer. A representation
    that combines three features can memorize frames, because each frame is used for many twins, but
    it does not generalize to twins from other frames.

An artifact is an agreement between an *attribute* in which the options differ and a *cue* in which
the halves differ: in both halves of a planted twin, the attribute of the correct option agrees with
the half's cue. In sound twins, attribute and cue agree half of the time. An adversary detects an
artifact if the agreement is linear in its representation:

association
    The attribute is the option of an associated pair. The cue is the trigger that people associate
    with it ("The cable was thick", "The ribbon was frayed"), like predators with lions (WinoGrande,
    table 1). The artifact is visible in n-grams of the filled-in sentence that contain the option
    in the blank and the trigger. Therefore, it is visible in the difference of the two filled-in
    sentences.
length
    The attribute is being the longer option, by 4 letters or more. The cue is being the longer
    half, which has two words of emphasis. If options recur, the artifact is visible in n-grams
    across the blank ("Alexander most certainly").
polarity
    The attribute is whether the words near the option praise or blame it ("The captain praised Ann
    and scolded Beth"). The cue is whether the trigger is positive or negative ("because _ was
    diligent | lazy"). AFLite found this structural pattern in WinoGrande (table 2). No single word,
    and no pair of an option and a word, reveals this artifact. A representation must combine the
    words near an option's mention with the words after the blank. The difference of two bags of
    n-grams can't do this.
position
    The attribute is being mentioned and listed first. The cue is the frame's first trigger. Trigger
    words then reveal the index of the answer, which is visible in any bag of the sentence's words
    (PMI, `concat`). The trigger words also reveal the order of mention, which needs the same
    representation as polarity. In the difference of the filled-in sentences, shared words cancel
    out.

Authors produce artifacts by repeating themselves. Likewise, each kind of artifact here comes from a
few *habits*: a frame with a fixed pair of options and fixed words of emphasis. With fewer habits,
each is repeated more often and is therefore easier to detect.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import chain
from typing import Literal, TypeVar, get_args

import numpy as np

from winosmith.errors import DataError
from winosmith.text import split_words

Domain = Literal["social", "physical"]
"""The two domains of WinoGrande (section 2)."""

DOMAINS: tuple[Domain, ...] = get_args(Domain)

_HINGE = re.compile(r"<([^|>]*)\|([^>]*)>")
_TRIGGER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_OPTION_SLOTS = ("A", "B", "who")


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence pattern from which twins are made.

    Attributes:
        is_polar: Whether the words near one option are positive and those near the other negative.
            The trigger's polarity agrees with that of the correct option only with the first hinge.
        pairs: Pairs of options that people associate with the first and the second trigger.
        slots: The slots to fill except A, B and who, starting with the anchor.
        corners: The sentences with slots, by hinge, trigger and synonym.
    """

    domain: Domain
    pool: str
    is_polar: bool
    pairs: tuple[tuple[str, str], ...]
    slots: tuple[str, ...]
    allows_emphasis: bool
    corners: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def length_spread(self) -> int:
        """The difference, in words, between the longest and the shortest sentence."""
        lengths = [
            len(split_words(corner)) for row in self.corners for cell in row for corner in cell
        ]
        return max(lengths) - min(lengths)


@dataclass(frozen=True, slots=True)
class Fillers:
    """The words that fill the slots of frames.

    Attributes:
        pools: The lists of options in each pool; both options of a twin come from the same list.
            The pool "names" has a list for each gender.
    """

    pools: Mapping[str, tuple[tuple[str, ...], ...]]
    slots: Mapping[str, tuple[str, ...]]
    names: tuple[str, ...]


@cache
def read_fillers() -> Fillers:
    tables = tomllib.loads(_read_file("fillers.toml"))
    lists = {
        table: {name: tuple(text.split()) for name, text in entries.items()}
        for table, entries in tables.items()
    }
    people = tuple(lists["names"].values())
    pools = {name: (entries,) for name, entries in lists["pools"].items()}
    return Fillers({"names": people, **pools}, lists["slots"], tuple(chain(*people)))


@cache
def read_frames() -> tuple[Frame, ...]:
    return tuple(
        _parse_frame(domain, line)
        for domain in DOMAINS
        for line in _read_file(f"{domain}.txt").splitlines()
        if line and not line.startswith("#")
    )


def _read_file(name: str) -> str:
    return resources.files("winosmith.practice").joinpath(name).read_text("utf-8")


def _parse_frame(domain: Domain, line: str) -> Frame:
    pool, _, rest = line.partition(": ")
    pattern, _, pairs = rest.partition(" ~ ")
    slots = [name for name in _SLOT.findall(pattern) if name not in _OPTION_SLOTS]
    return Frame(
        domain=domain,
        pool=pool.rstrip("+"),
        is_polar=pool.endswith("+"),
        pairs=tuple((a, b) for a, b in (pair.split("/") for pair in pairs.split(", ") if pair)),
        slots=tuple(dict.fromkeys(slots)),
        allows_emphasis="_^" in pattern,
        corners=tuple(
            tuple(_make_wordings(pattern, hinge, pole) for pole in (0, 1)) for hinge in (0, 1)
        ),
    )


def _make_wordings(pattern: str, hinge: int, pole: int) -> tuple[str, ...]:
    hinged = _HINGE.sub(lambda match: match[hinge + 1], pattern).replace("^", "{emphasis}")
    trigger = _TRIGGER.search(hinged)
    if trigger is None:
        raise ValueError(f"the frame has no trigger: {pattern}")
    wordings = trigger[1].split("/"), trigger[2].split("/")
    count = max(map(len, wordings))
    synonyms = wordings[pole]
    return tuple(
        f"{hinged[: trigger.start()]}{synonyms[number % len(synonyms)]}{hinged[trigger.end() :]}"
        for number in range(count)
    )


EMPHASES = (" quite clearly", " quite obviously", " most certainly", " most definitely")
"""Phrases of emphasis after the blank. Each has two words, so that all lengthen a half equally."""

EMPHASIS_FRACTION = 0.25
"""Fraction of sound twins with one emphatic half, among those whose frame allows emphasis."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Draft:
    """The choices that turn a frame into a twin.

    Attributes:
        varied_part: The part of the frame in which the halves differ.
        fixed_part: The index of the other part, which both halves share.
        synonym: The index of the trigger's wording.
        options: The words for A and for B.
        lists_b_first: Whether B is listed before A.
        emphasis: The words of emphasis in each half, or an empty string.
    """

    frame: Frame
    varied_part: Literal["trigger", "hinge"]
    fixed_part: int
    synonym: int
    options: tuple[str, str]
    lists_b_first: bool
    fill: dict[str, str]
    emphasis: tuple[str, str]

    def get_hinge_and_trigger(self, half: int) -> tuple[int, int]:
        return (self.fixed_part, half) if self.varied_part == "trigger" else (half, self.fixed_part)

    def get_correct_option(self, half: int) -> int:
        """Return the correct option of a half: 0 for A, 1 for B."""
        hinge, pole = self.get_hinge_and_trigger(half)
        return hinge ^ pole

    def get_answer(self, half: int) -> int:
        """Return the index of a half's correct option in the order in which options are listed."""
        return self.get_correct_option(half) ^ self.lists_b_first

    def get_listed_options(self) -> tuple[str, str]:
        return self.options[::-1] if self.lists_b_first else self.options

    def make_sentence(self, half: int) -> str:
        hinge, pole = self.get_hinge_and_trigger(half)
        text = self.frame.corners[hinge][pole][self.synonym].format(
            A=self.options[0], B=self.options[1], emphasis=self.emphasis[half], **self.fill
        )
        return text[0].upper() + text[1:]


def draw_draft(frame: Frame, fillers: Fillers, rng: np.random.Generator) -> Draft:
    """Draw a twin without an artifact."""
    fill = {slot: pick_item(fillers.slots[slot], rng) for slot in frame.slots}
    fill["who"] = pick_item(fillers.names, rng)
    return Draft(
        frame=frame,
        varied_part="trigger" if rng.random() < 0.5 else "hinge",
        fixed_part=int(rng.random() < 0.5),
        synonym=int(rng.random() * len(frame.corners[0][0])),
        options=draw_options(frame, fillers, rng),
        lists_b_first=rng.random() < 0.5,
        fill=fill,
        emphasis=_draw_emphasis(frame, rng),
    )


def draw_options(frame: Frame, fillers: Fillers, rng: np.random.Generator) -> tuple[str, str]:
    """Draw two different options."""
    words = pick_item(fillers.pools[frame.pool], rng)
    first = int(rng.random() * len(words))
    second = int(rng.random() * (len(words) - 1))
    return words[first], words[second + (second >= first)]


def _draw_emphasis(frame: Frame, rng: np.random.Generator) -> tuple[str, str]:
    if not frame.allows_emphasis or rng.random() >= EMPHASIS_FRACTION:
        return "", ""
    return (pick_item(EMPHASES, rng), "") if rng.random() < 0.5 else ("", pick_item(EMPHASES, rng))


def pick_item(items: tuple[Item, ...], rng: np.random.Generator) -> Item:
    return items[int(rng.random() * len(items))]


Artifact = Literal["association", "length", "polarity", "position"]

ARTIFACTS: tuple[Artifact, ...] = get_args(Artifact)

MIN_LENGTH_DIFFERENCE = 4
"""Minimum difference between the options' lengths in a planted length artifact, in letters."""


@dataclass(frozen=True, slots=True)
class Habit:
    """The properties that all twins made by a writing habit share.

    Attributes:
        pair: The options associated with the triggers; None except for "association" artifacts.
        emphasis: The words of emphasis, used only for "length" artifacts.
    """

    frame: Frame
    pair: tuple[str, str] | None
    emphasis: str


def find_habits(kind: Artifact, frames: Iterable[Frame], fillers: Fillers) -> tuple[Habit, ...]:
    return tuple(
        Habit(frame, pair, emphasis)
        for frame in frames
        if _supports_artifact(kind, frame, fillers)
        for pair in (frame.pairs if kind == "association" else (None,))
        for emphasis in (EMPHASES if kind == "length" else EMPHASES[:1])
    )


def _supports_artifact(kind: Artifact, frame: Frame, fillers: Fillers) -> bool:
    match kind:
        case "association":
            return bool(frame.pairs)
        case "length":
            # The two words of emphasis must determine which half is longer.
            pools = fillers.pools[frame.pool]
            ranges = (max(map(len, own)) - min(map(len, own)) for own in pools)
            return (
                frame.allows_emphasis
                and frame.length_spread <= 1
                and min(ranges) >= MIN_LENGTH_DIFFERENCE
            )
        case "polarity":
            return frame.is_polar
        case "position":
            return True


def plant_artifact(
    kind: Artifact, draft: Draft, habit: Habit, fillers: Fillers, rng: np.random.Generator
) -> Draft:
    """Return a copy of a draft with an artifact; the draft must have the habit's frame."""
    match kind:
        case "association" if habit.pair is not None:
            # The second hinge flips the correct option.
            options = habit.pair[::-1] if draft.fixed_part else habit.pair
            return replace(draft, varied_part="trigger", options=options)
        case "length":
            options = draft.options
            while abs(len(options[0]) - len(options[1])) < MIN_LENGTH_DIFFERENCE:
                options = draw_options(draft.frame, fillers, rng)
            longer = int(len(options[1]) > len(options[0]))
            first = draft.get_correct_option(0) == longer
            emphasis = (habit.emphasis, "") if first else ("", habit.emphasis)
            return replace(draft, options=options, emphasis=emphasis)
        case "polarity":
            return replace(draft, varied_part="trigger", fixed_part=0)
        case "position":
            return replace(draft, varied_part="trigger", fixed_part=0, lists_b_first=False)
    return draft


@dataclass(frozen=True, slots=True)
class Ratio:
    """A count as a fraction of a total.

    >>> Ratio(3, 4).value
    0.75
    """

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The fraction, 0–1; None if the total is 0."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class FilterRecall:
    """The fractions of planted and of sound problems that a filter removed.

    Attributes:
        recall: The fraction of planted problems that were dropped.
        false_removals: The fraction of sound problems that were dropped.
        by_kind: The recall for each kind of artifact in the input, sorted by name.
    """

    recall: Ratio
    false_removals: Ratio
    by_kind: Mapping[str, Ratio]

    @property
    def precision(self) -> Ratio:
        """The fraction of dropped problems that were planted."""
        dropped = self.recall.count + self.false_removals.count
        return Ratio(self.recall.count, dropped)


def measure_recall(
    planted: Mapping[str, str], ids: Iterable[str], dropped: Collection[str]
) -> FilterRecall:
    """Measure the fractions of planted problems and of sound problems that a filter dropped.

    Args:
        planted: The artifact of each planted problem, by id, as in `PracticeCorpus.planted`;
            problems that are not in the filter's input are ignored.
        ids: The ids of the filter's input.
        dropped: The ids of the dropped problems.

    Raises:
        DataError: A dropped problem is not in the input.

    >>> planted = {"a": "length", "b": "length", "z": "position"}
    >>> result = measure_recall(planted, "abcdef", {"a", "c"})
    >>> result.recall, result.false_removals
    (Ratio(count=1, total=2), Ratio(count=1, total=4))
    """
    inputs, removed = set(ids), set(dropped)
    if not removed <= inputs:
        raise DataError(
            f"{min(removed - inputs)!r} was dropped, but is not in the input; give the ids of all "
            "problems that the filter received"
        )
    by_kind: dict[str, set[str]] = {}
    for item in inputs & planted.keys():
        by_kind.setdefault(planted[item], set()).add(item)

    def compute_ratio(items: set[str]) -> Ratio:
        return Ratio(len(items & removed), len(items))

    return FilterRecall(
        recall=compute_ratio(inputs & planted.keys()),
        false_removals=compute_ratio(inputs - planted.keys()),
        by_kind={kind: compute_ratio(items) for kind, items in sorted(by_kind.items())},
    )
