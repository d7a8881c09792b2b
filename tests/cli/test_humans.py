"""`winosmith humans`: sheets and their assignment, entered answers, results, and selection."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed
from winosmith import Problem, Response, formats
from winosmith.humans import (
    Subject,
    TakenSheet,
    make_subject_record,
    read_sheet,
)
from winosmith.testing import make_twins
from winosmith.validate import write_votes

DATA = make_twins(8)


@pytest.fixture
def data(cli: Cli) -> str:
    """Work in a folder with a file of eight twins; return its name."""
    formats.write(DATA.problems, "data.jsonl")
    return "data.jsonl"


@pytest.fixture
def folder(data: str, cli: Cli) -> Path:
    """Return a folder with the sheets of the twins; skip without typst (the extra `print`)."""
    installed("typst")
    cli("humans sheets data.jsonl --out sheets --orders 2")
    return Path("sheets")


def _names(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_sheets_have_four_formats_and_a_private_key(data, cli):
    installed("typst")
    report = cli.told("humans sheets data.jsonl --out sheets --form --large-print")
    assert [sheet["questions"] for sheet in report["sheets"]] == [8, 8]
    kinds = (".json", ".pdf", "-large.pdf", ".html")
    assert _names(Path("sheets")) == {
        *(f"{name}{kind}" for name in ("a-1", "b-1") for kind in kinds),
        "winosmith.json", "private/key.csv", "private/winosmith.json",
    }  # fmt: skip
    assert set(report["files"]) <= _names(Path("sheets"))


def test_letters_in_the_key_are_the_gold_answers(folder):
    sheets = {s.code: s for s in map(read_sheet, folder.glob("[ab]-*.json"))}
    with (folder / "private/key.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(DATA)
    for row in rows:
        item = sheets[row["sheet"]][int(row["number"])]
        problem = DATA[DATA.row(row["problem"])]
        assert item.problem_id == problem.id
        assert item.get_option_index(row["letter"]) == problem.answer
        assert row["answer"] == problem.options[problem.answer or 0]


def test_public_files_do_not_depend_on_the_answers(folder, cli):
    formats.write(DATA.blind().problems, "blind.jsonl")
    cli("humans sheets blind.jsonl --out blind --orders 2")
    for name in _names(folder):
        if not name.startswith("private/"):
            assert (folder / name).read_bytes() == Path("blind", name).read_bytes(), name


def test_interrupted_folder_is_completed(folder, cli):
    before = {name: (folder / name).stat().st_mtime_ns for name in ("a-1.pdf", "b-2.json")}
    (folder / "a-2.pdf").unlink()
    cli("humans sheets data.jsonl --out sheets --orders 2")
    assert (folder / "a-2.pdf").exists()
    assert before == {name: (folder / name).stat().st_mtime_ns for name in before}
    cli.refused("humans sheets data.jsonl --out sheets --orders 3")


def test_both_halves_of_a_twin_for_one_subject_are_refused(folder, cli):
    cli("humans assign sheets S1 --test a")
    before = (folder / "ledger.json").read_bytes()
    told = cli.refused("humans assign sheets S2 S1 --test b")
    assert "S1 can't take any" in told
    assert "related to questions on a-" in told
    assert (folder / "ledger.json").read_bytes() == before


def test_subject_who_drops_out_gets_no_other_version(folder, cli):
    """The abandoned sheet is available to others."""
    cli("humans assign sheets S1")
    assert set(cli.told("humans assign sheets S1 --dropped")["takers"].values()) == {0}
    cli.refused("humans assign sheets S1")
    assert "S1 has no sheet to abandon" in cli.refused("humans assign sheets S1 --dropped")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("sheets S1 S1", "the subject 'S1' is listed twice"),
        ("sheets S1 --dropped --another", "--dropped can't be combined"),
        (". S1", "make them with: winosmith humans sheets DATA"),
    ],
)
def test_invalid_assignments_are_refused(folder, arguments, told, cli):
    assert told in cli.refused(f"humans assign {arguments}")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--versions", "a"], "at least two different names"),
        (["--orders", "99"], "16 problems have at most 16 orders; 99 were requested"),
    ],
)
def test_invalid_options_of_sheets_are_refused_without_a_folder(data, arguments, told, cli):
    assert told in cli.refused("humans", "sheets", data, "--out", "sheets", *arguments)
    assert not Path("sheets").exists()


def test_character_without_a_font_is_refused_without_a_folder(data, cli):
    installed("typst")
    formats.write([Problem("q7", "Ann saw \U00040000, and _ left.", ("Ann", "Sue"))], data)
    said = cli.refused("humans sheets data.jsonl --out sheets")
    assert "(U+40000), first in question 1 ('q7')" in said
    assert "install a font" in said
    assert not Path("sheets").exists()
    forms = "humans sheets data.jsonl --out sheets --form --no-pdf"
    cli(forms)
    assert {made.suffix for made in Path("sheets").iterdir() if made.is_file()} == {
        ".html", ".json"
    }  # fmt: skip
    assert "--no-pdf can't be combined" in cli.refused(f"{forms} --large-print --force")


@pytest.fixture
def round_of_tests(data: str) -> list[str]:
    """Write responses and subjects of a small round (6 people, 8 schemas); return the lines."""
    halves = {"a": [DATA[a] for a, _ in DATA.twins], "b": [DATA[b] for _, b in DATA.twins]}
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
    write_votes(said, "said.jsonl")
    lines = [json.dumps(make_subject_record(subject)) + "\n" for subject in people]
    Path("subjects.jsonl").write_text("".join(lines), "utf-8")
    return Path("said.jsonl").read_text("utf-8").splitlines(keepends=True)


def test_results_are_reported_per_test_and_over_all(round_of_tests, cli):
    words = "humans results data.jsonl said.jsonl --subjects subjects.jsonl"
    printed = cli(f"{words} --without 1 --out r.html")
    for part in ("Test a: over all", "flawed", "Krippendorff's alpha",
                 "native, others", "Both halves of a schema", "fast", "ambiguous (X)",
                 "Signature: data:"):  # fmt: skip
        assert part in printed
    assert max(map(len, printed.splitlines()[:-2])) <= 80
    html = Path("r.html").read_text("utf-8")
    for part in ("What people read instead", "scores of the subjects"):
        assert part in html
    assert "data:" in html
    report = cli.told(words)
    assert report["answers"] == 48
    assert sum(row["schemas"] for row in report["halves"]) == 8
    assert next(pace["odd"] for pace in report["pace"]) == "fast"
    assert [test["ambiguous"] for test in report["tests"]] == [1, 0]


def test_unknown_problems_are_refused_by_line(round_of_tests, cli):
    lines = [*round_of_tests[:2], round_of_tests[2].replace(DATA[4].id, "unknown")]
    Path("few.jsonl").write_text("".join(lines), "utf-8")
    for command in ("results", "select"):
        told = cli.refused(f"humans {command} data.jsonl few.jsonl")
        assert "few.jsonl:3: there is no problem with the id 'unknown' in the data" in told


def test_problems_and_tests_without_results_are_reported(round_of_tests, cli):
    Path("few.jsonl").write_text("".join(round_of_tests[:16]), "utf-8")
    said = cli.aside("humans results data.jsonl few.jsonl --without 3")
    assert said.endswith("test all: fewer than 2 people would remain without the 3 weakest")
    Path("few.jsonl").write_text("".join(round_of_tests[:6]), "utf-8")
    said = cli.aside("humans results data.jsonl few.jsonl --without 0")
    assert "10 of 16 problems have no answers" in said


def test_answer_in_two_files_is_refused_with_both_lines(round_of_tests, cli):
    Path("again.jsonl").write_text("\n" + round_of_tests[2], "utf-8")
    refused = cli.refused("humans results data.jsonl said.jsonl again.jsonl")
    assert "again.jsonl:2: " in refused
    assert "(said.jsonl:3)" in refused
    first = json.loads(round_of_tests[2])["problem_id"]
    header = "sep=;\nproblem_id;participant;choice;purpose\n"
    Path("table.csv").write_text(f'{header}"a\nb";S1;1;local\n{first};S1;1;test\n', "utf-8")
    assert "table.csv:5: " in cli.refused("humans results data.jsonl said.jsonl table.csv")


@pytest.fixture
def schemas(data: str) -> list[Problem]:
    """Write twelve twins and eight people's answers, 85 % of them intended; return the twins."""
    made = make_twins(12).problems
    formats.write(made, data)
    rng = np.random.default_rng(1)
    likely = rng.beta(17, 3, len(made))
    said = [
        Response(p.id, f"s{who}", "test", (p.answer or 0) ^ int(rng.random() >= likely[row]))
        for who in range(8)
        for row, p in enumerate(made)
        if (row + who) % 2
    ]
    write_votes(said, "said.csv")
    return list(made)


def test_selection_is_reported_with_both_agreements(schemas, cli):
    """The agreement on the chosen problems is optimistic; cross-validation gives the other one."""
    told = cli("humans select data.jsonl said.csv --floor 0.7")
    for part in ("chosen problems", "the other half is chosen", "optimistic",
                 "agreement among held-out people", "floor:0.7"):  # fmt: skip
        assert part in told
    assert max(map(len, told.splitlines()[:-1])) <= 80


def test_chosen_and_omitted_problems_are_written(schemas, cli):
    select = "humans select data.jsonl said.csv --out reliable"
    cli(select)
    chosen = formats.read("reliable/chosen.jsonl")
    others = [json.loads(x) for x in Path("reliable/left-out.jsonl").read_text().splitlines()]
    assert sorted([*chosen.ids, *(one["id"] for one in others)]) == sorted(p.id for p in schemas)
    assert all(one["reason"] for one in others)
    cli(select)
    cli.refused(f"{select} --floor 0.5")
    cli(f"{select} --floor 0.5 --force")


def test_used_problems_are_published_with_their_other_halves(schemas, cli):
    formats.write([schemas[0], schemas[4]], "used.jsonl")
    publish = "humans publish data.jsonl used.jsonl --out after"
    assert "4 problems are released (2 used, 2 alternates); 20 stay" in cli(publish)
    released = formats.read("after/released.jsonl")
    withheld = formats.read("after/private/withheld.jsonl")
    assert len(released) == 4
    assert not any(p.embargo for p in released)
    assert all(p.embargo for p in withheld)
    canary = str(released[0].extra["winosmith.canary"])
    assert canary in Path("after/README.md").read_text()
    assert cli.told(publish)["canary"] == canary
