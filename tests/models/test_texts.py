"""What an encoder reads of a problem."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Problem
from winosmith.errors import DataError
from winosmith.models import SplitPoint, filled_text

TEXT = st.text("abc ,.'é", max_size=20)


@pytest.mark.parametrize(
    ("split_point", "expected"),
    [
        # WinoGrande, section 4.1: "The trophy … because the _ [SEP] is too large. [SEP]"
        ("after_option", ("It doesn't fit because the trophy", "is too large.")),
        # allenai/winogrande, scripts/utils.py: context up to the blank, then option and the rest
        ("before_option", ("It doesn't fit because the", "trophy is too large.")),
        (None, "It doesn't fit because the trophy is too large."),
    ],
)
def test_both_split_points(split_point: SplitPoint | None, expected: object) -> None:
    """The sentence is cut after the option as in the paper, before it as in its code, or not."""
    problem = Problem("1", "It doesn't fit because the _ is too large.", ("trophy", "case"))
    assert filled_text(problem, 0, split_point) == expected


@given(TEXT, TEXT, st.sampled_from(["before_option", "after_option"]))
def test_the_segments_are_the_sentence(before: str, after: str, split_point: SplitPoint) -> None:
    """Whatever stands around the blank, the two segments hold all of it and nothing else."""
    problem = Problem("1", f"{before}_{after}", ("x1", "y1"))
    segments = filled_text(problem, 1, split_point)
    assert "".join("".join(segments).split()) == "".join(problem.fill(1).split())


def test_a_pronoun_is_marked_and_the_option_follows() -> None:
    """With the pronoun there is nothing to fill in: it is marked, and the option comes second."""
    problem = Problem("1", "Jim heard that _ own dog left him.", ("Jim", " The man"), pronoun="his")
    assert filled_text(problem, 1, sees="pronoun") == (
        "Jim heard that *his* own dog left him.",
        "The man",
    )
    assert filled_text(problem, 0, local=1, sees="pronoun") == (
        "that *his* own dog left him.",
        "Jim",
    )
    with pytest.raises(DataError, match="is not known"):
        filled_text(Problem("1", "A _ b.", ("x", "y")), 0, sees="pronoun")
