"""Small builds that several test files use."""

from dataclasses import replace

import pytest

from winosmith import Dataset, formats
from winosmith.build import build, parse_recipe
from winosmith.testing import make_twins

TABLE = {
    "name": "small",
    "data": "twins.jsonl",
    "embed": {"dimensions": 8},
    "split": {"dev": 0.2, "test": 0.3},
    "measure": {"splits": 2},  # each split filters both halves separately
}
"""The recipe of a small build, without its filter."""

AFLITE = {
    "ensemble_size": 16,
    "train_size": 60,
    "cutoff": 10,
    "threshold": 0.6,
    "target_size": 160,
}
"""The filter of `small_build`."""


@pytest.fixture(scope="session")
def make_build(tmp_path_factory):
    """Return a function that builds a benchmark from a data set."""

    def make(dataset, *, out=None, **tables):
        folder = tmp_path_factory.mktemp("build")
        formats.write(dataset.problems, folder / "twins.jsonl")
        if tables.get("filter", {}).get("method") in ("none", "random"):  # nothing to measure
            tables = {"measure": {"splits": 0}, **tables}
        return build(parse_recipe({**TABLE, **tables}, folder=folder), out or folder / "out")

    return make


@pytest.fixture(scope="session")
def telling_twins():
    """Return twins whose ids and order reveal every answer, as collected data often do."""
    made = make_twins(150, singles=20)
    marked = [replace(p, id=f"{p.twin_id}-answer{p.answer}") for p in made]
    return Dataset(sorted(marked, key=lambda p: (p.answer, p.twin_id)), "telling")


@pytest.fixture(scope="session")
def small_build(make_build, telling_twins):
    """Return an AFLite build of twins whose ids and order reveal the answers."""
    return make_build(telling_twins, filter=AFLITE)
