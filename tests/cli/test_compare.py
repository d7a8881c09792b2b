"""`winosmith compare` shows whether one solver is better than another."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Prediction, answers, formats
from winosmith.testing import make_twins

DATA = make_twins(40)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a data set and three lists of predictions."""
    monkeypatch.chdir(tmp_path)
    formats.write(DATA, "dev.jsonl")
    for name, every in (("good", 10), ("fair", 3), ("poor", 2)):
        labels = [(p.answer or 0) ^ (row % every == 0) for row, p in enumerate(DATA)]
        Path(f"{name}.lst").write_text("".join(f"{label + 1}\n" for label in labels))
    return tmp_path


def test_solvers_that_saw_different_inputs_are_reported(cli: Cli) -> None:
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


def test_single_file_and_unknown_baseline_are_refused(cli: Cli) -> None:
    assert "a comparison needs the predictions of 2 to 26 solvers, not of 1" in cli.refused(
        "compare dev.jsonl good.lst"
    )
    assert "unknown baseline 'best'; use one of 'good', 'poor'" in cli.refused(
        "compare dev.jsonl good.lst poor.lst --baseline best"
    )
