"""Commands that exit with 1: neither code nor reason depends on who reads the output."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, ways
from tests.cli.test_compare import write_lists
from winosmith import Problem, formats

GATES = {
    "audit": "quiz.csv --draws 19 --no-probes --fail-on duplicates",
    "check": "short.jsonl --strict",
    "compare": "dev.jsonl good.lst poor.lst --baseline good --fail-on worse",
    "verify": "release",
}
"""Arguments that break the gate of each command."""


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    """Work in a folder with inputs that break each gate."""
    write_lists()
    rows = [f"{row // 2},What is {row // 2} + 1?,{row // 2 + 1},none,many,A" for row in range(80)]
    Path("quiz.csv").write_text("\n".join(["id,question,A,B,C,answer", *rows]) + "\n")
    formats.write([Problem("a", "It _ rained.", ("has", "had"), 0)], "short.jsonl")
    Path("release").mkdir()
    Path("release/release.json").write_text("{}")
    return tmp_path


OF_BLIND_VECTORS = {"build", "debias", "round"}
"""Commands that exit with 1 if vectors are equal; `test_build` and `test_round` run these."""


def test_every_command_with_code_1_is_tested():
    texts = {
        name: " ".join(
            [way[-1].help or "", *(getattr(p, "help", "") or "" for p in way[-1].params)]
        )
        for name, way in ways().items()
    }
    found = {name for name, text in texts.items() if re.search(r"code\s+(is\s+)?1\b", text)}
    assert found == {*GATES, *OF_BLIND_VECTORS}


@pytest.fixture
def closed() -> Iterator[int]:
    """Return a pipe without a reader."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def _run(*words: str, out: int, err: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "winosmith", *words]
    return subprocess.run(command, stdout=out, stderr=err, text=True)


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("name", GATES)
def test_closed_output_changes_neither_code_nor_reason(name, more, folder, closed):
    done = _run(name, *GATES[name].split(), *more, out=closed)
    assert (done.returncode, "Broken: " in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr


def test_closed_error_stream_does_not_change_the_code(folder, closed):
    assert _run("check", *GATES["check"].split(), out=closed, err=closed).returncode == 1


def test_closed_output_does_not_stop_writing_files(folder, closed):
    done = _run(*"compare dev.jsonl good.lst poor.lst --out page.html".split(), out=closed)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("page.html").is_file()
