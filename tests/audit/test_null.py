"""The null of the cues: exact moments, limits that agree with p, the level, added draws."""

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from winosmith import Dataset, Problem, audit, metrics
from winosmith.audit import CUES
from winosmith.audit._battery import PermutedKeys, UniformKeys, find_positions, score_actual_keys
from winosmith.errors import InputError

WORDS = "red cold river mouse never some 12 3.5 stone about".split()


@st.composite
def items(draw: st.DrawFn, most: int) -> audit.Items:
    """Draw a few items of two or three options; some have a copy with the options in reverse."""
    option = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
    found: list[Problem] = []
    for at in range(draw(st.integers(2, most))):
        options = tuple(draw(st.lists(option, min_size=2, max_size=3, unique=True)))
        answer = draw(st.integers(0, len(options) - 1))
        found.append(Problem(f"p{at}", f"w{at} x{at} y{at} is _", options, answer))
        if draw(st.booleans()):
            found.append(Problem(f"p{at}x", f"w{at} x{at} y{at} is _", options[::-1],
                                 len(options) - 1 - answer))  # fmt: skip
    return audit.Items.from_dataset(Dataset(found))


def _permute_keys(of: audit.Items, possible: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all permutations of the keys of units within strata of equal possible positions."""
    kinds = [(int(count), *row) for count, row in zip(of.unit_counts, possible, strict=True)]
    strata = [[at for at, one in enumerate(kinds) if one == kind] for kind in sorted({*kinds})]
    for orders in product(*map(permutations, strata)):
        keys = of.unit_key.copy()
        for units, order in zip(strata, orders, strict=True):
            keys[units] = of.unit_key[list(order)]
        yield keys


def _combine_keys(of: audit.Items, possible: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the keys of all units at every combination of possible positions."""
    for keys in product(*map(np.flatnonzero, possible)):
        yield np.array(keys)


@settings(deadline=None, max_examples=30)
@given(items(5), st.sampled_from([None, "the longest, in characters", "the first"]))
def test_mean_and_spread_are_those_of_an_enumeration(of, kept):
    ties = of.count_ties(CUES)
    held = of.count_ties([cue for cue in CUES if cue.name == kept])
    possible = find_positions(of, held)
    for null_of, deals in ((PermutedKeys, _permute_keys), (UniformKeys, _combine_keys)):
        null = null_of(of, ties, possible, [0])
        scores = [score_actual_keys(of.with_keys(keys), ties) for keys in deals(of, possible)]
        assert null.mean == pytest.approx(np.mean(scores, axis=0), abs=1e-9)
        assert null.spread == pytest.approx(np.std(scores, axis=0), abs=1e-7)


@settings(deadline=None, max_examples=10)
@given(items(6), st.sampled_from([None, "the longest, in characters"]))
def test_draws_are_possible_keys(of, kept):
    ties = of.count_ties(CUES)
    possible = find_positions(of, of.count_ties([c for c in CUES if c.name == kept]))
    null = UniformKeys(of, ties, possible, [0])
    known = {
        tuple(score_actual_keys(of.with_keys(keys), ties).round(6))
        for keys in _combine_keys(of, possible)
    }
    drawn = {tuple(row) for row in null.draw_scores(200).round(6)}
    assert drawn <= known
    assert len(known) > 6 or drawn == known


@cache
def _make_quiz(n: int, share: float, seed: int, options: int = 4) -> audit.Items:
    """Make items; the longest option is the key in a fraction of them, otherwise a random one."""
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        texts = [" ".join(rng.choice(WORDS, int(rng.integers(1, 9)))) for _ in range(options)]
        texts = [f"{text} {at}{place}" for place, text in enumerate(texts)]
        longest = int(np.argmax([len(text) for text in texts]))
        answer = longest if rng.random() < share else int(rng.integers(options))
        found.append(Problem(str(at), f"What is {at}?", tuple(texts), answer, blank=None))
    return audit.Items.from_dataset(Dataset(found))


@pytest.mark.parametrize("draws", [19, 199, 1000])
def test_null_of_a_cue_does_not_depend_on_its_score(draws):
    """The longest option is correct in 45 %; 25.0 ± 1.1 % are expected, at any number of draws."""
    found = audit.score_cues(_make_quiz(1600, 0.27, 0), draws=draws, max_draws=draws).scores
    longest = next(one for one in found if one.cue == "the longest, in characters")
    assert longest.right > 0.43
    assert longest.expected == pytest.approx(0.25, abs=0.005)
    assert longest.spread == pytest.approx(0.0108, abs=0.0002)
    assert longest.expected + 2 * longest.spread < longest.high < 0.30


@settings(deadline=None, max_examples=20)
@given(
    st.integers(20, 120), st.floats(0, 0.3), st.integers(2, 4), st.integers(0, 10**6),
    st.sampled_from([19, 20, 50, 199]), st.booleans(),
)  # fmt: skip
def test_score_exceeds_its_limit_exactly_if_p_is_at_most_005(n, share, options, seed, draws, fixed):
    of = _make_quiz(n, share, seed, options)
    tried = audit.score_cues(of, draws=draws, max_draws=draws if fixed else 2000, seed=seed)
    for one in tried.scores:
        assert (one.right > one.high) == (one.p <= 0.05)
        if one.p_given is not None and one.high_given is not None:
            assert one.right > one.high_given
            assert one.p_given <= 0.05


@pytest.mark.long
def test_19_draws_keep_the_level():
    """In 1,000 data sets with random keys, the smallest p is 0.05 or less in about 5 %.

    Wilson's interval allows for chance.
    """
    texts = [_make_quiz(200, 0.0, seed) for seed in range(10)]
    below = 0
    for at in range(1000):
        of = texts[at % len(texts)]
        keys = np.random.default_rng([3, at]).integers(4, size=len(of.unit_starts))
        found = audit.score_cues(of.with_keys(keys), draws=19, max_draws=19, seed=at).scores
        below += min(one.p for one in found) <= 0.05
    low, high = metrics.wilson_interval(below, 1000)
    assert low <= 0.05
    assert high >= 0.04


@pytest.mark.long
def test_two_seeds_mostly_flag_the_same_cues():
    texts = [_make_quiz(200, 0.0, seed) for seed in range(10)]
    differ = 0
    for at in range(100):
        of, rng = texts[at % len(texts)], np.random.default_rng([4, at])
        longest = [int(np.argmax([*map(len, of.problems[one].options)])) for one in of.unit_starts]
        keys = rng.integers(4, size=len(of.unit_starts))
        planted = of.with_keys(np.where(rng.random(len(keys)) < 0.1 * (at % 3), longest, keys))
        one, two = (audit.score_cues(planted, draws=19, seed=2 * at + seed) for seed in (0, 1))
        differ += [f.cue for f in one.flagged] != [f.cue for f in two.flagged]
    assert differ <= 3


def test_draws_are_added_until_p_is_decided():
    """A clear p-value needs no more draws. If the maximum is reached, the cue is borderline."""
    clear = audit.score_cues(_make_quiz(60, 0.0, 2), draws=99)
    assert (clear.draws, clear.flagged, clear.borderline) == (99, (), ())
    strong = audit.score_cues(_make_quiz(60, 0.9, 5), draws=19)
    assert strong.draws > 19  # 19 draws can't show whether p is below 0.05
    assert strong.flagged[0].p < 0.05
    few = audit.score_cues(_make_quiz(60, 0.9, 5), draws=19, max_draws=19)
    assert (few.draws, few.flagged) == (19, ())
    assert few.borderline[0].cue == "the longest, in characters"


def test_too_few_draws_are_refused():
    """With fewer than 19 draws, no p-value can be 0.05."""
    with pytest.raises(InputError, match="18 draws can't yield a p-value"):
        audit.score_cues(_make_quiz(20, 0.0, 0), draws=18)
