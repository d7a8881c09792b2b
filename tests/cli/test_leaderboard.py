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


def test_five_accuracies_and_their_area(cli: Cli) -> None:
    """Each column has its accuracy; the area lies between the least and the greatest."""
    found = cli.told("leaderboard submission.lst --labels labels.lst")
    right = {name: column["right"] for name, column in found["columns"].items()}
    assert right == {"xs": 20, "s": 26, "m": 30, "l": 32, "xl": 36}
    assert 0.5 < found["auc_interval"][0] < found["auc"] < found["auc_interval"][1] < 0.9


def test_an_area_of_one_is_not_certain(cli: Cli) -> None:
    """All right in 40 problems is an area of 1, or of some points less."""
    lines = [",".join([str((p.answer or 0) + 1)] * 5) for p in DATA]
    Path("right.lst").write_text("\n".join(lines) + "\n")
    found = cli.told("leaderboard right.lst --labels labels.lst")
    assert found["auc"] == pytest.approx(1)
    assert 0.85 < found["auc_interval"][0] < 0.97


def test_the_problems_give_answers_and_twins(cli: Cli) -> None:
    """With --data the same accuracies have intervals that know of twins."""
    found = cli.told("leaderboard submission.lst --data dev.jsonl")
    assert found["columns"]["xl"]["right"] == 36
    assert found["columns"]["xl"]["clusters"] == 20
    assert "with --data they keep twins together" in cli(
        "leaderboard submission.lst --labels labels.lst"
    )


def test_the_page_draws_the_five(cli: Cli) -> None:
    """The HTML report has the area and the drawing."""
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
def test_wrong_lines_are_named(line: str, told: str, cli: Cli) -> None:
    """A line with other labels, or one line too many, ends with code 2 and its place."""
    with Path("submission.lst").open("a") as file:
        file.write(line + "\n")
    assert told in cli.refused("leaderboard submission.lst --labels labels.lst")


def test_answers_are_needed(cli: Cli) -> None:
    """Without labels or data, and with data whose answers are withheld, it says what to give."""
    assert "give --labels LABELS.lst or --data DATA" in cli.refused("leaderboard submission.lst")
    formats.write(DATA.blind(), "test.jsonl")
    assert "the answers of 40 problems are withheld" in cli.refused(
        "leaderboard submission.lst --data test.jsonl"
    )
    arguments = ["--data", "test.jsonl", "--labels", "labels.lst"]
    cli("leaderboard", "submission.lst", *arguments)
