"""Filters whose vectors can't distinguish problems report no success."""

import html
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winosmith import Dataset, embed
from winosmith.build import EmbedRecipe, FilterRecipe, debias_to_folder
from winosmith.testing import make_twins

POOL = make_twins(60, singles=10)


def file_of(tmp_path: Path, X: Any, data: Dataset = POOL) -> EmbedRecipe:
    """Write vectors that are differences of the options, like `winosmith embed`."""
    path = tmp_path / "vectors.npz"
    written = json.dumps({"parameters": {"combine": "difference"}})
    embed.save_array(path, np.asarray(X, np.float32), data.ids, signature=written)
    return EmbedRecipe(array=str(path))


BLIND = {
    "zeros": np.zeros((130, 4)),
    "constant": np.ones((130, 4)),
    "halves alike": np.vstack(
        [np.repeat(np.random.default_rng(0).normal(size=(60, 4)), 2, axis=0), np.zeros((10, 4))]
    ),
}


@pytest.mark.parametrize("method", ["aflite", "mirror"])
@pytest.mark.parametrize("vectors", BLIND)
def test_filter_with_blind_vectors_removes_nothing(
    tmp_path: Path, vectors: str, method: Any
) -> None:
    """Page, JSON and figures state that the result isn't measured, and why."""
    answers = Dataset(replace(p, answer=0) if row >= 120 else p for row, p in enumerate(POOL))
    embedding = file_of(tmp_path, BLIND[vectors])
    chosen = FilterRecipe(method=method, threshold=0.5, train_size=10, ensemble_size=8)
    done = debias_to_folder(answers, tmp_path / "out", embed=embedding, filter_recipe=chosen)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    assert (record["kept"], record["dropped"], record["blind"]) == (130, 0, True)
    assert record["verdict"].startswith("Not measured: for 70 of 70 twins and singles the vectors ")
    assert record["verdict"].endswith("Nothing was removed.")
    assert record["measures"]["verified"] is record["measures"]["before"] is None
    assert record["sight"] == {"units": 70, "seen": 0}
    assert record["figures"][0]["value"] == "—"
    assert record["figures"][0]["note"].startswith("not measured: ")
    page = html.unescape((done.folder / "report.html").read_text("utf-8"))
    assert record["verdict"] in page
    assert "No guesser differs" not in page


@pytest.mark.parametrize("method", ["random", "pmi"])
def test_random_and_pmi_run_unmeasured_with_blind_vectors(tmp_path: Path, method: Any) -> None:
    chosen = FilterRecipe(method=method, keep=100, again=False)
    embedding = file_of(tmp_path, BLIND["zeros"])
    done = debias_to_folder(POOL, tmp_path / "out", embed=embedding, filter_recipe=chosen)
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    assert (record["kept"], record["blind"]) == (100, True)
    assert record["verdict"].startswith("Not measured: ")
    assert "Nothing was removed" not in record["verdict"]


def test_vectors_that_distinguish_a_tenth_are_measured(tmp_path: Path) -> None:
    X = np.array(BLIND["halves alike"])
    X[:14:2] += 1
    done = debias_to_folder(
        POOL,
        tmp_path / "out",
        embed=file_of(tmp_path, X),
        filter_recipe=FilterRecipe(ensemble_size=8, again=False),
        splits=1,
    )
    record = json.loads((done.folder / "report.json").read_text("utf-8"))
    assert record["sight"] == {"units": 70, "seen": 7}
    assert not record["blind"]
    assert record["measures"]["verified"] is not None
