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
def quiz(cli: Cli) -> str:
    """Write 120 questions, and answers of three models that know the keys; return the arguments."""
    rows, told = ["id,question,A,B,C,D,E,F,answer"], ["id,one,two,three"]
    for at in range(120):
        key = "ABCDEF"[(at + (at in WRONG)) % 6]
        options = ",".join(f"{letter}{at * 7}" for letter in "uvwxyz")
        rows.append(f"k{at},What is number {at}?,{options},{key}")
        told.append(f"k{at}," + ",".join("ABCDEF"[at % 6] * 3))
    Path("quiz.csv").write_text("\n".join(rows) + "\n")
    Path("answers.csv").write_text("\n".join(told) + "\n")
    return "quiz.csv --draws 19 --no-probes --answers answers.csv"


def _read_check() -> dict[str, Any]:
    """Return the private file of a check."""
    return dict(json.loads(Path("check/private/check.json").read_text()))


def _fill_in(judges: str = "xyz") -> None:
    """Fill in the form as judges who know the answers.

    The last judge marks everything as ambiguous.
    """
    number = {item["asked"]: int(item["id"][1:]) for item in _read_check()["items"]}
    (path,) = Path("check").glob("*-*.json")
    sheet = json.loads(path.read_text())
    Path("filled").mkdir()
    for judge in judges:
        answers = {}
        for item in sheet["items"]:
            right = number[item["problem"]] % 6
            letter = next(one["letter"] for one in item["options"] if one["option"] == right)
            answers[str(item["number"])] = {"letter": "X" if judge == judges[-1] else letter}
        record = {"winosmith": "answers", "version": 1, "sheet": sheet["code"], "subject": judge,
                  "answers": answers}  # fmt: skip
        Path(f"filled/answers-{judge}.json").write_text(json.dumps(record))


def test_repair_keeps_suspects_that_people_checked(quiz, cli):
    """A corrected suspect has its new key, a confirmed one its old key; others are set aside."""
    errata = Path("errata.csv")
    errata.write_text("id,old,new,evidence\nk0,B,A,three judges\nk10,F,F,three judges\n")
    repair = f"audit {quiz} --repair fixed --set-aside 20"
    aside = cli.told(f"{repair} --errata errata.csv")["repair"]["set_aside"]["items"]
    assert "k10" not in {one["id"] for one in aside}
    assert len(aside) == len(WRONG) - 2
    kept = {one.id: one.options[one.answer or 0] for one in formats.read("fixed/kept.jsonl")}
    assert (kept["k0"], kept["k10"]) == ("u0", "z70")
    assert "Items whose keys people checked: 2." in Path("fixed/report.html").read_text()
    assert "other settings" in cli.refused(repair)
    errata.write_text("id,old,new,evidence\nk0,A,B,an older version\n")
    refused = cli.refused(f"{repair} --errata errata.csv")
    assert "errata.csv:2: the key of 'k0' is 'v0' in the data" in refused


def test_forms_and_entered_responses_give_equal_keys(quiz, cli):
    cli(f"audit {quiz} --check 20 --check-to check")
    _fill_in()
    cli("humans enter check --answers filled --out round")
    of_forms = cli.told("humans keys check filled")
    assert cli.told("humans keys check round/responses.jsonl") == of_forms
    refused = cli.refused("humans keys check filled round/responses.jsonl")
    assert "judged 'k" in refused


def test_public_files_of_a_check_have_no_ids_and_no_keys(quiz, cli):
    check = f"audit {quiz} --check 40 --check-to check"
    told = cli.aside(check)
    assert "at most" in told
    assert "winosmith humans keys check ANSWERS" in told
    files = {path: path.read_bytes() for path in Path("check").rglob("*") if path.is_file()}
    for path, content in files.items():
        if "private" not in path.parts:
            assert not [of for of in (b'"k1', b'answer":', b"suspect") if of in content], path
    cli(check)
    assert {path: path.read_bytes() for path in files} == files
    assert "contains results from other settings" in cli.refused(f"{check} --seed 1")
    cli(f"{check} --seed 1 --force")
    private = Path("check/private/check.json")
    assert private.read_bytes() != files[private]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("audit {} --check 9", "x>=10"),
        ("audit quiz.csv {} --check 20", "--check draws from one data set"),
        ("audit quiz.csv --fix --check 20", "without --answers"),
        ("humans keys . quiz.csv", "check.json"),
    ],
)
def test_invalid_checks_are_refused(quiz, cli, command, reason):
    assert reason in cli.refused(command.format(quiz))


def test_drawn_items_are_sent_to_a_site(
    prepared_site,  # noqa: F811
    quiz,
    tmp_path,
    cli,
):
    """Votes of its judges refer to the site's ids. Items with six options are only for forms."""
    rows = [row.split(",") for row in Path("quiz.csv").read_text().splitlines()]
    four = [row[:6] + row[8:] for row in rows if row[8] in "answer ABCD"]
    Path("four.csv").write_text("\n".join(map(",".join, four)) + "\n")
    site = serving.made(prepared_site, tmp_path / "site", {}, None)
    asked = f"--draws 19 --no-probes --check 20 --to-judge {site.folder} --check-to"

    def audit(words: str) -> str:
        return forking.run(("audit", *words.split()), site.environment).stderr

    assert "Added to the site for judging: 20" in audit(f"four.csv {asked} check")
    site.admin("export", str(site.folder), "--out", str(tmp_path / "out"))
    waiting = formats.read("out/private/problems.jsonl")
    assert {item["site"] for item in _read_check()["items"]} == {*waiting.ids}
    said = [Response(p.id, judge, "validate", p.answer) for p in waiting for judge in "xyz"]
    write_votes(said, "votes.jsonl")
    found = cli.told("humans keys check votes.jsonl")
    assert {key["verdict"] for key in found["keys"]} == {"sound"}
    told = audit(f"quiz.csv {asked} six")
    assert "it has 6 options; at most 5 can be shown" in told
