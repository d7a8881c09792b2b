"""Pools of several files."""

import json
import tomllib
from dataclasses import replace

import pytest

from winosmith import formats, validate
from winosmith.build import build, format_recipe, parse_recipe, read_pool, read_pool_votes
from winosmith.errors import DataError, FormatError, RecipeError
from winosmith.lineage import make_child
from winosmith.response import Response
from winosmith.testing import make_twins


@pytest.fixture
def folder(tmp_path):
    """Return a folder with twins, and with a file of one of their roots and its child."""
    twins = make_twins(5).problems
    child = make_child(
        twins[0], twins[0].sentence, twins[0].options[::-1], 1 - twins[0].answer, source="person"
    )
    formats.write(twins, tmp_path / "twins.jsonl")
    formats.write([replace(twins[0], twin_id=None), child], tmp_path / "grown.jsonl")
    for number, problem in enumerate((twins[0], child), start=1):
        vote = Response(problem.id, "p1", "validate", problem.answer)
        validate.write_votes([vote], tmp_path / f"votes-{number}.csv")
    return tmp_path


def _recipe(folder, **files):
    return parse_recipe({"name": "mine", **files}, folder=folder)


def test_pool_of_two_files_contains_shared_problems_once(folder):
    """A shared problem comes from the first file, with its twin.

    The votes of both files are read.
    """
    recipe = _recipe(
        folder, data=["twins.jsonl", "grown.jsonl"], votes_file=["votes-1.csv", "votes-2.csv"]
    )
    pool = read_pool(recipe)
    assert len(pool) == 11
    assert len(pool.twins) == 5
    assert pool[10].root == pool[0].id
    assert [vote.problem_id for vote in read_pool_votes(recipe)] == [pool[0].id, pool[10].id]
    assert read_pool_votes(_recipe(folder, data="twins.jsonl")) == ()


def test_recipe_of_several_files_is_a_round_trip(folder):
    recipe = _recipe(folder, data=["twins.jsonl", "grown.jsonl"], votes_file=["votes-1.csv"])
    text = format_recipe(recipe)
    assert 'data = ["twins.jsonl", "grown.jsonl"]\n' in text
    assert parse_recipe(tomllib.loads(text), folder=folder) == recipe


def test_two_problems_with_one_id_are_refused_with_both_files(folder):
    twins = make_twins(2).problems
    formats.write([replace(twins[0], answer=1 - twins[0].answer)], folder / "odd.jsonl")
    with pytest.raises(FormatError, match=r"odd\.jsonl: the id .* another problem in .*twins"):
        read_pool(_recipe(folder, data=["twins.jsonl", "odd.jsonl"]))


def _far_apart(path, count=60):
    """Write twins that share few words and are marked only by the column `pair`."""
    rows = ["pair,sentence,option1,option2,answer"]
    for at in range(count):
        one, other = f"cup{at % 7}", f"jug{at % 5}"
        first = f"Nobody saw the {one} in {at} by the {other} as the _ hid."
        second = f"When I came to {at} all liked that _ more than any {one} or {other} there."
        rows += [f"{at},{first},{one},{other},1", f"{at},{second},{one},{other},2"]
    path.write_text("\n".join(rows))


def test_pair_by_marks_twins_and_is_requested_if_missing(tmp_path):
    _far_apart(tmp_path / "twins.csv")
    asked = {"data": "twins.csv", "structure": {"rules": "none"}, "filter": {"method": "none"}}
    with pytest.raises(FormatError, match=r"twins\.csv: .*`pair_by = 'pair'` in the recipe"):
        build(_recipe(tmp_path, **asked), tmp_path / "out")
    made = build(_recipe(tmp_path, **asked, pair_by="pair"), tmp_path / "out")
    assert made.funnel.collected.twins == 60
    names = ("train_xl.jsonl", "dev.jsonl", "private/test.jsonl")
    sides = [formats.read(made.folder / name, as_written=True) for name in names]
    assert [(len(side) > 5, len(side.singles)) for side in sides] == [(True, 0)] * 3


@pytest.mark.parametrize("mark", ["ids", "a column"])
def test_halves_in_two_files_are_twins(tmp_path, mark):
    _far_apart(tmp_path / "all.csv")
    head, *rows = (tmp_path / "all.csv").read_text().splitlines()
    for at, name in enumerate(("one.csv", "other.csv")):
        ids = [f"{n}-{at + 1}" if mark == "ids" else f"{name}{n + 60 * at}" for n in range(60)]
        own = "\n".join(map(",".join, zip(ids, rows[at::2], strict=True)))
        (tmp_path / name).write_text(f"id,{head}\n{own}")
    data = ["one.csv", "other.csv"]
    if mark == "a column":
        told = r"'pair' puts 120 of 120 problems .*`pair_by = 'pair'` in the recipe"
        with pytest.raises(FormatError, match=told):
            read_pool(_recipe(tmp_path, data=data))
    pool = read_pool(_recipe(tmp_path, data=data, pair_by=None if mark == "ids" else "pair"))
    assert len(pool.twins) == 60


def test_notes_of_the_reader_are_in_the_report(tmp_path):
    made = enumerate(make_twins(40).problems)
    bare = [replace(p, id=f"p{at}", twin_id=None) for at, p in made]
    rows = (f'{{"id":"{p.id}","sentence":"{p.sentence}","options":["{p.options[0]}",'
            f'"{p.options[1]}"],"answer":{p.answer}}}' for p in bare)  # fmt: skip
    (tmp_path / "twins.jsonl").write_text("\n".join(rows))
    recipe = _recipe(tmp_path, data="twins.jsonl", filter={"method": "none"},
                     structure={"rules": "none"})  # fmt: skip
    with pytest.warns(formats.ReadingNote):
        made = build(recipe, tmp_path / "out")
    note = "twins.jsonl: 80 of 80 problems are read as 40 twins, found by their texts"
    assert json.loads((made.folder / "report.json").read_text())["reading"][0].startswith(note)
    assert note in made.report.read_text()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (["9" * 4000], "does not exist"),
        ([], "data is \\[\\]; it must name a file"),
        (["twins.jsonl", "gone.jsonl"], "data is 'gone.jsonl', but the file"),
        (["twins.jsonl", "../{}/twins.jsonl"], "two files are named 'twins.jsonl'"),
        (["twins.jsonl", 3], "must be text or a list of texts"),
    ],
)
def test_invalid_data_of_a_recipe_are_refused(folder, data, told):
    named = [one.format(folder.name) if isinstance(one, str) else one for one in data]
    with pytest.raises(RecipeError, match=told):
        _recipe(folder, data=named)


def test_empty_pool_error_counts_drops_by_rule(tmp_path):
    problems = [
        replace(problem, twin_id=None, options=(*problem.options, "the pot"))
        for problem in make_twins(3)
    ]
    formats.write(problems, tmp_path / "three.jsonl")
    told = r"no problems are left.*of 6 collected, these were dropped: 6 by structure \(options\)"
    with pytest.raises(DataError, match=told):
        build(_recipe(tmp_path, data="three.jsonl"), tmp_path / "out")
