"""`winosmith humans enter` types with one key each, and reads tables and forms."""

import fcntl
import io
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import LONGEST, until
from winosmith import formats
from winosmith.cli import main
from winosmith.humans import make_sheet_record, make_sheets, read_sheet
from winosmith.testing import make_twins


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str


def run(*words: str | Path, typed: str = "") -> Ended:
    """Run a command with keys on its input."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(typed))
        code = main([str(word) for word in words])
    return Ended(code, out.getvalue(), err.getvalue())


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """Write two sheets, and return the path of one."""
    data = make_twins(6)
    formats.write(data.problems, tmp_path / "data.jsonl")
    folder = tmp_path / "sheets"
    folder.mkdir()
    for made in make_sheets(data, orders=1, seed=0).sheets:
        (folder / f"{made.name}.json").write_text(json.dumps(make_sheet_record(made)), "utf-8")
    return folder / "a-1.json"


def typed(sheet: Path, subject: str = "S1") -> Path:
    """Return where the answers of a subject go."""
    return sheet.parents[1] / "typed" / f"answers-{subject}-{read_sheet(sheet).code}.json"


def test_answers_are_typed_stopped_and_gone_on_with(sheet: Path) -> None:
    """The end of the input stops with code 130 and keeps the answers; the same command goes on."""
    out = sheet.parents[1] / "typed"
    words = ("humans", "enter", sheet, "--subject", "S1", "--out", out)
    stopped = run(*words, typed="ab\nx")
    assert stopped.exit_code == 130
    assert "Question 4 of 6 is next" in stopped.stderr
    refused = run("humans", "enter", sheet, "--answers", out, "--out", out)
    assert refused.exit_code == 2
    assert "the entry stopped before question 4" in refused.stderr
    assert run(*words, typed="a a").exit_code == 0
    record = json.loads(typed(sheet).read_text("utf-8"))
    assert {n: a["letter"] for n, a in record["answers"].items()} == {
        "1": "A", "2": "B", "3": "X", "4": "A", "6": "A",
    }  # fmt: skip


def test_a_second_typist_finds_every_difference(sheet: Path) -> None:
    """--again names the questions that differ, and --answers refuses them until they agree."""
    out = sheet.parents[1] / "typed"
    words = ("humans", "enter", sheet, "--subject", "S1", "--out", out)
    assert run(*words, "--again", typed="aaaaaa").exit_code == 2
    run(*words, typed="aabbab")
    again = run(*words, "--again", typed="aaxbab")
    assert again.exit_code == 0
    assert "Question 3: the first typist has B, the second X" in again.stdout
    refused = run("humans", "enter", sheet, "--answers", out, "--out", out)
    assert refused.exit_code == 2
    assert "question 3: the first typist has B, the second X" in refused.stderr
    assert not (out / "responses.jsonl").exists()
    next(out.glob("again-*")).unlink()
    same = run(*words, "--again", "--json", typed="aabbab")
    assert json.loads(same.stdout)["differences"] == []
    assert run("humans", "enter", sheet, "--answers", out, "--out", out).exit_code == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "give --subject CODE to type answers, or --answers FILE"),
        (("--subject", "../S1"), "may contain only letters, digits"),
        (("--subject", "S1", "--answers", "."), "can't be combined with --answers"),
    ],
)
def test_what_to_give_is_told(sheet: Path, words: tuple[str, ...], reason: str) -> None:
    """Neither or both of the ways, and codes that are no file names, are refused."""
    refused = run("humans", "enter", sheet, *words)
    assert refused.exit_code == 2
    assert reason in refused.stderr


@pytest.mark.parametrize("keys", [[b"a", b"b", b"\x03"], [b"\x1b[Aab\x03"]])
def test_a_terminal_takes_keys_and_ctrl_c_keeps_them(sheet: Path, keys: list[bytes]) -> None:
    """Keys typed in turn or ahead are saved at once; an arrow is none; Ctrl-C ends with 130."""
    out = sheet.parents[1] / "typed"
    words = [sys.executable, "-m", "winosmith", "humans", "enter", str(sheet), "--subject", "S1"]
    mine, other = pty.openpty()
    with subprocess.Popen(
        [*words, "--out", str(out)], stdin=other, stdout=other, stderr=other,
        preexec_fn=_own_terminal,
    ) as child:  # fmt: skip
        os.close(other)
        try:
            for number, key in enumerate(keys, 1):
                assert _seen(mine, f"   {number}  ".encode())
                # The first question is asked before the terminal gives each key at once.
                until(lambda: not termios.tcgetattr(mine)[3] & termios.ICANON)
                os.write(mine, key[:-1])
                if len(key) > 1:  # Ctrl-C would throw away what nobody has read yet
                    assert _seen(mine, b"   3  ")
                os.write(mine, key[-1:])
            assert child.wait(LONGEST) == 130
        finally:
            child.kill()
            os.close(mine)
    record = json.loads(typed(sheet).read_text("utf-8"))
    assert {n: a["letter"] for n, a in record["answers"].items()} == {"1": "A", "2": "B"}
    assert record["next"] == 3


def _own_terminal() -> None:
    """Make the pseudo-terminal the child's own, so that Ctrl-C reaches it."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _seen(terminal: int, text: bytes) -> bool:
    """Tell whether the text is shown."""
    seen, deadline = b"", time.monotonic() + LONGEST
    while text not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 4096)
    return text in seen
