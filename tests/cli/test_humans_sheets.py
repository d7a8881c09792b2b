"""`winosmith humans sheets` and `assign`: the folder, the key apart, the ledger, clear refusals."""

import csv
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import installed
from winosmith import Problem, formats
from winosmith.cli import main
from winosmith.humans import read_sheet
from winosmith.testing import make_twins

DATA = make_twins(8)


@pytest.fixture(autouse=True)
def printer() -> None:
    """Skip without typst (the extra `print`); fail in CI."""
    installed("typst")


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Return a file of eight twins."""
    path = tmp_path / "schemas.jsonl"
    formats.write(DATA.problems, path)
    return str(path)


@pytest.fixture
def folder(data: str, tmp_path: Path) -> str:
    """Return a folder of their sheets."""
    out = str(tmp_path / "sheets")
    assert main(["humans", "sheets", data, "--out", out, "--orders", "2"]) == 0
    return out


def _names(folder: str) -> set[str]:
    return {str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file()}


def test_a_folder_of_sheets_has_all_forms_and_the_key_apart(
    data: str, tmp_path: Path, cli: Cli
) -> None:
    """Each sheet is there as PDF, large print, form and JSON; the key is in private/ alone."""
    out = tmp_path / "sheets"
    report = cli.told("humans", "sheets", data, "--out", out, "--form", "--large-print")
    assert [sheet["questions"] for sheet in report["sheets"]] == [8, 8]
    kinds = (".json", ".pdf", "-large.pdf", ".html")
    assert _names(str(out)) == {
        *(f"{name}{kind}" for name in ("a-1", "b-1") for kind in kinds),
        "winosmith.json", "private/key.csv", "private/winosmith.json",
    }  # fmt: skip
    assert set(report["files"]) <= _names(str(out))


def test_the_key_tells_each_answer_by_its_letter(folder: str) -> None:
    """Each row's letter leads, over the sheet, to the answer of the problem."""
    sheets = {s.code: s for s in map(read_sheet, Path(folder).glob("[ab]-*.json"))}
    with (Path(folder) / "private/key.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(DATA)
    for row in rows:
        item = sheets[row["sheet"]][int(row["number"])]
        problem = DATA[DATA.row(row["problem"])]
        assert item.problem_id == problem.id
        assert item.get_option_index(row["letter"]) == problem.answer
        assert row["answer"] == problem.options[problem.answer or 0]


def test_public_files_are_the_same_without_answers(data: str, folder: str, tmp_path: Path) -> None:
    """Every file outside private/ is the same to the byte when the data have no answers."""
    blind, out = tmp_path / "blind.jsonl", tmp_path / "blind"
    formats.write(DATA.blind().problems, blind)
    assert main(["humans", "sheets", str(blind), "--out", str(out), "--orders", "2"]) == 0
    for name in _names(folder):
        if not name.startswith("private/"):
            assert (Path(folder) / name).read_bytes() == (out / name).read_bytes(), name


def test_an_interrupted_folder_is_finished(data: str, folder: str) -> None:
    """The same command makes what is missing and leaves the rest; other data are refused."""
    before = {name: (Path(folder) / name).stat().st_mtime_ns for name in ("a-1.pdf", "b-2.json")}
    (Path(folder) / "a-2.pdf").unlink()
    assert main(["humans", "sheets", data, "--out", folder, "--orders", "2"]) == 0
    assert (Path(folder) / "a-2.pdf").exists()
    assert before == {name: (Path(folder) / name).stat().st_mtime_ns for name in before}
    assert main(["humans", "sheets", data, "--out", folder, "--orders", "3"]) == 2


def test_both_halves_for_one_subject_are_refused_and_named(folder: str, cli: Cli) -> None:
    """Exit code 2, the subject and the sheet in the message, and nothing is given to anybody."""
    cli("humans", "assign", folder, "S1", "--test", "a")
    before = (Path(folder) / "ledger.json").read_bytes()
    told = cli.refused("humans", "assign", folder, "S2", "S1", "--test", "b")
    assert "S1 can't take any" in told
    assert "related to questions on a-" in told
    assert (Path(folder) / "ledger.json").read_bytes() == before


def test_who_drops_out_is_not_counted_and_gets_no_other_half(folder: str, cli: Cli) -> None:
    """The sheet is free for the next; the subject can't come back for the other version."""
    cli("humans", "assign", folder, "S1")
    assert set(cli.told("humans", "assign", folder, "S1", "--dropped")["takers"].values()) == {0}
    cli.refused("humans", "assign", folder, "S1")
    assert "S1 has no sheet to abandon" in cli.refused(
        "humans", "assign", folder, "S1", "--dropped"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["S1", "S1"], "the subject 'S1' is listed twice"),
        (["S1", "--dropped", "--another"], "--dropped can't be combined"),
    ],
)
def test_what_can_not_be_done_is_said(
    folder: str, arguments: list[str], told: str, cli: Cli
) -> None:
    """Bad input ends with code 2 and a message that says what to change."""
    assert told in cli.refused("humans", "assign", folder, *arguments)


def test_a_folder_without_sheets_is_told(tmp_path: Path, cli: Cli) -> None:
    """The message names the command that makes them."""
    assert "make them with: winosmith humans sheets DATA" in cli.refused(
        "humans", "assign", tmp_path, "S1"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--versions", "a"], "at least two different names"),
        (["--orders", "99"], "16 problems have at most 16 orders; 99 were requested"),
        (["--ask", "how old?"], "a name and a question are needed"),
    ],
)
def test_sheets_that_can_not_be_made_leave_nothing(
    data: str, arguments: list[str], told: str, tmp_path: Path, cli: Cli
) -> None:
    """Bad options end with code 2, and there is no folder afterwards."""
    out = tmp_path / "sheets"
    assert told in cli.refused("humans", "sheets", data, "--out", out, *arguments)
    assert not out.exists()


def test_a_character_that_no_font_has_leaves_nothing(tmp_path: Path, cli: Cli) -> None:
    """A sheet that would have an empty box is refused with the way out, and no folder is left."""
    path, out = tmp_path / "schemas.jsonl", tmp_path / "sheets"
    formats.write([Problem("q7", "Ann saw \U00040000, and _ left.", ("Ann", "Sue"))], path)
    said = cli.refused("humans", "sheets", path, "--out", out)
    assert "(U+40000), first in question 1 ('q7')" in said
    assert "install a font" in said
    assert not out.exists()
    arguments = ["humans", "sheets", str(path), "--out", str(out), "--form", "--no-pdf"]
    cli(*arguments)
    assert {made.suffix for made in out.iterdir() if made.is_file()} == {".html", ".json"}
    assert "--no-pdf can't be combined" in cli.refused(*arguments, "--large-print", "--force")
