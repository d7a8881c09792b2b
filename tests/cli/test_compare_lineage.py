"""`winosmith compare --by lineage` shows whose families survive longer."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from winosmith import Dataset, Lineage, Prediction, answers, formats
from winosmith.metrics import compare_survival, grade
from winosmith.testing import make_twins

ROOTS = make_twins(0, singles=12)
DATA = Dataset(
    [
        *ROOTS,
        *(
            replace(p, id=f"{p.id}.{n}", sentence=f"{'well ' * n}{p.sentence}",
                    lineage=Lineage(p.id, p.id, declared=n))
            for p in ROOTS for n in range(1, 7)
        ),
    ],
    "evolved",
)  # fmt: skip


def said(first_error: int) -> list[Prediction]:
    """Return predictions that are incorrect from a declared depth on."""
    deep = [(p.lineage.declared or 0) >= first_error if p.lineage else False for p in DATA]
    return [Prediction(p.id, (p.answer or 0) ^ wrong) for p, wrong in zip(DATA, deep, strict=True)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with families and three solvers, one of which is always correct."""
    monkeypatch.chdir(tmp_path)
    formats.write(DATA, "evolved.jsonl")
    for name, depth in (("early", 2), ("late", 5), ("never", 9)):
        answers.write_predictions(said(depth), f"{name}.jsonl", DATA, solver=name)
    return tmp_path


def test_later_errors_are_reported_with_a_paired_test(cli: Cli) -> None:
    """In all 12 families, one solver fails at depth 2 and the other at 5: p = 2 / 2^12."""
    arguments = ["compare", "evolved.jsonl", "early.jsonl", "late.jsonl", "--by", "lineage"]
    (pair,) = cli.told(*arguments)["by_lineage"]
    expected = compare_survival(grade(DATA, said(2)), grade(DATA, said(5))).record()
    assert pair == {
        "first": "early",
        "second": "late",
        "survival": json.loads(json.dumps(expected)),
    }
    assert pair["survival"]["p_value"] == pytest.approx(2 / 2**12)
    shown = cli(*arguments, "--out", "page.html")
    assert "Depth of the first error (declared), in 12 families" in shown
    row = next(x for x in shown.splitlines() if x.startswith("A − B") and "2nd" in x).split()
    assert row[3:8] == ["12", "12", "2", "5", "2nd"]
    assert "Signature of A − B by lineage: data:" in shown
    assert "Depth of the first error" in Path("page.html").read_text("utf-8")


def test_three_pairs_have_p_values_corrected_by_holm(cli: Cli) -> None:
    """The smallest p-value is multiplied by 3.

    The median depth of a solver without errors isn't defined.
    """
    files = [f"{name}.jsonl" for name in ("early", "late", "never")]
    shown = cli("compare", "evolved.jsonl", *files, "--by", "lineage", "--depth", "edit").partition(
        "Depth of the first error (edit)"
    )[2]
    rows = [line.split() for line in shown.splitlines() if line[:1] in "AB" and "2nd" in line]
    assert [row[-2:] for row in rows] == [["0.0005", "0.0015"]] * 3
    assert rows[1][3:7] == ["12", "0", "2", "2nd"]
    assert max(map(len, shown.partition("Signature")[0].splitlines())) <= 80


def test_depth_without_by_lineage_is_refused(cli: Cli) -> None:
    files = ["evolved.jsonl", "early.jsonl", "late.jsonl"]
    assert "--depth needs --by lineage" in cli.refused("compare", *files, "--depth", "edit")
