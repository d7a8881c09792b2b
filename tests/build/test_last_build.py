"""A build that follows another one, in its folder and on the terminal."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from winosmith import Dataset, Lineage, formats
from winosmith.build import build, finished_build, read_last, read_recipe
from winosmith.cli import main
from winosmith.errors import InputError, OutputError
from winosmith.testing import made_twins

RECIPE = """
name = "small"
data = "{data}"
[embed]
dimensions = 8
[filter]
method = "none"
[measure]
splits = 0
[split]
dev = 0.2
test = 0.3
[files]
format = "{format}"
"""


def _recipe(folder, data, kind="winosmith"):
    name = f"{len(data)}.jsonl"
    formats.write(data, folder / name)
    path = folder / f"{len(data)}-{kind}.toml"
    path.write_text(RECIPE.format(data=name, format=kind), "utf-8")
    return path


def _sides(folder, data):
    sides = {former.problem.id: former.side for former in read_last(folder).former}
    return {problem.id: sides[problem.id] for problem in data}


def _tied(data, sides):
    """Return a problem that puts the first family of train and the first of test together."""
    train, test = (next(p for p in data if sides[p.id] == side) for side in ("train", "test"))
    near = f"{train.sentence} Really."  # no copy, of which only one would stay
    return replace(train, id="tie", sentence=near, twin_id=None, lineage=Lineage(test.id, test.id))


@pytest.fixture
def first(tmp_path):
    """Return a pool, and the folder of a build of it, by the command."""
    data = made_twins(40)
    assert main(["build", f"{_recipe(tmp_path, data)}", "--out", f"{tmp_path / 'first'}"]) == 0
    return data, tmp_path / "first"


@pytest.mark.parametrize("kind", ["winosmith", "winogrande"])
def test_the_next_build_leaves_all_where_it_was(tmp_path, kind):
    """Whatever the format of the files, and where the ids of the pool are other ones."""
    data = made_twins(40)
    build(read_recipe(_recipe(tmp_path, data, kind)), tmp_path / "first")
    before = _sides(tmp_path / "first", data)
    assert sorted(before.values()).count("dev") == 16
    grown = Dataset([replace(p, id=f"n-{p.id}") for p in data] + list(made_twins(50)[80:]))
    after = build(
        read_recipe(_recipe(tmp_path, grown, kind)), tmp_path / "next", last=tmp_path / "first"
    )
    assert after.sides is not None
    assert sum(after.sides["new"].values()) == 20
    now = {f.problem.id: f.side for f in read_last(tmp_path / "next").former}
    assert {id_: now[f"n-{id_}"] for id_ in before} == before


def test_a_block_that_joins_two_sides_is_told(first, tmp_path, capsys):
    """It is in train, and terminal, report and figures say so."""
    data, folder = first
    sides = _sides(folder, data)
    grown = Dataset([*data, _tied(data, sides)])
    command = ["build", f"{_recipe(tmp_path, grown)}", "--out", f"{tmp_path / 'next'}"]
    assert main([*command, "--last", f"{folder}"]) == 0
    told = "1 block joins what was in train and test, and is in train now (5 problems)"
    assert told in capsys.readouterr().err
    assert told in (tmp_path / "next/report.html").read_text("utf-8")
    record = json.loads((tmp_path / "next/report.json").read_text("utf-8"))["sides"]
    (joint,) = record["joined"]
    assert (joint["former"], joint["side"], len(joint["problems"])) == (
        ["train", "test"],
        "train",
        5,
    )
    now = _sides(tmp_path / "next", data)
    moved = {id_ for id_ in sides if sides[id_] != now[id_]}
    assert {sides[id_] for id_ in moved} == {"test"}
    assert len(moved) == 2
    recipe = (tmp_path / "next/recipe.toml").read_text("utf-8")
    assert "--last LAST" in recipe
    assert record["last"] in recipe
    again = build(read_recipe(command[1]), tmp_path / "again", last=folder,
                  vectors_from=tmp_path / "next")  # fmt: skip
    sums = [f / "checksums.sha256" for f in (again.folder, tmp_path / "next")]
    assert sums[0].read_bytes() == sums[1].read_bytes()


def test_a_build_with_another_last_one_is_another_build(first, tmp_path):
    """A folder goes on only with the last build that it began with."""
    data, folder = first
    recipe = read_recipe(_recipe(tmp_path, data))
    build(recipe, tmp_path / "next", last=folder)
    assert finished_build(recipe, tmp_path / "next", last=folder)
    with pytest.raises(OutputError, match=r"holds the results of another recipe .*last is"):
        finished_build(recipe, tmp_path / "next")


def test_what_is_no_last_build_is_told(first, tmp_path):
    """A folder without a build, without its private files, with broken ones, and the same one."""
    data, folder = first
    recipe = read_recipe(_recipe(tmp_path, data))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no finished build .*checksums\.sha256 is missing"):
        build(recipe, tmp_path / "next", last=tmp_path / "empty")
    with pytest.raises(InputError, match="and is the last build, too"):
        build(recipe, folder, last=folder)
    (folder / "private/sides.jsonl").write_text('{"id": "a"}\n', "utf-8")
    with pytest.raises(InputError, match="the sides of this build can't be read"):
        build(recipe, tmp_path / "next", last=folder)
    shutil.rmtree(folder / "private")
    with pytest.raises(InputError, match=r"private/ids\.jsonl is missing"):
        build(recipe, tmp_path / "next", last=folder)
    assert not (tmp_path / "next").exists()
