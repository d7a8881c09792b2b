"""`winosmith humans enter` reads typed letters, tables and forms."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from winosmith import formats
from winosmith.cli import main
from winosmith.humans import make_sheet_record, make_sheets, read_sheet
from winosmith.testing import make_twins


@dataclass(frozen=True)
class Ended:
    """The exit code and the streams of a command."""

    exit_code: int
    stdout: str
    stderr: str


def run(*words: str | Path, typed: str | io.StringIO = "") -> Ended:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(typed) if isinstance(typed, str) else typed)
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
    """Return the path of the typed answers of a subject."""
    return sheet.parents[1] / "typed" / f"answers-{subject}-{read_sheet(sheet).code}.json"


def test_typing_is_stopped_with_130_and_resumed(sheet: Path) -> None:
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


def test_again_reports_differences_between_typists(sheet: Path) -> None:
    """--answers refuses the sheet until they agree."""
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
def test_invalid_options_of_enter_are_refused(
    sheet: Path, words: tuple[str, ...], reason: str
) -> None:
    refused = run("humans", "enter", sheet, *words)
    assert refused.exit_code == 2
    assert reason in refused.stderr


def test_ctrl_c_keeps_typed_answers(sheet: Path) -> None:
    """On a line with a mistake, the answers before it are kept."""
    out = sheet.parents[1] / "typed"

    class Keyboard(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:
            line = super().readline(-1)
            if not line:
                raise KeyboardInterrupt
            return line

    said = run(
        "humans", "enter", sheet, "--subject", "S1", "--out", out, typed=Keyboard("a\nb?ab\n")
    )
    assert said.exit_code == 130
    assert "'?' is not an answer to question 3; the rest of the line is ignored" in said.stderr
    record = json.loads(typed(sheet).read_text("utf-8"))
    assert {n: a["letter"] for n, a in record["answers"].items()} == {"1": "A", "2": "B"}
    assert record["next"] == 3
