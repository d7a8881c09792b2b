"""`winosmith curve` and `leaderboard` measure accuracies by training size."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, answers, formats
from winosmith.testing import make_twins

TABLE_4 = "size,accuracy\n160,51.5\n640,58.6\n2558,66.9\n10234,75.8\n40398,79.3\n"
"""Dev accuracies of RoBERTa: WinoGrande, table 4, with the released size of the largest set."""

DATA = make_twins(20)


@pytest.fixture(autouse=True)
def _folder(cli: Cli) -> None:
    """Work in a folder with table 4, and with a submission that gets better with size."""
    Path("table4.csv").write_text(TABLE_4)
    formats.write(DATA, "dev.jsonl")
    with Path("labels.lst").open("w") as file:
        answers.write_labels([p.answer or 0 for p in DATA], file)
    lines = [
        ",".join(str(1 + ((p.answer or 0) ^ (row % every == 0))) for every in (2, 3, 4, 5, 10))
        for row, p in enumerate(DATA)
    ]
    Path("submission.lst").write_text("\n".join(lines) + "\n")


def test_runs_are_read_in_any_column_order_and_grouped_by_size(cli):
    rows = ["seed,accuracy,size", "0,.515,160", "1,0.5,160", "0,0.586,640", "0,0.669,2_558"]
    Path("runs.csv").write_text("\n".join(rows) + "\n\n")
    found = cli.told("curve runs.csv")
    assert [(p["size"], p["taken"], len(p["accuracies"])) for p in found["points"]] == [
        (160, 0.515, 2),
        (640, 0.586, 1),
        (2558, 0.669, 1),
    ]
    shown = " ".join(cli("curve runs.csv").split())
    assert "3 sizes are too few for: power law, asymptote." in shown
    for level in ("0.941", "94.1"):
        assert cli.told(f"curve runs.csv --human {level}")["human"] == pytest.approx(0.941)
    assert cli.told("curve runs.csv --take mean")["points"][0]["taken"] == pytest.approx(0.5075)


def test_percentages_and_fractions_give_equal_results(cli):
    Path("shares.csv").write_text(
        "size,accuracy\n160,0.515\n640,0.586\n2558,0.669\n10234,0.758\n40398,0.793\n"
    )
    of_shares, of_percent = (cli.told("curve", name) for name in ("shares.csv", "table4.csv"))
    assert of_shares["points"] == of_percent["points"]
    assert of_shares["extrapolations"] == of_percent["extrapolations"]


def test_runs_at_chance_are_reported_by_line(cli):
    """A run is at chance if guessing does as well on this number of problems."""
    Path("runs.csv").write_text(TABLE_4 + "40398,50.1\n")
    shown = cli("curve runs.csv --problems 1267")
    assert "AT CHANCE runs.csv:7: 50.1 % with 40,398 training problems" in shown
    assert "AT CHANCE runs.csv:2:" in shown
    assert "runs.csv:3:" not in shown
    assert "the best of up to 2 runs per size" in " ".join(shown.split())


def test_page_shows_the_curve_and_extrapolated_sizes(cli):
    shown = cli("curve table4.csv --out curve.html")
    page = Path("curve.html").read_text("utf-8")
    assert "Accuracy by training size" in page
    assert "117" in page.split("fourth root")[1]
    assert shown.split("Signature: ")[1].split("|")[0] in page


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("n,acc\n1,2\n",
         "bad.csv:1: the table needs the columns size and accuracy; it has 'n', 'acc'"),
        (TABLE_4 + "99999,\n", "bad.csv:7: '99999,' needs a size and an accuracy"),
        (TABLE_4 + "many,80\n", "bad.csv:7: 'many,80' needs a size"),
        (TABLE_4 + "99999,0.8\n", "bad.csv:7: the accuracy 0.8 is a fraction, but others are"),
        (TABLE_4 + "99999,180\n", "bad.csv:7: the size 99999 must be 1 or more, and the accuracy"),
        ("size,accuracy\n160,51\n640,58\n",
         "there are 2 training sizes; a learning curve needs three"),
        ("size,accuracy\n160,51\n", "there is 1 training size; a learning curve needs three"),
        ("", "bad.csv: the file is empty"),
    ],
)  # fmt: skip
def test_invalid_tables_are_refused_by_line(content, told, cli):
    Path("bad.csv").write_text(content)
    assert told in cli.refused("curve bad.csv")


def test_five_accuracies_and_their_area_are_reported(cli):
    found = cli.told("leaderboard submission.lst --labels labels.lst")
    right = {name: column["correct"] for name, column in found["columns"].items()}
    assert right == {"xs": 20, "s": 26, "m": 30, "l": 32, "xl": 36}
    assert 0.5 < found["auc_interval"][0] < found["auc"] < found["auc_interval"][1] < 0.9


def test_area_of_one_has_an_interval(cli):
    lines = [",".join([str((p.answer or 0) + 1)] * 5) for p in DATA]
    Path("right.lst").write_text("\n".join(lines) + "\n")
    found = cli.told("leaderboard right.lst --labels labels.lst")
    assert found["auc"] == pytest.approx(1)
    assert 0.85 < found["auc_interval"][0] < 0.97


def test_intervals_with_data_keep_twins_together(cli):
    found = cli.told("leaderboard submission.lst --data dev.jsonl")["columns"]["xl"]
    assert (found["correct"], found["clusters"]) == (36, 20)
    shown = cli("leaderboard submission.lst --labels labels.lst")
    assert "with --data they keep twins together" in shown


def test_copies_narrow_no_interval(cli):
    """One half of each twin is correct, so its halves alone would look independent."""
    twice = Dataset([*DATA, *(replace(p, id=f"{p.id}/a", twin_id=f"{p.twin_id}/a") for p in DATA)])
    formats.write(twice, "twice.jsonl")
    Path("first.lst").write_text("1,1,1,1,1\n" * 40)
    Path("twice.lst").write_text("1,1,1,1,1\n" * 80)
    one = cli.told("leaderboard first.lst --data dev.jsonl")["columns"]["xl"]
    other = cli.told("leaderboard twice.lst --data twice.jsonl")["columns"]["xl"]
    assert other["interval"] == pytest.approx(one["interval"])


def test_page_shows_the_area(cli):
    shown = cli("leaderboard submission.lst --labels labels.lst --out board.html")
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
def test_invalid_lines_are_refused_by_line(line, told, cli):
    with Path("submission.lst").open("a") as file:
        file.write(line + "\n")
    assert told in cli.refused("leaderboard submission.lst --labels labels.lst")


def test_missing_answers_are_reported_with_advice(cli):
    formats.write(DATA.blind(), "test.jsonl")
    command = "leaderboard submission.lst"
    assert "give --labels LABELS.lst or --data DATA" in cli.refused(command)
    told = cli.refused(f"{command} --data test.jsonl")
    assert "the answers of 40 problems are withheld" in told
    cli(f"{command} --data test.jsonl --labels labels.lst")
