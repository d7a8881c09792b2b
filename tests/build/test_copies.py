"""Removal of copies and contradictions in whole twins."""

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
    """Return the problems with new ids, as other twins; `turned` also reverses the options."""
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
    """Return the data set without its copies."""
    return dataset.drop(dict(find_copies_to_omit(dataset, seed).reasons), "copies").kept


def test_single_that_copies_a_half_is_omitted():
    data = make_twins(2)
    alone = replace(data[0], id="alone", twin_id=None)
    found = find_copies_to_omit(Dataset([alone, *data]), 0)
    assert found.reasons == {0: "copy: identical to a kept problem"}
    assert found.copy_of == {0: 1}


def test_twins_that_share_a_half_leave_one_whole_twin():
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


def test_twin_that_shares_halves_with_two_twins_is_omitted():
    """Omitting the middle twin keeps the other two."""
    data = make_twins(2)
    middle = [
        replace(data[0], id="m0", twin_id="m"),
        replace(data[2], id="m1", twin_id="m"),
    ]
    for seed in range(5):
        assert set(kept(Dataset([*middle, *data]), seed).ids) == set(data.ids)


def test_groups_without_a_kept_problem_are_counted():
    """Of twins (a, b), (a, c) and (b, c), two are omitted, with all copies of one problem."""
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


def test_contradictions_are_omitted_with_their_twins():
    """The other half is omitted too, so that it doesn't become a single."""
    data = make_twins(3)
    liar = replace(data[0], id="liar", twin_id=None, answer=1 - data[0].answer)
    whole = Dataset([*data, liar])
    assert kept(whole).ids == data.ids[2:]
    assert find_copies_to_omit(whole, 0).reasons == {
        0: "contradictory: a copy has a different answer",
        1: "contradictory: a copy of the other half has a different answer",
        6: "contradictory: a copy has a different answer",
    }


def test_published_copy_is_kept():
    data = make_twins(1)
    for seed in range(8):
        whole = Dataset([*data, *again(data, "b"), *again(data, "c")])
        assert set(whole.ids) - {
            whole[row].id for row in find_copies_to_omit(whole, seed, {"0-0-b", "0-1-b"}).reasons
        } == {"0-0-b", "0-1-b"}


def test_root_is_kept_over_its_perturbed_copy():
    """A perturbed problem can become equal to its root again."""
    root = replace(make_twins(0, singles=1)[0], twin_id=None)
    back = replace(root, id="back", lineage=Lineage(root.id, root.id))
    for seed in range(8):
        assert kept(Dataset([back, root]), seed).ids == (root.id,)


@st.composite
def crowds(draw):
    """Draw twins and singles from few texts, so that copies occur in many combinations."""
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
def test_result_has_no_copies_and_no_split_twins(data, seed, rng):
    """Every omitted block would be a copy or a contradiction.

    The choice among copies doesn't depend on the order of the rows or options, nor on the
    answers.
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
    for rows in data.groups:  # none could have been kept with the others
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
    """Return the problems of each set without ids, and the measurements without the signature."""
    sets = {}
    for name in ("train_xl", "train_debiased", "dev", "private/test"):
        data = formats.read(built.folder / f"{name}.jsonl")
        sets[name] = [(p.sentence, p.options, p.answer) for p in data]
    record = json.loads((built.folder / "report.json").read_text("utf-8"))
    record["measures"].pop("signature")
    figures = {name: record[name] for name in ("figures", "aflite", "measures", "counts")}
    return sets, figures


def test_pool_with_every_row_twice_builds_the_same_benchmark(make_build):
    data = make_twins(60, singles=6)
    chosen = {"filter": {"ensemble_size": 8, "train_size": 40, "cutoff": 5, "again": False},
              "measure": {"splits": 1}}  # fmt: skip
    alone, twice = (
        make_build(pool, **chosen) for pool in (data, Dataset([*data, *again(data, "x")]))
    )
    sets, figures = published(alone)
    more, counted = published(twice)
    withheld = figures["counts"].pop("withheld"), counted["counts"].pop("withheld")
    assert withheld[0] < withheld[1]  # copies of dev and test problems
    assert more == sets
    assert counted == figures
    steps = {step.stage: step for step in twice.funnel.steps}
    assert steps["copies"].dropped == {"copy": len(data)}
    assert "copies" not in {step.stage for step in alone.funnel.steps}


def test_public_files_do_not_depend_on_the_order_of_copies(make_build):
    data = make_twins(30, singles=3)
    pool = Dataset([*data, *again(data[:20], "x"), *again(data[:4], "y", turned=True)])
    order = sorted(range(len(pool)), key=lambda row: hash((row * 7919) % 101))
    one, other = (make_build(of, filter=NONE).folder for of in (pool, pool.select(order)))
    for path in sorted(one.iterdir()):
        if path.is_file() and path.name not in ("run.json", "winosmith.json"):
            assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def test_pronoun_variants_of_a_template_stay_in_one_split(make_build):
    """All 336 are kept. Without the pronoun they are copies, and 168 are kept."""
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
    for built in (insert_pronoun, without):  # variants are in one set
        sides = {}
        for name in ("train_debiased", "dev", "test"):
            for problem in formats.read(built.folder / f"{name}.jsonl"):
                sides.setdefault(problem.sentence, set()).add(name)
        assert {len(of) for of in sides.values()} == {1}


def test_copies_keep_reports_copies_but_keeps_all(make_build):
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
    """Put the build's data next to its recipe and return the recipe's path."""
    (folder / "twins.jsonl").write_bytes((folder.parent / "twins.jsonl").read_bytes())
    return folder / "recipe.toml"


def test_invalid_copies_displace_and_contradict_nothing(make_build):
    data = make_twins(10)
    broken = [replace(p, answer=0) for p in again(data[:2])]  # both halves have the same answer
    built = make_build(Dataset([*data, *broken]), filter=NONE)
    assert built.funnel.kept.problems == 20
    assert built.copies == {}


def test_copy_of_is_the_new_id_of_the_kept_problem(make_build):
    """Copies of training problems are public; copies of dev and test problems are private."""
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


def test_new_copies_do_not_displace_problems_of_last_build(make_build, tmp_path):
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
def test_copies_and_contradictions_of_winogrande_are_found(data_dir):
    """train_xl contains one twin twice, and two twins that contradict each other."""
    data = formats.read(data_dir / "winogrande/train_xl.jsonl")
    found = find_copies_to_omit(data, 0)
    assert len(found.reasons) == 6
    assert len(found.contradictory) == 2
    assert sorted(found.reasons.values()) == [
        *["contradictory: a copy has a different answer"] * 4,
        *["copy: identical to a kept problem"] * 2,
    ]
