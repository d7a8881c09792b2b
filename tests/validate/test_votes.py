"""Votes decide by WinoGrande's three conditions, and are read from files.

Open cases of the paper are defined here.
"""

import contextlib
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from winosmith import Dataset, Origin, Problem, Response, validate
from winosmith.errors import DataError, FormatError, RecipeError
from winosmith.testing import make_twins
from winosmith.text import normalize_name
from winosmith.validate import VoteRules, read_votes, write_votes

SENTENCE = "The race car overtook the school bus because the _ was going so fast."
PROBLEM = Problem("p", SENTENCE, ("race car", "school bus"), 0)


def said(choices: Sequence[int | None], purpose: str = "validate", **fields: Any) -> list[Response]:
    """Return one response to the problem for each choice."""
    return [
        Response("p", f"{purpose}-{number}", purpose, choice, **fields)
        for number, choice in enumerate(choices)
    ]


def find_reason(votes: Sequence[Response], problem: Problem = PROBLEM, **rules: Any) -> str | None:
    """Return the reason why the problem is dropped, or None."""
    dropped = validate.filter_by_votes(Dataset([problem]), votes, VoteRules(**rules)).dropped
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
def test_majority_must_choose_the_correct_option(choices, kept):
    """A response without a choice is not correct."""
    right = choices.count(0)
    fault = f"majority: {right} of {len(choices)} judges chose the correct option"
    assert find_reason(said(choices)) == (None if kept else fault)


def test_one_incorrect_judge_breaks_unanimity():
    assert find_reason(said([0, 0, 1]), correct="unanimous")
    assert find_reason(said([0, 0, 0]), correct="unanimous") is None


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
def test_ambiguity_and_association_are_decided_by_votes(field, marks, how, kept):
    """A majority or all judges, as set, must find no ambiguity and no word association."""
    votes = [replace(vote, **{field: at < marks}) for at, vote in enumerate(said([0, 0, 0]))]
    setting = {"ambiguous": "unambiguous", "associative": "unassociated"}[field]
    assert (find_reason(votes, **{setting: how}) is None) == kept


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
def test_problem_answered_from_its_local_context_is_refused(local, how, kept):
    """Judges who saw only the words around the blank must not find the correct option."""
    assert (find_reason(said([0, 0, 0]) + said(local, "local"), local=how) is None) == kept


def test_reason_quotes_the_local_context_that_judges_saw():
    votes = said([0, 0, 0]) + said([0, 0, 0], "local")
    found = "local context: 3 of 3 judges found the correct option from "
    assert find_reason(votes) == found + "'because the _ was going so fast.'"
    assert find_reason(votes, local_before=0) == found + "'_ was going so fast.'"


@pytest.mark.parametrize("choices", [[], [0], [0, 0], [1, 1]])
def test_problem_with_too_few_votes_is_undecided(choices):
    short = f"enough votes: {len(choices)} of the 3 required judges"
    assert find_reason(said(choices)) == short
    assert find_reason(said(choices), undecided="keep") is None
    assert find_reason(said(choices), judges=9) == short.replace("3", "9")
    found = validate.examine_votes(Dataset([PROBLEM]), said(choices), VoteRules(undecided="keep"))
    assert set(found.checked.values()) == {0}


def test_votes_on_a_withheld_answer_are_never_incorrect():
    blind = replace(PROBLEM, answer=None)
    assert find_reason(said([0, 1, None]) + said([0, 0, 0], "local"), blind) is None
    found = validate.examine_votes(Dataset([blind]), said([0, 1, None]))
    assert (found.checked["majority"], found.checked["ambiguity"]) == (0, 1)
    assert str(find_reason(said([0, 0, 0], ambiguous=True), blind)).startswith("ambiguity")


def test_all_reasons_are_listed():
    reasons = str(find_reason(said([1, 1, 1], ambiguous=True, associative=True)))
    rules = [part.partition(":")[0] for part in reasons.split(" | ")]
    assert rules == ["majority", "ambiguity", "word association"]


def test_votes_of_the_author_do_not_count():
    """Votes of the author on the other half don't count either."""
    twin = make_twins(1)
    data = Dataset([replace(twin[0], origin=Origin(author="ann")), twin[1]])
    votes = [Response(half.id, "ann", "validate", half.answer) for half in data]
    counted, aside = validate.select_eligible(data, votes, both_halves=True)
    assert counted == ()
    assert {entry.reason for entry in aside} == {"the judge wrote the problem"}


def test_names_that_look_the_same_are_one_judge():
    """Macs write é as two characters, and copied names have invisible characters."""
    data = Dataset([replace(PROBLEM, origin=Origin(author="Ren\u00e9"))])
    names = ["Rene\u0301", "Zoe\u0308", "Zo\u00eb", "Zo\u00eb\u200b"]
    votes = [Response(PROBLEM.id, name, "validate", 0) for name in names]
    counted, aside = validate.select_eligible(data, votes)
    assert counted == (votes[1],)
    assert [entry.reason for entry in aside] == [
        "the judge wrote the problem",
        *["the judge had already voted on it"] * 2,
    ]


def test_only_the_first_vote_per_judge_and_purpose_counts():
    first, again = said([0])[0], replace(said([1])[0], seconds=9.0)
    local = replace(first, purpose="local")
    counted, aside = validate.select_eligible(Dataset([PROBLEM]), [local, first, again])
    assert counted == (local, first)
    assert [(entry.response, entry.reason) for entry in aside] == [
        (again, "the judge had already voted on it")
    ]


def test_local_vote_after_reading_the_problem_does_not_count():
    whole = said([0])[0]
    local = replace(whole, purpose="local")
    counted, aside = validate.select_eligible(Dataset([PROBLEM]), [whole, local])
    assert counted == (whole,)
    assert aside[0].reason == "the judge had read more than the local context"


@pytest.mark.parametrize("purpose", ["validate", "local", "test"])
def test_judge_of_one_half_can_not_judge_the_other_by_default(purpose):
    data = make_twins(1)
    seen = Response(data[0].id, "ann", purpose, 0)
    vote = Response(data[1].id, "ann", "validate", 0)
    assert vote not in validate.select_eligible(data, [seen, vote])[0]
    assert vote in validate.select_eligible(data, [seen, vote], both_halves=True)[0]
    assert vote in validate.select_eligible(data, [vote, seen])[0]


def test_responses_of_a_human_test_are_not_votes():
    assert find_reason(said([0, 0, 0], "test")) == "enough votes: 0 of the 3 required judges"


def test_votes_on_unknown_problems_are_set_aside():
    counted, aside = validate.select_eligible(Dataset([]), said([0]))
    assert (counted, aside[0].reason) == ((), "the data set has no such problem")


@pytest.mark.parametrize("fields", [{"choice": 2}, {"choice": 0, "shown": (0, 1, 2)}])
def test_choice_of_a_missing_option_is_refused(fields):
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
def test_invalid_rules_are_refused(rules):
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
def test_each_response_counts_or_is_set_aside(case, both_halves):
    data, responses = case
    counted, aside = validate.select_eligible(data, responses, both_halves=both_halves)
    both = [*counted, *(entry.response for entry in aside)]
    assert sorted(map(repr, both)) == sorted(map(repr, responses))
    assert validate.select_eligible(data, counted, both_halves=both_halves) == (counted, ())


@given(cases(), st.sampled_from([1, 2, 3]), st.sampled_from(["keep", "drop"]), st.booleans())
def test_kept_and_dropped_are_the_input(case, needed, undecided, both_halves):
    """Validating the kept problems again drops none."""
    data, responses = case
    rules = VoteRules(judges=needed, undecided=undecided, both_halves=both_halves)
    assert validate.filter_by_votes(data, responses, rules).input() == data
    counted, _ = validate.select_eligible(data, responses, both_halves=both_halves)
    kept = validate.filter_by_votes(data, counted, rules).kept
    assert validate.filter_by_votes(kept, counted, rules).kept == kept


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
responses = st.lists(
    st.builds(
        Response,
        texts | st.sampled_from(["=1+1", "-1", "@x", "'=x", "''", "\t", '"', "a,b", "a\r\nb"]),
        texts.map(normalize_name).filter(lambda name: name and normalize_name(name) == name),
        st.sampled_from(["local", "validate", "test"]),
        st.none() | st.integers(0, 4),
        st.booleans(),
        st.booleans(),
        st.integers(0, 5).flatmap(lambda n: st.permutations(range(n)).map(tuple)),
        st.none() | st.floats(0, 1e9),
    ),
    min_size=1,
    max_size=5,
)


@given(responses)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_writing_and_reading_votes_is_a_round_trip(tmp_path, given):
    """No cell is a formula."""
    for name in ("votes.csv", "votes.jsonl"):
        write_votes(given, tmp_path / name)
        assert read_votes(tmp_path / name) == tuple(given)
    with (tmp_path / "votes.csv").open(newline="", encoding="utf-8") as file:
        assert not [cell for row in csv.reader(file) for cell in row if cell[:1] in set("=+-@\t\r")]


def read(tmp_path: Path, text: str | bytes) -> tuple[Response, ...]:
    """Return the responses in a file with this text."""
    path = tmp_path / "votes"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_votes(path)


def test_table_with_three_columns_is_read(tmp_path):
    """In CSV, choices count from 1."""
    found = read(tmp_path, "participant,problem_id,choice\nann,p,2\nbob,p,\n")
    assert found == (Response("p", "ann", "validate", 1), Response("p", "bob", "validate"))


@pytest.mark.parametrize("name", ["w1 ", " w1", "\u00a0w1", "w1\t"])
def test_white_space_around_a_judges_name_is_ignored(tmp_path, name):
    """Otherwise the same person would count as two judges."""
    record = '{"problem_id":"a","participant":"%s","purpose":"test"}\n'
    for text in (f"problem_id,participant,choice\na,{name},1\n", record % name.replace("\t", " ")):
        assert [one.participant for one in read(tmp_path, text)] == ["w1"]


def test_csv_variants_of_spreadsheets_are_read(tmp_path):
    found = read(
        tmp_path,
        b'\xef\xbb\xbf"problem_id",participant, choice ,ambiguous,associative\r\n'
        b"p,ann, 1 ,TRUE,no\r\n,,,,\r\n\r\np,bob,2,yes,0\r\n",
    )
    assert [(r.choice, r.ambiguous, r.associative) for r in found] == [
        (0, True, False),
        (1, True, False),
    ]


def test_votes_from_excel_pandas_and_r_are_read(tmp_path):
    """Semicolons may separate cells; numbers may have decimals, and gaps may be NA or nan."""
    table = "sep=;\nproblem_id;participant;choice\np;ann;2.0\np;bob;NA\np;eve;nan\n"
    assert [response.choice for response in read(tmp_path, table)] == [1, None, None]
    found = read(tmp_path, HEAD + "p,ann,#N/A,,NA,,nan\np,bob,<NA>,,,,NA\np,eve,na,,,,\n")
    assert {(one.choice, one.ambiguous, one.seconds) for one in found} == {(None, False, None)}


def test_choices_in_json_lines_count_from_0(tmp_path):
    line = '{"problem_id": "p", "participant": "ann", "purpose": "local", "choice": 1'
    assert read(tmp_path, line + ', "shown": [1, 0]}') == (
        Response("p", "ann", "local", 1, shown=(1, 0)),
    )


@pytest.mark.parametrize("choice", ["1.0", '"B"', '" b "', "1"])
def test_choices_may_be_letters(tmp_path, choice):
    found = read(tmp_path, "problem_id,participant,choice,shown\np,ann,B,b A\n")
    assert found == (Response("p", "ann", "validate", 1, shown=(1, 0)),)
    line = f'{{"problem_id": "p", "participant": "ann", "purpose": "test", "choice": {choice}}}'
    assert read(tmp_path, line) == (Response("p", "ann", "test", 1),)


HEAD = "problem_id,participant,choice,purpose,ambiguous,shown,seconds\n"
JSON = '{"problem_id": "p", "participant": "ann", "purpose": "test"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "votes: the file is empty"),
        (" \n", "votes: the file is empty"),
        (b"\xff\xfep\x00", "votes:1: the text is not UTF-8; save it as UTF-8 first"),
        (HEAD.encode() + b"p,ann\xe9,1,,,,\n", "votes:2: the text is not UTF-8"),
        ("problem_id,choice\np,1\n", "votes:1: 'participant' is missing"),
        ("problem_id|participant|choice\n", "votes:1: 'problem_id' is missing"),
        (HEAD.replace("choice", "choise"), "votes:1: 'choice' is missing"),
        (HEAD[:-1] + ",answer\n", "votes:1: the column 'answer' is unknown; the columns are"),
        (HEAD[:-1] + ",choice\n", "votes:1: the column 'choice' occurs twice"),
        (HEAD + "p,ann,1\n", "votes:2: the row has 3 cells; the header has 7"),
        (
            HEAD + "p,ann,0,,,,\n",
            "votes:2: '0' is not an option; write a letter (A for the first option) or a number",
        ),
        (HEAD + "p,ann,X,,,,\n", "votes:2: 'X' is not an option"),
        (HEAD + "p,ann,1.5,,,,\n", "votes:2: '1.5' is not an option"),
        (HEAD + "p,ann,1,,,,\n\np,bob,1,fun,,,\n", "votes:4: unknown purpose 'fun'; use local"),
        (HEAD + '"p\nq",ann,1,,,,\np,b,1,,maybe,,\n', "votes:4: ambiguous is 'maybe'; it must be"),
        (HEAD + "p,ann,1,,,1 1,\n", "votes:2: the order (0, 0) is not a permutation"),
        (HEAD + "p,ann,1,,,,soon\n", "votes:2: seconds is 'soon'; it must be a number or empty"),
        (HEAD + "p,ann,1,,,,inf\n", "votes:2: the response time is inf s; it must be 0 or more"),
        (HEAD + ",ann,1,,,,\n", "votes:2: a response needs the ids of its problem"),
        (HEAD + '"p,ann,1,,,,\n', "votes:2: this is not a row of a table"),
        ("{}", "votes:1: 'problem_id' is missing"),
        (JSON, "votes:1: the line is not JSON"),
        (JSON + "}\n[1]", "votes:2: the line is not a JSON object"),
        (JSON + ', "answer": 1}', "votes:1: the column 'answer' is unknown"),
        (
            JSON + ', "choice": "1"}',
            'votes:1: choice can\'t be "1"; write a letter (A for the first',
        ),
        (JSON + ', "choice": 1.5}', "votes:1: choice can't be 1.5; write a letter"),
        (JSON + ', "choice": "X"}', "votes:1: 'X' is not an option"),
        (JSON + ', "choice": true}', "votes:1: choice can't be true"),
        (JSON + ', "ambiguous": 1}', "votes:1: ambiguous can't be 1"),
        (JSON + ', "shown": "21"}', 'votes:1: shown can\'t be "21"'),
        (JSON + ', "choice": -1}', "votes:1: the choice is -1; it must be an index or None"),
        ("[" * 99_999, "votes:1: the line is not JSON"),
    ],
)
def test_invalid_file_is_reported_by_line(tmp_path, text, reason):
    with pytest.raises(FormatError) as told:
        read(tmp_path, text)
    assert str(told.value).startswith(f"{tmp_path}/{reason}")


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_is_read_or_refused(tmp_path, text):
    with contextlib.suppress(FormatError):
        found = read(tmp_path, HEAD.encode() + text.encode("utf-8", "surrogatepass"))
        assert all(isinstance(response, Response) for response in found)


def test_missing_file_is_reported(tmp_path):
    with pytest.raises(FormatError, match="No such file"):
        read_votes(tmp_path / "none.csv")


def test_names_that_look_alike_are_one_person(tmp_path):
    (tmp_path / "votes.csv").write_text(
        "problem_id,participant,choice\na,Jos\u00e9,1\nb, Jose\u0301\u200b,2\n", "utf-8"
    )
    assert {vote.participant for vote in read_votes(tmp_path / "votes.csv")} == {"José"}
