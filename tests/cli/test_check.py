"""`winosmith check` validates a file, and shows the funnel."""

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, Problem, Response, formats
from winosmith.cli import main
from winosmith.lineage import make_child
from winosmith.records import parse_dropped
from winosmith.testing import make_families, make_twins
from winosmith.validate import read_votes, write_votes


@pytest.fixture
def twins(tmp_path: Path) -> Path:
    """Return the path of a file with five twins; one half of one twin is too long."""
    data = make_twins(5)
    long = replace(data[2], sentence=data[2].sentence + " And so on it went" * 3)
    path = tmp_path / "twins.jsonl"
    formats.write(Dataset([*data[:2], long, *data[3:]]), path)
    return path


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    """Return the path of votes of three judges; all are correct, except on the first problem."""
    responses = [
        Response(p.id, f"{judge}{row}", "validate", (p.answer or 0) ^ (row == 0))
        for row, p in enumerate(make_twins(5))
        for judge in "xyz"
    ]
    write_votes(responses, tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


def test_first_line_states_the_rules(twins: Path, votes: Path, tmp_path: Path, cli: Cli) -> None:
    """Authors' twins have WinoGrande's rules, an evolved set has none; --rules changes this."""
    evolved = tmp_path / "evolved.jsonl"
    formats.write(make_families([1, 2], [3]), evolved)

    def first_line(*arguments: object) -> str:
        return cli("check", *arguments).splitlines()[0]

    told = first_line(twins, "--votes", votes)
    assert told.startswith("WinoGrande's rules for authors were applied to all problems")
    assert first_line(evolved) == (
        "WinoGrande's rules for authors were not applied to 5 (perturbed or their roots)"
    )
    assert first_line(evolved, "--rules", "winogrande").endswith("all 5 problems, as configured")
    assert first_line(twins, "--rules", "none").endswith(
        "for authors were not applied, as configured"
    )
    assert cli.told("check", evolved)["rules_used"]["not_applied"] == {
        "perturbed or their roots": 5
    }
    assert cli.told("check", twins, "--rules", "none")["funnel"]["steps"][0]["dropped"] == {}


def test_questions_without_a_blank_are_reported_as_unchecked(tmp_path: Path, cli: Cli) -> None:
    asked = [Problem(f"q{at}", "Which is red?", ("a", "b"), at, blank=None) for at in range(2)]
    formats.write([*make_twins(1), *asked], tmp_path / "mixed.jsonl")
    told = " ".join(cli("check", tmp_path / "mixed.jsonl").split())
    assert "Questions without a blank: 2; their length" in told
    assert "winosmith audit" in told
    formats.write(asked, tmp_path / "asked.jsonl")
    told = cli("check", tmp_path / "asked.jsonl")
    assert "authors were not applied to 2 (no rule can be checked)\n" in told
    assert cli.told("check", tmp_path / "asked.jsonl")["rules_used"]["applied_to"] == 0


def test_each_rule_has_an_option(twins: Path, votes: Path, cli: Cli) -> None:
    plain = cli.told("check", twins, "--votes", votes)["signature"]
    for arguments, expected in [
        (["--length", "10", "40"], "length:10-40"),
        (["--overlap", "0.5"], "overlap:0.5"),
        (["--edit", "0.9"], "edit:0.9"),
        (["--complete"], "complete:True"),
        (["--judges", "2"], "judges:2"),
        (["--correct", "unanimous"], "correct:unanimous"),
        (["--unambiguous", "off"], "unambiguous:off"),
        (["--unassociated", "off"], "unassociated:off"),
        (["--local", "majority"], "local:majority"),
        (["--local-before", "5"], "local_before:5"),
        (["--both-halves"], "both_halves:True"),
        (["--undecided", "keep"], "undecided:keep"),
    ]:
        signature = cli.told("check", twins, "--votes", votes, *arguments)["signature"]
        assert f"|{expected}|" in signature
        assert f"|{expected}|" not in plain
    for name in ("length", "overlap", "edit", "anchor", "content-anchor", "options-in-sentence",
                 "flipped", "domain", "same-gender"):  # fmt: skip
        rules = cli.told("check", twins, "--skip", name)["rules"]
        assert len(rules) == 9


def test_out_writes_kept_and_dropped_problems(twins: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "checked"
    aside = cli.aside("check", twins, "--out", out, "--skip", "overlap")
    kept = formats.read(out / "kept.jsonl")
    dropped = [json.loads(line) for line in (out / "dropped.jsonl").read_text().splitlines()]
    problems = [*kept, *map(parse_dropped, dropped)]
    by_id = attrgetter("id")
    assert sorted(problems, key=by_id) == sorted(formats.read(twins), key=by_id)
    assert {entry["stage"] for entry in dropped} == {"structure"}
    assert "kept.jsonl" in aside


def test_out_of_other_settings_is_refused_without_force(
    twins: Path, tmp_path: Path, cli: Cli
) -> None:
    out = str(tmp_path / "checked")
    cli("check", twins, "--out", out)
    cli("check", twins, "--out", out)
    assert "--force" in cli.refused("check", twins, "--out", out, "--edit", "0.9")
    cli("check", twins, "--out", out, "--edit", "0.9", "--force")


def test_strict_exits_with_1_if_problems_are_dropped(twins: Path, tmp_path: Path) -> None:
    formats.write(make_twins(5), tmp_path / "sound.jsonl")
    assert main(["check", str(twins), "--strict"]) == 1
    assert main(["check", str(tmp_path / "sound.jsonl"), "--strict"]) == 0


def test_votes_of_judges_give_no_human_accuracy(
    twins: Path, votes: Path, tmp_path: Path, cli: Cli
) -> None:
    assert "Human accuracy is not measured" in cli("check", twins, "--votes", votes)
    fresh = [
        Response(p.id, f"fresh-{n}", "test", p.answer) for p in make_twins(5) for n in range(3)
    ]
    everyone = tmp_path / "everyone.jsonl"
    write_votes([*read_votes(votes), *fresh], everyone)
    assert "Human accuracy, by majority vote on 7 problems: 100.0 %" in cli(
        "check", twins, "--votes", everyone
    )


def test_missing_parent_is_reported_and_its_child_kept(tmp_path: Path, cli: Cli) -> None:
    root = make_twins(1)[0]
    child = make_child(root, f"Well: {root.sentence}", root.options, root.answer, source="person")
    path = tmp_path / "part.jsonl"
    formats.write([child], path)
    assert "Kept at each stage: 1 of 1" in cli("check", path)
    assert (
        f"lacks the parent or root {root.id!r} of {child.id!r}; these lineages are not checked"
        in cli.err
    )


@pytest.mark.parametrize("turned", [False, True])
def test_duplicates_change_no_verdict(twins: Path, tmp_path: Path, cli: Cli, turned: bool) -> None:
    """Each row is written a second time, as a part of another twin."""
    data = formats.read(twins)
    again = [
        replace(
            p,
            id=f"{p.id}-again",
            twin_id=f"{p.twin_id}-again",
            options=p.options[::-1] if turned else p.options,
            answer=1 - (p.answer or 0) if turned else p.answer,
        )
        for p in data
    ]
    formats.write(Dataset([*data, *again]), tmp_path / "twice.jsonl")
    alone, twice = cli.told("check", twins), cli.told("check", tmp_path / "twice.jsonl")
    assert (alone["copies"]["problems"], twice["copies"]["problems"]) == (0, 2 * len(data))
    assert twice["contradictions"]["count"] == 0
    assert twice["funnel"]["share"] == alone["funnel"]["share"]
    for one, both in zip(alone["rules"], twice["rules"], strict=True):
        for count in ("checked", "not_checked", "broken"):
            assert both[count] == 2 * one[count]
