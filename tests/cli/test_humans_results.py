"""`winosmith humans results` reports people's answers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Response, formats
from winosmith.cli import main
from winosmith.humans import Subject, TakenSheet, make_subject_record
from winosmith.testing import make_twins
from winosmith.validate import write_votes


@pytest.fixture
def round_of_tests(tmp_path: Path) -> Path:
    """Write data, responses and subjects of a small round: 6 people, 8 schemas."""
    data = make_twins(8)
    formats.write(data.problems, tmp_path / "data.jsonl")
    halves = {"a": [data[a] for a, _ in data.twins], "b": [data[b] for _, b in data.twins]}
    said, people = [], []
    for at in range(6):
        code, name = f"S{at + 1}", "ab"[at % 2]
        mine = halves[name][:: 1 if at < 4 else -1]
        ids = tuple(problem.id for problem in mine)
        people.append(Subject(code, at < 3, {}, 40.0 if at == 5 else 160.0,
                              (TakenSheet(f"{name}-1-AAAA", name, ids),)))  # fmt: skip
        for place, problem in enumerate(mine):
            answer = problem.answer or 0
            wrong = problem is halves[name][0] or (place + at) % 6 == 5
            said.append(Response(problem.id, code, "test", 1 - answer if wrong else answer))
    said[1] = replace(said[1], choice=None, ambiguous=True)
    write_votes(said, tmp_path / "said.jsonl")
    lines = [json.dumps(make_subject_record(subject)) + "\n" for subject in people]
    (tmp_path / "subjects.jsonl").write_text("".join(lines), "utf-8")
    return tmp_path


def test_results_are_reported_per_test_and_over_all(round_of_tests: Path, cli: Cli) -> None:
    words = ("data.jsonl", "said.jsonl", "--subjects", "subjects.jsonl")
    paths = [round_of_tests / word if "." in word else word for word in words]
    words = ("humans", "results", *paths)
    printed = cli(*words, "--without", "1", "--out", round_of_tests / "r.html")
    for part in ("Test a: over all", "flawed", "Krippendorff's alpha",
                 "native, others", "Both halves of a schema", "fast", "ambiguous (X)",
                 "first to last question", "Signature: data:"):  # fmt: skip
        assert part in printed
    assert max(map(len, printed.splitlines()[:-2])) <= 80
    html = (round_of_tests / "r.html").read_text("utf-8")
    for part in ("What people read instead", "scores of the subjects", "Learning and fatigue"):
        assert part in html
    assert html.count("data:") > 4
    report = cli.told(*words)
    assert report["answers"] == 48
    assert sum(row["schemas"] for row in report["halves"]) == 8
    assert next(pace["odd"] for pace in report["pace"]) == "fast"
    assert [test["ambiguous"] for test in report["tests"]] == [1, 0]


def test_problems_and_tests_without_results_are_reported(
    round_of_tests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = (round_of_tests / "said.jsonl").read_text("utf-8").splitlines(keepends=True)
    (round_of_tests / "few.jsonl").write_text("".join(said[:16]), "utf-8")
    paths = [str(round_of_tests / name) for name in ("data.jsonl", "few.jsonl")]
    assert main(["humans", "results", *paths, "--without", "3"]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "test all: fewer than 2 people would remain without the 3 weakest"
    )
    (round_of_tests / "few.jsonl").write_text("".join(said[:6]), "utf-8")
    assert main(["humans", "results", *paths, "--without", "0"]) == 0
    assert "10 of 16 problems have no answers" in capsys.readouterr().err


def test_answer_in_two_files_is_refused_with_both_lines(round_of_tests: Path, cli: Cli) -> None:
    said = round_of_tests / "said.jsonl"
    again = round_of_tests / "again.jsonl"
    again.write_text("\n" + said.read_text("utf-8").splitlines()[2] + "\n", "utf-8")
    refused = cli.refused("humans", "results", round_of_tests / "data.jsonl", said, again)
    assert f"{again}:2: " in refused
    assert f"({said}:3)" in refused
    first = json.loads(said.read_text("utf-8").splitlines()[2])["problem_id"]
    table = round_of_tests / "table.csv"
    header = "sep=;\nproblem_id;participant;choice;purpose\n"
    table.write_text(f'{header}"a\nb";S1;1;local\n{first};S1;1;test\n', "utf-8")
    refused = cli.refused("humans", "results", round_of_tests / "data.jsonl", said, table)
    assert f"{table}:5: " in refused
