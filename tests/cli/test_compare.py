"""`winosmith compare` shows whether one solver is better than another."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Prediction, answers, formats
from winosmith.testing import make_twins

DATA = make_twins(40)


def write_lists() -> None:
    """Write a data set and two lists of predictions into the current folder."""
    formats.write(DATA, "dev.jsonl")
    for name, every in (("good", 10), ("poor", 2)):
        labels = [(p.answer or 0) ^ (row % every == 0) for row, p in enumerate(DATA)]
        Path(f"{name}.lst").write_text("".join(f"{label + 1}\n" for label in labels))


@pytest.fixture(autouse=True)
def _folder(cli: Cli) -> None:
    """Work in a folder with a data set and two lists of predictions."""
    write_lists()


def test_solvers_that_saw_different_inputs_are_reported(cli):
    for name, sees in (("a", "blank"), ("b", "pronoun"), ("c", "blank")):
        answers.write_predictions(
            [Prediction(p.id, 0) for p in DATA], f"{name}.jsonl", DATA, solver=name,
            parameters={"sees": sees},
        )  # fmt: skip
    assert "a, c saw the blank, and b the pronoun" in cli.aside(
        "compare dev.jsonl a.jsonl b.jsonl c.jsonl"
    )
    assert "a saw the blank, and b the pronoun" in cli.aside(
        "compare dev.jsonl a.jsonl b.jsonl --partial"
    )
    assert "saw the blank" not in cli.aside("compare dev.jsonl a.jsonl c.jsonl good.lst")


GOOD_AND_POOR = "compare dev.jsonl good.lst poor.lst"


@pytest.mark.parametrize(
    ("rules", "code", "reasons"),
    [
        ("worse", 1, ["'poor' is worse than 'good': −40.0 points (−"]),
        ("worse=40pt", 1, ["'poor' is worse than 'good' by 40 points or more: −40.0 points"]),
        ("worse=40.1", 0, []),
        ("worse, worse=1pt", 1, ["worse than 'good': ", "by 1 points or more"]),
    ],
)
def test_model_worse_than_the_baseline_breaks_the_rule(cli, rules, code, reasons):
    """The rule "worse" compares the interval, and "worse=2pt" the points."""
    cli(*GOOD_AND_POOR.split(), "--baseline", "good", "--fail-on", rules, code=code)
    assert [reason for reason in reasons if reason not in cli.err] == []
    assert cli.err.count("Broken: ") == len(reasons)


def test_better_model_breaks_no_rule(cli):
    told = cli.told(f"{GOOD_AND_POOR} --baseline poor --fail-on worse,worse=0pt")
    assert told["broken"] == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("compare dev.jsonl good.lst", "needs the predictions of 2 to 26 solvers, not of 1"),
        (f"{GOOD_AND_POOR} --baseline best", "unknown baseline 'best'; use one of 'good', 'poor'"),
        (f"{GOOD_AND_POOR} --fail-on worse", "add --baseline NAME"),
        (f"{GOOD_AND_POOR} --baseline good --fail-on wrose", "unknown rule 'wrose'"),
    ],
)
def test_impossible_comparisons_and_rules_are_refused(cli, command, reason):
    assert reason in cli.refused(command)
