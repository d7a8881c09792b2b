"""Commands measure problems from every readable file, and refuse other content."""

import gzip
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.conftest import Cli
from winosmith import Problem, audit, formats
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder
from winosmith.recast import to_claims
from winosmith.testing import make_twins

DATA = make_twins(30)
LINES = "".join(formats.to_lines(DATA))
BAD = '{"id": "x", "sentence": "A _ b.", "options": ["c", "c"]}\n'


def _key(problem: Problem) -> str:
    return problem.options[problem.answer or 0]


def _table(path: Path) -> None:
    rows = [(p.sentence, *p.options, _key(p), p.twin_id) for p in DATA]
    columns = ["Satz", "Links", "Rechts", "Größe", "Paar"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def _blocks(path: Path) -> None:
    texts = (f"{p.sentence}\nit\n{','.join(p.options)}\n{_key(p)}\n\n" for p in DATA)
    path.write_text("".join(texts).replace("_", "it"))


def write_xml(path: Path, problems: Iterable[Problem] = DATA) -> None:
    """Write problems as WSC's XML."""
    schemas = [
        f"<schema><text><txt1>{p.sentence.replace('_', '</txt1><pron>it</pron><txt2>')}</txt2>"
        f"</text><answers><answer>{p.options[0]}</answer><answer>{p.options[1]}</answer></answers>"
        f"<correctAnswer>{'AB'[p.answer or 0]}</correctAnswer></schema>"
        for p in problems
    ]
    path.write_text(f"<collection>{''.join(schemas)}</collection>")


def _claims(path: Path) -> None:
    problems = [Problem(p.id, p.sentence, p.options, p.answer, pronoun="it") for p in DATA]
    formats.write(to_claims(problems), path, "superglue-wsc")


def _written(format_name: str) -> Callable[[Path], None]:
    return lambda path: formats.write(DATA.problems, path, format_name)


INPUTS: dict[str, Callable[[Path], object]] = {
    "ours.jsonl": _written("winosmith"),
    "packed.jsonl.gz": lambda path: path.write_bytes(gzip.compress(LINES.encode())),
    "ours.csv": _written("csv"),
    "winogrande.jsonl": _written("winogrande"),
    "wsc.xml": write_xml,
    "dpr.txt": _blocks,
    "columns.csv": _table,
    "claims.jsonl": _claims,
}

OWN = "--question Satz --choices Links,Rechts --answer Größe --answer-is text --pair-by Paar"
IN_RECIPE = """pair_by = "Paar"
[columns]
question = ["Satz"]
choices = ["Links", "Rechts"]
answer = "Größe"
answer_is = "text"
"""

COMMANDS = {
    "stats": "",
    "check": "",
    "audit": "--no-probes --draws 19",
    "convert": "out.jsonl",
    "debias": "--out out --splits 0 --no-again --ensemble-size 2",
    "score": "labels.lst",
    "solve": "--solver majority --train DATA --out out.jsonl",
}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return the command line, in a folder that contains only `labels.lst`."""
    monkeypatch.chdir(tmp_path)
    Path("labels.lst").write_text("1\n" * len(DATA))
    return Cli(capsys)


@pytest.mark.parametrize("command", [*COMMANDS, "build"])
@pytest.mark.parametrize("name", INPUTS)
def test_command_accepts_problems_from_every_file(cli, name, command):
    """All commands except `stats` and `convert` refuse true-or-false claims."""
    INPUTS[name](Path(name))
    words = [command, name, *COMMANDS.get(command, "").replace("DATA", name).split()]
    words += OWN.split() if name == "columns.csv" else []
    if command == "build":
        columns = IN_RECIPE if name == "columns.csv" else ""
        rest = '[structure]\nrules = "none"\n[filter]\nmethod = "random"\nkeep = 40\n'
        Path("b.toml").write_text(f'name = "b"\ndata = "{name}"\n{columns}{rest}', "utf-8")
        words = ["build", "b.toml", "--out", "out"]
    if name == "claims.jsonl" and command not in ("stats", "convert"):
        assert "true-or-false claims" in cli.refused(*words)
    else:
        count = 120 if name == "claims.jsonl" else 60  # claims are made of each option
        assert re.search(rf"\b{count}\b", cli(*words) + cli.err)


def test_missing_columns_of_a_recipe_are_reported_as_recipe_keys(cli):
    """The error does not mention the options of another command."""
    _table(Path("in.csv"))
    Path("b.toml").write_text('name = "b"\ndata = "in.csv"')
    assert "`question` in the table [columns]" in cli.refused("build", "b.toml", "--out", "out")


@pytest.mark.parametrize("command", [*COMMANDS, "train", "transfer"])
def test_every_reading_command_has_all_reading_options(command, cli):
    shown = cli(command, "--help")
    options = "--from --question --choices --answer --answer-is --pair-by --skip-bad".split()
    assert [option for option in options if f"  {option} " not in shown] == []


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "solve"])
def test_file_of_bad_records_is_refused_after_listing_them(cli, command):
    """`--skip-bad` does not overwrite a data file."""
    Path("in.jsonl").write_text(BAD * 3)
    words = [command, "in.jsonl", *COMMANDS[command].split(), "--pair-by", "p", "--skip-bad"]
    assert "two options are equal" in cli.refused(*words, "bad.jsonl")
    listed = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert [(one["file"], one["line"]) for one in listed] == [("in.jsonl", n) for n in (1, 2, 3)]
    assert all("two options are equal" in one["reason"] for one in listed)
    assert "is not a list of omitted records" in cli.refused(*words, "in.jsonl")


def test_build_lists_omitted_records_only_in_the_skip_bad_file(cli):
    """The report and its JSON contain only their number.

    An error may contain the id of a test problem, which the published files replace.
    """
    first = LINES.splitlines(keepends=True)[0]
    Path("in.jsonl").write_text(LINES + BAD + first)
    rest = '[structure]\nrules = "none"\n[filter]\nmethod = "random"\nkeep = 40\n'
    Path("b.toml").write_text(f'name = "b"\ndata = "in.jsonl"\n{rest}', "utf-8")
    words = ["build", "b.toml", "--out", "out"]
    assert "in.jsonl:61: two options are equal" in cli.refused(*words)
    (note,) = cli.told(*words, "--skip-bad", "bad")["reading"]
    assert note == "in.jsonl: 2 of 62 records can't be read and are omitted"
    assert "2 of 62 records can" in Path("out/report.html").read_text("utf-8")
    two, again = map(json.loads, Path("bad").read_text().splitlines())
    assert (two["line"], again["line"]) == (61, 62)
    assert json.loads(first)["id"] in again["reason"]


def test_audit_lists_the_bad_records_of_all_its_files(cli):
    for name in ("train.jsonl", "test.jsonl"):
        Path(name).write_text(LINES + BAD)
    words = ["audit", "train.jsonl", "test.jsonl", *COMMANDS["audit"].split(), "--skip-bad", "bad"]
    assert {split["items"] for split in cli.told(*words)["splits"].values()} == {60}
    files = [json.loads(line)["file"] for line in Path("bad").read_text().splitlines()]
    assert files == ["train.jsonl", "test.jsonl"]


def test_python_functions_accept_dataframes_and_paths(cli):
    formats.write(DATA.problems, "in.jsonl")
    frame = pd.DataFrame(map(json.loads, formats.to_lines(DATA)))
    for given in (frame, "in.jsonl", {"dev": frame}):
        found = audit.audit(given, draws=19, probe_draws=0)
        assert found.parts[0].dataset.problems == DATA.problems
    chosen = FilterRecipe(method="random", keep=40)
    made = debias_to_folder(frame, "out", embed=EmbedRecipe(), filter_recipe=chosen, splits=0)
    assert len(made.filtered.kept) == 40
