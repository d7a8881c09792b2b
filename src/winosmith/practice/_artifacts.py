"""The artifacts that can be planted, each as a change of a sound draft, and what a filter found.

An artifact is an agreement between an *attribute* in which the options differ and a *cue* in which
the halves differ: in both halves of a planted twin, the right option is the one whose attribute
agrees with the half's cue. In sound twins the two agree as often as not. What an adversary needs
to see an agreement is a representation in which it is linear:

association
    Attribute: the option itself, of a certain pair; cue: the trigger, each option with the one
    that people associate with it ("The cable was thick", "The ribbon was frayed"), as predators
    with lions (WinoGrande, table 1). Visible where an option and a trigger stand together: in
    n-grams of the filled-in sentence that reach from the blank to the trigger, so in the
    difference of the two filled-in sentences.
length
    Attribute: the longer option, by 4 letters or more; cue: the longer half, made so by two words
    of emphasis. Visible in n-grams over the blank ("Alexander most certainly"), to the extent that
    the same options recur.
polarity
    Attribute: the words near the option praise or blame it ("The captain praised Ann and scolded
    Beth"); cue: the trigger is positive or negative ("because _ was diligent | lazy"). This is the
    structural pattern that AFLite found in WinoGrande (table 2). It is in no word, nor in a pair
    of an option and a word; it takes a representation that ties the words near an option's mention
    to the words after the blank. The difference of two bags of n-grams can't see it.
position
    Attribute: mentioned first and listed first; cue: the frame's first trigger. So trigger words
    give away the index of the answer, which any bag of the sentence's words shows (PMI,
    `concat`), and the place of mention, which takes the same representation as polarity. In the
    difference of the two filled-in sentences, the words that both share cancel.

Artifacts come from people who repeat themselves. So does each kind here: from a few *habits*, each
a frame with a pair of options and words of emphasis to which it keeps. The fewer the habits, the
more often each is repeated, and the easier it is to find.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from winosmith.errors import DataError
from winosmith.practice._frames import EMPHASES, Draft, Fillers, Frame, draw_options

Artifact = Literal["association", "length", "polarity", "position"]
"""The kinds of artifact."""

ARTIFACTS: tuple[Artifact, ...] = get_args(Artifact)

LETTERS_LONGER = 4
"""By how many letters the longer option of a planted length artifact exceeds the other."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What the twins with one artifact, written out of one habit, have in common.

    Attributes:
        frame: their frame.
        pair: the options associated with the first and the second trigger; None without.
        emphasis: the words of emphasis.
    """

    frame: Frame
    pair: tuple[str, str] | None
    emphasis: str


def habits(kind: Artifact, frames: Iterable[Frame], fillers: Fillers) -> tuple[Habit, ...]:
    """Return every habit that this kind of artifact could come from, in order."""
    return tuple(
        Habit(frame, pair, emphasis)
        for frame in frames
        if _fits(kind, frame, fillers)
        for pair in (frame.pairs if kind == "association" else (None,))
        for emphasis in (EMPHASES if kind == "length" else EMPHASES[:1])
    )


def _fits(kind: Artifact, frame: Frame, fillers: Fillers) -> bool:
    match kind:
        case "association":
            return bool(frame.pairs)
        case "length":
            # the emphasis, of two words, must decide which half is the longer one
            return frame.emphatic and frame.spread <= 1 and _uneven(fillers.pools[frame.pool])
        case "polarity":
            return frame.polar
        case "position":
            return True


def _uneven(lists: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether each list has words short and long enough for a planted length."""
    return all(max(map(len, own)) - min(map(len, own)) >= LETTERS_LONGER for own in lists)


def plant(
    kind: Artifact, draft: Draft, habit: Habit, fillers: Fillers, rng: np.random.Generator
) -> Draft:
    """Return the draft, which is of the habit's frame, with an artifact of this kind."""
    match kind:
        case "association":
            return _associated(draft, habit)
        case "length":
            return _lengthened(draft, habit, fillers, rng)
        case "polarity":
            return replace(draft, along="trigger", fixed=0)
        case "position":
            return replace(draft, along="trigger", fixed=0, swapped=False)


def _associated(draft: Draft, habit: Habit) -> Draft:
    if habit.pair is None:
        return draft
    options = habit.pair[::-1] if draft.fixed else habit.pair  # the hinge flips who is right
    return replace(draft, along="trigger", options=options)


def _lengthened(draft: Draft, habit: Habit, fillers: Fillers, rng: np.random.Generator) -> Draft:
    options = draft.options
    while abs(len(options[0]) - len(options[1])) < LETTERS_LONGER:
        options = draw_options(draft.frame, fillers, rng)
    longer = int(len(options[1]) > len(options[0]))
    emphasis = (habit.emphasis, "") if draft.right(0) == longer else ("", habit.emphasis)
    return replace(draft, options=options, emphasis=emphasis)


@dataclass(frozen=True, slots=True)
class Share:
    """A count out of a total.

    >>> Share(3, 4).value
    0.75
    """

    count: int
    total: int

    @property
    def value(self) -> float | None:
        """The share, 0–1; None of nothing."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Found:
    """What a filter did to the planted and to the sound problems.

    Attributes:
        recall: the planted that it dropped, of all planted.
        false_removals: the sound that it dropped, of all sound.
        by_kind: the recall for each kind of artifact that was present, in the order of the kinds.
    """

    recall: Share
    false_removals: Share
    by_kind: Mapping[str, Share]

    @property
    def precision(self) -> Share:
        """The planted among the dropped."""
        dropped = self.recall.count + self.false_removals.count
        return Share(self.recall.count, dropped)


def found(planted: Mapping[str, str], ids: Iterable[str], dropped: Collection[str]) -> Found:
    """Return how many planted problems a filter dropped, and how many sound ones.

    Args:
        planted: the artifact of each planted problem by its id, as in `PracticeCorpus.planted`;
            ids that the filter did not see do not count.
        ids: the problems that went into the filter.
        dropped: those that it dropped.

    Raises:
        DataError: a dropped problem did not go in.

    >>> result = found({"a": "length", "b": "length", "z": "position"}, "abcdef", {"a", "c"})
    >>> result.recall, result.false_removals
    (Share(count=1, total=2), Share(count=1, total=4))
    """
    seen, gone = set(ids), set(dropped)
    if not gone <= seen:
        raise DataError(
            f"{min(gone - seen)!r} was dropped but did not go in; give all ids that the filter saw"
        )
    by_kind = {
        kind: _share({item for item in seen if planted.get(item) == kind}, gone)
        for kind in sorted({planted[item] for item in seen if item in planted})
    }
    return Found(
        recall=_share({item for item in seen if item in planted}, gone),
        false_removals=_share({item for item in seen if item not in planted}, gone),
        by_kind=by_kind,
    )


def _share(items: set[str], gone: set[str]) -> Share:
    return Share(len(items & gone), len(items))
