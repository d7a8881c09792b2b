"""`winosmith audit` of many small files: --pool, --todo and --fix."""

import json
from pathlib import Path
from typing import Any

import pytest

WORDS = ("forests", "harbours", "teachers", "markets", "bridges", "engines", "gardens", "rivers")


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Write 20 quizzes of five items, and return their paths.

    All quizzes have the same ids, and the key is the longest option.
    """
    monkeypatch.chdir(tmp_path)
    paths = []
    for unit in range(20):
        questions = []
        for n in range(5):
            options = [WORDS[(unit * 3 + n * 5 + at) % 8] for at in range(4)]
            options[(unit + n) % 4] += f", as the text of unit {unit} explains at length"
            questions.append({"id": f"q{n}", "question": f"What is {n} of {unit * unit + n}?",
                              "options": options, "correct": (unit + n) % 4})  # fmt: skip
        paths.append(tmp_path / "units" / f"unit-{unit:02}" / "quiz.json")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_text(json.dumps({"questions": questions}, indent=2))
    return paths


def test_pool_audits_many_files_as_one_data_set(cli: Any, units: list[Path]) -> None:
    questions = json.loads(units[0].read_text())
    questions["questions"].append(questions["questions"][1] | {"id": "copy"})
    units[0].write_text(json.dumps(questions, indent=2))
    words = ("audit", "units/**/quiz.json", "--pool", "--no-probes", "--draws", 99)
    found = json.loads(cli(*words, "--json"))
    [split] = found["splits"].values()
    assert split["items"] == 101
    assert "the longest, in characters" in found["verdict"]
    assert "units/unit-00/quiz.json:" in cli(*words)
    assert found == json.loads(cli("audit", "units", *words[2:], "--json"))


def test_many_files_without_pool_are_a_table(cli: Any, units: list[Path]) -> None:
    told = cli("audit", *units, "--no-probes", "--draws", 99, "--answer-is", 0)
    assert "of 20 files have a cue that gives answers away (expected by chance: about 1)" in told
    rows = [line for line in told.splitlines() if "the longest, in" in line]
    assert len(rows) >= 20
    assert "units/unit-19" in told
    cli("audit", *units[:5], "--no-probes", "--draws", 19, "--answer-is", 0, "--out", "audit.html")
    assert "<h1>Audit of 5 files</h1>" in Path("audit.html").read_text()


def test_ambiguous_first_index_is_reported_with_its_option(cli: Any, units: list[Path]) -> None:
    """Two keys don't show whether they count from 0 or 1."""
    quiz = json.loads(units[0].read_text())
    units[0].write_text(json.dumps({"questions": quiz["questions"][1:3]}))
    refused = cli.refused("audit", *units[:2], "--no-probes")
    assert "Choose one with --answer-is 0 or --answer-is 1" in refused
    assert "or read all files as one data set, with --pool" in refused


def test_worklist_names_files_and_lines(cli: Any, units: list[Path]) -> None:
    """The key is the longest option in all 100 items: 75 more than by chance."""
    cli("audit", "units", "--pool", "--no-probes", "--draws", 19, "--todo", "work.md")
    boxes = [line for line in Path("work.md").read_text().splitlines() if line.startswith("- [ ]")]
    assert len(boxes) == 75
    assert boxes[0].startswith("- [ ] units/unit-")


def test_worklist_does_not_overwrite_an_input(cli: Any, units: list[Path]) -> None:
    """A file that is given twice counts once."""
    assert "--todo would overwrite the input" in cli.refused(
        "audit", units[0], units[1], "--pool", "--todo", units[0]
    )
    told = cli("audit", "units", Path("units").absolute() / "unit-00/quiz.json", "--fix", "--json")
    assert len(json.loads(told)["files"]) == 20


def test_fix_refuses_options_of_measurements(cli: Any, units: list[Path]) -> None:
    before = units[0].read_bytes()
    assert "measures nothing" in cli.refused("audit", "units", "--fix", "--fail-on", "leak")
    assert units[0].read_bytes() == before
