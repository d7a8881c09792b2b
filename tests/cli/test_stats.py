"""`winosmith stats` describes a file, and reports its leaks."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from tests.work import calls
from winosmith import Claim, Dataset, Problem, formats
from winosmith.cli import main
from winosmith.testing import make_twins


def test_counts_are_printed_with_a_signature(cli):
    formats.write(make_twins(30, singles=3), "made.jsonl")
    shown = cli("stats made.jsonl")
    rows = {line.split("  ")[0]: line for line in shown.splitlines()}
    assert rows["problems"].split() == ["problems", "63"]
    assert rows["twins"].split() == ["twins", "30"]
    assert rows["singles"].split() == ["singles", "3"]
    assert "No field was found that gives the answer away." in shown
    assert "|n:63|seed:0|version:" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_duplicates_and_contradictions_are_reported_by_id(cli):
    data = make_twins(6)
    copy, liar = replace(data[0], id="copy", twin_id="u"), replace(data[2], id="liar", twin_id="v")
    third = replace(data[4], id="third", sentence=data[4].sentence + " Really.")
    formats.write(data, "plain.jsonl")
    liar = replace(liar, answer=1 - (liar.answer or 0))
    formats.write(Dataset([*data, copy, liar, third]), "more.jsonl")
    plain = cli("stats plain.jsonl")
    assert "duplicates 0 problems" in " ".join(plain.split())
    assert "identical" not in plain
    for command in ("stats", "check"):
        told = " ".join(cli(command, "more.jsonl").split())
        assert (
            "2 groups of identical problems, 4 problems in all: 0-0 and copy; 1-0 and liar." in told
        )
        assert "1 group of identical problems with different answers: 1-0 and liar. Correct" in told
        assert "1 twin id is shared by three problems or more: 2-0, 2-1 and third." in told
        found = cli.told(command, "more.jsonl")
        examples = [["0-0", "copy"], ["1-0", "liar"]]
        assert found["copies"] == {"count": 2, "problems": 4, "examples": examples}
        assert found["contradictions"]["examples"] == [["1-0", "liar"]]
        assert found["crowded"]["examples"] == [["2-0", "2-1", "third"]]


def test_too_few_answers_to_find_leaks_are_reported(cli):
    formats.write(make_twins(50).blind(), "made.jsonl")
    shown = cli("stats made.jsonl")
    assert "Fields are not searched for answers: at least 30" in " ".join(shown.split())
    assert "withheld: 100" in shown


def test_words_of_text_without_spaces_are_not_counted(cli):
    sentence = "棚の茶碗が急須に当たって_が割れた。"
    formats.write([Problem("1", sentence, ("茶碗", "急須"), 0)], "japanese.jsonl")
    shown = cli("stats japanese.jsonl")
    assert shown.count("not counted: no spaces between words") == 2
    assert "tokens" not in shown


def test_several_files_are_counted_as_one(cli):
    """Files may share ids; twins stay within their file."""
    for name in ("one", "two"):
        formats.write(make_twins(2), f"{name}.jsonl")
    report = cli.told("stats one.jsonl two.jsonl")
    assert (report["data"], report["problems"], report["twins"]) == ("one + two", 8, 4)


def test_true_and_false_claims_are_counted(cli):
    claims = [
        Claim("1", "The cup hit the jug and _ broke.", c, c == "the jug")
        for c in ("the cup", "the jug")
    ]
    formats.write(claims, "claims.jsonl")
    shown = cli("stats claims.jsonl")
    assert "true: 1, false: 1" in shown
    assert "9.00 tokens" in shown


def test_file_with_problems_and_claims_is_refused(cli):
    """Neither `stats` nor `train` uses only a part of the file."""
    claim = Claim("1", "The cup hit the jug and _ broke.", "the jug", holds=True)
    formats.write([*make_twins(1), claim], "both.jsonl")
    for command in ("stats", "train --dev 1 --model m --out t"):
        assert "both problems and true-or-false claims" in cli.refused(f"{command} both.jsonl")


@pytest.mark.data
def test_leak_of_winograndes_ids_is_reported(data_dir, cli):
    shown = " ".join(cli("stats", data_dir / "winogrande/dev.jsonl").split())
    leak = "LEAK the id's last character gives the answer away in 100 % of 1,267 problems"
    assert leak in shown


@pytest.mark.data
def test_work_grows_linearly_with_the_problems(data_dir, cli):
    """It is the number of function calls to find duplicates, pairs and leaks."""
    lines = (data_dir / "winogrande/train_l.jsonl").read_text("utf-8").splitlines(keepends=True)
    work = {}
    for count in (500, 1000, 4000):  # the first run loads the modules
        Path("some.jsonl").write_text("".join(lines[:count]), "utf-8")
        work[count] = calls(lambda: main(["stats", "--json", "some.jsonl"]))
    assert work[4000] < 5 * work[1000]


def test_depths_of_families_are_compared(cli):
    Path("evograd.csv").write_text(
        "index,sentence,option1,option2,answer,distance\n"
        "0,The cup hit the _ and it broke.,vase,tray,1,0\n"
        "1,The mug hit the _ and it broke.,vase,tray,1,1\n"
        "2,The old mug hit the _ so it fell.,vase,tray,1,9\n"
    )
    shown = cli("stats evograd.csv")
    assert "2 perturbed problems in 1 family" in shown
    assert ["declared", "2", "5.000", "9", "1"] in [line.split() for line in shown.splitlines()]
    assert "The depths of '2' differ most: declared 9, lineage 4, edit 4." in shown
    assert max(map(len, shown.splitlines())) <= 80
    found = cli.told("stats evograd.csv")["lineages"]
    assert (found["example"], found["depths"]["declared"]["equal"]) == ("2", 1)


@pytest.mark.parametrize("command", ["stats", "check"])
def test_unmarked_twins_are_reported(cli, command):
    """If a file marks some twins, other pairs that look like twins stay singles."""
    data = make_twins(5).problems
    mixed = [*data[:6], *(replace(p, twin_id=None) for p in data[6:])]
    formats.write(mixed, "mixed.jsonl")
    said = " ".join(cli(command, "mixed.jsonl").split()) + cli.err
    assert "2 pairs of singles look like unmarked twins" in said
    assert "--pair-by" in said


@pytest.mark.parametrize(
    "command",
    [
        "stats {} --json",
        "check {}",
        "solve {} --solver random --out a.jsonl",
        "embed {} --out x.npz",
    ],
)
def test_every_command_reports_decisions_of_the_reader(cli, command):
    warnings.simplefilter("always", formats.ReadingNote)
    rows = [f'"The cup hit the jug and _{verb} at once.",cup,jug,{n}' for verb, n in
            (("broke", 1), ("bounced", 2))]  # fmt: skip
    Path("t.csv").write_text("\n".join(["sentence,option1,option2,answer", *rows]))
    said = cli.aside(command.format("t.csv"))
    assert "t.csv: 2 sentences have a blank that touches a word ('and _broke')" in said
    assert "t.csv: 2 of 2 problems are read as 1 twin, found by their texts" in said
