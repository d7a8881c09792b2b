"""What a solver sees of a problem, and which problems are equal to it."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Problem, formats
from winosmith.errors import DataError, InputError
from winosmith.seen import (
    build_inputs,
    check_blanks,
    check_pronouns,
    check_sees_value,
    cut_to_local_context,
    insert_pronoun,
    is_about_pronouns,
)
from winosmith.testing import make_twins

NURSE = Problem("n", "The nurse told  the cook that _ left.", ("nurse", "cook"), 0, pronoun="she")
WORDS = st.text("abc ", min_size=1, max_size=8).filter(str.strip)


@given(WORDS, WORDS, WORDS)
def test_pronouns_matter_only_to_solvers_that_see_them(a, b, after):
    problem = Problem("1", f"x _ {after}", ("p", "q"))
    one, other = (replace(problem, pronoun=pronoun) for pronoun in (a, b))
    assert len({*build_inputs([one, other], "blank")}) == 1
    assert (len({*build_inputs([one, other], "pronoun")}) == 1) is (a.split() == b.split())


def test_option_order_and_white_space_make_no_difference():
    """Nor does text before the local context, to solvers that see only this context."""
    sentence = "The nurse told the cook that _  left."
    turned = replace(NURSE, sentence=sentence, options=("cook", "nurse"))
    for sees in ("blank", "pronoun"):
        assert len({*build_inputs([NURSE, turned], sees)}) == 1
    other = replace(NURSE, sentence="A cook met a nurse that _ left.")
    assert len({*build_inputs([NURSE, other], "blank")}) == 2
    assert len({*build_inputs([NURSE, other], "blank", local=1)}) == 1


def test_missing_pronouns_and_unknown_values_are_reported():
    assert insert_pronoun(NURSE) == "The nurse told  the cook that she left."
    with pytest.raises(DataError, match=r"2 of 3 problems is unknown \('a', 'b'\)"):
        check_pronouns([NURSE, Problem("a", "_", ("x", "y")), Problem("b", "_", ("x", "y"))])
    with pytest.raises(InputError, match="unknown value 'both' of `sees`; use blank or pronoun"):
        check_sees_value("both")


def test_data_about_pronouns_is_recognised():
    """At least half of its problems have a version with another pronoun."""
    he = replace(NURSE, id="h", pronoun="he")
    others = [replace(problem, pronoun="it") for problem in make_twins(1)]
    assert is_about_pronouns([NURSE, he])
    assert is_about_pronouns([NURSE, he, *others])
    assert not is_about_pronouns([NURSE, he, *others, replace(NURSE, id="x", sentence="_ ran.")])
    assert not is_about_pronouns([NURSE, he, replace(he, id="u", pronoun=None)])
    assert not is_about_pronouns([NURSE, replace(NURSE, id="copy")])
    assert not is_about_pronouns([])


@pytest.mark.data
def test_only_winogender_is_about_pronouns(data_dir):
    """Its versions differ in their pronouns; those of other published sets do not."""
    files = {
        "winogender/all_sentences.tsv": True,
        "wsc/WSCollection.xml": False,
        "pdp/PDPChallenge2016.xml": False,
        "dpr/test.c.txt": False,
        "winogrande/dev.jsonl": False,
    }
    for name, expected in files.items():
        assert is_about_pronouns(formats.read(data_dir / name)) is expected


def test_local_context_is_that_of_the_blank_despite_other_marks():
    whole = Problem("a", "Call __init__ on the\n_, it  is _x_ here.", ("x", "y"), blank=21)
    local = cut_to_local_context(whole, 2)
    assert (local.before, local.after) == ("on the ", ", it is _x_ here.")


def test_questions_are_refused_if_a_blank_is_needed():
    some = [Problem(name, "Why?", ("x", "y"), blank=None) for name in "abcd"]
    with pytest.raises(DataError, match=r"4 problems are questions without one \('a', 'b', 'c', …"):
        check_blanks(some, "a test sheet")
    with pytest.raises(DataError, match="the local context needs sentences with a blank"):
        build_inputs(some, "blank", local=2)
    with pytest.raises(DataError, match="an additional '_'"):
        check_blanks([Problem("a", "A _ b _.", ("x", "y"), blank=2)], "a claim", unique=True)
