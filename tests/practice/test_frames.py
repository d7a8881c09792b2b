"""Frames: the notation is read, and every line of the shipped files keeps its rules."""

import re

from winosmith.practice._artifacts import Frame, _frame, fillers, frames
from winosmith.text import FUNCTION_WORDS, words

MIN_FRAMES = 150


def wordings(frame: Frame) -> list[str]:
    """Return every sentence of the square."""
    return [sentence for row in frame.corners for cell in row for sentence in cell]


def test_there_are_many_frames_in_both_domains():
    """There are over 150 frames, at least 75 in each domain."""
    domains = [frame.domain for frame in frames()]
    assert len(domains) >= MIN_FRAMES
    assert min(domains.count("social"), domains.count("physical")) >= 75


def test_the_notation_is_read():
    """A line becomes a square of sentences, its slots, its pairs and its marks."""
    read = _frame(
        "physical", "ropes+: The {A} is <by|on> the {B} in a {hut}; the _^ is [a/b|c]. ~ x/y"
    )
    assert read.corners == (
        (
            ("The {A} is by the {B} in a {hut}; the _{emphasis} is a.",) * 1
            + ("The {A} is by the {B} in a {hut}; the _{emphasis} is b.",),
            ("The {A} is by the {B} in a {hut}; the _{emphasis} is c.",) * 2,
        ),
        (
            (
                "The {A} is on the {B} in a {hut}; the _{emphasis} is a.",
                "The {A} is on the {B} in a {hut}; the _{emphasis} is b.",
            ),
            ("The {A} is on the {B} in a {hut}; the _{emphasis} is c.",) * 2,
        ),
    )
    assert (read.pool, read.polar, read.emphatic) == ("ropes", True, True)
    assert (read.slots, read.pairs) == (("hut",), (("x", "y"),))


def test_a_frame_mentions_a_before_b_and_has_one_blank():
    """In every wording A stands before B, each once, and there is one blank."""
    for sentence in (sentence for frame in frames() for sentence in wordings(frame)):
        once = sentence.count("{A}") == sentence.count("{B}") == sentence.count("_") == 1
        assert once, sentence
        assert sentence.index("{A}") < sentence.index("{B}"), sentence
        assert not re.search(r"[<>|\[\]^~/]", sentence), sentence


def test_a_frame_has_an_anchor_and_known_fillers():
    """A frame has a slot for its anchor, and every slot and pool has a list."""
    for frame in frames():
        assert frame.slots, wordings(frame)[0]
        assert set(frame.slots) <= set(fillers().slots), wordings(frame)[0]
        pool = {option for own in fillers().pools[frame.pool] for option in own}
        assert {option for pair in frame.pairs for option in pair} <= pool, wordings(frame)[0]


def test_no_filler_or_frame_word_is_an_option():
    """What stands around the options never equals one of them, so that they are unmistakable."""
    for frame in frames():
        around = {word for slot in frame.slots for word in fillers().slots[slot]}
        around |= {word.strip(".,").lower() for s in wordings(frame) for word in words(s)}
        pools = fillers().pools[frame.pool]
        assert not around & {option for own in pools for option in own}, wordings(frame)[0]


def test_no_option_of_a_pool_is_part_of_another():
    """Within a pool, no option is found inside another one."""
    for own in (own for pool in fillers().pools.values() for own in pool):
        lowered = [option.lower() for option in own]
        assert not [(a, b) for a in lowered for b in lowered if a != b and re.search(rf"\b{a}", b)]


def test_fillers_are_distinct_single_content_words():
    """A list has no word twice, none of several words, and no function word."""
    pools = [own for pool in fillers().pools.values() for own in pool]
    for own in [*pools, *fillers().slots.values()]:
        assert len(set(own)) == len(own)
        assert not {word.lower() for word in own} & FUNCTION_WORDS
        assert all(word.isalpha() for word in own)
