"""Reports of what a format could not store."""

from dataclasses import replace

from winosmith import Claim, Lineage, Origin, Problem, formats

PROBLEM = Problem(
    "p",
    "A _ b.",
    ("x", "y"),
    0,
    twin_id="t",
    origin=Origin(author="c1", domain="social"),
    lineage=Lineage("r", "r", declared=1),
    embargo=True,
)


def test_equal_items_have_no_losses():
    assert not formats.find_losses([PROBLEM], [PROBLEM])


def test_missing_fields_are_reported_by_name_with_counts():
    """Each part of the origin and of the lineage has a name."""
    bare = replace(PROBLEM, twin_id=None, origin=None, lineage=None, embargo=False)
    lost = formats.find_losses([PROBLEM, replace(PROBLEM, id="q")], [bare, replace(bare, id="q")])
    assert lost.lines("problems") == [
        "lost: embargo in 2 problems, lineage declared in 2, lineage parent in 2, lineage root in "
        "2, origin author in 2, origin domain in 2, twin_id in 2"
    ]


def test_lost_answer_0_and_label_false_are_losses():
    assert formats.find_losses([PROBLEM], [replace(PROBLEM, answer=None)]).lost == {"answer": 1}
    claim = Claim("p", "A _ b.", "x", holds=False)
    assert formats.find_losses([claim], [replace(claim, holds=None)]).lost == {"holds": 1}


def test_renamed_twins_are_not_losses_but_other_twins_are():
    four = [replace(PROBLEM, id=str(i), twin_id=f"t{i // 2}") for i in range(4)]
    renamed = [replace(problem, twin_id=f"u{i // 2}") for i, problem in enumerate(four)]
    assert not formats.find_losses(four, renamed)
    crossed = [replace(problem, twin_id=f"u{i % 2}") for i, problem in enumerate(four)]
    assert formats.find_losses(four, crossed).changed == {"twin_id": 4}


def test_added_fields_and_missing_items_are_reported():
    more = formats.find_losses([replace(PROBLEM, twin_id=None), PROBLEM], [PROBLEM])
    assert more.lines("problems") == ["added: twin_id in 1 problem", "missing: 1 problem"]
