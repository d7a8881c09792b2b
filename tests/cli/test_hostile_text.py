"""Text from data, file names and options never controls the terminal."""

import ast
import json
from pathlib import Path

import click
import pytest

import winosmith.cli
from tests.cli.conftest import ways
from tests.hostile import HOSTILE, controls
from winosmith import Dataset, Prediction, answers, formats
from winosmith.cli import main
from winosmith.records import make_problem_record, parse_problem
from winosmith.testing import make_twins

BAD = "".join(HOSTILE.values())
HEADER = HOSTILE["csi"] + HOSTILE["osc"] + HOSTILE["c1"] + HOSTILE["bidi"]
"""The name of a column, without newlines."""

WAYS = {name: way for name, way in ways().items() if not isinstance(way[-1], click.Group)}


SMALL = {"demo": ("--out", f"{BAD}.csv"), "practice": ("--twins", "9")}
"""Options for commands without input, so that they are refused or quick."""


def _make_texts(name: str) -> dict[str, str]:
    """Return texts for files by extension; column names, keys and cells are hostile."""
    record = {"id": "1", name: name, "sentence": "x", "options": [name, name], "answer": 9}
    return {
        ".csv": f"id,{HEADER},zzz,A,B,answer\n1,{HEADER},q,a,b,A\n",
        ".jsonl": json.dumps(record) + "\n",
        ".json": json.dumps({"version": 1, name: {name: name}}),
        ".toml": f"{json.dumps(name)} = {json.dumps(name)}\n",
    }


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Work in a folder with hostile files of a hostile name; return the name."""
    monkeypatch.chdir(tmp_path)
    name = BAD
    for extension, text in _make_texts(name).items():
        Path(name + extension).write_text(text, "utf-8", newline="")
    Path(name).mkdir()
    for manifest in ("winosmith.json", "release.json", "sheets.json"):
        Path(name, manifest).write_text(_make_texts(name)[".json"], "utf-8")
    Path(name, "site.toml").write_text(_make_texts(name)[".toml"], "utf-8")
    return name


def _make_value(param: click.Parameter, name: str, extension: str) -> str:
    """Return a hostile value of a parameter."""
    kind = param.type
    if isinstance(kind, click.Choice):
        return str(next(iter(kind.choices)))
    if isinstance(kind, click.IntRange):
        return str(int(kind.min or 1))
    if isinstance(kind, click.Path) and kind.exists:
        return name + extension if kind.file_okay else name
    if isinstance(kind, click.Path) and isinstance(param, click.Argument) and not kind.file_okay:
        return name
    if isinstance(param, click.Argument):
        return name + extension
    return name


def _make_arguments(command: str, name: str, extension: str) -> list[str]:
    """Return the required arguments and options of a command, with hostile values."""
    words: list[str] = []
    for called, one in zip(command.split(), WAYS[command], strict=True):
        words += [called, *SMALL.get(called, ())]
        for param in one.params:
            if isinstance(param, click.Argument):
                words.append(_make_value(param, name, extension))
            elif param.required:
                words += [param.opts[0], _make_value(param, name, extension)]
    return words


def _capture(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """Return a command's output on both streams."""
    capsys.readouterr()
    main(words)
    return "".join(capsys.readouterr())


@pytest.mark.filterwarnings("always::winosmith.formats.ReadingNote")
@pytest.mark.parametrize("command", WAYS)
def test_control_characters_in_files_are_escaped(command, name, capsys):
    for extension in _make_texts(name):
        words = _make_arguments(command, name, extension)
        as_json = any("--json" in param.opts for param in WAYS[command][-1].params)
        for more in ([], ["--json"] if as_json else ["--no-such-" + name]):
            assert controls(_capture(capsys, [*words, *more])) == [], words


@pytest.mark.parametrize("command", WAYS)
def test_control_characters_in_options_are_escaped(command, name, capsys):
    for param in WAYS[command][-1].params:
        if isinstance(param, click.Option) and not param.is_flag:
            words = [*_make_arguments(command, name, ".csv"), param.opts[-1], name]
            assert controls(_capture(capsys, words)) == [], words


GOOD = """
stats twins.jsonl
check twins.jsonl --out checked
audit twins.jsonl --draws 19 --no-probes --out audit.html
convert twins.jsonl other.csv --force
convert twins.jsonl other.jsonl --force
embed twins.jsonl --out vectors.npz --force
debias twins.jsonl --method random --keep 10 --out kept
solve twins.jsonl --solver majority --train twins.jsonl --out solved
score twins.jsonl first.jsonl
compare twins.jsonl first.jsonl second.jsonl
humans sheets twins.jsonl --out sheets --no-pdf --form
"""
"""Commands that succeed on hostile data."""


@pytest.mark.usefixtures("cli")  # for its folder
@pytest.mark.parametrize("line", GOOD.strip().splitlines())
def test_control_characters_in_data_are_escaped(line, capsys):
    records = [
        make_problem_record(problem)
        | {
            "id": f"{row}{BAD}",
            "options": [f"{option}{BAD}" for option in problem.options],
            "origin": {"source": BAD, "author": BAD, "domain": BAD},
        }
        for row, problem in enumerate(make_twins(12))
    ]
    data = Dataset(map(parse_problem, records))
    formats.write(data.problems, "twins.jsonl")
    for solver in ("first", "second"):
        chosen = [Prediction(problem.id, 0) for problem in data]
        answers.write_predictions(chosen, f"{solver}.jsonl", data, solver=solver + BAD)
    for more in ([], ["--json"]):
        capsys.readouterr()
        code = main([*line.split(), *more])
        out, err = capsys.readouterr()
        assert (code, controls(out + err)) == (0, []), err


def test_only_one_module_prints():
    folder = Path(winosmith.cli.__file__).parent
    found = [
        f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        for path in folder.glob("*.py")
        if path.name != "_printing.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("click.echo", "click.secho", "print", "Console")
        )
        or (isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"))
    ]
    assert found == []
