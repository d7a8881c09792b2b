"""Commands that exit with 1: neither code nor reason depends on who reads the output."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Cli, ways
from winosmith import Problem, formats
from winosmith.testing import make_twins

DATA = make_twins(40)

GATES = {
    "audit": "quiz.csv --draws 19 --no-probes --fail-on duplicates",
    "check": "short.jsonl --strict",
    "compare": "dev.jsonl good.lst poor.lst --baseline good --fail-on worse",
    "verify": "release",
}
"""Arguments that break the gate of each command."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with inputs that break each gate."""
    monkeypatch.chdir(tmp_path)
    formats.write(DATA, "dev.jsonl")
    for name, every in (("good", 10), ("poor", 2)):
        labels = [(p.answer or 0) ^ (row % every == 0) for row, p in enumerate(DATA)]
        Path(f"{name}.lst").write_text("".join(f"{label + 1}\n" for label in labels))
    rows = [f"{row // 2},What is {row // 2} + 1?,{row // 2 + 1},none,many,A" for row in range(80)]
    Path("quiz.csv").write_text("\n".join(["id,question,A,B,C,answer", *rows]) + "\n")
    formats.write([Problem("a", "It _ rained.", ("has", "had"), 0)], "short.jsonl")
    Path("release").mkdir()
    Path("release/release.json").write_text("{}")
    return tmp_path


OF_BLIND_VECTORS = {"build", "debias", "round"}
"""Commands that exit with 1 if vectors are equal; `test_build` and `test_round` run these."""


def test_every_command_with_code_1_is_tested() -> None:
    texts = {
        name: " ".join(
            [way[-1].help or "", *(getattr(p, "help", "") or "" for p in way[-1].params)]
        )
        for name, way in ways().items()
    }
    found = {name for name, text in texts.items() if re.search(r"code\s+(is\s+)?1\b", text)}
    assert found == {*GATES, *OF_BLIND_VECTORS}


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", GATES)
def test_closed_output_changes_neither_code_nor_reason(
    name: str, more: list[str], folder: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "winosmith", name, *GATES[name].split(), *more]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, "Broken: " in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr


def test_closed_error_stream_does_not_change_the_code(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "winosmith", "check", *GATES["check"].split()]
    done = subprocess.run(command, stdout=writer, stderr=writer)
    os.close(writer)
    assert done.returncode == 1


def test_closed_output_does_not_stop_writing_files(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "winosmith", "compare", "dev.jsonl", "good.lst", "poor.lst"]
    done = subprocess.run([*command, "--out", "page.html"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert Path("page.html").is_file()


def test_other_broken_pipes_are_reported_with_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from winosmith.cli import main

    @click.command()
    def command() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("winosmith.cli._main.LazyGroup.get_command", lambda *_: command)
    assert main(["anything"]) == 2
    assert "Broken pipe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rules", "code", "reasons"),
    [
        ("worse", 1, ["'poor' is worse than 'good': −40.0 points (−"]),
        ("worse=40pt", 1, ["'poor' is worse than 'good' by 40 points or more: −40.0 points"]),
        ("worse=40.1", 0, []),
        ("worse, worse=1pt", 1, ["worse than 'good': ", "by 1 points or more"]),
    ],
)
def test_model_worse_than_the_baseline_breaks_the_rule(
    cli: Cli, folder: Path, rules: str, code: int, reasons: list[str]
) -> None:
    """The rule "worse" compares the interval, and "worse=2pt" the points."""
    arguments = ["compare", "dev.jsonl", "good.lst", "poor.lst", "--baseline", "good"]
    cli(*arguments, "--fail-on", rules, code=code)
    assert [reason for reason in reasons if reason not in cli.err] == []
    assert cli.err.count("Broken: ") == len(reasons)


def test_better_model_breaks_no_rule(cli: Cli, folder: Path) -> None:
    arguments = ["compare", "dev.jsonl", "good.lst", "poor.lst", "--baseline", "poor"]
    assert cli.told(*arguments, "--fail-on", "worse,worse=0pt")["broken"] == []


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--fail-on", "worse"], "add --baseline NAME"),
        (["--baseline", "good", "--fail-on", "wrose"], "unknown rule 'wrose'"),
    ],
)
def test_unknown_rule_and_rule_without_baseline_are_refused(
    cli: Cli, folder: Path, more: list[str], reason: str
) -> None:
    assert reason in cli.refused("compare", "dev.jsonl", "good.lst", *more)
