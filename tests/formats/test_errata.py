"""Errata correct keys only if the whole file belongs to the data."""

import io

import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Problem, formats
from winosmith.errors import FormatError

QUIZ = [
    Problem("q1", "What barks? _", ("a cat", "a dog", "B"), 0),
    Problem("q2", "What purrs? _", ("a cat", "a dog", "-1"), 0),
    Problem("q3", "What is withheld? _", ("yes", "no")),
]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("q1,A,a dog,a dictionary", ("q1", 0, 1, "a dictionary")),
        ("q1,a cat,b,x", ("q1", 0, 2, "x")),  # the option with the text B, not option B
        ("q2,a,A,confirmed", ("q2", 0, 0, "confirmed")),
        ("q2,A,'-1,guarded", ("q2", 0, 2, "guarded")),
    ],
)
def test_keys_are_matched_as_texts_before_letters(rows, found, tmp_path):
    """The case and a spreadsheet's apostrophe are ignored."""
    path = tmp_path / "errata.csv"
    path.write_text(f"id,old,new,evidence\n{rows}\n")
    (one,) = formats.read_errata(path, QUIZ)
    assert (one.id, one.old, one.new, one.evidence) == found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("id,old,new\nq1,A,B\n", r"errata.csv: errata need .*'evidence' is missing"),
        ("id,old,new,evidence\n", r"errata.csv: .*no errata"),
        ("id,old,new,evidence\nq9,A,B,x\n", r"errata.csv:2: .*'q9'.*no item has this id"),
        ("id,old,new,evidence\nq1,A,B,x\nq2,B,C,x\n",
         r"errata.csv:3: the key of 'q2' is 'a cat' in the data, not 'a dog'"),
        ("id,old,new,evidence\nq1,A,D,x\n", r"errata.csv:2: 'D' is not an option of 'q1'"),
        ("id,old,new,evidence\nq1,A,a dog,\n", r"errata.csv:2: .*no evidence"),
        ("id,old,new,evidence\nq3,A,B,x\n", r"errata.csv:2: .* 'q3' .* the item has no key"),
        ("id,old,new,evidence\nq1,A,a dog,x\nq1,A,a dog,x\n",
         r"errata.csv:3: 'q1' already has an erratum \(.*errata.csv:2\)"),
    ],
)  # fmt: skip
def test_errata_that_do_not_fit_the_data_are_refused(text, fault, tmp_path):
    path = tmp_path / "errata.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=fault):
        formats.read_errata(path, QUIZ)


def test_erratum_of_an_id_of_two_items_is_refused():
    table = [{"id": "q1", "old": "A", "new": "a dog", "evidence": "x"}]
    with pytest.raises(FormatError, match="2 items have this id"):
        formats.read_errata(table, [*QUIZ, QUIZ[0]])


@examples(50)
@given(
    st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=6),
             min_size=3, max_size=9, unique_by=str.casefold),
    st.data(),
)  # fmt: skip
def test_errata_round_trip_and_are_applied(options, data):
    try:
        problem = Problem(
            "=q", "What? _", tuple(options), data.draw(st.integers(0, len(options) - 1))
        )
    except ValueError:
        return  # no valid options
    new = data.draw(st.integers(0, len(options) - 1))
    errata = [formats.Erratum("=q", problem.answer or 0, new, "+1")]
    file = io.StringIO()
    formats.write_errata(errata, {"=q": problem.options}, file)
    read = formats.read_errata(formats.Source("errata.csv", file.getvalue().encode()), [problem])
    assert [*read] == errata
    assert formats.apply_errata([problem, QUIZ[0]], read)[0].answer == new
    assert formats.apply_errata([problem, QUIZ[0]], read)[1] is QUIZ[0]
