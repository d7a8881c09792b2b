"""Families show every version once, after its parent, and fold away what is all right."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from winosmith import report
from winosmith.text import Change


def version(right: bool | None, parent: int | None, depth: int | None = None) -> report.Version:
    """Return a version with one solver's mark."""
    return report.Version([Change("A _ .", "")], "a", depth, [right], parent)


FAMILIES = st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=1, max_size=60).map(
    lambda nodes: [
        version(right, None if at == 0 else parent % at, at)
        for at, (right, parent) in enumerate(nodes)
    ]
)


@given(FAMILIES)
def test_every_version_is_shown_once_and_after_its_parent(versions: list[report.Version]) -> None:
    """Nothing is lost or doubled, and what is folded away is right."""
    segments = report.Family("root", versions).segments
    order = [id(shown) for segment in segments for _, shown in segment.rows]
    assert sorted(order) == sorted(map(id, versions))
    for at, one in enumerate(versions):
        if one.parent is not None:
            assert order.index(id(versions[one.parent])) < order.index(id(versions[at]))
    folded = [shown for segment in segments if segment.folded for _, shown in segment.rows]
    assert all(shown.right[0] for shown in folded)
    assert not folded or len(versions) > 12


def test_what_is_all_right_is_folded_in_a_large_family_alone() -> None:
    """Of 40 versions, 2 of them wrong, 37 are folded; of 12 none is."""
    large = [version(at not in (5, 9), None if at == 0 else 0) for at in range(40)]
    folded = [s for s in report.Family("root", large).segments if s.folded]
    assert [len(segment.rows) for segment in folded] == [37]
    small = report.Family("root", large[:12]).segments
    assert [(len(s.rows), s.folded) for s in small] == [(12, False)]


def test_an_orphan_stands_beside_the_root() -> None:
    """A version without a parent begins at the left, as the root does."""
    family = report.Family("root", [version(True, None, 0), version(False, None), version(True, 0)])
    assert [level for segment in family.segments for level, _ in segment.rows] == [0, 1, 0]


def test_a_line_of_ten_thousand_versions_is_laid_out() -> None:
    """A chain as long as that would break recursion."""
    line = [version(at % 2 == 0, None if at == 0 else at - 1, at) for at in range(10_000)]
    family = report.Family("root", line)
    assert max(level for segment in family.segments for level, _ in segment.rows) == 8
    assert family.wrong(0) == 5_000


def test_the_strip_has_a_bar_for_each_version_by_depth() -> None:
    """The wrong version, the deepest, is the last bar and the only tall one."""
    family = report.Family("root", [version(False, 2, 7), version(True, None, 0), version(True, 1)])
    right, wrong, tied = family.strip(0)
    assert right == "M0 10v-5h4v5zM10 10v-5h4v5z"
    assert (wrong, tied) == ("M5 10v-10h4v10z", "")
    undecided = report.Family("root", [version(None, None, 0)])
    assert (undecided.strip(0)[2], undecided.ties(0), undecided.wrong(0)) == (
        "M0 10v-7.5h4v7.5z",
        1,
        0,
    )


def test_each_mark_of_a_version_has_its_colour() -> None:
    """Right, wrong and tied versions have classes that the page's style gives a colour."""
    family = report.Family(
        "root", [version(None, None, 0), version(True, 0, 1), version(False, 0, 2)]
    )
    page = report.page("x", [report.Section("s", [report.Families("t", ["toy"], [family])])])
    marks = set(re.findall(r'<span class="(\w+)">(?:<span aria-hidden="true">)[=✓✗]', page))
    assert marks == {"tied", "kept", "gone"}
    for mark in marks:
        assert re.search(rf"\.versions \.{mark} \{{ color: var\(--\w+\); \}}", page)
    assert ".versions .tied { color: var(--muted); }" in page


def test_marks_are_told_in_words_too() -> None:
    """Who hears the page hears depth, right and wrong; one solver needs no letter, two do."""
    family = report.Family("root", [version(True, None, 0), version(False, 0, 3)])
    page = report.page("x", [report.Section("s", [report.Families("t", ["toy"], [family])])])
    assert '<span class="hidden">depth </span>3' in page
    assert '<span class="hidden"> wrong</span>' in page
    assert "1 of 2 wrong" in page
    assert report.Families("t", ["toy"], []).letters == [""]
    assert report.Families("t", ["toy", "other"], []).letters == ["A", "B"]


ALONG = report.Along([0, 2, 5], [1, 0.75, 0.5], [1, 0.5, 0.25], [1, 0.9, 0.8], [3])


def test_the_curves_tell_their_steps() -> None:
    """Both drawings have the shares by depth in their descriptions, and name their solvers."""
    for drawn in (
        report.survival({"toy <1>": ALONG}),
        report.depth_accuracy({"toy <1>": ALONG}, [(0, 4), (2, 9)], chance=0.5),
    ):
        assert "75.0\u00a0% at depth 2, 50.0\u00a0% at depth 5" in drawn.description
        assert "toy &lt;1&gt;" in drawn.markup
