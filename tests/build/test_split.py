"""Splits, sizes of training sets, and builds that keep the splits of a previous build."""

import json
import shutil
from dataclasses import replace

import pytest
from hypothesis import assume, given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Lineage, Origin, Problem, formats
from winosmith.blocks import shuffle_blocks
from winosmith.build import build, is_build_finished, read_last_build, read_recipe
from winosmith.build._split import make_nested_sets, split
from winosmith.cli import main
from winosmith.errors import DataError, InputError, OutputError
from winosmith.splits import PreviousProblem, assign_splits, choose_kept_split, find_previous_splits
from winosmith.testing import make_twins


@st.composite
def filtered(draw_from):
    """Draw a data set, the rows of its pool and the rows that a filter kept."""
    data = make_twins(
        draw_from(st.integers(1, 40)),
        singles=draw_from(st.integers(0, 10)),
        seed=draw_from(st.integers(0, 99)),
    )
    rows = range(len(data))
    pool = [row for row in rows if draw_from(st.integers(0, 9))]
    kept = [row for row in pool if draw_from(st.booleans())]
    return data, pool, kept


@given(filtered(), st.integers(0, 5))
def test_no_twin_is_in_two_splits(drawn, seed):
    """Also if half of it was filtered out."""
    data, pool, kept = drawn
    result = split(data, shuffle_blocks(data, seed), pool=pool, kept=kept, dev=0.2, test=0.2)
    twin = [problem.twin_id for problem in data]
    held_out = {twin[row] for row in (*result.dev, *result.test)}
    assert {twin[row] for row in result.dev}.isdisjoint(twin[row] for row in result.test)
    assert held_out.isdisjoint(twin[row] for row in (*result.debiased, *result.train))
    assert {row for row in range(len(data)) if twin[row] in held_out} == {
        *result.dev,
        *result.test,
        *result.withheld,
    }


@given(filtered())
def test_every_kept_problem_is_published_once(drawn):
    data, pool, kept = drawn
    result = split(data, shuffle_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.3)
    assert sorted((*result.debiased, *result.dev, *result.test)) == sorted(kept)
    assert {*result.train} <= {*pool}


@given(filtered())
def test_training_rows_are_adjacent_twins(drawn):
    data, pool, kept = drawn
    train = split(data, shuffle_blocks(data, 0), pool=pool, kept=kept, dev=0.1, test=0.1).train
    assert all(
        data[one].twin_id == data[other].twin_id
        for one, other in zip(train[::2], train[1::2], strict=True)
    )


def test_sizes_are_nested_and_grow_fourfold():
    train = list(reversed(range(40_398)))
    sizes = make_nested_sets(train)
    assert {name: len(rows) for name, rows in sizes.items()} == {
        "xs": 160,
        "s": 640,
        "m": 2560,
        "l": 10240,
        "xl": 40398,
    }
    assert all(sizes["xl"][: len(rows)] == rows for rows in sizes.values())


@st.composite
def written(draw_from):
    """Draw a data set whose twins are by few contributors, some anonymous."""
    data = make_twins(draw_from(st.integers(8, 40)), seed=draw_from(st.integers(0, 9)))
    people = draw_from(st.lists(st.sampled_from([*"abcdefgh", None]), min_size=40, max_size=40))
    number = {twin: at for at, rows in enumerate(data.twins) for twin in rows}
    return Dataset(
        replace(problem, origin=Origin("crowd", author=people[number[row]]))
        for row, problem in enumerate(data)
    )


@given(written(), st.floats(0.05, 0.3))
def test_splits_share_no_contributor_if_disjoint(data, share):
    """All problems are in a split, and dev and test exceed their size by at most 10 %."""
    rows = range(len(data))
    try:
        result = split(
            data,
            shuffle_blocks(data, 0),
            pool=rows,
            kept=rows,
            dev=share,
            test=share,
            disjoint="contributor",
        )
    except DataError as error:
        assert "every contributor has more problems" in str(error)  # noqa: PT017 - one of two ends
        return
    parts = (result.debiased, result.dev, result.test)
    who = [{data[row].origin.author for row in part} - {None} for part in parts]
    assert sum(map(len, who)) == len(set.union(*who))
    assert sorted(row for part in parts for row in part) == [*rows]
    assert max(len(result.dev), len(result.test)) <= 1.1 * round(share * len(data))


def test_disjoint_sources_are_split_and_one_source_is_refused():
    data = Dataset(
        replace(problem, origin=Origin("small" if row < 8 else "large"))
        for row, problem in enumerate(make_twins(30))
    )
    asked = {"pool": range(60), "kept": range(60), "dev": 0.15, "test": 0.0}
    found = split(data, shuffle_blocks(data, 0), **asked, disjoint="source")
    assert {data[row].origin.source for row in found.dev} == {"small"}
    assert {data[row].origin.source for row in found.debiased} == {"large"}
    one = Dataset(replace(problem, origin=Origin("large")) for problem in data)
    with pytest.raises(DataError, match="every source has more problems than the 9 for dev"):
        split(one, shuffle_blocks(one, 0), **asked, disjoint="source")


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
    sides = {previous.problem.id: previous.split for previous in read_last_build(folder).previous}
    return {problem.id: sides[problem.id] for problem in data}


def _tied(data, sides):
    """Return a problem that joins the first family of train and the first of test."""
    train, test = (next(p for p in data if sides[p.id] == side) for side in ("train", "test"))
    near = f"{train.sentence} Really."  # not a copy, because only one copy would be kept
    return replace(train, id="tie", sentence=near, twin_id=None, lineage=Lineage(test.id, test.id))


@pytest.fixture
def first(tmp_path):
    """Build a pool by the command, and return the pool and the folder."""
    data = make_twins(40)
    assert main(["build", f"{_recipe(tmp_path, data)}", "--out", f"{tmp_path / 'first'}"]) == 0
    return data, tmp_path / "first"


@pytest.mark.parametrize("kind", ["winosmith", "winogrande"])
def test_next_build_keeps_all_splits(tmp_path, kind):
    data = make_twins(40)
    build(read_recipe(_recipe(tmp_path, data, kind)), tmp_path / "first")
    before = _sides(tmp_path / "first", data)
    assert sorted(before.values()).count("dev") == 16
    grown = Dataset([replace(p, id=f"n-{p.id}") for p in data] + list(make_twins(50)[80:]))
    after = build(
        read_recipe(_recipe(tmp_path, grown, kind)), tmp_path / "next", last=tmp_path / "first"
    )
    assert after.sides is not None
    assert sum(after.sides["new"].values()) == 20
    now = {f.problem.id: f.split for f in read_last_build(tmp_path / "next").previous}
    assert {id_: now[f"n-{id_}"] for id_ in before} == before


def test_joined_blocks_move_to_train_and_are_reported(first, tmp_path, capsys):
    data, folder = first
    sides = _sides(folder, data)
    grown = Dataset([*data, _tied(data, sides)])
    command = ["build", f"{_recipe(tmp_path, grown)}", "--out", f"{tmp_path / 'next'}"]
    assert main([*command, "--last", f"{folder}"]) == 0
    told = "1 block joins problems of train and test and is now in train (5 problems)"
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


def test_build_resumes_only_with_the_same_last_build(first, tmp_path):
    data, folder = first
    recipe = read_recipe(_recipe(tmp_path, data))
    build(recipe, tmp_path / "next", last=folder)
    assert is_build_finished(recipe, tmp_path / "next", last=folder)
    with pytest.raises(OutputError, match=r"contains results from other settings .*last is"):
        is_build_finished(recipe, tmp_path / "next")


def test_unusable_last_builds_are_refused(first, tmp_path):
    data, folder = first
    recipe = read_recipe(_recipe(tmp_path, data))
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        InputError, match=r"contains no finished build.*checksums\.sha256 is missing"
    ):
        build(recipe, tmp_path / "next", last=tmp_path / "empty")
    with pytest.raises(InputError, match="is both the output and the last build"):
        build(recipe, folder, last=folder)
    (folder / "private/sides.jsonl").write_text('{"id": "a"}\n', "utf-8")
    with pytest.raises(InputError, match="the splits of this build can't be read"):
        build(recipe, tmp_path / "next", last=folder)
    shutil.rmtree(folder / "private")
    with pytest.raises(InputError, match=r"private/sides\.jsonl is missing"):
        build(recipe, tmp_path / "next", last=folder)
    assert not (tmp_path / "next").exists()


SHARES = {"dev": 0.2, "test": 0.3}


@st.composite
def two_pools(draw_from):
    """Draw a pool and a later version of it, with removed, new, copied and joined problems."""
    whole = make_twins(draw_from(st.integers(12, 40)), seed=draw_from(st.integers(0, 99)))
    rng = draw_from(st.randoms(use_true_random=False))
    cut = rng.randrange(8, len(whole) // 2) * 2
    before = Dataset(
        replace(p, origin=Origin(author=rng.choice("abcdefghij"))) for p in whole[:cut]
    )
    after = [p for p in (*before, *whole[cut:]) if rng.random() < 0.9]
    after += [_tying(rng.choice(before), rng.choice(before), at) for at in range(rng.randrange(3))]
    return before, Dataset(after), [_kept(rng, each) for each in (before, after)]


def _kept(rng, problems):
    return [row for row in range(len(problems)) if rng.random() < 0.7]


def _tying(one, other, at):
    """Return a copy of one problem in the family of the other, which joins their blocks."""
    return replace(one, id=f"tie{at}", twin_id=None, lineage=Lineage(other.root, other.id))


def _split(dataset, kept, **more):
    rows = range(len(dataset))
    return split(dataset, shuffle_blocks(dataset, 3), pool=rows, kept=kept, **{**SHARES, **more})


def _in_turn(before, kept, after, kept_now, **more):
    """Split one pool, then the other with its splits; discard examples that can't be split."""
    try:
        first = _split(before, kept)
        previous = [PreviousProblem(p, first.sides[row]) for row, p in enumerate(before)]
        return previous, _split(after, kept_now, previous=previous, **more)
    except DataError:
        assume(False)


@examples(60)
@given(two_pools())
def test_old_blocks_keep_their_splits(drawn):
    """A joined block goes to train, else to dev, because public answers can't become test."""
    before, after, (kept, kept_now) = drawn
    previous, second = _in_turn(before, kept, after, kept_now)
    old = {f.problem.id: f.split for f in previous}
    joined = {row for joint in second.joined_blocks for row in joint.rows}
    for row, problem in enumerate(after):
        if problem.id in old and row not in joined:
            assert second.sides[row] == old[problem.id]
            assert row in second.old
    for joint in second.joined_blocks:
        assert len(joint.previous) > 1
        assert joint.split == ("train" if "train" in joint.previous else "dev")
        assert {second.sides[row] for row in joint.rows} == {joint.split}
    parts = (*second.debiased, *second.dev, *second.test)
    assert sorted(parts) == kept_now
    told = {f.problem.id for f in previous if f.split != "test"}
    assert not told & {after[row].id for row in (*second.test, *second.withheld)
                       if second.sides[row] == "test"}  # fmt: skip
    assert {*second.train}.isdisjoint({*second.dev, *second.test, *second.withheld})


@examples(30)
@given(two_pools(), st.randoms(use_true_random=False))
def test_splits_do_not_depend_on_the_order_of_pools(drawn, rng):
    before, after, (kept, kept_now) = drawn
    previous, second = _in_turn(before, kept, after, kept_now)
    rows = rng.sample(range(len(after)), len(after))
    rng.shuffle(previous)
    place = {old: new for new, old in enumerate(rows)}
    other = _split(after.select(rows), [place[row] for row in kept_now], previous=previous)
    assert {row: other.sides[place[row]] for row in place} == second.sides


@given(two_pools())
def test_new_problems_follow_their_contributor_if_disjoint(drawn):
    before, after, (kept, _) = drawn
    before = Dataset(replace(p, origin=Origin(author=p.twin_id)) for p in before)
    after = Dataset(replace(p, origin=Origin(author=p.twin_id), id=f"new{p.id}", twin_id=None,
                            sentence=f"So {p.id} says: {p.sentence}", options=(f"x{p.id}", "y"))
                    for p in make_twins(12))  # fmt: skip
    previous, second = _in_turn(before, kept, after, range(24), disjoint="contributor")
    old = {f.problem.origin.author: f.split for f in previous}
    for row, problem in enumerate(after):
        assert second.sides[row] == old.get(problem.origin.author, second.sides[row])


def test_new_blocks_approach_the_requested_fractions():
    data = make_twins(100)
    previous = [PreviousProblem(data[row], "train" if row < 40 else "dev") for row in range(80)]
    found = _split(data, range(200), previous=previous)
    assert [len(part) for part in (found.debiased, found.dev, found.test)] == [100, 40, 60]
    crowded = _split(
        data, range(200), previous=[PreviousProblem(data[row], "dev") for row in range(100)]
    )
    assert len(crowded.dev) == 100
    assert abs(len(crowded.debiased) / 100 - len(crowded.test) / 60) < 0.05


def test_new_block_goes_to_the_least_filled_split():
    """Test has one of two problems, dev three of four."""
    data = make_twins(0, singles=5)
    previous = [PreviousProblem(data[row], "dev" if row < 3 else "test") for row in range(4)]
    found = assign_splits(
        data, [[row] for row in range(5)], {"dev": 4, "test": 2}, previous=previous
    )
    assert found[4].split == "test"


def test_filtered_test_blocks_stay_withheld():
    data = make_twins(30)
    previous = [PreviousProblem(problem, "test") for problem in data[:2]]
    found = _split(data, range(2, 60), previous=previous)
    assert {*found.withheld} >= {0, 1}
    assert {0, 1}.isdisjoint(found.train)


@pytest.mark.parametrize(
    ("now", "stays"),
    [
        ({}, True),
        ({"id": "other"}, True),
        ({"sentence": "The _ stood near the old red wall of the town, too."}, True),
        ({"sentence": "Gone is the _."}, True),
        ({"options": ("pen", "ink")}, True),
        ({"options": ("cup", "jug", "pen"), "sentence": "Gone is the _."}, False),
        ({"options": ("pen", "ink"), "sentence": "Nobody knew whose _ it was."}, False),
        ({"id": "other", "lineage": Lineage("r", "r"), "sentence": "Gone is the _."}, True),
        ({"id": "other", "lineage": Lineage("z", "z"), "sentence": "Gone is the _."}, False),
    ],
)
def test_previous_problem_is_recognised_by_text_or_family(now, stays):
    """An id alone isn't enough: another problem may have it now."""
    old = Problem("r", "The _ stood near the old red wall of the town.", ("cup", "jug"), 0)
    new = replace(old, **now)
    (sides,) = find_previous_splits(Dataset([new]), [[0]], [PreviousProblem(old, "test")])
    assert (choose_kept_split(sides) == "test") is stays


def test_empty_split_without_new_blocks_is_refused():
    data = make_twins(10)
    previous = [PreviousProblem(problem, "train") for problem in data]
    with pytest.raises(DataError, match=r"no problems are left for dev.*redraw = true"):
        _split(data, range(20), previous=previous)
