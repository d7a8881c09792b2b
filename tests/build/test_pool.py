"""Pools of several files, and the removal of copies and contradictions in whole twins."""

import json
import tomllib
from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from tests.build.conftest import TABLE
from winosmith import Dataset, Lineage, Problem, formats, validate
from winosmith.blocks import find_contradictions, find_copies
from winosmith.build import build, format_recipe, parse_recipe, read_pool, read_pool_votes
from winosmith.build._pool import describe_copies, find_copies_to_omit, make_copies_record
from winosmith.errors import DataError, FormatError, RecipeError
from winosmith.lineage import make_child
from winosmith.response import Response
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


@pytest.mark.parametrize("seed", range(5))
def test_single_or_twin_that_shares_halves_with_others_is_omitted(seed):
    """Omitting the middle one keeps the other two."""
    data = make_twins(2)
    alone = replace(data[0], id="alone", twin_id=None)
    found = find_copies_to_omit(Dataset([alone, *data]), seed)
    assert found.reasons == {0: "copy: identical to a kept problem"}
    assert found.copy_of == {0: 1}
    middle = [replace(data[row], id=f"m{row}", twin_id="m") for row in (0, 2)]
    assert set(kept(Dataset([*middle, *data]), seed).ids) == set(data.ids)


@pytest.mark.parametrize("seed", range(8))
def test_published_copies_and_roots_are_kept(seed):
    """A perturbed problem can become equal to its root again."""
    data = make_twins(1)
    whole = Dataset([*data, *again(data, "b"), *again(data, "c")])
    reasons = find_copies_to_omit(whole, seed, {"0-0-b", "0-1-b"}).reasons
    assert set(whole.ids) - {whole[row].id for row in reasons} == {"0-0-b", "0-1-b"}
    root = replace(make_twins(0, singles=1)[0], twin_id=None)
    back = replace(root, id="back", lineage=Lineage(root.id, root.id))
    assert kept(Dataset([back, root]), seed).ids == (root.id,)


def test_pronoun_variants_of_a_template_stay_in_one_split(make_build):
    """All 336 are kept. Without the pronoun they are copies, and 168 are kept."""
    sentence = (
        "On the day of the long meeting the {} {} the {} at the gate of the old house, "
        "because _ was late."
    )
    variants = [
        Problem(f"{first}-{verb}-{second}-{pronoun}", sentence.format(first, verb, second),
                (first, second), int(first < second), pronoun=pronoun)
        for pronoun in ("he", "she")
        for verb in ("called", "hired", "thanked")
        for first, second in permutations([f"smith{number}" for number in range(8)], 2)
    ]  # fmt: skip
    built = make_build(Dataset(variants), filter=NONE)
    assert (built.funnel.kept.problems, built.copies) == (336, {})
    without = make_build(Dataset(replace(p, pronoun=None) for p in variants), filter=NONE)
    assert without.funnel.kept.problems == 168
    assert (without.copies["groups"], without.copies["left_out"]) == (168, 168)
    for each in (built, without):  # variants are in one set
        sides = {}
        for name in ("train_debiased", "dev", "test"):
            for problem in formats.read(each.folder / f"{name}.jsonl"):
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
    assert "all are kept; use copies" in built.report.read_text("utf-8")
    assert 'copies = "keep"' in (built.folder / "recipe.toml").read_text("utf-8")


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
    formats.write(more.problems, tmp_path / "twins.jsonl")
    recipe = parse_recipe({**TABLE, "filter": NONE}, folder=tmp_path)
    second = build(recipe, tmp_path / "second", last=first.folder)
    for name in ("train_debiased", "dev", "test"):
        before, after = (
            {(p.sentence, p.options) for p in formats.read(b.folder / f"{name}.jsonl")}
            for b in (first, second)
        )
        assert before == after


@pytest.mark.data
def test_copies_and_contradictions_of_winogrande_are_found(data_dir):
    """train_xl contains one twin twice, and two twins that contradict each other."""
    found = find_copies_to_omit(formats.read(data_dir / "winogrande/train_xl.jsonl"), 0)
    assert len(found.contradictory) == 2
    assert Counter(found.reasons.values()) == {
        "contradictory: a copy has a different answer": 4,
        "copy: identical to a kept problem": 2,
    }


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
    note = ("twins.jsonl: 80 of 80 problems are read as 40 twins, found by their texts: no id or "
            "column marks twins (name one with `pair_by` in the recipe")  # fmt: skip
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
