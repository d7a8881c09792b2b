"""`winosmith humans sheets` and `assign`: the sheets, their key, the ledger, and refusals."""

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
    """Skip if typst (the extra `print`) is missing; in CI, fail."""
    installed("typst")


@pytest.fixture
def data(tmp_path: Path) -> str:
    """Return the path of a file with eight twins."""
    path = tmp_path / "schemas.jsonl"
    formats.write(DATA.problems, path)
    return str(path)


@pytest.fixture
def folder(data: str, tmp_path: Path) -> str:
    """Return a folder with the sheets of the twins."""
    out = str(tmp_path / "sheets")
    assert main(["humans", "sheets", data, "--out", out, "--orders", "2"]) == 0
    return out


def _names(folder: str) -> set[str]:
    return {str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file()}


def test_sheets_have_four_formats_and_a_private_key(data: str, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "sheets"
    report = cli.told("humans", "sheets", data, "--out", out, "--form", "--large-print")
    assert [sheet["questions"] for sheet in report["sheets"]] == [8, 8]
    kinds = (".json", ".pdf", "-large.pdf", ".html")
    assert _names(str(out)) == {
        *(f"{name}{kind}" for name in ("a-1", "b-1") for kind in kinds),
        "winosmith.json", "private/key.csv", "private/winosmith.json",
    }  # fmt: skip
    assert set(report["files"]) <= _names(str(out))


def test_letters_in_the_key_are_the_gold_answers(folder: str) -> None:
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


def test_public_files_do_not_depend_on_the_answers(data: str, folder: str, tmp_path: Path) -> None:
    blind, out = tmp_path / "blind.jsonl", tmp_path / "blind"
    formats.write(DATA.blind().problems, blind)
    assert main(["humans", "sheets", str(blind), "--out", str(out), "--orders", "2"]) == 0
    for name in _names(folder):
        if not name.startswith("private/"):
            assert (Path(folder) / name).read_bytes() == (out / name).read_bytes(), name


def test_interrupted_folder_is_completed(data: str, folder: str) -> None:
    before = {name: (Path(folder) / name).stat().st_mtime_ns for name in ("a-1.pdf", "b-2.json")}
    (Path(folder) / "a-2.pdf").unlink()
    assert main(["humans", "sheets", data, "--out", folder, "--orders", "2"]) == 0
    assert (Path(folder) / "a-2.pdf").exists()
    assert before == {name: (Path(folder) / name).stat().st_mtime_ns for name in before}
    assert main(["humans", "sheets", data, "--out", folder, "--orders", "3"]) == 2


def test_both_halves_of_a_twin_for_one_subject_are_refused(folder: str, cli: Cli) -> None:
    cli("humans", "assign", folder, "S1", "--test", "a")
    before = (Path(folder) / "ledger.json").read_bytes()
    told = cli.refused("humans", "assign", folder, "S2", "S1", "--test", "b")
    assert "S1 can't take any" in told
    assert "related to questions on a-" in told
    assert (Path(folder) / "ledger.json").read_bytes() == before


def test_subject_who_drops_out_gets_no_other_version(folder: str, cli: Cli) -> None:
    """The abandoned sheet is available to others."""
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
def test_invalid_assignments_are_refused(
    folder: str, arguments: list[str], told: str, cli: Cli
) -> None:
    assert told in cli.refused("humans", "assign", folder, *arguments)


def test_assign_in_a_folder_without_sheets_is_refused(tmp_path: Path, cli: Cli) -> None:
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
def test_invalid_options_of_sheets_are_refused_without_a_folder(
    data: str, arguments: list[str], told: str, tmp_path: Path, cli: Cli
) -> None:
    out = tmp_path / "sheets"
    assert told in cli.refused("humans", "sheets", data, "--out", out, *arguments)
    assert not out.exists()


def test_character_without_a_font_is_refused_without_a_folder(tmp_path: Path, cli: Cli) -> None:
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
