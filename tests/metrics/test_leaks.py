"""Leaks: fields that reveal the answer are found, and clean fields are not."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from winosmith import Dataset, Extra, Lineage, Origin, Problem, formats, metrics
from winosmith.metrics import _leaks
from winosmith.testing import make_twins

Maker = Callable[[Problem, int, np.random.Generator], Problem]


def make_clean(twins: int = 60, singles: int = 20, seed: int = 0) -> Dataset:
    """Return problems whose ids, authors, dates, numbers and words reveal nothing."""
    rng = np.random.default_rng(seed)
    found = []
    for problem in make_twins(twins, singles=singles, seed=seed):
        id_ = rng.bytes(6).hex()
        origin = Origin(
            author=f"w{rng.integers(12)}",
            created=f"2026-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}",
            domain=str(rng.choice(["social", "physical"])),
        )
        extra = {
            "x.number": int(rng.integers(10_000)),
            "x.share": float(rng.random()),
            "x.mark": bool(rng.integers(2)),
            "x.option": problem.options[rng.integers(2)],
            **({"x.sometimes": "here"} if rng.random() < 0.5 else {}),
        }
        found.append(replace(problem, id=id_, origin=origin, extra=Extra(extra)))
    return Dataset(found)


def plant(make: Maker, data: Dataset | None = None) -> Dataset:
    """Return problems, clean by default, each changed by a function that gets its answer."""
    rng = np.random.default_rng(9)
    return Dataset(make(problem, problem.answer or 0, rng) for problem in data or make_clean())


def found(data: Dataset) -> dict[str, metrics.Leak]:
    """Return the leaks by field."""
    leaks = metrics.find_leaks(data)
    return {leak.field: leak for leak in leaks}


def with_extra(problem: Problem, value: object) -> Problem:
    """Return the problem with another extra value."""
    return replace(problem, extra=Extra({**problem.extra, "x.leak": value}))


def with_initials(problem: Problem, *letters: str) -> Problem:
    """Return the problem with letters before its id and before its options."""
    own, *of_options = letters
    key = [one.lower() for one in of_options].index(own)
    options = tuple(f"{x} {o}" for x, o in zip(of_options, problem.options, strict=True))
    return replace(problem, id=own + problem.id, options=options, answer=key)


PLANTED: dict[str, tuple[str, Maker]] = {
    "the id ends in it": ("id", lambda p, a, r: replace(p, id=f"{p.id}-{a + 1}")),
    "the id begins with it": ("id", lambda p, a, r: replace(p, id="ab"[a] + p.id)),
    "a character inside the id": (
        "id",
        lambda p, a, r: replace(p, id=f"{p.id[:4]}{'xy'[a]}{p.id}"),
    ),
    "a part of the id": (
        "id",
        lambda p, a, r: replace(
            p, id=f"{'n' * r.integers(1, 9)}.{'ab'[a]}.{r.integers(99)}.{p.id}"
        ),
    ),
    "the id's number is odd": (
        "id",
        lambda p, a, r: replace(p, id=f"q{2 * r.integers(10**9) + a}-{r.choice(['x', 'yy'])}"),
    ),
    "the id's initial is an option's": (
        "id",
        lambda p, a, r: with_initials(p, "kw"[a], *r.permutation([*"KW"])),
    ),
    "a space after it": (
        metrics.SPACING[0],
        lambda p, a, r: replace(
            p, options=tuple(f"{o}{' ' * (at == a)}" for at, o in enumerate(p.options))
        ),
    ),
    "a no-break space in the other": (
        metrics.SPACING[0],
        lambda p, a, r: replace(
            p, options=tuple(f"a{chr(160 if at != a else 32)}{o}" for at, o in enumerate(p.options))
        ),
    ),
    "the id is longer": ("id", lambda p, a, r: replace(p, id=p.id + "0" * 2 * a)),
    "ids sort by answer": (
        "id",
        lambda p, a, r: replace(p, id=f"{r.integers(500) + 500 * a}/{p.id}"),
    ),
    "the author": (
        "origin.author",
        lambda p, a, r: replace(p, origin=Origin(author=f"{a}{r.integers(9)}")),
    ),
    "an author who is biased": (
        "origin.author",
        lambda p, a, r: replace(p, origin=Origin(author="ab"[a if r.random() < 0.8 else 1 - a])),
    ),
    "the date": (
        "origin.created",
        lambda p, a, r: replace(p, origin=Origin(created=f"20{20 + a}-0{r.integers(1, 9)}-01")),
    ),
    "the pronoun": ("pronoun", lambda p, a, r: replace(p, pronoun=("he", "she")[a])),
    "the embargo": ("embargo", lambda p, a, r: replace(p, embargo=bool(a))),
    "the answer's letter": ("x.leak", lambda p, a, r: with_extra(p, f" {'AB'[a]}. ")),
    "the answer's text": ("x.leak", lambda p, a, r: with_extra(p, f"The {p.options[a].upper()}")),
    "part of the answer's text": (
        "x.leak",
        lambda p, a, r: with_extra(p, f"It is {p.options[a]}!"),
    ),
    "true or false": ("x.leak", lambda p, a, r: with_extra(p, bool(a))),
    "there only for one answer": ("x.leak", lambda p, a, r: with_extra(p, "seen") if a else p),
    "a greater number": ("x.leak", lambda p, a, r: with_extra(p, float(r.random() + a))),
    "an odd number": ("x.leak", lambda p, a, r: with_extra(p, int(2 * r.integers(999) + a))),
    "the number's remainder": (
        "x.leak",
        lambda p, a, r: with_extra(p, int(3 * r.integers(999) + a)),
    ),
    "the number's last digit": (
        "x.leak",
        lambda p, a, r: with_extra(p, int(10 * r.integers(999) + r.choice([0, 1, 4, 5]) + 2 * a)),
    ),
    "rarely there, then always right": (
        "x.leak",
        lambda p, a, r: with_extra(p, a) if p.twin_id and int(p.twin_id[1:]) % 3 == 0 else p,
    ),
    "always the first option": (
        "options",
        lambda p, a, r: replace(p, options=(p.options[a], p.options[1 - a]), answer=0),
    ),
    "options in order of the alphabet": (
        "options",
        lambda p, a, r: replace(
            p,
            options=tuple(f"{word} {p.id}" for word in (("zeta", "yak") if a else ("ant", "bee"))),
        ),
    ),
    "the right option is shorter": (
        "options",
        lambda p, a, r: replace(p, options=(f"egg {p.id}", f"elephant {p.id}")[:: -1 if a else 1]),
    ),
}


@pytest.mark.parametrize("way", PLANTED)
def test_planted_leak_is_found(way):
    """Its accuracy is measured on problems that it was not fitted on."""
    field, make = PLANTED[way]
    leaks = found(plant(make, make_clean(twins=200, singles=60)))
    assert field in leaks
    assert leaks[field].accuracy >= leaks[field].chance + 0.05
    assert set(leaks) <= {field, "lineage.root"}


def test_text_features_are_characters_parts_and_length():
    asked = list(_leaks._find_tells(["ab-cd-ef-ghi", "", None], make_twins(1, singles=1)))
    tells = dict(asked)
    assert len(tells) == len(asked)
    for at in range(1, 8):
        assert tells[f"character {at + 1}"] == ["ab-cd-ef-ghi"[at], "", None]
        assert tells[f"character {at + 1} from the end"] == ["ab-cd-ef-ghi"[-at - 1], "", None]
    ends = [tells[name] for name in ("first character", "last character", "length")]
    assert ends == [["a", "", None], ["i", "", None], [12, 0, None]]
    assert [tells[f"part {at}"][0] for at in (1, 2, 3, 4)] == ["ab", "cd", "ef", "ghi"]
    backwards = ("last part", *(f"part {at} from the end" for at in (2, 3, 4)))
    assert [tells[name] for name in backwards] == [
        [part, None, None] for part in ("ghi", "ef", "cd", "ab")
    ]


@pytest.mark.parametrize(
    ("text", "options", "like"),
    [
        ("cup", ("cup", "cup lid"), 1),
        ("cup lid", ("cup", "cup lid"), 2),
        ("a red cup", ("cup", "jug"), 1),
        ("cup and jug", ("cup", "jug"), None),
        ("cups", ("cup", "jug"), None),
        ("cup jug", ("cup", "pan", "jug"), 2),
    ],
)
def test_option_like_a_text_is_found(text, options, like):
    """It equals the text, or it is the only option that shares whole words with it.

    It can also be the only one that doesn't.
    """
    assert _leaks._find_similar_option(text, options) == like


def test_value_predicts_its_most_frequent_answer():
    """Missing values, and values with a tie, predict the most frequent answer of all."""
    table = np.array([[[2, 1]], [[0, 0]], [[1, 1]], [[0, 5]]])  # (values, folds, answers)
    said, most = _leaks._fit_answers(table, [0])
    assert (said.tolist(), most) == ([0, 1, 1, 1], 1)


def test_order_of_twin_halves_is_a_leak():
    data = make_clean()
    order = [r for t in data.twins for r in sorted(t, key=lambda row: data.answers[row] or 0)]
    leak = found(data.select([*order, *data.singles]))["row number"]
    assert (leak.tell, leak.accuracy, leak.problems) == ("order in the twin", 1.0, 120)


def test_copies_of_one_problem_are_not_a_leak():
    """A value on a hundred copies of one problem is evidence of a single problem."""
    [problem] = make_twins(0, singles=1)
    copies = [
        with_extra(replace(problem, id=f"c{n}", twin_id=None), "seen before") for n in range(100)
    ]
    data = Dataset([*make_clean(), *copies])
    assert "x.leak" not in found(data)
    assert metrics.find_leaks(Dataset(copies)) is None


def test_rows_sorted_by_answer_are_a_leak():
    data = make_clean(twins=0, singles=300)
    order = sorted(range(len(data)), key=lambda row: data.answers[row] or 0)
    assert found(data.select(order))["row number"].accuracy > 0.9
    assert "row number" not in found(data)


def test_order_of_twin_ids_is_a_leak():
    """The ids are random, but the half with one of the answers always has the smaller id."""
    data = make_clean()
    ids = dict(enumerate(data.ids))
    for twin in data.twins:
        by_answer = sorted(twin, key=lambda row: data.answers[row] or 0)
        ids |= zip(by_answer, sorted(ids[row] for row in twin), strict=True)
    leaks = found(Dataset(replace(problem, id=ids[row]) for row, problem in enumerate(data)))
    assert (leaks["id"].tell, leaks["id"].accuracy) == ("order in the twin", 1.0)


def test_leaks_of_problems_with_five_options_are_found():
    rng = np.random.default_rng(1)
    data = Dataset(
        Problem(f"{row}/{answer}", f"In {row} the _ fell.", (*"pqrs", f"u{row}"), answer)
        for row, answer in enumerate(rng.integers(0, 5, 200).tolist())
    )
    assert (found(data)["id"].tell, found(data)["id"].accuracy) == ("last character", 1.0)


def test_frequent_position_of_the_answer_is_a_leak():
    data = Dataset(
        replace(p, answer=int(row % 4 > 0), options=p.options + ("neither",) * (row % 3 == 0))
        for row, p in enumerate(make_twins(0, singles=120))
    )
    leak = found(data)["options"]
    chance = (80 / 2 + 40 / 3) / 120
    assert (leak.tell, leak.accuracy, leak.problems) == ("order", 0.75, 120)
    assert leak.chance == pytest.approx(chance)
    assert leak.p_value == pytest.approx(2 * binom.sf(89, 120, chance))
    assert leak.predictions == (("any", 2),)


@pytest.mark.parametrize("seed", range(5))
def test_field_that_reveals_all_of_thirty_answers_is_a_leak(seed):
    data = make_clean(twins=0, singles=30, seed=seed)
    leaks = found(Dataset(replace(p, id=f"{p.id}-{'AB'[p.answer or 0]}") for p in data))
    assert (leaks["id"].tell, leaks["id"].accuracy) == ("last character", 1.0)


def test_copies_of_a_problem_count_once_at_its_answers_position():
    """Without the copies, the second option is correct in 39 of 60 problems."""
    once = [replace(p, answer=int(row >= 21)) for row, p in enumerate(make_twins(0, singles=60))]
    copies = [replace(p, id=f"{p.id}c{n}", twin_id=None) for p in once for n in range(10)]
    assert "options" not in found(Dataset(once))
    assert "options" not in found(Dataset(copies))


@pytest.mark.parametrize(
    "kind",
    [
        {},
        pytest.param({"twins": 60, "singles": 0}, marks=pytest.mark.long),
        pytest.param({"twins": 0, "singles": 80}, marks=pytest.mark.long),
    ],
)
def test_clean_data_have_no_leaks(kind):
    """For 25 random data sets; the false alarm rate is documented as 1 in 1,000."""
    assert [metrics.find_leaks(make_clean(**kind, seed=seed)) for seed in range(25)] == [()] * 25


@pytest.mark.long
def test_false_alarm_rate_is_at_most_alpha(monkeypatch):
    monkeypatch.setattr(_leaks, "ALPHA", 0.2)
    monkeypatch.setattr(_leaks, "MIN_ADVANTAGE", 0.0)
    alarms = sum(bool(metrics.find_leaks(make_clean(40, 10, seed=seed))) for seed in range(60))
    assert alarms <= 12


@pytest.mark.parametrize(
    ("problems", "second", "right", "expected"),
    [
        (2000, 0.55, 0.5, {"options": 0.55}),
        (2000, 0.5495, 0.65, {"x.leak": 0.65}),
        (4000, 0.5, 0.548, {}),
    ],
)
def test_leak_needs_five_points_more_than_chance(problems, second, right, expected):
    """However significant a smaller gain is, for an answer's position or a field."""
    rng = np.random.default_rng(0)
    keys, rights = (rng.permutation(problems) < of * problems for of in (second, right))
    data = Dataset(
        with_extra(replace(p, id=rng.bytes(6).hex(), answer=int(key)), bool(key == own))
        for p, key, own in zip(make_twins(0, singles=problems), keys, rights, strict=True)
    )
    leaks = found(data)
    assert {field: leak.accuracy for field, leak in leaks.items()} == expected


def test_root_of_a_family_is_not_a_leak():
    """Problems made from one root have its answer, which the root's id reveals."""
    roots = make_clean(twins=0, singles=80)
    children = [
        replace(problem, id=f"{problem.id}-{n}", lineage=Lineage(problem.id, problem.id))
        for problem in roots
        for n in range(4)
    ]
    rng = np.random.default_rng(0)
    data = Dataset([*roots, *children])
    assert "lineage.root" not in found(data.select(rng.permutation(len(data)).tolist()))


def test_withheld_answers_are_omitted():
    leaking = plant(PLANTED["the id ends in it"][1])
    data = Dataset(replace(p, answer=None) if row % 4 > 1 else p for row, p in enumerate(leaking))
    leak = found(data)["id"]
    assert (leak.accuracy, leak.problems) == (1.0, sum(a is not None for a in data.answers))


def test_too_few_answers_return_none():
    assert metrics.find_leaks(make_clean(twins=10, singles=19)) is None
    assert metrics.find_leaks(make_clean(twins=10, singles=20)) is not None
    assert metrics.find_leaks(make_clean().blind()) is None
    assert metrics.find_leaks(Dataset()) is None


def test_leaks_depend_only_on_data_and_seed():
    data = plant(PLANTED["an author who is biased"][1])
    assert metrics.find_leaks(data, seed=1) == metrics.find_leaks(data, seed=1)
    assert metrics.find_leaks(data, seed=1) != metrics.find_leaks(data, seed=2)


def test_leak_is_a_sentence_and_json():
    leak = metrics.Leak("options", "order", 0.9999, 12_000, 0.5, 0.0, (("any", 1),))
    assert str(leak) == (
        "the options' order gives the answer away in 99.9 % of 12,000 problems (chance 50.0 %); "
        "'any' means option 1"
    )
    assert json.loads(json.dumps(leak.record()))["problems"] == 12_000


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("train_xs", 160),
        pytest.param("train_l", 10_234, marks=pytest.mark.long),
        pytest.param("train_debiased", 9248, marks=pytest.mark.long),
        ("dev", 1267),
    ],
)
def test_winogrande_ids_end_in_the_answer(data_dir, name, problems):
    """No other field of WinoGrande reveals it."""
    leaks = metrics.find_leaks(formats.read(data_dir / f"winogrande/{name}.jsonl"))
    assert [str(leak).partition(" (chance")[0] for leak in leaks or ()] == [
        f"the id's last character gives the answer away in 100 % of {problems:,} problems"
    ]


@pytest.mark.data
@pytest.mark.parametrize(
    ("path", "field", "tell", "accuracy"),
    [
        ("wsc/wsc-273.jsonl", "row number", "order in the twin", 1.0),
        ("wsc/wsc273.txt", "options", "order", 1.0),
        ("winogender/all_sentences.tsv", "id", "part 3", 1.0),
        ("dpr/test.c.txt", "row number", "parity", 0.68),
        ("knowref/knowref_test.json", "knowref.correct_candidate_idx", "value", 0.76),
    ],
)
def test_leaks_of_other_published_files(data_dir, path, field, tell, accuracy):
    """WSC273 lists the half with the first answer first, Winogender's ids contain the answer, …"""
    leak = found(formats.read(data_dir / path, skip_bad="/dev/null"))[field]
    assert (leak.tell, round(leak.accuracy, 2)) == (tell, accuracy)


@pytest.mark.data
@pytest.mark.parametrize(
    "path", ["copa/copa-all.xml", "pdp/PDPChallenge2016.xml", "superglue_copa/train.jsonl"]
)
def test_copa_and_pdp_files_have_no_leaks(data_dir, path):
    assert metrics.find_leaks(formats.read(data_dir / path)) == ()
