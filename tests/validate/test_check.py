"""Validation as a whole: the stages in a row, their funnel, and a signature."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Problem, Response, validate
from winosmith.dataset import Filtered
from winosmith.errors import DataError
from winosmith.testing import make_twins
from winosmith.validate import Count, StructureRules, VoteRules


def agreeing(data: Dataset, *judges: str) -> list[Response]:
    """Return the votes of judges who are all right; those of a half have the half's name added."""
    return [
        Response(problem.id, f"{judge}-{problem.id}", "validate", problem.answer)
        for problem in data
        for judge in judges
    ]


def faulty(data: Dataset, *rows: int) -> Dataset:
    """Return the data with sentences of some rows that are too long."""
    return Dataset(
        replace(p, sentence=p.sentence + " and on" * 9) if row in rows else p
        for row, p in enumerate(data)
    )


def test_the_funnel_counts_problems_twins_and_singles_at_each_stage() -> None:
    """Each stage has what it kept, and the rest by reason; a half that is gone leaves a single."""
    data = faulty(make_twins(3), 0)
    rules = StructureRules(overlap=None, edit=None)
    votes = [vote for vote in agreeing(data, "x", "y", "z") if vote.problem_id != "1-1"]
    funnel = validate.check(data, votes, rules).funnel
    assert funnel.record() == {
        "collected": {"problems": 6, "twins": 3, "singles": 0},
        "steps": [
            {
                "stage": "structure",
                "kept": {"problems": 5, "twins": 2, "singles": 1},
                "dropped": {"length": 1},
            },
            {
                "stage": "votes",
                "kept": {"problems": 4, "twins": 1, "singles": 2},
                "dropped": {"enough votes": 1},
            },
        ],
        "share": 4 / 6,
    }


def test_without_votes_there_is_no_stage_of_votes() -> None:
    """Votes that were never asked for are not checked; an empty file of votes is."""
    data = make_twins(2)
    assert [stage.stage for stage in validate.check(data).stages] == ["structure"]
    assert len(validate.check(data).all_stages.kept) == 4
    assert len(validate.check(data, []).all_stages.kept) == 0


def test_a_half_that_was_dropped_has_been_seen_all_the_same() -> None:
    """A judge who saw a half which the structure drops does not judge the other one."""
    data = faulty(make_twins(1), 0)
    votes = [Response(half.id, judge, "validate", half.answer) for half in data for judge in "xyz"]
    checked = validate.check(data, votes, StructureRules(overlap=None, edit=None))
    assert checked.all_stages.kept.ids == ()
    assert {entry.reason for entry in checked.uncounted_responses} == {
        "the judge had seen the other half"
    }


@given(
    st.sets(st.integers(0, 9)),
    st.sets(st.integers(0, 9)),
    st.sampled_from([{}, {"overlap": None, "edit": None}, {"complete": True}]),
)
def test_the_result_is_the_input_again(
    long: set[int], unvoted: set[int], rules: dict[str, Any]
) -> None:
    """Over both stages kept and dropped are the input, and the funnel's counts add up."""
    data = faulty(make_twins(5), *long)
    votes = [v for v in agreeing(data, "x", "y", "z") if data.row(v.problem_id) not in unvoted]
    checked = validate.check(data, votes, StructureRules(**rules))
    assert checked.all_stages.input() == data
    count = checked.funnel.collected.problems
    for step in checked.funnel.steps:
        assert sum(step.dropped.values()) == count - step.kept.problems
        assert 2 * step.kept.twins + step.kept.singles == step.kept.problems
        count = step.kept.problems
    assert Count.from_dataset(checked.all_stages.kept) == checked.funnel.kept


def test_the_signature_tells_data_votes_and_rules_apart() -> None:
    """Other data, other votes or other rules give another signature; the same give the same."""
    data, votes = make_twins(2), agreeing(make_twins(2), "x", "y", "z")
    signatures = [
        str(validate.check(*arguments).signature)
        for arguments in (
            (data,),
            (make_twins(2, seed=1),),
            (data, votes),
            (data, votes[:-1]),
            (data, votes, StructureRules(length=(10, 30))),
            (data, votes, StructureRules(edit=0.0)),
            (data, votes, StructureRules(edit=None)),
            (data, votes, StructureRules(), VoteRules(judges=2)),
            (data, votes),
        )
    ]
    assert len(set(signatures)) == len(signatures) - 1
    assert "length:15-30|overlap:0.7|edit:1.0" in signatures[0]


def test_the_paper_funnel_can_be_told() -> None:
    """Of WinoGrande's 77k questions 68 % are valid (it prints 53k; the product is 52.4k)."""
    half = Problem("0", "The _ fell.", ("cup", "jug"))
    data = Dataset(replace(half, id=str(number)) for number in range(770))
    rejected = data.drop(dict.fromkeys(range(246), "majority: 1 of 3"), "votes")
    funnel = validate.make_funnel({"votes": rejected})
    assert (funnel.kept.problems, round(funnel.kept_fraction or 0, 2)) == (524, 0.68)
    assert funnel.steps[0].dropped == {"majority": 246}


def test_stages_must_follow_each_other() -> None:
    """A filter that is not the output the one before it kept is no step of the funnel."""
    data = make_twins(2)
    first = data.drop({0: "length: 9 words"}, "structure")
    with pytest.raises(DataError, match="the input of stage 'votes' is not the output"):
        validate.make_funnel({"structure": first, "votes": data.drop({}, "votes")})
    with pytest.raises(DataError, match="needs the result of at least one filter"):
        validate.make_funnel({})


def test_an_empty_data_set_has_a_funnel_of_nothing() -> None:
    """Nothing collected is nothing kept, and no share."""
    funnel = validate.make_funnel({"structure": Filtered(Dataset(), ())})
    assert (funnel.kept, funnel.kept_fraction) == (Count(0, 0, 0), None)
