"""`winosmith fairness`, and what is gone of `winosmith debias`, as their users meet them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from winosmith import Dataset, formats, practice, solve
from winosmith.validate import write_votes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a pool, two kept sets, votes, a data map, and predictions."""
    place = tmp_path_factory.mktemp("fair")
    made = practice.corpus(60, seed=4)
    pool = made.dataset
    formats.write(pool.problems, place / "pool.jsonl")
    (place / "first").mkdir()
    formats.write(pool.problems[:70], place / "first" / "kept.jsonl")
    renamed = [replace(p, id=f"new-{n}", twin_id=None) for n, p in enumerate(pool.problems[30:90])]
    formats.write(renamed, place / "second.jsonl")
    write_votes(made.votes, place / "votes.csv")
    (place / "planted.json").write_text(json.dumps(dict(made.planted)))
    rows = [{"guid": 5 + n, "confidence": 0.2 + 0.005 * n, "variability": 0.1} for n in range(120)]
    (place / "map.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name, solver in (("a", solve.Random(seed=1)), ("b", solve.Random(seed=2))):
        solve.predict_to_file(solver, pool, place / f"{name}.jsonl")
    return place


@pytest.fixture
def here(folder, monkeypatch):
    """Go to the folder."""
    monkeypatch.chdir(folder)
    return folder


ASKED = ["fairness", "pool.jsonl", "first", "second.jsonl", "--draws", "40", "--votes", "votes.csv"]


def test_two_kept_sets_are_laid_beside_the_pool(here, cli):
    """Tables, JSON and page hold the same figures; sets with new ids are matched by content."""
    more = ["--dynamics", "map.jsonl", "--first-guid", "5", "--planted", "planted.json",
            "--predictions", "a.jsonl", "--predictions", "b.jsonl", "--out", "f.html"]  # fmt: skip
    shown = cli(*ASKED, *more)
    assert "first: 70 of 120 kept, 35 whole twins and 0 singles" in shown
    assert "second: 60 of 120 kept" in shown
    assert "second.jsonl: its ids are not those of the pool; matched by sentence" in cli.err
    assert "Do the models stay in their order?" in shown
    assert "With 40 draws no p is below" in " ".join(shown.split())
    record = cli.told(*ASKED, *more)
    assert list(record["sets"]) == ["first", "second"]
    figures = {f["name"]: f for f in record["sets"]["first"]["figures"]}
    assert figures["confidence in the label"]["kept"] == pytest.approx(0.2 + 0.005 * 34.5)
    assert {"planted", "all judges chose the answer", "tokens a problem"} <= set(figures)
    assert [c["second"] for c in record["ranking"]["correlations"]] == ["first", "second", "second"]
    page = (here / "f.html").read_text("utf-8")
    assert "<svg" in page
    assert record["signature"].split("|")[2] in page
    assert "<script" not in page


def test_an_option_that_the_command_lacks_is_not_named(here, cli):
    """Predictions of other problems are refused, without the `--partial` of other commands."""
    (here / "few.csv").write_text("id,choice\nx,1\n")
    solved = ["--predictions", "a.jsonl", "--predictions", "few.csv"]
    told = cli.refused("fairness", "pool.jsonl", "first", *solved)
    assert "was it made for another data set?" in " ".join(told.split())
    assert "--partial" not in told


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--predictions", "a.jsonl"], "one model has no order"),
        (["--dynamics", "map.jsonl"], "map.jsonl:116: guid is 120, but the rows of the pool are 0"),
        (["--planted", "votes.csv"], "votes.csv: not JSON"),
        (["--planted", "list.json"], "list.json: must map the ids"),
        (["first"], "is given twice"),
        (["empty"], "empty is a folder without kept.jsonl"),
        (["other.jsonl"], "is not in the pool, neither by its id nor by its sentence"),
        (["changed.jsonl"], "is another problem in the pool"),
    ],
)
def test_what_cannot_be_compared_ends_with_code_2(here, cli, asked, told):
    """Each message says what is wrong and where."""
    pool = formats.read("pool.jsonl")
    (here / "empty").mkdir(exist_ok=True)
    (here / "list.json").write_text("[]")
    stranger = replace(pool[0], id="x", sentence="Nobody knows why _ wrote this sentence today.")
    formats.write([stranger], "other.jsonl")
    formats.write([replace(stranger, id=pool.ids[0])], "changed.jsonl")
    assert told in cli.refused("fairness", "pool.jsonl", "first", "--draws", "20", *asked)


def test_a_pool_with_problems_twice_is_matched_one_by_one(here, cli):
    """Copies in the pool are used up one after the other."""
    pool = formats.read("pool.jsonl")
    twice = [replace(p, id=f"c{n}", twin_id=None) for n, p in enumerate((*pool[:20], *pool[:20]))]
    formats.write(twice, "twice.jsonl")
    formats.write(Dataset([replace(p, id=f"d{p.id}") for p in twice[:30]]).problems, "some.jsonl")
    assert cli.told("fairness twice.jsonl some.jsonl --draws 20")["sets"]["some"]["size"] == 30
