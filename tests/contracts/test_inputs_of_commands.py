"""Each command measures every input that can be read, or refuses its content."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, Problem, audit, formats
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder
from winosmith.cli import main
from winosmith.recast import to_claims
from winosmith.testing import made_twins

DATA = made_twins(30)
COLUMNS = ["--question", "Satz", "--choices", "Links,Rechts", "--answer", "Größe"]
OWN = [*COLUMNS, "--answer-is", "text", "--pair-by", "Paar"]


def _rows() -> list[dict[str, str]]:
    return [
        {"Satz": p.sentence, "Links": p.options[0], "Rechts": p.options[1], "Paar": str(p.twin_id),
         "Größe": p.options[p.answer or 0]}
        for p in DATA
    ]  # fmt: skip


def _table(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*_rows()[0]])
        writer.writeheader()
        writer.writerows(_rows())


def _blocks(path: Path) -> None:
    lines = []
    for p in DATA:
        sentence = p.sentence.replace("_", "it")
        lines += [sentence, "it", ",".join(p.options), p.options[p.answer or 0], ""]
    path.write_text("\n".join(lines), "utf-8")


def _schema(problem: Problem) -> str:
    before, after = problem.sentence.split("_")
    options = "".join(f"<answer>{option}</answer>" for option in problem.options)
    return (
        f"<schema><text><txt1>{before}</txt1><pron>it</pron><txt2>{after}</txt2></text><answers>"
        f"{options}</answers><correctAnswer>{'AB'[problem.answer or 0]}</correctAnswer></schema>"
    )


def _claims(path: Path) -> None:
    claims = to_claims(Problem(p.id, p.sentence, p.options, p.answer, pronoun="it") for p in DATA)
    formats.write(claims, path, "superglue-wsc")


def _packed(path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(formats.lines(DATA))


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Cli(capsys)


Input = tuple[str, Callable[[Path], object], list[str]]

INPUTS: dict[str, Input] = {
    "ours": ("in.jsonl", lambda path: formats.write(DATA.problems, path), []),
    "packed": ("in.jsonl.gz", _packed, []),
    "csv": ("in.csv", lambda path: formats.write(DATA.problems, path, "csv"), []),
    "winogrande": ("in.jsonl", lambda path: formats.write(DATA.problems, path, "winogrande"), []),
    "wsc-xml": (
        "in.xml",
        lambda path: path.write_text(f"<collection>{''.join(map(_schema, DATA))}</collection>"),
        [],
    ),
    "dpr": ("in.txt", _blocks, []),
    "own columns": ("in.csv", _table, OWN),
    "claims": ("in.jsonl", _claims, []),
}

COMMANDS: dict[str, list[str]] = {
    "stats": [],
    "check": [],
    "audit": ["--no-probes", "--draws", "19"],
    "convert": ["out.jsonl"],
    "debias": ["--out", "out", "--splits", "0", "--no-again", "--ensemble-size", "2"],
    "score": ["labels.lst"],
    "solve": ["--solver", "majority", "--train", "DATA", "--out", "out.jsonl"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", INPUTS)
def test_a_command_measures_what_is_read(
    cli: Cli,
    name: str,
    command: str,
) -> None:
    """Problems are measured whatever the file; claims are measured or refused as claims."""
    file, write, how = INPUTS[name]
    write(Path(file))
    with Path("labels.lst").open("w") as labels:
        formats.write_labels([0] * len(DATA), labels)
    options = [file if word == "DATA" else word for word in COMMANDS[command]]
    if name == "claims" and command not in ("stats", "convert"):
        assert "true-or-false claims" in cli.refused(command, file, *options, *how)
    else:  # 1: its vectors do not show the difference of these texts
        assert main([command, file, *options, *how]) in (0, 1)


@pytest.mark.parametrize("name", INPUTS)
def test_a_build_reads_what_its_recipe_names(
    cli: Cli,
    name: str,
) -> None:
    """A recipe names columns as the options of commands do; claims are refused as claims."""
    file, write, how = INPUTS[name]
    write(Path(file))
    recipe = [f'name = "b"\ndata = "{file}"', 'pair_by = "Paar"' if how else ""]
    recipe += ['[structure]\nrules = "none"', '[filter]\nmethod = "random"\nkeep = 40']
    if how:
        recipe += ['[columns]\nquestion = ["Satz"]\nchoices = ["Links", "Rechts"]']
        recipe += ['answer = "Größe"\nanswer_is = "text"']
    Path("b.toml").write_text("\n".join(recipe), "utf-8")
    if name == "claims":
        assert "true-or-false claims" in cli.refused("build", "b.toml", "--out", "out")
    else:
        assert main(["build", "b.toml", "--out", "out"]) in (0, 1)
        funnel = json.loads(Path("out/report.json").read_text("utf-8"))["funnel"]
        assert funnel["collected"]["problems"] == len(DATA)


def test_columns_that_a_recipe_lacks_are_named_as_its_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    """The message names the recipe's table, not an option of another command."""
    _table(Path("in.csv"))
    Path("b.toml").write_text('name = "b"\ndata = "in.csv"')
    assert "`question` in the table [columns]" in cli.refused("build", "b.toml", "--out", "out")


@pytest.mark.parametrize("command", [*COMMANDS, "train", "transfer"])
def test_every_reading_command_has_the_options_of_reading(
    command: str,
    cli: Cli,
) -> None:
    """No command that reads data lacks an option that another one has for it."""
    told = cli(command, "--help")
    for option in ("--question", "--choices", "--answer", "--answer-is", "--pair-by", "--from"):
        assert f"{option} " in told
    assert "--skip-bad FILE" in told


@pytest.mark.parametrize("command", ["stats", "check", "audit", "convert", "debias", "score"])
def test_every_bad_record_is_listed_before_the_refusal(
    cli: Cli,
    command: str,
) -> None:
    """Of a file with only bad records, --skip-bad has all with their reasons, and none is read."""
    record = {"id": "x", "sentence": "A _ b.", "options": ["c", "c"]}
    Path("in.jsonl").write_text(f"{json.dumps(record)}\n" * 3)
    Path("labels.lst").write_text("1\n")
    told = cli.refused(command, "in.jsonl", *COMMANDS[command], "--skip-bad", "bad.jsonl")
    assert "two options are equal" in told
    listed = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in listed] == [("in.jsonl", n) for n in (1, 2, 3)]
    assert all("two options are equal" in one["reason"] for one in listed)


def test_an_audit_lists_the_bad_records_of_all_its_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    """The sound records of two splits are measured, and the file has the bad ones of both."""
    for name in ("train", "test"):
        bad = '{"id": "x", "sentence": "A _ b.", "options": ["c", "c"]}\n'
        Path(f"{name}.jsonl").write_text("".join([*formats.lines(DATA), bad]))
    record = cli.told("audit", "train.jsonl", "test.jsonl", *COMMANDS["audit"], "--skip-bad", "bad")
    assert {split["items"] for split in record["splits"].values()} == {60}
    files = [json.loads(line)["file"] for line in Path("bad").read_text().splitlines()]
    assert files == ["train.jsonl", "test.jsonl"]


def test_python_functions_take_what_is_read(tmp_path: Path) -> None:
    """A DataFrame and a path are audited and filtered like the data set that they contain."""
    path = tmp_path / "in.jsonl"
    formats.write(DATA.problems, path)
    frame = pd.DataFrame(map(json.loads, formats.lines(DATA)))
    for given in (frame, path, {"dev": frame}):
        found = audit.audit(given, draws=19, probe_draws=0)
        assert found.parts[0].dataset.problems == DATA.problems
    chosen = FilterRecipe(method="random", keep=40)
    made = debias_to_folder(frame, tmp_path / "out", embed=EmbedRecipe(), chosen=chosen, splits=0)
    assert len(made.run.kept) == 40
