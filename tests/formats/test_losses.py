"""What a format could not hold is told exactly."""

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


def test_equal_items_lose_nothing() -> None:
    """The same items have no losses."""
    assert not formats.find_losses([PROBLEM], [PROBLEM])


def test_a_field_that_is_gone_is_lost() -> None:
    """Each part of the origin, the lineage and `extra` is told by its name, with its count."""
    bare = replace(PROBLEM, twin_id=None, origin=None, lineage=None, embargo=False)
    lost = formats.find_losses([PROBLEM, replace(PROBLEM, id="q")], [bare, replace(bare, id="q")])
    assert lost.lines("problems") == [
        "lost: embargo in 2 problems, lineage declared in 2, lineage parent in 2, lineage root in "
        "2, origin author in 2, origin domain in 2, twin_id in 2"
    ]


def test_answers_count_although_they_are_zero_or_false() -> None:
    """A lost answer 0 and a lost label False are losses."""
    assert formats.find_losses([PROBLEM], [replace(PROBLEM, answer=None)]).lost == {"answer": 1}
    claim = Claim("p", "A _ b.", "x", holds=False)
    assert formats.find_losses([claim], [replace(claim, holds=None)]).lost == {"holds": 1}


def test_other_names_for_the_same_twins_are_no_loss() -> None:
    """Twins that are called otherwise are the same twins; other twins are a change."""
    four = [replace(PROBLEM, id=str(i), twin_id=f"t{i // 2}") for i in range(4)]
    renamed = [replace(problem, twin_id=f"u{i // 2}") for i, problem in enumerate(four)]
    assert not formats.find_losses(four, renamed)
    crossed = [replace(problem, twin_id=f"u{i % 2}") for i, problem in enumerate(four)]
    assert formats.find_losses(four, crossed).changed == {"twin_id": 4}


def test_added_and_missing_are_told() -> None:
    """A field that was empty, and items that did not come back, are told too."""
    more = formats.find_losses([replace(PROBLEM, twin_id=None), PROBLEM], [PROBLEM])
    assert more.lines("problems") == ["added: twin_id in 1 problem", "missing: 1 problem"]
