"""Problems as claims and as comparisons, and claims as problems."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Claim, Extra, Problem
from winosmith.recast import refers_to_others, to_claims, to_pairs, to_problems

PROBLEM = Problem("p", "The cup hit the jug and _ broke.", ("the cup", "the jug"), 1, pronoun="it")

problems = st.builds(
    Problem,
    id=st.uuids().map(str),
    sentence=st.just("A _ b."),
    options=st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=5, unique=True).map(tuple),
    answer=st.sampled_from([None, 0, 1]),
    pronoun=st.sampled_from([None, "it"]),
    extra=st.sampled_from([Extra(), Extra({"x.y": 1})]),
)


@given(st.lists(problems, max_size=5, unique_by=lambda p: p.id))
def test_recasting_problems_to_claims_is_a_round_trip(found):
    recast = to_problems(to_claims(found))
    assert recast.problems.problems == tuple(found)
    assert recast.leftovers == ()


@given(
    st.lists(
        st.builds(
            Claim,
            problem_id=st.sampled_from("pqr"),
            sentence=st.sampled_from(["A _ b.", "C _ d."]),
            candidate=st.sampled_from("xyz"),
            holds=st.sampled_from([True, False, None]),
        ),
        max_size=12,
    )
)
def test_each_claim_is_in_a_problem_or_left_over(claims):
    recast = to_problems(claims)
    options = sum(len(problem.options) for problem in recast.problems)
    assert options + len(recast.leftovers) == len(claims)
    assert all(left.reason and claims[left.row] == left.claim for left in recast.leftovers)


LETTERS = "abcdefghijklmnopqrstuvwxyz0"
CLAIM = Claim("p", "A _ b.", "x", holds=True)


def _claims(*changes: dict[str, object]) -> list[Claim]:
    """Return claims of one problem, each with its changes to a true claim."""
    return [replace(CLAIM, **change) for change in changes]


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ([CLAIM], "it is the only claim of its problem"),
        (_claims({}, {"candidate": "y"}), "2 claims of its problem are true, not 1"),
        (_claims({"holds": False}, {"candidate": "y", "holds": False}),
         "no claims of its problem are true, not 1"),
        (_claims({}, {"candidate": "y", "holds": None}),
         "only some claims of its problem have a label"),
        (_claims({}, {"candidate": "y", "sentence": "C _ d.", "holds": False}),
         "the claims of its problem have different sentences"),
        (_claims({}, {"holds": False}), "two options are equal: 'x', 'x'"),
        (_claims(*({"candidate": name, "holds": name == "a"} for name in LETTERS)),
         "its problem has 27 claims; a problem has at most 26"),
    ],
)  # fmt: skip
def test_invalid_group_of_claims_is_left_over_with_the_reason(claims, reason):
    recast = to_problems(claims)
    assert len(recast.problems) == 0
    assert [left.reason for left in recast.leftovers] == [reason] * len(claims)


def test_only_the_repeated_claim_is_left_over():
    claims = to_claims([PROBLEM])
    recast = to_problems([*claims, claims[0]])
    assert recast.problems.problems == (PROBLEM,)
    assert [(left.row, left.reason) for left in recast.leftovers] == [
        (2, "it repeats an earlier claim")
    ]


@given(problems.map(lambda p: replace(p, answer=len(p.options) - 1)))
def test_each_comparison_has_the_correct_and_another_option(problem):
    pairs = to_pairs([problem])
    assert len(pairs) == len(problem.options) - 1
    for pair in pairs:
        assert pair.options[pair.answer or 0] == problem.options[problem.answer or 0]
        assert [o for o in problem.options if o in pair.options] == list(pair.options)
    assert len({pair.id for pair in pairs}) == len(pairs)


def test_binary_and_unanswered_problems_are_unchanged():
    withheld = Problem("q", "A _ b.", ("x", "y", "z"))
    assert to_pairs([PROBLEM, withheld]) == (PROBLEM, withheld)


def test_references_to_other_options_are_found_in_many_languages():
    """Examples are "all of the above" and "A and B"; the options of such items keep their order."""
    referring = (
        "Todas las anteriores|Ninguna de las anteriores|Nenhuma das anteriores|Alle oben genannten|"
        "Keine der Antworten ist richtig|Toutes ces réponses|Aucune de ces réponses|以上都对|"
        "以上皆非|都不对|上記のすべて|いずれも正しい|위의 모두|정답 없음|Все перечисленное|"
        "Ни один из вариантов|"
        "جميع ما سبق|Tutte le precedenti|Geen van bovenstaande|A和B|A、B|A y B|A und B|A et B|А и Б"
    )
    others = "18岁以上|以上海为中心|Toutes les femmes|alle Hunde|все люди|et al. A|A e Bruno|每天"
    assert [one for one in referring.split("|") if not refers_to_others(one, 4)] == []
    assert [one for one in others.split("|") if refers_to_others(one, 4)] == []
