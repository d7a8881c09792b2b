"""People check keys: from `audit --check` to the errata that correct the data."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import forking
from tests.cli.conftest import Cli
from tests.web import serving
from tests.web.conftest import prepared_site  # noqa: F401
from winosmith import Response, formats
from winosmith.validate import write_votes

WRONG = range(0, 120, 10)
"""The numbers of the questions whose key is wrong."""


@pytest.fixture
def quiz(tmp_path: Path) -> list[str]:
    """Write 120 questions, and answers of three models that know the keys; return the arguments."""
    rows, told = ["id,question,A,B,C,D,E,F,answer"], ["id,one,two,three"]
    for at in range(120):
        key = "ABCDEF"[(at + (at in WRONG)) % 6]
        options = ",".join(f"{letter}{at * 7}" for letter in "uvwxyz")
        rows.append(f"k{at},What is number {at}?,{options},{key}")
        told.append(f"k{at}," + ",".join("ABCDEF"[at % 6] * 3))
    for name, lines in (("quiz.csv", rows), ("answers.csv", told)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    answers = str(tmp_path / "answers.csv")
    return [str(tmp_path / "quiz.csv"), "--draws", "19", "--no-probes", "--answers", answers]


def _fill_in(folder: Path, out: Path, judges: str = "xyz") -> dict[str, Any]:
    """Fill in the form as judges who know the answers; return the private file.

    The last judge marks everything as ambiguous.
    """
    check = json.loads((folder / "private/check.json").read_text())
    number = {item["asked"]: int(item["id"][1:]) for item in check["items"]}
    (path,) = folder.glob("*-*.json")
    sheet = json.loads(path.read_text())
    out.mkdir()
    for judge in judges:
        answers = {}
        for item in sheet["items"]:
            right = number[item["problem"]] % 6
            letter = next(one["letter"] for one in item["options"] if one["option"] == right)
            answers[str(item["number"])] = {"letter": "X" if judge == judges[-1] else letter}
        record = {"winosmith": "answers", "version": 1, "sheet": sheet["code"], "subject": judge,
                  "answers": answers}  # fmt: skip
        (out / f"answers-{judge}.json").write_text(json.dumps(record))
    return dict(check)


def test_repair_keeps_suspects_that_people_checked(
    quiz: list[str], tmp_path: Path, cli: Cli
) -> None:
    """A corrected suspect has its new key, a confirmed one its old key; others are set aside."""
    errata, folder = tmp_path / "errata.csv", tmp_path / "fixed"
    errata.write_text("id,old,new,evidence\nk0,B,A,three judges\nk10,F,F,three judges\n")
    asked = ["audit", *quiz, "--repair", folder, "--set-aside", "20", "--errata", errata]
    record = cli.told(*asked)["repair"]
    assert "k10" not in {one["id"] for one in record["set_aside"]["items"]}
    assert len(record["set_aside"]["items"]) == len(WRONG) - 2
    kept = {one.id: one.options[one.answer or 0] for one in formats.read(folder / "kept.jsonl")}
    assert (kept["k0"], kept["k10"]) == ("u0", "z70")
    assert "Items whose keys people checked: 2." in (folder / "report.html").read_text()
    assert "other settings" in cli.refused(*asked[:-2])
    errata.write_text("id,old,new,evidence\nk0,A,B,an older version\n")
    assert "errata.csv:2: the key of 'k0' is 'v0' in the data" in cli.refused(*asked)


def test_forms_and_entered_responses_give_equal_keys(
    quiz: list[str], tmp_path: Path, cli: Cli
) -> None:
    folder, filled = tmp_path / "check", tmp_path / "filled"
    cli("audit", *quiz, "--check", "20", "--check-to", folder)
    _fill_in(folder, filled)
    cli("humans", "enter", folder, "--answers", filled, "--out", tmp_path / "round")
    of_forms = cli.told("humans", "keys", folder, filled)
    responses = tmp_path / "round/responses.jsonl"
    assert cli.told("humans", "keys", folder, responses) == of_forms
    assert "judged 'k" in cli.refused("humans", "keys", folder, filled, responses)


def test_public_files_of_a_check_have_no_ids_and_no_keys(
    quiz: list[str], tmp_path: Path, cli: Cli
) -> None:
    folder = tmp_path / "check"
    asked = ["audit", *quiz, "--check", "40", "--check-to", folder]
    told = cli.aside(*asked)
    assert "at most" in told
    assert f"winosmith humans keys {folder} ANSWERS" in told
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for path, content in files.items():
        if "private" not in path.parts:
            assert b'"k1' not in content
            assert b'answer":' not in content
            assert b"suspect" not in content
    cli(*asked)
    assert {path: path.read_bytes() for path in files} == files
    assert "contains results from other settings" in cli.refused(*asked, "--seed", "1")
    cli(*asked, "--seed", "1", "--force")
    assert (folder / "private/check.json").read_bytes() != files[folder / "private/check.json"]


def test_invalid_checks_are_refused(quiz: list[str], tmp_path: Path, cli: Cli) -> None:
    assert "x>=10" in cli.refused("audit", *quiz, "--check", "9")
    assert "--check draws from one data set" in cli.refused(
        "audit", quiz[0], *quiz, "--check", "20"
    )
    assert "without --answers" in cli.refused("audit", quiz[0], "--fix", "--check", "20")
    assert "check.json" in cli.refused("humans", "keys", tmp_path, quiz[0])


def test_drawn_items_are_sent_to_a_site(
    prepared_site: Path,  # noqa: F811
    quiz: list[str],
    tmp_path: Path,
    cli: Cli,
) -> None:
    """Votes of its judges refer to the site's ids. Items with six options are only for forms."""
    four = tmp_path / "four.csv"
    rows = [row.split(",") for row in Path(quiz[0]).read_text().splitlines()]
    kept = [row[:6] + row[8:] for row in rows if row[8] in "answer ABCD"]
    four.write_text("\n".join(map(",".join, kept)) + "\n", encoding="utf-8")
    site = serving.made(prepared_site, tmp_path / "site", {}, None)
    folder = tmp_path / "check"
    asked = ("audit", str(four), "--draws", "19", "--no-probes", "--check", "20", "--check-to",
             str(folder), "--to-judge", str(site.folder))  # fmt: skip
    assert "Added to the site for judging: 20" in forking.run(asked, site.environment).stderr
    site.admin("export", str(site.folder), "--out", str(tmp_path / "out"))
    waiting = formats.read(tmp_path / "out/private/problems.jsonl")
    items = json.loads((folder / "private/check.json").read_text())["items"]
    assert {item["site"] for item in items} == {*waiting.ids}
    votes = tmp_path / "votes.jsonl"
    said = [Response(p.id, judge, "validate", p.answer) for p in waiting for judge in "xyz"]
    write_votes(said, votes)
    found = cli.told("humans", "keys", folder, votes)
    assert {key["verdict"] for key in found["keys"]} == {"sound"}
    told = forking.run(
        ("audit", quiz[0], *asked[2:8], str(tmp_path / "six"), *asked[9:]), site.environment
    ).stderr
    assert "it has 6 options; at most 5 can be shown" in told
