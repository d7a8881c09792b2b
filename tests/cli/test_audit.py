"""`winosmith audit`: a verdict, a page, JSON, and an exit code for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from winosmith import Problem, formats
from winosmith.cli import main


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Write a file whose longest option is always the key."""
    problems = [
        Problem(str(at), f"What is number {at}? _", (f"stone {at}", f"a cold river {at}"), 1)
        for at in range(40)
    ]
    problems = [
        Problem(p.id, p.sentence, p.options[::-1], 0) if int(p.id) % 2 else p for p in problems
    ]
    path = tmp_path / "told.jsonl"
    formats.write(problems, path)
    return path


def test_a_rule_that_is_broken_ends_with_code_1(
    told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict names the cue, the page is written, and the rule that broke is told."""
    out = tmp_path / "audit.html"
    rules = "cue=3pt,duplicates"
    assert main(["audit", str(told), "--draws", "99", "--out", str(out), "--fail-on", rules]) == 1
    printed, aside = capsys.readouterr()
    assert "choosing “the longest, in characters” is right in 100.0" in printed
    assert "Broken: told: the longest, in characters" in aside
    assert "Audit of told" in out.read_text("utf-8")


def test_json_holds_the_verdict_and_what_is_broken(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json the output is one object; without a broken rule the code is 0."""
    assert main(["audit", str(told), "--draws", "19", "--no-probes", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["splits"]["told"]["named"] == ["the longest, in characters"]
    assert record["broken"] == []


def test_records_that_are_no_items_are_a_finding(
    told: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record with equal options is left out, named by file and line, and can break a rule."""
    with told.open("a", encoding="utf-8") as file:
        record = json.loads(told.read_text("utf-8").splitlines()[-1])
        file.write(json.dumps({**record, "id": "bad", "options": ["x", "x"]}) + "\n")
    assert main(["audit", str(told), "--draws", "19", "--no-probes", "--fail-on", "refused"]) == 1
    assert "told.jsonl:" in capsys.readouterr().out


def test_a_misspelt_rule_is_refused(told: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that there is not would never break, so it ends with code 2."""
    assert main(["audit", str(told), "--draws", "19", "--fail-on", "cues=3pt"]) == 2
    assert "there is no rule" in capsys.readouterr().err


def test_any_table_of_questions_is_read_and_models_answers_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CSV with letters as answers is audited, and a table of letters ranks its keys."""
    rows = ["id,question,A,B,C,answer"]
    rows += [f"q{at},What is __{at}__?,a{at},b{at},c{at},{'ABC'[at % 3]}" for at in range(30)]
    quiz, answers = tmp_path / "quiz.csv", tmp_path / "answers.csv"
    quiz.write_text("\n".join(rows) + "\n", encoding="utf-8")
    told = ["id,one,two,three"]
    told += [f"q{at}," + ",".join("ABC"[(at + (at == 4)) % 3] * 3) for at in range(30)]
    answers.write_text("\n".join(told) + "\n", encoding="utf-8")
    given = [
        "audit",
        str(quiz),
        "--draws",
        "19",
        "--no-probes",
        "--json",
        "--answers",
        str(answers),
    ]
    assert main(given) == 0
    record = json.loads(capsys.readouterr().out)["splits"]["quiz"]
    assert record["items"] == 30
    assert [suspect["id"] for suspect in record["answers"]["suspects"]] == ["q4"]
    assert record["answers"]["saturated"] == 29
