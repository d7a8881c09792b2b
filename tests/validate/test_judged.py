"""Generated problems are marked as unvalidated until enough judges find them valid."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Extra, Problem, Response, formats, practice, validate
from winosmith.build import build, read_recipe
from winosmith.cli import main
from winosmith.lineage import UNVALIDATED
from winosmith.validate import StructureRules, VoteRules

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


def test_problem_found_valid_loses_only_its_mark() -> None:
    right, wrong, few, none = GENERATED
    said = [*_votes(right, (0, 0, 1)), *_votes(wrong, (0, 0, 0)), *_votes(few, (0, 0))]
    checked = _check(said)
    assert checked.valid == {right.id}
    assert list(checked.kept) == [replace(right, extra=Extra({"wsc.source": "made"}))]
    assert [entry.problem for entry in checked.all_stages.dropped] == [wrong, few, none]
    assert checked.all_stages.input() == GENERATED


def test_undecided_problem_keeps_the_mark() -> None:
    first = GENERATED[0]
    checked = _check([*_votes(first, (0, 0, 0)), *_votes(GENERATED[1], (1, 1))], undecided="keep")
    assert len(checked.kept) == 4
    assert checked.valid == {first.id}
    assert validate.count_unvalidated(checked.kept) == 3


def test_local_votes_do_not_remove_the_mark() -> None:
    """The same holds for votes if `correct` is off, because answers are then not checked."""
    first = GENERATED[0]
    local = _votes(first, (1, 1, 1), "local")
    assert _check(local, undecided="keep").valid == frozenset()
    assert _check(_votes(first, (0, 0, 0)), undecided="keep", correct="off").valid == frozenset()


def test_mark_stays_without_votes() -> None:
    checked = _check(None)
    assert checked.valid == frozenset()
    assert checked.kept == checked.all_stages.kept == GENERATED


@given(st.sets(st.sampled_from(GENERATED.ids)))
def test_removed_and_remaining_marks_add_up(valid: set[str]) -> None:
    cleared = validate.remove_unvalidated(GENERATED, valid)
    assert validate.count_unvalidated(cleared) == len(GENERATED) - len(valid)
    assert validate.remove_unvalidated(cleared, valid) == cleared
    assert cleared.ids == GENERATED.ids
    assert [p.sentence for p in cleared] == [p.sentence for p in GENERATED]


def test_command_removes_marks_and_prints_the_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
def test_build_reports_the_number_of_unjudged_problems(
    tmp_path: Path, judged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
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
    if judged:
        assert built.unvalidated == told == {}
        assert validate.count_unvalidated(published) == 0
        assert "judges did not find valid" not in page
    else:
        sets = ("train_xl", "train_debiased", "dev", "test")
        assert built.unvalidated == told == {name: built.counts[name] for name in sets}
        assert validate.count_unvalidated(published) == len(published)
        assert f"judges did not find valid: {built.counts['train_xl']:,} of train_xl" in page
    assert main(["build", str(recipe), "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().err
    assert ("have not validated yet" in told) is not judged
    assert ("The column evolve.unvalidated is not in dev and test" in told) is not judged
