"""Builds and filters in which several embedders vote."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from winosmith import Dataset, formats
from winosmith.answers import Response
from winosmith.build import (
    ConsensusRecipe,
    EmbedRecipe,
    FilterRecipe,
    Panel,
    Recipe,
    build,
    debias_to_folder,
    finished_filter,
    read_recipe,
    recipe_of,
    recipe_table,
    recipe_toml,
    run_filter,
)
from winosmith.errors import DataError, InputError, RecipeError
from winosmith.testing import made_twins
from winosmith.validate import write_votes

SMALL = {"ensemble_size": 16, "train_size": 40, "cutoff": 6, "threshold": 0.85, "again": False}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Return a folder with 60 twins, votes, and two files of vectors that see other problems."""
    folder = tmp_path_factory.mktemp("two")
    data = made_twins(60)
    formats.write(data.problems, folder / "twins.jsonl")
    rng = np.random.default_rng(0)
    sign = 2 * np.array(data.answers) - 1
    for name, rows in (("a", range(48)), ("b", range(24, 72))):
        X = rng.normal(size=(len(data), 4))
        X[list(rows), 0] += 6 * sign[list(rows)]
        np.savez(folder / f"{name}.npz", X=X, ids=np.array(data.ids))
    votes = [
        Response(p.id, who, purpose, p.answer if purpose == "validate" else None)
        for p in data
        for who in "xyz"
        for purpose in ("local", "validate")
    ]
    write_votes(votes, folder / "votes.csv")
    return folder


def _recipe(folder, **vote):
    table = {
        "name": "mine", "data": "twins.jsonl", "votes_file": "votes.csv",
        "embed": {"array": "a.npz"}, "filter": SMALL, "split": {"dev": 0.2, "test": 0.2},
        "consensus": {"embedders": ["b.npz"], **vote}, "measure": {"splits": 1},
    }  # fmt: skip
    return recipe_of(table, folder=folder)


def test_a_recipe_without_a_vote_is_published_as_before():
    """No vote leaves no trace in the published recipe; a vote is written and read again."""
    plain = Recipe("mine", "pool.jsonl")
    assert "consensus" not in recipe_table(plain)
    assert "consensus" not in recipe_toml(plain)
    vote = ConsensusRecipe(("light:concat", "there/v.npz"), 2)
    text = recipe_toml(replace(plain, consensus=vote))
    assert '[consensus]\nembedders = ["light:concat", "v.npz"]\nleast = 2' in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"consensus": {"embedders": ["light"], "least": 3}}, r"\[consensus\] least is 3; it is 1"),
        ({"consensus": {"floor": 0.9}}, r"consensus\.floor is gone: .* write method = \"mirror\""),
        ({"consensus": {"agreed": 1.0}}, r"consensus\.agreed is gone: "),
        ({"consensus": {"embedders": "light"}}, "must be a list of texts"),
        (
            {"consensus": {"embedders": ["light"]}, "filter": {"method": "pmi"}},
            'a vote on what AFLite drops; filter.method is "pmi"',
        ),
    ],
)
def test_a_vote_that_cannot_be_taken_is_refused(changes, told):
    """What a vote lacks, or what is out of its range, is told with its table."""
    with pytest.raises(RecipeError, match=told):
        recipe_of({"name": "mine", "data": "pool.jsonl", **changes})


def test_a_file_of_vectors_that_is_not_there_is_named(two):
    """The file is sought from the recipe's folder."""
    path = two / "wrong.toml"
    path.write_text('name = "m"\ndata = "twins.jsonl"\n[consensus]\nembedders = ["no.npz"]\n')
    with pytest.raises(RecipeError, match=r"wrong\.toml: consensus.embedders is 'no.npz', but"):
        read_recipe(path)


def test_a_build_drops_what_the_embedders_agree_on(two, tmp_path):
    """Dropped rows name both embedders, the report their vote, and its recipe builds the same."""
    built = build(_recipe(two), tmp_path / "one")
    vote = built.run.consensus
    assert vote is not None
    assert list(vote.runs) == ["a.npz", "b.npz"]
    assert (vote.found[vote.removed] == 2).all()
    assert built.run.kept.tolist() == vote.kept.tolist()
    assert len(vote.removed) >= 5
    reasons = [built.run.reasons[int(row)] for row in vote.removed]
    assert all(reason.startswith("guessed: by 2 of 2 embedders (a.npz ") for reason in reasons)
    record = json.loads((tmp_path / "one" / "report.json").read_text("utf-8"))
    assert record["consensus"]["removed"] == len(vote.removed)
    assert "|least:2|" in record["signature"]
    assert "What the embedders agree on" in (tmp_path / "one" / "report.html").read_text("utf-8")
    again = build(_recipe(two), tmp_path / "two", vectors_from=tmp_path / "one")
    sums = [(tmp_path / n / "checksums.sha256").read_text() for n in ("one", "two")]
    assert sums[0] == sums[1]
    assert again.run.kept.tolist() == built.run.kept.tolist()


def test_an_embedder_without_a_row_for_each_problem_is_named(two):
    """A panel whose vectors are not as many as the problems is refused by name."""
    pool = formats.read(two / "twins.jsonl")
    X = np.ones((len(pool), 2))
    panel = Panel(ConsensusRecipe(("b.npz",)), {"a": X, "b": X[1:]})
    with pytest.raises(DataError, match="b: there are 119 vectors for 120 problems"):
        run_filter(pool, X, FilterRecipe(**SMALL), seed=0, panel=panel)


def test_a_single_embedder_is_no_vote(two, tmp_path):
    """An empty vote is the same run as none: what one finished, the other need not do."""
    pool = Dataset(formats.read(two / "twins.jsonl")[:40], "twins")
    how = {
        "embed": EmbedRecipe(array=str(two / "a.npz")),
        "chosen": FilterRecipe("random", keep=20),
    }
    debias_to_folder(pool, tmp_path / "none", **how)
    assert finished_filter(pool, tmp_path / "none", vote=ConsensusRecipe(), **how)
    with pytest.raises(InputError, match=r"votes is gone: .* leave them out"):
        debias_to_folder(pool, tmp_path / "other", votes=[], **how)
