"""Prefix trees of texts that share their beginnings."""

import numpy as np
from hypothesis import given, strategies as st

from winosmith.models._causal import build_tree, count_common_prefix

TEXTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).map(tuple), min_size=1, max_size=12
).map(sorted)


def _paths(tree) -> list[tuple[int, ...]]:
    """Return the tokens from the root to each node."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree.tokens, tree.parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return paths


@given(TEXTS)
def test_tree_has_one_node_per_distinct_prefix(texts: list[tuple[int, ...]]) -> None:
    """The last token of a text is not fed, since nothing follows it."""
    tree, count = build_tree(texts, [1] * len(texts), 0, 10_000)
    beginnings = {text[:length] for text in texts for length in range(1, len(text))}
    assert count == len(texts)
    assert sorted(_paths(tree)) == sorted(beginnings)
    assert [len(path) - 1 for path in _paths(tree)] == tree.depths


@given(TEXTS, st.data())
def test_texts_request_their_tokens_after_the_right_prefix(
    texts: list[tuple[int, ...]], data: st.DataObject
) -> None:
    starts = [data.draw(st.integers(1, len(text) - 1)) for text in texts]
    tree, _ = build_tree(texts, starts, 0, 10_000)
    asked, paths = list(tree.requested), _paths(tree)
    for text, start, places in zip(texts, starts, tree.indices, strict=True):
        pairs = [(paths[asked[at][0]], asked[at][1]) for at in places]
        assert pairs == [(text[:at], text[at]) for at in range(start, len(text))]


@given(TEXTS)
def test_nodes_attend_only_to_themselves_and_their_ancestors(texts: list[tuple[int, ...]]) -> None:
    tree, _ = build_tree(texts, [1] * len(texts), 0, 10_000)
    paths, seen = _paths(tree), tree.make_attention_mask()
    for node, path in enumerate(paths):
        assert {paths[at] for at in np.flatnonzero(seen[node])} == {
            path[:length] for length in range(1, len(path) + 1)
        }


@given(TEXTS, st.integers(1, 12))
def test_trees_stay_within_the_budget_or_have_one_text(
    texts: list[tuple[int, ...]], budget: int
) -> None:
    """No text is omitted."""
    first = 0
    while first < len(texts):
        tree, count = build_tree(texts, [1] * len(texts), first, budget)
        assert count >= 1
        assert len(tree.tokens) <= budget or count == 1
        assert len(tree.indices) == count
        first += count
    assert first == len(texts)


@given(TEXTS)
def test_common_prefix_is_equal_and_maximal(texts: list[tuple[int, ...]]) -> None:
    one, other = texts[0], texts[-1]
    shared = count_common_prefix(one, other)
    assert one[:shared] == other[:shared]
    assert one[shared : shared + 1] != other[shared : shared + 1] or one == other
