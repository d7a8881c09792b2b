"""`winosmith leaderboard` scores a submission as WinoGrande's leaderboard does."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import answers, formats
from winosmith.testing import make_twins

DATA = make_twins(20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with problems, labels, and a submission that gets better with size."""
    monkeypatch.chdir(tmp_path)
    formats.write(DATA, "dev.jsonl")
    with Path("labels.lst").open("w") as file:
        answers.write_labels([p.answer or 0 for p in DATA], file)
    lines = [
        ",".join(str((p.answer or 0) ^ (row % every == 0)) for every in (2, 3, 4, 5, 10))
        for row, p in enumerate(DATA)
    ]
    lines = [line.replace("1", "2").replace("0", "1") for line in lines]
    Path("submission.lst").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_five_accuracies_and_their_area_are_reported(cli: Cli) -> None:
    found = cli.told("leaderboard submission.lst --labels labels.lst")
    right = {name: column["right"] for name, column in found["columns"].items()}
    assert right == {"xs": 20, "s": 26, "m": 30, "l": 32, "xl": 36}
    assert 0.5 < found["auc_interval"][0] < found["auc"] < found["auc_interval"][1] < 0.9


def test_area_of_one_has_an_interval(cli: Cli) -> None:
    lines = [",".join([str((p.answer or 0) + 1)] * 5) for p in DATA]
    Path("right.lst").write_text("\n".join(lines) + "\n")
    found = cli.told("leaderboard right.lst --labels labels.lst")
    assert found["auc"] == pytest.approx(1)
    assert 0.85 < found["auc_interval"][0] < 0.97


def test_intervals_with_data_keep_twins_together(cli: Cli) -> None:
    found = cli.told("leaderboard submission.lst --data dev.jsonl")
    assert found["columns"]["xl"]["right"] == 36
    assert found["columns"]["xl"]["clusters"] == 20
    assert "with --data they keep twins together" in cli(
        "leaderboard submission.lst --labels labels.lst"
    )


def test_page_shows_the_area(cli: Cli) -> None:
    arguments = ["submission.lst", "--labels", "labels.lst", "--out", "board.html"]
    shown = cli("leaderboard", *arguments)
    assert "area under the curve" in Path("board.html").read_text("utf-8")
    assert "The report is in board.html" in shown


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1,2,1,2", "submission.lst:41: '1,2,1,2' is not 5 comma-separated labels (1 or 2)"),
        ("1,2,1,2,3", "submission.lst:41: '1,2,1,2,3' is not 5 comma-separated labels"),
        ("1,2,1,2,1", "submission.lst: there are 41 lines of predictions for 40 answers"),
    ],
)
def test_invalid_lines_are_refused_by_line(line: str, told: str, cli: Cli) -> None:
    with Path("submission.lst").open("a") as file:
        file.write(line + "\n")
    assert told in cli.refused("leaderboard submission.lst --labels labels.lst")


def test_missing_answers_are_reported_with_advice(cli: Cli) -> None:
    assert "give --labels LABELS.lst or --data DATA" in cli.refused("leaderboard submission.lst")
    formats.write(DATA.blind(), "test.jsonl")
    assert "the answers of 40 problems are withheld" in cli.refused(
        "leaderboard submission.lst --data test.jsonl"
    )
    arguments = ["--data", "test.jsonl", "--labels", "labels.lst"]
    cli("leaderboard", "submission.lst", *arguments)
