"""What a problem shows on a sheet: pieces of its text, a snippet, options in order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winosmith import Extra, Problem, formats
from winosmith.humans import make_sheets
from winosmith.humans._sheet import option_order, pieces, snippet


def _problem(sentence: str, options: tuple[str, ...] = ("x", "y"), **more: object) -> Problem:
    return Problem("1", sentence, options, **more)  # type: ignore[arg-type]


def test_the_snippet_of_the_file_is_taken() -> None:
    """The trophy of the paper has the snippet that the paper prints (Davis et al. 2016, s. 3)."""
    trophy = _problem(
        "The trophy did not fit in the brown suitcase because _ was too small.",
        ("trophy", "suitcase"),
        pronoun="it",
        extra=Extra({"wsc.quote2": "was too small."}),
    )
    assert snippet(trophy) == ("", "it", " was too small.")
    assert option_order(trophy) == (0, 1)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ann knew that _ was late.", ("", "_", " was late.")),
        ("The path was blocked, so we couldn't reach _.", ("we couldn't reach ", "_", ".")),
        ("Ann saw Sue. _ ran.", ("", "_", " ran.")),
        ("_!", ("", "_", "!")),
        ("Ann said (“_’s here”), and left.", ("Ann said (“", "_", "’s here”),")),
    ],
)  # fmt: skip
def test_the_snippet_is_the_clause_around_the_blank(
    sentence: str, expected: tuple[str, str, str]
) -> None:
    """Without a snippet in the file, it is what stands around the blank, to the clause's end."""
    assert snippet(_problem(sentence)) == expected


@given(st.text(max_size=60).filter(lambda text: "_" not in text), st.text(max_size=60).filter(
    lambda text: "_" not in text))  # fmt: skip
def test_a_snippet_is_a_stretch_of_its_text(before: str, after: str) -> None:
    """Whatever the text, the snippet stands in it, white space aside, and has the blank."""
    problem = _problem(before + "_" + after)
    assert "".join(pieces(problem)) == " ".join(problem.sentence.split())
    assert "".join("".join(snippet(problem)).split()) in "".join(problem.sentence.split())


@pytest.mark.parametrize(
    ("sentence", "options", "order"),
    [
        ("Sue saw Ann, and _ left.", ("Ann", "Sue"), (1, 0)),
        ("A cup and a jug: _ broke.", ("the jug", "the cup"), (1, 0)),
        ("The old red van hit the bus, and _ stopped.", ("the bus", "the van"), (1, 0)),
        ("The ewe saw Ann, and _ left.", ("Ann", "we"), (0, 1)),  # "we" is no word of it
        ("Sue saw Ann, and _ left.", ("nobody", "Ann", "Sue"), (0, 1, 2)),  # one is not there
    ],
)
def test_options_come_in_order_of_first_occurrence(
    sentence: str, options: tuple[str, ...], order: tuple[int, ...]
) -> None:
    """Options are found as whole words, without article, by their head; else the order stays."""
    assert option_order(_problem(sentence, options)) == order


@pytest.mark.data
def test_the_60_questions_of_2016_are_on_one_sheet(data_dir: Path) -> None:
    """All stand on one sheet; 20 are on the text before; they have the options of the file."""
    data = formats.read(data_dir / "pdp" / "PDPChallenge2016.xml")
    made = make_sheets(data)
    assert [sheet.name for sheet in made.sheets] == ["common-1"]
    assert made.left_out == ()
    labels = Counter(item.label for item in made.sheets[0].items)
    assert labels["SAME TEXT AS PREVIOUS QUESTION"] == sum(
        bool(problem.extra.get("pdp.same_text")) for problem in data
    )
    assert Counter(len(item.options) for item in made.sheets[0].items) == Counter(
        len(problem.options) for problem in data
    )


@pytest.mark.data
def test_the_285_halves_of_davis_are_dealt(data_dir: Path) -> None:
    """Each half of the WSC is on one of two sheets, and its other half on the other.

    Left out are 3 schemas that look like another one, and 254, the third on its text.
    """
    data = formats.read(data_dir / "wsc" / "WSCollection.xml")
    made = make_sheets(data)
    on = {item.problem_id: s.test for s in made.sheets for item in s.items}
    asked = [pair for pair in data.twins if data[pair[0]].id in on]
    assert len(asked) == 139
    for one, other in asked:
        assert {on[data[one].id], on[data[other].id]} == {"a", "b"}
    assert len(on) + len(made.left_out) == len(data)
