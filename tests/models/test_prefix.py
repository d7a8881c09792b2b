"""Texts that share their beginnings make a tree, and lose nothing in it."""

import numpy as np
from hypothesis import given, strategies as st

from winosmith.models._causal import build_tree, count_common_prefix

TEXTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).map(tuple), min_size=1, max_size=12
).map(sorted)


def _paths(tree) -> list[tuple[int, ...]]:
    """Return the tokens from the root to each node, by its parents."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return paths


@given(TEXTS)
def test_a_tree_holds_each_beginning_once(texts: list[tuple[int, ...]]) -> None:
    """The nodes are the distinct beginnings of the texts without their last tokens."""
    tree, count = build_tree(texts, [1] * len(texts), 0, 10_000)
    beginnings = {text[:length] for text in texts for length in range(1, len(text))}
    assert count == len(texts)
    assert sorted(_paths(tree)) == sorted(beginnings)
    assert [len(path) - 1 for path in _paths(tree)] == tree.depths


@given(TEXTS, st.data())
def test_a_text_asks_for_its_own_tokens(texts: list[tuple[int, ...]], data: st.DataObject) -> None:
    """Each text asks for its tokens from the start on, each after what precedes it there."""
    starts = [data.draw(st.integers(1, len(text) - 1)) for text in texts]
    tree, _ = build_tree(texts, starts, 0, 10_000)
    asked, paths = list(tree.requested), _paths(tree)
    for text, start, places in zip(texts, starts, tree.indices, strict=True):
        pairs = [(paths[asked[at][0]], asked[at][1]) for at in places]
        assert pairs == [(text[:at], text[at]) for at in range(start, len(text))]


@given(TEXTS)
def test_a_node_sees_its_ancestors_alone(texts: list[tuple[int, ...]]) -> None:
    """What a node may attend to are the beginnings of its own beginning, and no other node."""
    tree, _ = build_tree(texts, [1] * len(texts), 0, 10_000)
    paths, seen = _paths(tree), tree.make_attention_mask()
    for node, path in enumerate(paths):
        assert {paths[at] for at in np.flatnonzero(seen[node])} == {
            path[:length] for length in range(1, len(path) + 1)
        }


@given(TEXTS, st.integers(1, 12))
def test_trees_within_a_budget_hold_every_text_in_turn(
    texts: list[tuple[int, ...]], budget: int
) -> None:
    """Cut by the budget, each tree keeps to it or holds one text, and no text is left out."""
    first = 0
    while first < len(texts):
        tree, count = build_tree(texts, [1] * len(texts), first, budget)
        assert count >= 1
        assert len(tree.tokens) <= budget or count == 1
        assert len(tree.indices) == count
        first += count
    assert first == len(texts)


@given(TEXTS)
def test_the_shared_length_is_that_of_equal_tokens(texts: list[tuple[int, ...]]) -> None:
    """Two texts are equal up to their common length, and differ or end there."""
    one, other = texts[0], texts[-1]
    shared = count_common_prefix(one, other)
    assert one[:shared] == other[:shared]
    assert one[shared : shared + 1] != other[shared : shared + 1] or one == other
