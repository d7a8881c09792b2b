"""Votes decide as WinoGrande's three conditions say, with the open cases defined."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Origin, Problem, Response, validate
from winosmith.errors import DataError, RecipeError
from winosmith.testing import make_twins
from winosmith.validate import VoteRules

SENTENCE = "The race car overtook the school bus because the _ was going so fast."
PROBLEM = Problem("p", SENTENCE, ("race car", "school bus"), 0)


def said(choices: Sequence[int | None], purpose: str = "validate", **fields: Any) -> list[Response]:
    """Return the responses of so many judges to the problem."""
    return [
        Response("p", f"{purpose}-{number}", purpose, choice, **fields)
        for number, choice in enumerate(choices)
    ]


def reason(responses: Sequence[Response], problem: Problem = PROBLEM, **rules: Any) -> str | None:
    """Return why the problem is dropped, or None when it is kept."""
    dropped = validate.filter_by_votes(Dataset([problem]), responses, VoteRules(**rules)).dropped
    return dropped[0].reason if dropped else None


@pytest.mark.parametrize(
    ("choices", "kept"),
    [
        ([0, 0, 0], True),
        ([0, 0, 1], True),
        ([0, 1, 1], False),
        ([0, 0, None], True),
        ([0, None, None], False),
        ([0, 0, 1, 1], False),  # a tie is no majority
        ([0, 0, 0, 1, 1], True),
    ],
)
def test_the_majority_picks_the_right_option(choices: list[int | None], kept: bool) -> None:
    """More than half of the judges choose the right option; no choice is not the right one."""
    right = choices.count(0)
    fault = f"majority: {right} of {len(choices)} judges chose the correct option"
    assert reason(said(choices)) == (None if kept else fault)


def test_unanimous_means_all_of_them() -> None:
    """Where the rule asks for all judges, one who errs is enough to refuse."""
    assert reason(said([0, 0, 1]), correct="unanimous")
    assert reason(said([0, 0, 0]), correct="unanimous") is None


@pytest.mark.parametrize("field", ["ambiguous", "associative"])
@pytest.mark.parametrize(
    ("marks", "how", "kept"),
    [
        (0, "unanimous", True),
        (1, "unanimous", False),
        (1, "majority", True),
        (2, "majority", False),
        (3, "off", True),
    ],
)
def test_ambiguity_and_association_are_decided_by_marks(
    field: str, marks: int, how: str, kept: bool
) -> None:
    """A majority, or all, must find it unambiguous and not given away by nearby words."""
    votes = [
        replace(vote, **{field: number < marks}) for number, vote in enumerate(said([0, 0, 0]))
    ]
    setting = {"ambiguous": "unambiguous", "associative": "unassociated"}[field]
    assert (reason(votes, **{setting: how}) is None) == kept


@pytest.mark.parametrize(
    ("local", "how", "kept"),
    [
        ([0, 0, 0], "unanimous", False),
        ([0, 0, 1], "unanimous", True),
        ([0, 0, None], "majority", False),
        ([0, 1, None], "majority", True),
        ([0, 0, 0], "off", True),
        ([0, 0], "unanimous", True),  # too few to tell
    ],
)
def test_a_problem_that_its_local_context_answers_is_refused(
    local: list[int | None], how: str, kept: bool
) -> None:
    """Judges who saw only the words around the blank must not find the right option."""
    assert (reason(said([0, 0, 0]) + said(local, "local"), local=how) is None) == kept


def test_the_reason_quotes_the_local_context_as_wide_as_it_was_shown() -> None:
    """The reason of a refusal quotes what the judges saw: so many words before the blank."""
    votes = said([0, 0, 0]) + said([0, 0, 0], "local")
    found = "local context: 3 of 3 judges found the correct option from "
    assert reason(votes) == found + "'because the _ was going so fast.'"
    assert reason(votes, local_before=0) == found + "'_ was going so fast.'"


@pytest.mark.parametrize("choices", [[], [0], [0, 0], [1, 1]])
def test_too_few_votes_decide_nothing(choices: list[int | None]) -> None:
    """A problem with fewer judges than needed is undecided: dropped by name, or kept unchecked."""
    short = f"enough votes: {len(choices)} of the 3 required judges"
    assert reason(said(choices)) == short
    assert reason(said(choices), undecided="keep") is None
    assert reason(said(choices), judges=9) == short.replace("3", "9")
    found = validate.examine_votes(Dataset([PROBLEM]), said(choices), VoteRules(undecided="keep"))
    assert set(found.checked.values()) == {0}


def test_a_withheld_answer_is_not_checked_against() -> None:
    """Without an answer nobody is wrong: the votes on ambiguity still count."""
    blind = replace(PROBLEM, answer=None)
    assert reason(said([0, 1, None]) + said([0, 0, 0], "local"), blind) is None
    found = validate.examine_votes(Dataset([blind]), said([0, 1, None]))
    assert (found.checked["majority"], found.checked["ambiguity"]) == (0, 1)
    assert str(reason(said([0, 0, 0], ambiguous=True), blind)).startswith("ambiguity")


def test_every_reason_is_given() -> None:
    """A problem that breaks several rules is told all of them."""
    reasons = str(reason(said([1, 1, 1], ambiguous=True, associative=True)))
    rules = [part.partition(":")[0] for part in reasons.split(" | ")]
    assert rules == ["majority", "ambiguity", "word association"]


def test_the_author_is_no_judge() -> None:
    """A vote of the author, also of the other half's, does not count."""
    twin = make_twins(1)
    data = Dataset([replace(twin[0], origin=Origin(author="ann")), twin[1]])
    votes = [Response(half.id, "ann", "validate", half.answer) for half in data]
    counted, aside = validate.select_eligible(data, votes, both_halves=True)
    assert counted == ()
    assert {entry.reason for entry in aside} == {"the judge wrote the problem"}


def test_names_that_look_the_same_are_one_person() -> None:
    """A Mac writes é as two characters, and copied names have invisible ones: one vote, no own."""
    data = Dataset([replace(PROBLEM, origin=Origin(author="Ren\u00e9"))])
    names = ["Rene\u0301", "Zoe\u0308", "Zo\u00eb", "Zo\u00eb\u200b"]
    votes = [Response(PROBLEM.id, name, "validate", 0) for name in names]
    counted, aside = validate.select_eligible(data, votes)
    assert counted == (votes[1],)
    assert [entry.reason for entry in aside] == [
        "the judge wrote the problem",
        *["the judge had already voted on it"] * 2,
    ]


def test_a_judge_votes_once_on_a_problem() -> None:
    """Of two votes by one judge for one purpose the first counts; another purpose is another."""
    first, again = said([0])[0], replace(said([1])[0], seconds=9.0)
    local = replace(first, purpose="local")
    counted, aside = validate.select_eligible(Dataset([PROBLEM]), [local, first, again])
    assert counted == (local, first)
    assert [(entry.response, entry.reason) for entry in aside] == [
        (again, "the judge had already voted on it")
    ]


def test_who_has_read_the_whole_problem_knows_more_than_its_local_context() -> None:
    """A vote from the local context counts only before the judge has read the whole problem."""
    whole = said([0])[0]
    local = replace(whole, purpose="local")
    counted, aside = validate.select_eligible(Dataset([PROBLEM]), [whole, local])
    assert counted == (whole,)
    assert aside[0].reason == "the judge had read more than the local context"


@pytest.mark.parametrize("purpose", ["validate", "local", "test"])
def test_who_has_seen_one_half_does_not_judge_the_other(purpose: str) -> None:
    """A judge who has seen a half, for whatever purpose, judges the other only if that is set."""
    data = make_twins(1)
    seen = Response(data[0].id, "ann", purpose, 0)
    vote = Response(data[1].id, "ann", "validate", 0)
    assert vote not in validate.select_eligible(data, [seen, vote])[0]
    assert vote in validate.select_eligible(data, [seen, vote], both_halves=True)[0]
    assert vote in validate.select_eligible(data, [vote, seen])[0]


def test_a_human_test_is_no_validation() -> None:
    """Responses of a human test validate nothing, and are kept apart."""
    assert reason(said([0, 0, 0], "test")) == "enough votes: 0 of the 3 required judges"


def test_votes_on_other_problems_are_set_aside() -> None:
    """A response to a problem that the data do not hold is set aside, with the reason."""
    counted, aside = validate.select_eligible(Dataset([]), said([0]))
    assert (counted, aside[0].reason) == ((), "the data set has no such problem")


@pytest.mark.parametrize("fields", [{"choice": 2}, {"choice": 0, "shown": (0, 1, 2)}])
def test_a_choice_that_the_problem_does_not_have_is_bad_input(fields: dict[str, Any]) -> None:
    """A choice, or an order, of options that are not there ends in an error that names both."""
    with pytest.raises(DataError, match=r"'ann' .* of the problem 'p', which has 2"):
        validate.filter_by_votes(Dataset([PROBLEM]), [Response("p", "ann", "validate", **fields)])


@pytest.mark.parametrize(
    "rules",
    [
        {"judges": 0},
        {"correct": "most"},
        {"unambiguous": "any"},
        {"unassociated": True},
        {"local": "none"},
        {"local_before": -1},
        {"undecided": "maybe"},
    ],
)
def test_rules_that_are_none_are_refused(rules: dict[str, Any]) -> None:
    """An unknown word, or a number out of range, is refused."""
    with pytest.raises(RecipeError):
        VoteRules(**rules)


judges = st.sampled_from(["ann", "bob", "cy", "di"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Dataset, list[Response]]:
    """Draw twins, some with an author, and responses to them in any order."""
    data = Dataset(
        replace(problem, origin=Origin(author=draw(st.none() | judges)))
        for problem in make_twins(2, singles=1)
    )
    response = st.builds(
        Response,
        st.sampled_from([*data.ids, "elsewhere"]),
        judges,
        st.sampled_from(["local", "validate", "test"]),
        st.sampled_from([None, 0, 1]),
        st.booleans(),
        st.booleans(),
    )
    return data, draw(st.lists(response, max_size=25))


@given(cases(), st.booleans())
def test_each_response_counts_or_is_set_aside(
    case: tuple[Dataset, list[Response]], both_halves: bool
) -> None:
    """Votes and what is set aside are together the responses; sorting out twice changes nothing."""
    data, responses = case
    counted, aside = validate.select_eligible(data, responses, both_halves=both_halves)
    assert sorted(map(repr, [*counted, *(a.response for a in aside)])) == sorted(
        map(repr, responses)
    )
    assert validate.select_eligible(data, counted, both_halves=both_halves) == (counted, ())


@given(cases(), st.sampled_from([1, 2, 3]), st.sampled_from(["keep", "drop"]), st.booleans())
def test_kept_and_dropped_are_the_input(
    case: tuple[Dataset, list[Response]], needed: int, undecided: Any, both_halves: bool
) -> None:
    """Nothing gets lost: kept and dropped are together what went in, for any votes."""
    data, responses = case
    rules = VoteRules(judges=needed, undecided=undecided, both_halves=both_halves)
    assert validate.filter_by_votes(data, responses, rules).input() == data


@given(cases(), st.sampled_from([1, 2]))
def test_what_was_found_valid_stays_so(case: tuple[Dataset, list[Response]], needed: int) -> None:
    """Validating what was kept by the votes that counted drops nothing more."""
    data, responses = case
    counted, _ = validate.select_eligible(data, responses)
    rules = VoteRules(judges=needed)
    kept = validate.filter_by_votes(data, counted, rules).kept
    assert validate.filter_by_votes(kept, counted, rules).kept == kept
