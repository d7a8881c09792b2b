"""`winosmith check` validates a file, and shows the funnel."""

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, Problem, Response, formats
from winosmith.lineage import make_child
from winosmith.records import parse_dropped
from winosmith.testing import make_families, make_twins
from winosmith.validate import read_votes, write_votes


@pytest.fixture
def twins(cli: Cli) -> Dataset:
    """Write five twins, one with a half that is too long, and the votes of three judges.

    All votes are correct, except on the first problem.
    """
    data = make_twins(5)
    long = replace(data[2], sentence=data[2].sentence + " And so on it went" * 3)
    formats.write(Dataset([*data[:2], long, *data[3:]]), "twins.jsonl")
    responses = [
        Response(p.id, f"{judge}{row}", "validate", (p.answer or 0) ^ (row == 0))
        for row, p in enumerate(data)
        for judge in "xyz"
    ]
    write_votes(responses, "votes.csv")
    return formats.read("twins.jsonl")


def test_first_line_states_the_rules(twins, cli):
    """Authors' twins have WinoGrande's rules, an evolved set has none; --rules changes this."""
    formats.write(make_families([1, 2], [3]), "evolved.jsonl")

    def first_line(arguments: str) -> str:
        return cli(f"check {arguments}").splitlines()[0]

    told = first_line("twins.jsonl --votes votes.csv")
    assert told.startswith("WinoGrande's rules for authors were applied to all problems")
    assert first_line("evolved.jsonl") == (
        "WinoGrande's rules for authors were not applied to 5 (perturbed or their roots)"
    )
    told = first_line("evolved.jsonl --rules winogrande")
    assert told.endswith("all 5 problems, as configured")
    told = first_line("twins.jsonl --rules none")
    assert told.endswith("for authors were not applied, as configured")
    rules = cli.told("check evolved.jsonl")["rules_used"]
    assert rules["not_applied"] == {"perturbed or their roots": 5}
    assert cli.told("check twins.jsonl --rules none")["funnel"]["steps"][0]["dropped"] == {}


def test_questions_without_a_blank_are_reported_as_unchecked(cli):
    asked = [Problem(f"q{at}", "Which is red?", ("a", "b"), at, blank=None) for at in range(2)]
    formats.write([*make_twins(1), *asked], "mixed.jsonl")
    told = " ".join(cli("check mixed.jsonl").split())
    assert "Questions without a blank: 2; their length" in told
    assert "winosmith audit" in told
    formats.write(asked, "asked.jsonl")
    told = cli("check asked.jsonl")
    assert "authors were not applied to 2 (no rule can be checked)\n" in told
    assert cli.told("check asked.jsonl")["rules_used"]["applied_to"] == 0


def test_json_locates_the_examples_of_broken_rules(twins, cli):
    rules = cli.told("check twins.jsonl --length 1 2 --examples 1")["rules"]
    (example,) = next(rule for rule in rules if rule["rule"] == "length")["examples"]
    assert example["places"] == [f"twins.jsonl:{twins.row(name) + 1}" for name in example["ids"]]


def test_each_rule_has_an_option(twins, cli):
    plain = cli.told("check twins.jsonl --votes votes.csv")["signature"]
    for arguments, expected in [
        ("--length 10 40", "length:10-40"),
        ("--overlap 0.5", "overlap:0.5"),
        ("--edit 0.9", "edit:0.9"),
        ("--complete", "complete:True"),
        ("--judges 2", "judges:2"),
        ("--correct unanimous", "correct:unanimous"),
        ("--unambiguous off", "unambiguous:off"),
        ("--unassociated off", "unassociated:off"),
        ("--local majority", "local:majority"),
        ("--local-before 5", "local_before:5"),
        ("--both-halves", "both_halves:True"),
        ("--undecided keep", "undecided:keep"),
    ]:
        signature = cli.told(f"check twins.jsonl --votes votes.csv {arguments}")["signature"]
        assert f"|{expected}|" in signature
        assert f"|{expected}|" not in plain
    for name in ("length", "overlap", "edit", "anchor", "content-anchor", "options-in-sentence",
                 "flipped", "domain", "same-gender"):  # fmt: skip
        assert len(cli.told(f"check twins.jsonl --skip {name}")["rules"]) == 9


def test_out_writes_kept_and_dropped_problems(twins, cli):
    """Only with --force, they replace results of other settings."""
    check = "check twins.jsonl --out checked --skip overlap"
    assert "kept.jsonl" in cli.aside(check)
    dropped = [json.loads(line) for line in Path("checked/dropped.jsonl").read_text().splitlines()]
    problems = [*formats.read("checked/kept.jsonl"), *map(parse_dropped, dropped)]
    by_id = attrgetter("id")
    assert sorted(problems, key=by_id) == sorted(twins, key=by_id)
    assert {entry["stage"] for entry in dropped} == {"structure"}
    cli(check)
    assert "--force" in cli.refused(f"{check} --edit 0.9")
    cli(f"{check} --edit 0.9 --force")


def test_strict_exits_with_1_if_problems_are_dropped(twins, cli):
    formats.write(make_twins(5), "sound.jsonl")
    cli("check twins.jsonl --strict", code=1)
    cli("check sound.jsonl --strict")


def test_votes_of_judges_give_no_human_accuracy(twins, cli):
    assert "Human accuracy is not measured" in cli("check twins.jsonl --votes votes.csv")
    fresh = [
        Response(p.id, f"fresh-{n}", "test", p.answer) for p in make_twins(5) for n in range(3)
    ]
    write_votes([*read_votes("votes.csv"), *fresh], "everyone.jsonl")
    shown = cli("check twins.jsonl --votes everyone.jsonl")
    assert "Human accuracy, by majority vote on 7 problems: 100.0 %" in shown


def test_missing_parent_is_reported_and_its_child_kept(cli):
    root = make_twins(1)[0]
    child = make_child(root, f"Well: {root.sentence}", root.options, root.answer, source="person")
    formats.write([child], "part.jsonl")
    assert "Kept at each stage: 1 of 1" in cli("check part.jsonl")
    lacks = f"lacks the parent or root {root.id!r} of {child.id!r}; these lineages are not checked"
    assert lacks in cli.err


@pytest.mark.parametrize("turned", [False, True])
def test_duplicates_change_no_verdict(twins, cli, turned):
    """Each row is written a second time, as a part of another twin."""
    again = [replace(p, id=f"{p.id}-again", twin_id=f"{p.twin_id}-again") for p in twins]
    if turned:
        again = [replace(p, options=p.options[::-1], answer=1 - (p.answer or 0)) for p in again]
    formats.write(Dataset([*twins, *again]), "twice.jsonl")
    alone, twice = cli.told("check twins.jsonl"), cli.told("check twice.jsonl")
    assert (alone["copies"]["problems"], twice["copies"]["problems"]) == (0, 2 * len(twins))
    assert twice["contradictions"]["count"] == 0
    assert twice["funnel"]["share"] == alone["funnel"]["share"]
    for one, both in zip(alone["rules"], twice["rules"], strict=True):
        for count in ("checked", "not_checked", "broken"):
            assert both[count] == 2 * one[count]
