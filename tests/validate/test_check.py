"""Validation as a whole: consecutive stages, their funnel, and marks of unjudged problems."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Extra, Problem, Response, formats, practice, validate
from winosmith.build import build, read_recipe
from winosmith.cli import main
from winosmith.dataset import Filtered
from winosmith.errors import DataError
from winosmith.lineage import UNVALIDATED
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


def test_funnel_counts_problems_twins_and_singles_per_stage():
    data = faulty(make_twins(3), 0)
    rules = StructureRules(overlap=None, edit=None)
    votes = [vote for vote in agreeing(data, "x", "y", "z") if vote.problem_id != "1-1"]
    funnel = validate.check(data, votes, rules).funnel
    kept = [{"problems": 6 - n, "twins": 3 - n, "singles": n} for n in range(3)]
    assert funnel.record() == {
        "collected": kept[0],
        "steps": [
            {"stage": "structure", "kept": kept[1], "dropped": {"length": 1}},
            {"stage": "votes", "kept": kept[2], "dropped": {"enough votes": 1}},
        ],
        "share": 4 / 6,
    }


def test_votes_are_a_stage_only_if_given():
    data = make_twins(2)
    assert [stage.stage for stage in validate.check(data).stages] == ["structure"]
    assert len(validate.check(data).all_stages.kept) == 4
    assert len(validate.check(data, []).all_stages.kept) == 0


def test_votes_on_a_dropped_half_exclude_judges_of_the_other():
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
def test_kept_and_dropped_of_both_stages_are_the_input(long, unvoted, rules):
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


def test_signature_depends_on_data_votes_and_rules():
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


def test_funnel_reproduces_the_fraction_of_winogrande():
    """Of 77k questions, 68 % are valid; the paper prints 53k, but the product is 52.4k."""
    half = Problem("0", "The _ fell.", ("cup", "jug"))
    data = Dataset(replace(half, id=str(number)) for number in range(770))
    rejected = data.drop(dict.fromkeys(range(246), "majority: 1 of 3"), "votes")
    funnel = validate.make_funnel({"votes": rejected})
    assert (funnel.kept.problems, round(funnel.kept_fraction or 0, 2)) == (524, 0.68)
    assert funnel.steps[0].dropped == {"majority": 246}


def test_stages_that_do_not_follow_each_other_are_refused():
    data = make_twins(2)
    first = data.drop({0: "length: 9 words"}, "structure")
    with pytest.raises(DataError, match="the input of stage 'votes' is not the output"):
        validate.make_funnel({"structure": first, "votes": data.drop({}, "votes")})
    with pytest.raises(DataError, match="needs the result of at least one filter"):
        validate.make_funnel({})


def test_funnel_of_an_empty_data_set_has_no_fraction():
    funnel = validate.make_funnel({"structure": Filtered(Dataset(), ())})
    assert (funnel.kept, funnel.kept_fraction) == (Count(0, 0, 0), None)


MARK = Extra({UNVALIDATED: True, "wsc.source": "made"})

TEXT = "The old grey cup hit the tall blue jug on the table, and so the _ broke at once in {}."

GENERATED = Dataset(
    Problem(f"g{n}", TEXT.format(place), ("cup", "jug"), n % 2, extra=MARK)
    for n, place in enumerate(("Rome", "Oslo", "Lima", "Cairo"))
)


def _votes(problem: Problem, choices: tuple[int, ...], purpose: str = "validate") -> list[Response]:
    return [
        Response(problem.id, f"{problem.id}-{n}", purpose, choice)
        for n, choice in enumerate(choices)
    ]


def _check(votes: list[Response] | None, **rules: object) -> validate.ValidationResult:
    return validate.check(GENERATED, votes, StructureRules(), VoteRules(**rules))


def test_problem_found_valid_loses_only_its_mark():
    right, wrong, few, none = GENERATED
    said = [*_votes(right, (0, 0, 1)), *_votes(wrong, (0, 0, 0)), *_votes(few, (0, 0))]
    checked = _check(said)
    assert checked.valid == {right.id}
    assert list(checked.kept) == [replace(right, extra=Extra({"wsc.source": "made"}))]
    assert [entry.problem for entry in checked.all_stages.dropped] == [wrong, few, none]
    assert checked.all_stages.input() == GENERATED


def test_undecided_problem_keeps_the_mark():
    first = GENERATED[0]
    checked = _check([*_votes(first, (0, 0, 0)), *_votes(GENERATED[1], (1, 1))], undecided="keep")
    assert len(checked.kept) == 4
    assert checked.valid == {first.id}
    assert validate.count_unvalidated(checked.kept) == 3


def test_local_votes_do_not_remove_the_mark():
    """The same holds for votes if `correct` is off, because answers are then not checked."""
    first = GENERATED[0]
    local = _votes(first, (1, 1, 1), "local")
    assert _check(local, undecided="keep").valid == frozenset()
    assert _check(_votes(first, (0, 0, 0)), undecided="keep", correct="off").valid == frozenset()


def test_mark_stays_without_votes():
    checked = _check(None)
    assert checked.valid == frozenset()
    assert checked.kept == checked.all_stages.kept == GENERATED


@given(st.sets(st.sampled_from(GENERATED.ids)))
def test_removed_and_remaining_marks_add_up(valid):
    cleared = validate.remove_unvalidated(GENERATED, valid)
    assert validate.count_unvalidated(cleared) == len(GENERATED) - len(valid)
    assert validate.remove_unvalidated(cleared, valid) == cleared
    assert cleared.ids == GENERATED.ids
    assert [p.sentence for p in cleared] == [p.sentence for p in GENERATED]


def test_command_removes_marks_and_prints_the_counts(tmp_path, capsys):
    formats.write(GENERATED.problems, tmp_path / "data.jsonl")
    said = [*_votes(GENERATED[0], (0, 0, 0)), *_votes(GENERATED[1], (1, 1))]
    validate.write_votes(said, tmp_path / "votes.csv")
    arguments = [
        "check", str(tmp_path / "data.jsonl"), "--votes", str(tmp_path / "votes.csv"),
        "--undecided", "keep", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Generated problems kept: 4; judged valid: 1; not judged yet: 3" in shown
    kept = formats.read(tmp_path / "out" / "kept.jsonl")
    assert [UNVALIDATED in problem.extra for problem in kept] == [False, True, True, True]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unvalidated"] == {"collected": 4, "kept": 3}


@pytest.mark.parametrize("judged", [True, False])
def test_build_reports_the_number_of_unjudged_problems(tmp_path, judged, capsys):
    made = practice.generate_corpus(60, seed=1)
    marked = [replace(p, extra=Extra({**p.extra, UNVALIDATED: True})) for p in made.dataset]
    formats.write(marked, tmp_path / "twins.jsonl")
    validate.write_votes(made.votes, tmp_path / "votes.csv")
    votes = 'votes_file = "votes.csv"\n' if judged else ""
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'name = "mine"\ndata = "twins.jsonl"\n{votes}[filter]\nmethod = "none"\n'
        "[split]\ndev = 0.2\ntest = 0.2\n"
    )
    built = build(read_recipe(recipe), tmp_path / "out")
    published = formats.read(tmp_path / "out" / "train_debiased.jsonl")
    told = json.loads((tmp_path / "out" / "report.json").read_text())["unvalidated"]
    page = (tmp_path / "out" / "report.html").read_text()
    sets = () if judged else ("train_xl", "train_debiased", "dev", "test")
    assert built.unvalidated == told == {name: built.counts[name] for name in sets}
    assert validate.count_unvalidated(published) == (0 if judged else len(published))
    count = "" if judged else f": {built.counts['train_xl']:,} of train_xl"
    assert (f"judges did not find valid{count}" in page) is not judged
    assert main(["build", str(recipe), "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert ("have not validated yet" in told) is not judged
    assert ("The column evolve.unvalidated is not in dev and test" in told) is not judged
