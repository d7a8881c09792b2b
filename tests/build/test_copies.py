"""A new benchmark has every problem once, in whole twins, and none that contradicts itself."""

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from winosmith import Dataset, Lineage, Problem, formats
from winosmith.blocks import find_contradictions, find_copies
from winosmith.build import build, read_recipe
from winosmith.build._pool import describe_copies, find_copies_to_omit, make_copies_record
from winosmith.testing import make_twins

NONE = {"method": "none"}


def again(problems, suffix="again", *, turned=False, **changes):
    """Return problems a second time, as twins of their own, on request with the options turned."""
    return [
        replace(
            problem,
            id=f"{problem.id}-{suffix}",
            twin_id=problem.twin_id and f"{problem.twin_id}-{suffix}",
            options=problem.options[::-1] if turned else problem.options,
            answer=1 - problem.answer if turned else problem.answer,
            **changes,
        )
        for problem in problems
    ]


def kept(dataset, seed=0):
    """Return what stays of a data set."""
    return dataset.drop(dict(find_copies_to_omit(dataset, seed).reasons), "copies").kept


def test_a_single_that_is_a_copy_of_a_half_goes():
    """The twin stays whole, and the single is told to be a copy."""
    data = make_twins(2)
    alone = replace(data[0], id="alone", twin_id=None)
    found = find_copies_to_omit(Dataset([alone, *data]), 0)
    assert found.reasons == {0: "copy: identical to a kept problem"}
    assert found.copy_of == {0: 1}


def test_of_two_twins_that_share_a_half_one_goes_whole():
    """No half is parted from the other: the twin goes, with the half that is no copy."""
    data = make_twins(2)
    near = replace(data[1], id="near", sentence=data[1].sentence.replace("was", "seemed"))
    twin = [*again(data[:1], "u"), replace(near, twin_id=f"{data[0].twin_id}-u")]
    whole = Dataset([*data, *twin])
    found = find_copies_to_omit(whole, 0)
    left = kept(whole)
    assert (len(left.twins), len(left.singles)) == (2, 0)
    gone = [whole[row].id for row in found.reasons]
    assert set(gone) in ({"0-0", "0-1"}, {"0-0-u", "near"})
    assert sorted(found.reasons.values()) == [
        "copy: identical to a kept problem",
        "copy: the other half is identical to a kept problem",
    ]


def test_the_twin_in_the_way_of_two_goes_rather_than_both():
    """Of three twins in a row, each sharing a half with the next, the outer two stay."""
    data = make_twins(2)
    middle = [
        replace(data[0], id="m0", twin_id="m"),
        replace(data[2], id="m1", twin_id="m"),
    ]
    for seed in range(5):
        assert set(kept(Dataset([*middle, *data]), seed).ids) == set(data.ids)


def test_a_group_without_a_problem_left_is_told():
    """Of twins (a, b), (a, c) and (b, c) two go, with them every row of one of three problems."""
    a, b = make_twins(2)[:2]
    c = replace(a, sentence=a.sentence.replace("was", "seemed"))
    twins = [(a, b), (a, c), (b, c)]
    data = Dataset(
        replace(half, id=f"{twin}-{side}", twin_id=f"{twin}", answer=side)
        for twin, halves in enumerate(twins)
        for side, half in enumerate(
            replace(of, options=of.options if of.answer == side else of.options[::-1])
            for side, of in enumerate(halves)
        )
    )
    found = find_copies_to_omit(data, 0)
    assert (len(found.groups), len(found.reasons)) == (3, 4)
    gone = [rows for rows in found.groups if found.reasons.keys() >= {*rows}]
    record = make_copies_record(found, "once", data.ids, data.ids)
    assert record["none_left"] == len(gone) - record["contradictory"] == 1
    [line, *_] = describe_copies(record)
    assert "one of each is kept, in whole twins (for 1, none" in line


def test_what_contradicts_itself_goes_with_its_twin():
    """All copies whose answers differ go, and their other halves, so that no single is made."""
    data = make_twins(3)
    liar = replace(data[0], id="liar", twin_id=None, answer=1 - data[0].answer)
    whole = Dataset([*data, liar])
    assert kept(whole).ids == data.ids[2:]
    assert find_copies_to_omit(whole, 0).reasons == {
        0: "contradictory: a copy has a different answer",
        1: "contradictory: a copy of the other half has a different answer",
        6: "contradictory: a copy has a different answer",
    }


def test_the_one_that_was_published_stays():
    """What was in the last benchmark stays in the next, whatever copies of it come in."""
    data = make_twins(1)
    for seed in range(8):
        whole = Dataset([*data, *again(data, "b"), *again(data, "c")])
        assert set(whole.ids) - {
            whole[row].id for row in find_copies_to_omit(whole, seed, {"0-0-b", "0-1-b"}).reasons
        } == {"0-0-b", "0-1-b"}


def test_a_root_stays_before_its_copy_among_the_perturbed():
    """A family does not lose its root to a perturbed problem that came back to it."""
    root = replace(make_twins(0, singles=1)[0], twin_id=None)
    back = replace(root, id="back", lineage=Lineage(root.id, root.id))
    for seed in range(8):
        assert kept(Dataset([back, root]), seed).ids == (root.id,)


@st.composite
def crowds(draw):
    """Draw twins and singles out of few texts, so that they meet in every way."""
    texts = make_twins(3, singles=1)
    halves = st.sampled_from(range(len(texts)))
    problems = []
    for number in range(draw(st.integers(0, 9))):
        size = draw(st.sampled_from([1, 2, 2]))
        for half in range(size):
            text = texts[draw(halves)]
            turned = draw(st.booleans())
            right = text.answer ^ (draw(st.integers(0, 9)) == 0)
            problems.append(
                replace(
                    text,
                    id=f"{number}-{half}",
                    twin_id=f"t{number}" if size == 2 else None,
                    options=text.options[::-1] if turned else text.options,
                    answer=1 - right if turned else right,
                    pronoun=draw(st.sampled_from([None, None, "it", "it", "she"])),
                )
            )
    return Dataset(problems)


@given(crowds(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_nothing_is_there_twice_and_no_twin_is_parted(data, seed, rng):
    """What stays has no copies and no new singles; whatever it leaves out could not stay.

    Which of the copies stay depends neither on the order of the rows, nor on the order of the
    options, nor on which option is right.
    """
    found = find_copies_to_omit(data, seed)
    result = data.drop(dict(found.reasons), "copies")
    assert result.input() == data
    left = result.kept
    group = {data[row].id: rows[0] for rows in find_copies(data) for row in rows}
    held = Counter(group[id_] for id_ in left.ids if id_ in group)
    assert set(held.values()) <= {1}
    assert len(left.singles) <= len(data.singles)
    assert len(left.twins) * 2 + len(left.singles) == len(left)
    wrong = {data[row].id for group in find_contradictions(data) for row in group}
    assert wrong.isdisjoint(left.ids)
    assert all(data[of].id in left for of in found.copy_of.values())
    for rows in data.groups:  # none could have stayed beside the others
        if not found.reasons.keys().isdisjoint(rows):
            ids = {data[row].id for row in rows}
            mine = [group[id_] for id_ in ids if id_ in group]
            twice = len({*mine}) < len(mine) or not held.keys().isdisjoint(mine)
            assert twice or not wrong.isdisjoint(ids)
    order = list(range(len(data)))
    rng.shuffle(order)
    assert set(kept(data.select(order), seed).ids) == set(left.ids)
    flipped = Dataset(replace(p, answer=1 - p.answer) for p in data)
    assert kept(flipped, seed).ids == left.ids
    flips = [rng.random() < 0.5 for _ in data]
    turned = Dataset(
        replace(p, options=p.options[::-1], answer=1 - p.answer) if flip else p
        for p, flip in zip(data, flips, strict=True)
    )
    assert kept(turned, seed).ids == left.ids


def published(built):
    """Return each set without ids, and the figures of the filter without their signature."""
    sets = {}
    for name in ("train_xl", "train_debiased", "dev", "private/test"):
        data = formats.read(built.folder / f"{name}.jsonl")
        sets[name] = [(p.sentence, p.options, p.answer) for p in data]
    record = json.loads((built.folder / "report.json").read_text("utf-8"))
    record["measures"].pop("signature")
    figures = {name: record[name] for name in ("figures", "aflite", "measures", "counts")}
    return sets, figures


def test_doubling_every_row_builds_the_same_benchmark(make_build):
    """A pool in which every twin is there twice gives the sets and figures of the pool itself."""
    data = make_twins(60, singles=6)
    chosen = {"filter": {"ensemble_size": 8, "train_size": 40, "cutoff": 5, "again": False},
              "measure": {"splits": 1}}  # fmt: skip
    alone, twice = (
        make_build(pool, **chosen) for pool in (data, Dataset([*data, *again(data, "x")]))
    )
    sets, figures = published(alone)
    more, counted = published(twice)
    withheld = figures["counts"].pop("withheld"), counted["counts"].pop("withheld")
    assert withheld[0] < withheld[1]  # copies of what is in dev and test
    assert more == sets
    assert counted == figures
    steps = {step.stage: step for step in twice.funnel.steps}
    assert steps["copies"].dropped == {"copy": len(data)}
    assert "copies" not in {step.stage for step in alone.funnel.steps}


def test_the_order_of_a_pool_with_copies_changes_no_byte(make_build):
    """Rows in another order, copies and all, give the same public files to the byte."""
    data = make_twins(30, singles=3)
    pool = Dataset([*data, *again(data[:20], "x"), *again(data[:4], "y", turned=True)])
    order = sorted(range(len(pool)), key=lambda row: hash((row * 7919) % 101))
    one, other = (make_build(of, filter=NONE).folder for of in (pool, pool.select(order)))
    for path in sorted(one.iterdir()):
        if path.is_file() and path.name not in ("run.json", "winosmith.json"):
            assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def test_templates_written_for_two_pronouns_are_built_once(make_build):
    """Of 168 sentences that are there for him and for her, without the pronoun 168 stay."""
    people = [f"smith{number}" for number in range(8)]
    sentence = (
        "On the day of the long meeting the {} {} the {} at the gate of the old house, "
        "because _ was late."
    )
    templates = [
        Problem(
            f"{first}-{verb}-{second}",
            sentence.format(first, verb, second),
            (first, second),
            int(first < second),
        )
        for verb in ("called", "hired", "thanked")
        for first, second in permutations(people, 2)
    ]
    him = [replace(p, id=f"{p.id}-he", pronoun="he") for p in templates]
    her = [replace(p, id=f"{p.id}-she", pronoun="she") for p in templates]
    lost = [replace(p, pronoun=None) for p in (*him, *her)]
    assert len(templates) == 168
    insert_pronoun = make_build(Dataset([*him, *her]), filter=NONE)
    assert insert_pronoun.funnel.kept.problems == 336
    assert insert_pronoun.copies == {}
    without = make_build(Dataset(lost), filter=NONE)
    assert without.funnel.kept.problems == 168
    assert (without.copies["groups"], without.copies["left_out"]) == (168, 168)
    for built in (insert_pronoun, without):  # together on one side, whatever is published
        sides = {}
        for name in ("train_debiased", "dev", "test"):
            for problem in formats.read(built.folder / f"{name}.jsonl"):
                sides.setdefault(problem.sentence, set()).add(name)
        assert {len(of) for of in sides.values()} == {1}


def test_a_recipe_keeps_all_on_request(make_build):
    """With copies = "keep" nothing is left out, and the report says what is there twice."""
    data = make_twins(20)
    liar = replace(data[0], id="liar", twin_id=None, answer=1 - data[0].answer)
    pool = Dataset([*data, *again(data[2:4]), liar])
    built = make_build(pool, filter=NONE, copies="keep")
    assert built.funnel.kept.problems == len(pool)
    assert built.copies["rule"] == "keep"
    assert "|copies:keep|" in str(built.measures.signature)
    assert (built.copies["groups"], built.copies["contradictory"]) == (3, 1)
    text = built.report.read_text("utf-8")
    assert "all are kept; use copies" in text
    recipe = read_recipe(_recipe_beside(built.folder))
    assert recipe.copies == "keep"


def _recipe_beside(folder):
    """Return the recipe of a build, put beside its data."""
    (folder / "twins.jsonl").write_bytes((folder.parent / "twins.jsonl").read_bytes())
    return folder / "recipe.toml"


def test_a_copy_that_breaks_a_rule_is_none_to_choose(make_build):
    """A copy that the checks refuse displaces nothing, nor does it contradict what is valid."""
    data = make_twins(10)
    broken = [replace(p, answer=0) for p in again(data[:2])]  # both halves say the same
    built = make_build(Dataset([*data, *broken]), filter=NONE)
    assert built.funnel.kept.problems == 20
    assert built.copies == {}


def test_a_dropped_copy_names_the_problem_that_stays(make_build):
    """`copy_of` is the new id of the kept problem, in the file where the copy is told."""
    data = make_twins(40)
    built = make_build(Dataset([*data, *again(data)]), filter=NONE)
    text = {}
    for name in ("train_debiased", "dev", "private/test"):
        text |= {p.id: p.sentence for p in formats.read(built.folder / f"{name}.jsonl")}
    told = 0
    train = {p.id for p in formats.read(built.folder / "train_debiased.jsonl")}
    for name in ("dropped.jsonl", "private/withheld.jsonl"):
        for line in (built.folder / name).read_text("utf-8").splitlines():
            record = json.loads(line)
            assert record["stage"] == "copies"
            assert text[record["copy_of"]] == record["sentence"]
            assert (record["copy_of"] in train) == (name == "dropped.jsonl")
            told += 1
    assert told == len(data)
    assert all(id_ in train or id_ not in text for of in built.copies["examples"] for id_ in of)


def test_the_next_build_keeps_the_copy_that_was_published(make_build, tmp_path):
    """With a last build, copies that come in later do not displace what was in it."""
    data = make_twins(30)
    first = make_build(data, filter=NONE)
    more = Dataset([*again(data, "late", turned=True), *data])
    folder = tmp_path / "pool"
    folder.mkdir()
    formats.write(more.problems, folder / "twins.jsonl")
    (folder / "next.toml").write_text(
        'name = "small"\ndata = "twins.jsonl"\n[embed]\ndimensions = 8\n[split]\ndev = 0.2\n'
        'test = 0.3\n[filter]\nmethod = "none"\n'
    )
    second = build(read_recipe(folder / "next.toml"), tmp_path / "second", last=first.folder)
    for name in ("train_debiased", "dev", "test"):
        before, after = (
            {(p.sentence, p.options) for p in formats.read(b.folder / f"{name}.jsonl")}
            for b in (first, second)
        )
        assert before == after


@pytest.mark.data
def test_winogrande_is_built_without_its_copies(data_dir):
    """Of train_xl, a twin that is there twice stays once, and two that contradict themselves go."""
    data = formats.read(data_dir / "winogrande/train_xl.jsonl")
    found = find_copies_to_omit(data, 0)
    assert len(found.reasons) == 6
    assert len(found.contradictory) == 2
    assert sorted(found.reasons.values()) == [
        *["contradictory: a copy has a different answer"] * 4,
        *["copy: identical to a kept problem"] * 2,
    ]
