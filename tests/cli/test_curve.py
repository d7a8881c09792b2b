"""`winosmith curve` fits a learning curve, and extrapolates each form to the human level."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

TABLE_4 = "size,accuracy\n160,51.5\n640,58.6\n2558,66.9\n10234,75.8\n40398,79.3\n"
"""Dev accuracies of RoBERTa: WinoGrande, table 4, with the released size of the largest set."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with table 4."""
    monkeypatch.chdir(tmp_path)
    Path("table4.csv").write_text(TABLE_4)
    return tmp_path


def test_runs_are_read_in_any_column_order_and_grouped_by_size(cli: Cli) -> None:
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
        assert cli.told("curve", "runs.csv", "--human", level)["human"] == pytest.approx(0.941)
    assert cli.told("curve runs.csv --take mean")["points"][0]["taken"] == pytest.approx(0.5075)


def test_percentages_and_fractions_give_equal_results(cli: Cli) -> None:
    Path("shares.csv").write_text(
        "size,accuracy\n160,0.515\n640,0.586\n2558,0.669\n10234,0.758\n40398,0.793\n"
    )
    of_shares, of_percent = (cli.told("curve", name) for name in ("shares.csv", "table4.csv"))
    assert of_shares["points"] == of_percent["points"]
    assert of_shares["extrapolations"] == of_percent["extrapolations"]


def test_runs_at_chance_are_reported_by_line(cli: Cli) -> None:
    """A run is at chance if guessing does as well on this number of problems."""
    Path("runs.csv").write_text(TABLE_4 + "40398,50.1\n")
    shown = cli("curve runs.csv --problems 1267")
    assert "AT CHANCE runs.csv:7: 50.1 % with 40,398 training problems" in shown
    assert "AT CHANCE runs.csv:2:" in shown
    assert "runs.csv:3:" not in shown
    assert "the best of up to 2 runs per size" in " ".join(shown.split())


def test_page_shows_the_curve_and_extrapolated_sizes(cli: Cli) -> None:
    shown = cli("curve table4.csv --out curve.html")
    page = Path("curve.html").read_text("utf-8")
    assert "Accuracy by training size" in page
    assert "fourth root" in page
    assert "117" in page.split("fourth root")[1]
    assert shown.split("Signature: ")[1].split("|")[0] in page


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "n,acc\n1,2\n",
            "bad.csv:1: the table needs the columns size and accuracy; it has 'n', 'acc'",
        ),
        (TABLE_4 + "99999,\n", "bad.csv:7: '99999,' needs a size and an accuracy"),
        (TABLE_4 + "many,80\n", "bad.csv:7: 'many,80' needs a size"),
        (TABLE_4 + "99999,0.8\n", "bad.csv:7: the accuracy 0.8 is a fraction, but others are"),
        (TABLE_4 + "99999,180\n", "bad.csv:7: the size 99999 must be 1 or more, and the accuracy"),
        (
            "size,accuracy\n160,51\n640,58\n",
            "there are 2 training sizes; a learning curve needs three",
        ),
        ("size,accuracy\n160,51\n", "there is 1 training size; a learning curve needs three"),
        ("", "bad.csv: the file is empty"),
    ],
)
def test_invalid_tables_are_refused_by_line(content: str, told: str, cli: Cli) -> None:
    Path("bad.csv").write_text(content)
    assert told in cli.refused("curve bad.csv")
