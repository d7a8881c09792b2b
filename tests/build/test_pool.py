"""A pool of several files."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

from winosmith import formats, validate
from winosmith.answers import Response
from winosmith.build import build, read_pool, read_pool_votes, recipe_of, recipe_toml
from winosmith.errors import DataError, FormatError, RecipeError
from winosmith.lineage import perturbed
from winosmith.testing import made_twins


@pytest.fixture
def folder(tmp_path):
    """Return a folder with twins, and with a root of theirs beside its child."""
    twins = made_twins(5).problems
    child = perturbed(
        twins[0], twins[0].sentence, twins[0].options[::-1], 1 - twins[0].answer, source="person"
    )
    formats.write(twins, tmp_path / "twins.jsonl")
    formats.write([replace(twins[0], twin_id=None), child], tmp_path / "grown.jsonl")
    for number, problem in enumerate((twins[0], child), start=1):
        vote = Response(problem.id, "p1", "validate", problem.answer)
        validate.write_votes([vote], tmp_path / f"votes-{number}.csv")
    return tmp_path


def _recipe(folder, **files):
    return recipe_of({"name": "mine", **files}, folder=folder)


def test_a_pool_of_two_files_holds_what_both_hold_once(folder):
    """What is in both is taken from the first, with its twin; the votes of both files are read."""
    recipe = _recipe(
        folder, data=["twins.jsonl", "grown.jsonl"], votes_file=["votes-1.csv", "votes-2.csv"]
    )
    pool = read_pool(recipe)
    assert len(pool) == 11
    assert len(pool.twins) == 5
    assert pool[10].root == pool[0].id
    assert [vote.problem_id for vote in read_pool_votes(recipe)] == [pool[0].id, pool[10].id]
    assert read_pool_votes(_recipe(folder, data="twins.jsonl")) == ()


def test_a_recipe_of_several_files_is_published_with_their_names(folder):
    """Its TOML is read again, beside the files, as the same recipe."""
    recipe = _recipe(folder, data=["twins.jsonl", "grown.jsonl"], votes_file=["votes-1.csv"])
    text = recipe_toml(recipe)
    assert 'data = ["twins.jsonl", "grown.jsonl"]\n' in text
    assert recipe_of(tomllib.loads(text), folder=folder) == recipe


def test_one_id_for_two_problems_is_told_with_both_files(folder):
    """The later file is named, and the earlier one that knows the id."""
    twins = made_twins(2).problems
    formats.write([replace(twins[0], answer=1 - twins[0].answer)], folder / "odd.jsonl")
    with pytest.raises(FormatError, match=r"odd\.jsonl: the id .* another problem in .*twins"):
        read_pool(_recipe(folder, data=["twins.jsonl", "odd.jsonl"]))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "data names no file"),
        (["twins.jsonl", "gone.jsonl"], "data is 'gone.jsonl', but there is no file"),
        (["twins.jsonl", "../{}/twins.jsonl"], "two files named 'twins.jsonl'"),
        (["twins.jsonl", 3], "must be text or a list of texts"),
    ],
)
def test_files_that_cannot_be_a_pool_are_told(folder, data, told):
    """No file, one that is not there, two of one name, or what is no name."""
    named = [one.format(folder.name) if isinstance(one, str) else one for one in data]
    with pytest.raises(RecipeError, match=told):
        _recipe(folder, data=named)


def test_a_pool_of_which_nothing_is_left_tells_what_dropped_it(tmp_path):
    """Where the third options are in no sentence, that rule is named, with its count."""
    problems = [
        replace(problem, twin_id=None, options=(*problem.options, "the pot"))
        for problem in made_twins(3)
    ]
    formats.write(problems, tmp_path / "three.jsonl")
    told = r"no problem is left.*of 6 collected, dropped are 6 by structure \(options\)"
    with pytest.raises(DataError, match=told):
        build(_recipe(tmp_path, data="three.jsonl"), tmp_path / "out")
