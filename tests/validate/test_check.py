"""Validation as a whole: consecutive stages, their funnel, and a signature."""

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
    """Return correct votes by the judges; each half has separate judges."""
    return [
        Response(problem.id, f"{judge}-{problem.id}", "validate", problem.answer)
        for problem in data
        for judge in judges
    ]


def faulty(data: Dataset, *rows: int) -> Dataset:
    """Return the data with overlong sentences in some rows."""
    return Dataset(
        replace(p, sentence=p.sentence + " and on" * 9) if row in rows else p
        for row, p in enumerate(data)
    )


def test_funnel_counts_problems_twins_and_singles_per_stage() -> None:
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


def test_votes_are_a_stage_only_if_given() -> None:
    data = make_twins(2)
    assert [stage.stage for stage in validate.check(data).stages] == ["structure"]
    assert len(validate.check(data).all_stages.kept) == 4
    assert len(validate.check(data, []).all_stages.kept) == 0


def test_votes_on_a_dropped_half_exclude_judges_of_the_other() -> None:
    """A judge who saw a half that the structure stage drops can't judge the other half."""
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
def test_kept_and_dropped_of_both_stages_are_the_input(
    long: set[int], unvoted: set[int], rules: dict[str, Any]
) -> None:
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


def test_signature_depends_on_data_votes_and_rules() -> None:
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


def test_funnel_reproduces_the_fraction_of_winogrande() -> None:
    """Of 77k questions, 68 % are valid; the paper prints 53k, but the product is 52.4k."""
    half = Problem("0", "The _ fell.", ("cup", "jug"))
    data = Dataset(replace(half, id=str(number)) for number in range(770))
    rejected = data.drop(dict.fromkeys(range(246), "majority: 1 of 3"), "votes")
    funnel = validate.make_funnel({"votes": rejected})
    assert (funnel.kept.problems, round(funnel.kept_fraction or 0, 2)) == (524, 0.68)
    assert funnel.steps[0].dropped == {"majority": 246}


def test_stages_that_do_not_follow_each_other_are_refused() -> None:
    data = make_twins(2)
    first = data.drop({0: "length: 9 words"}, "structure")
    with pytest.raises(DataError, match="the input of stage 'votes' is not the output"):
        validate.make_funnel({"structure": first, "votes": data.drop({}, "votes")})
    with pytest.raises(DataError, match="needs the result of at least one filter"):
        validate.make_funnel({})


def test_funnel_of_an_empty_data_set_has_no_fraction() -> None:
    funnel = validate.make_funnel({"structure": Filtered(Dataset(), ())})
    assert (funnel.kept, funnel.kept_fraction) == (Count(0, 0, 0), None)
