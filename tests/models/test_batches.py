"""Rows of similar length share a batch, every row is in one, and twins stay together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winosmith.models import length_batches, shuffled_batches

LENGTHS = st.lists(st.integers(1, 60), max_size=200)


@given(LENGTHS, st.integers(1, 300))
def test_length_batches_hold_every_row_once_within_the_budget(
    lengths: list[int], tokens: int
) -> None:
    """Every row is in one batch, and no batch of several rows is over its tokens."""
    batches = length_batches(lengths, tokens)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens


@given(LENGTHS)
def test_length_batches_go_from_long_to_short(lengths: list[int]) -> None:
    """The longest rows come first, so that too little memory shows at once."""
    order = [lengths[row] for batch in length_batches(lengths, 128) for row in batch]
    assert order == sorted(lengths, reverse=True)


@given(st.lists(st.tuples(st.integers(5, 60), st.booleans()), max_size=150), st.integers(0, 9))
def test_shuffled_batches_hold_every_row_once_and_whole_twins(
    groups_drawn: list[tuple[int, bool]], seed: int
) -> None:
    """Every row is in one batch; without singles, no batch of even size parts a twin."""
    groups: list[tuple[int, ...]] = []
    lengths: list[int] = []
    for length, _ in groups_drawn:
        groups.append((len(lengths), len(lengths) + 1))
        lengths += [length, length + 1]
    batches = shuffled_batches(lengths, groups, 8, np.random.default_rng(seed))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    home = {row: at for at, batch in enumerate(batches) for row in batch}
    assert all(home[first] == home[second] for first, second in groups)


def test_shuffled_batches_save_most_of_the_padding() -> None:
    """Sorting within pools leaves a fraction of the padding that random batches have."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(12, 45, 4000).tolist()
    singles = [(row,) for row in range(4000)]
    batches = shuffled_batches(lengths, singles, 16, rng)
    order = rng.permutation(4000)
    random = [order[at : at + 16] for at in range(0, 4000, 16)]

    def padding(cut: list[np.ndarray]) -> int:
        return sum(max(lengths[r] for r in b) * len(b) for b in cut) - sum(lengths)

    assert padding(batches) < 0.1 * padding(random)


def test_shuffled_batches_depend_on_the_generator_alone() -> None:
    """The same generator gives the same batches, another one gives others."""
    lengths, singles = list(range(1, 101)), [(row,) for row in range(100)]
    first, again, other = (
        np.concatenate(shuffled_batches(lengths, singles, 8, np.random.default_rng(seed)))
        for seed in (1, 1, 2)
    )
    assert first.tolist() == again.tolist() != other.tolist()
