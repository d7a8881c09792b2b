"""Trees: who sees which versions, their parents, and how many fit on a page."""

from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from tests.web.growing import family, version
from winosmith.web.families import trees
from winosmith.web.families.trees import Tree, load_tree
from winosmith.web.problems.models import Problem, Version


def _names(tree: Any, found: dict[str, Any]) -> dict[str, str | None]:
    """Return the parent's name of each version."""
    names = {problem.pk: name for name, problem in found.items()}
    rows = [names[row] for row in tree.rows.tolist()]
    return {
        name: rows[parent] if parent >= 0 else None
        for name, parent in zip(rows, tree.parents.tolist(), strict=True)
    }


def test_public_versions_are_below_their_parents(db):
    found = family()
    tree = load_tree(found["root"], None)
    assert _names(tree, found) == {"root": None, "old": "root", "old_big": "old", "pot": "root"}
    assert tree.version_count == 3
    assert tree.descendant_counts.tolist() == [3, 1, 0, 0]


def test_versions_below_a_withdrawn_version_move_up(db):
    found = family()
    assert len(load_tree(found["root"], None)) == 4
    found["old"].state = "withdrawn"
    found["old"].save()
    tree = load_tree(found["root"], None)
    assert _names(tree, found) == {"root": None, "old_big": "root", "pot": "root"}
    assert tree.depths["lineage"].tolist() == [0, 2, 2]


def test_versions_not_public_are_seen_only_by_their_author(db, ann, bob, eva):
    """They are not counted, even for their author."""
    found = family()
    kinds: dict[str, dict[str, Any]] = {
        "held": {}, "judging": {}, "rejected": {}, "withdrawn": {}, "revised": {},
        "embargoed": {"state": "valid", "embargo": True}, "gold": {"state": "valid", "gold": True},
    }  # fmt: skip
    for number, (name, fields) in enumerate(kinds.items()):
        sentence = f"The cup hit {number + 2} jugs and the _ broke ."
        found[name] = version(found["pot"], sentence, by=ann, **{"state": name, **fields})
    seen = {
        who.name if who else "": set(_names(load_tree(found["root"], who), found))
        for who in (None, ann, bob, eva)
    }
    public = {"root", "old", "old_big", "pot"}
    assert seen[""] == seen["bob"] == seen["eva"] == public
    assert seen["ann"] == public | {"held", "judging", "rejected", "embargoed"}
    assert load_tree(found["root"], ann).version_count == 3


def test_main_depth_is_lineage_unless_another_is_known_for_more(db):
    """Declared depths are optional; before a version is public, no depth is known for more."""
    found = family()
    assert load_tree(found["root"], None).main_depth_kind == "lineage"
    Version.objects.exclude(pk=found["root"].pk).update(declared=1)
    trees._build_tree.cache_clear()
    assert load_tree(found["root"], None).main_depth_kind == "lineage"
    Version.objects.filter(pk=found["pot"].pk).update(lineage=None, edit=None)
    trees._build_tree.cache_clear()
    assert load_tree(found["root"], None).main_depth_kind == "declared"
    Problem.objects.filter(twin__problems__version__root=found["root"]).update(state="judging")
    assert load_tree(found["root"], None).main_depth_kind == "lineage"


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=400),
    st.integers(0, 10**6),
    st.integers(0, 40),
)
def test_page_of_a_tree_is_bounded_and_counts_the_rest(places, looked, after):
    import numpy as np

    parents = [-1, *(place % (number + 1) for number, place in enumerate(places))]
    n = len(parents)
    nothing = np.zeros(n, dtype=np.int64)
    tree = Tree(np.arange(n), np.array(parents), {"edit": nothing}, nothing == 0, np.full(n, 0.5))
    number = looked % n
    top = trees.build_tree_around(tree, number, after)
    seen: list[int] = []

    def walk(shown: Any, level: int) -> None:
        seen.append(shown.number)
        assert level <= trees.MAX_ABOVE + trees.LEVELS_SHOWN + 2
        below = tree.children[shown.number]
        assert [
            child.number for child in shown.children
        ] <= below or shown.skipped_count is not None
        if shown.number not in (*tree.get_ancestors(number), number):
            hidden = below if not shown.children else below[shown.next_index :]
            assert bool(shown.folded_count) == bool(below and not shown.children)
            assert shown.hidden_count == (len(hidden) if shown.children else 0)
            assert (
                not shown.folded_count or shown.folded_count == tree.descendant_counts[shown.number]
            )
        for child in shown.children:
            walk(child, level + 1)

    walk(top, 0)
    assert len(seen) == len(set(seen)) <= trees.MAX_SHOWN + trees.MAX_ABOVE + 2
    assert {0, number} <= set(seen)
    if (
        n <= trees.MAX_CHILDREN
        and not after
        and max(map(len, map(tree.get_ancestors, range(n)))) < 3
    ):
        assert set(seen) == {*tree.get_ancestors(number), *_under(tree, number)}


def _under(tree: Any, number: int) -> set[int]:
    return {number}.union(*(_under(tree, child) for child in tree.children[number]))
