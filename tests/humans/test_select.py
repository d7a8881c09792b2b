"""The reliable subset: the best that the constraints let through, and an unbiased agreement."""

from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, Response, formats
from winosmith.errors import DataError, InputError
from winosmith.humans import Rules, Tally, cross_fit, get_text, read_tally, select, tally


def problem(name: str, text: str, *, answer: int = 0, twin: str | None = None) -> Problem:
    """Return a problem on a text of that name."""
    sentence = f"The {text} cup hit the jug and _ broke."
    return Problem(name, sentence, ("cup", "jug"), answer, twin, pronoun="it")


def counted(dataset: Dataset, right: list[int], of: int = 9) -> Tally:
    """Return counts: so many of `of` people right on each problem."""
    return Tally(np.full(len(dataset), of), np.array(right))


@st.composite
def materials(draw: st.DrawFn) -> tuple[Dataset, Tally, Rules]:
    """Return up to nine problems on few texts, some of them twins, with counts and rules."""
    n = draw(st.integers(1, 9))
    texts = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    twins = [f"t{at // 2}" if draw(st.booleans()) else None for at in range(n)]
    answers = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    data = Dataset(
        problem(str(at), text, answer=answer, twin=twin)
        for at, (text, answer, twin) in enumerate(zip(texts, answers, twins, strict=True))
    )
    right = draw(st.lists(st.integers(3, 9), min_size=n, max_size=n))
    rules = Rules(
        floor=draw(st.sampled_from([0.0, 0.6])),
        per_text=draw(st.integers(1, 3)),
        both_halves=draw(st.booleans()),
    )
    return data, counted(data, right), rules


def allowed(data: Dataset, counts: Tally, rules: Rules, rows: tuple[int, ...]) -> bool:
    """Tell by plain counting whether a choice keeps the rules."""
    chosen = [data[row] for row in rows]
    texts = [get_text(p) for p in chosen]
    twins = [p.twin_id for p in chosen if p.twin_id is not None]
    sound = all(counts.compute_agreement()[row] >= rules.floor for row in rows)
    if rules.both_halves:
        for p in chosen:
            members = [r for r, other in enumerate(data) if other.twin_id == p.twin_id]
            if p.twin_id is not None and (
                len(members) != 2
                or any(counts.compute_agreement()[r] < rules.floor for r in members)
            ):
                return False
    if max(map(texts.count, texts), default=0) > rules.per_text or len(set(twins)) < len(twins):
        return False
    return sound


def agreement(data: Dataset, counts: Tally, rules: Rules) -> np.ndarray:
    """Return the mean share of both halves of each schema, or a problem's own."""
    worth = counts.compute_agreement()
    for one, other in data.twins:
        if min(counts.compute_agreement()[[one, other]]) >= rules.floor:
            worth[[one, other]] = counts.compute_agreement()[[one, other]].mean()
    return worth


@examples(60)
@given(materials())
def test_no_allowed_choice_is_better(made: tuple[Dataset, Tally, Rules]) -> None:
    """The choice has the most problems and then the most agreement of all that the rules allow."""
    data, counts, rules = made
    found = select(data, counts, rules)
    worth = agreement(data, counts, rules)
    best = max(
        (len(rows), round(float(worth[list(rows)].sum()), 6))
        for size in range(len(data) + 1)
        for rows in combinations(range(len(data)), size)
        if allowed(data, counts, rules, rows)
    )
    assert allowed(data, counts, rules, found.rows)
    assert (len(found.rows), round(float(worth[list(found.rows)].sum()), 6)) == best


@examples(40)
@given(materials(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_order_of_problems_and_options_means_nothing(
    made: tuple[Dataset, Tally, Rules], seed: int, rng: Random
) -> None:
    """The same ids are chosen when rows are permuted and options swapped with their answers."""
    data, counts, rules = made
    order = list(range(len(data)))
    rng.shuffle(order)
    turned = Dataset(
        replace(data[row], options=data[row].options[::-1], answer=1 - (data[row].answer or 0))
        if row % 2
        else data[row]
        for row in order
    )
    found = select(data, counts, rules, seed)
    again = select(turned, Tally(counts.subjects[order], counts.intended[order]), rules, seed)
    assert {*found.filtered.kept.ids} == {*again.filtered.kept.ids}


def test_choices_of_equal_lots_do_not_hang_on_the_order() -> None:
    """Where two choices draw the same sum of lots, every order of the problems gives the same."""
    made = [
        problem("0", "a"),
        problem("1", "b"),
        problem("2", "a", twin="t"),
        problem("3", "b", twin="t"),
    ]
    rules = Rules(floor=0, per_text=1, both_halves=False)
    chosen = {
        frozenset(select(data, counted(data, [9] * 4), rules).filtered.kept.ids)
        for data in map(Dataset, permutations(made))
    }
    assert len(chosen) == 1


@examples(60)
@given(materials(), st.integers(0, 3))
def test_kept_and_dropped_are_the_input(made: tuple[Dataset, Tally, Rules], seed: int) -> None:
    """Every problem is chosen, or left out with a reason that is not empty."""
    data, counts, rules = made
    found = select(data, counts, rules, seed)
    dropped = {left.row for left in found.filtered.dropped}
    assert dropped | set(found.rows) == set(range(len(data)))
    assert not dropped & set(found.rows)
    assert all(left.reason for left in found.filtered.dropped)
    assert select(data, counts, rules, seed).rows == found.rows


def test_the_sixty_pdps_of_2016(data_dir: Path) -> None:
    """The 60 PDPs have 1103 of 1140 answers, in 33/19/6/2 (Davis et al. 2016, section 5)."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    counts = read_tally(data)
    assert counts is not None
    found = select(data, counts)
    assert (len(found.rows), found.right, found.answers) == (60, 1103, 1140)
    assert f"{found.naive_accuracy:.2%}" == "96.75%"
    assert found.levels == {(19, 19): 33, (18, 19): 19, (17, 19): 6, (16, 19): 2}


def schemas_of_2016() -> tuple[Dataset, Tally]:
    """Return 89 schemas with the agreement on two halves that section 4.4 prints."""
    pairs = [(9, 9)] * 38 + [(9, 8)] * 21 + [(8, 8)] * 3 + [(9, 7)] * 27
    data = Dataset(
        problem(f"{at}{half}", f"{at}{half}", answer=answer, twin=str(at))
        for at in range(89)
        for answer, half in enumerate("ab")
    )
    return data, counted(data, [n for pair in pairs for n in pair])


def test_the_sixty_halves_of_2016() -> None:
    """Of 38 schemas with 9 & 9, 21 with 9 & 8, 3 with 8 & 8 the 60 are 38 + 21 + 1 (section 5)."""
    data, counts = schemas_of_2016()
    found = select(data, counts, Rules(size=60, floor=8 / 9))
    assert found.schemas == {((9, 9), (9, 9)): 38, ((9, 9), (8, 9)): 21, ((8, 9), (8, 9)): 1}
    assert sum(found.levels.values()) == 60
    assert found.record()["schemas"] == [[9, 9, 9, 9, 38], [9, 9, 8, 9, 21], [8, 9, 8, 9, 1]]


@pytest.mark.parametrize(("size", "kinds"), [(38, [38]), (59, [38, 21]), (10, [10])])
def test_schemas_are_ranked_by_both_halves(size: int, kinds: list[int]) -> None:
    """With 38 schemas of 9 & 9, --size 38 takes these, and none whose other half had 8."""
    data, counts = schemas_of_2016()
    for seed in range(5):
        found = select(data, counts, Rules(size=size, floor=8 / 9), seed)
        assert list(found.schemas.values()) == kinds


def test_the_half_is_drawn_not_chosen_by_its_agreement() -> None:
    """Over 200 seeds the 21 schemas of 9 & 8 give the half with 9 half of the time, each of them.

    The spread is the binomial's: 2,100 of 4,200, within 3.3 standard deviations of 32.
    """
    data, counts = schemas_of_2016()
    better = 0
    ever: set[int] = set()
    for seed in range(200):
        rows = select(data, counts, Rules(size=59, floor=8 / 9), seed).rows
        better += sum(counts.intended[row] == 9 for row in rows if 76 <= row < 118)
        ever.update(row for row in rows if 76 <= row < 118)
    assert abs(better - 2100) < 107
    assert ever == set(range(76, 118))


def test_who_answered_has_no_part_in_the_lot() -> None:
    """Other counts take other schemas, and of those that both take the same halves."""
    data, counts = schemas_of_2016()
    rng = np.random.default_rng(1)
    other = counted(data, list(rng.integers(6, 10, len(data))))
    halves = [
        {data[row].twin_id: row for row in select(data, some, Rules(floor=6 / 9), 5).rows}
        for some in (counts, other)
    ]
    both = halves[0].keys() & halves[1].keys()
    assert len(both) > 40
    assert {twin: halves[0][twin] for twin in both} == {twin: halves[1][twin] for twin in both}


def test_each_reason_names_what_stands_in_the_way() -> None:
    """Too few people, too little agreement, the other reading, the text, the twin, a full set."""
    data = Dataset(
        [
            problem("few", "a"),
            problem("low", "b"),
            problem("half-a", "c", twin="t"),
            problem("half-b", "d", twin="t", answer=1),
            *(problem(f"same{n}", "e") for n in range(3)),
            problem("bad-half", "f", twin="u"),
            problem("good-half", "g", twin="u", answer=1),
            problem("lonely", "h", twin="v"),
            replace(problem("withheld", "i"), answer=None),
        ]
    )
    choices = np.zeros((len(data), 5), int)
    right = np.array([2, 4, 9, 8, 9, 9, 9, 3, 9, 9, 9])
    for row, (item, count) in enumerate(zip(data, right, strict=True)):
        choices[row, item.answer or 0] = count
        choices[row, 1 - (item.answer or 0)] = 9 - count if row else 0
    counts = Tally(choices.sum(axis=1), right, choices)
    found = select(data, counts, Rules(per_text=2))
    reasons = {left.problem.id: left.reason for left in found.filtered.dropped}
    assert reasons.pop("few") == "2 people answered it; 3 are required"
    assert reasons.pop("low") == (
        "4 of 9 gave the intended answer (44 %), and more chose 'jug'; 80 % are required"
    )
    assert reasons.pop("half-b") == "the other half of 't' is chosen"
    assert reasons.pop("bad-half").startswith("3 of 9 gave")
    assert reasons.pop("good-half").startswith("its other half, 'bad-half', is removed: 3 of 9")
    assert reasons.pop("lonely").startswith("its other half is not in the data")
    assert reasons.pop("withheld") == "its answer is withheld"
    assert list(reasons.values()) == ["2 questions on the same text are chosen"]
    full = select(data, counts, Rules(size=1)).filtered.dropped
    assert sum("the set of 1 is full" in left.reason for left in full) == 4


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"size": 5}, "the constraints allow 4 of 4 suitable ones; choose 4"),
        ({"size": 0}, "size is 0; it must be a whole number, 1 or more"),
        ({"floor": 1.5}, "floor is 1.5; it must be a number from 0 to 1"),
        ({"per_text": 0}, "per_text is 0; it must be a whole number, 1 or more"),
        ({"size": 2, "floor": 1.0}, "none is suitable"),
    ],
)
def test_rules_that_can_not_be_kept_are_refused(rules: dict[str, object], message: str) -> None:
    """A size that the constraints do not let through says how many they do."""
    data = Dataset(problem(str(at), str(at)) for at in range(4))
    with pytest.raises(InputError, match=message):
        select(data, counted(data, [8] * 4), Rules(**rules))


def test_responses_are_counted_with_x() -> None:
    """X is no intended answer, other purposes do not count, and of a tie neither is more."""
    data = Dataset([problem("a", "a"), problem("b", "b")])
    said = [
        Response("b", "s1", "test", 0),
        Response("b", "s2", "test", 1),
        Response("a", "s1", "test", 0),
        Response("a", "s2", "test", None, ambiguous=True),
        Response("a", "s3", "validate", 0),
    ]
    counts = tally(data, said)
    assert (counts.subjects[0], counts.intended[0], counts.find_majority(0)) == (2, 1, 0)
    assert (counts.subjects[1], counts.intended[1], counts.find_majority(1)) == (2, 1, None)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([("zz", "s", 0)], "no problem with the id 'zz'"),
        ([("a", "s", 2)], "'s' chose option 3 of 'a', which has 2"),
        ([("a", "s", 0), ("a", "s", 1)], "'s' answered 'a' twice"),
    ],
)
def test_responses_that_do_not_fit_are_named(
    said: list[tuple[str, str, int]], message: str
) -> None:
    """An unknown problem, an unknown option and a second answer are refused."""
    data = Dataset([problem("a", "a")])
    with pytest.raises(DataError, match=message):
        tally(data, [Response(item, who, "test", choice) for item, who, choice in said])


def test_counts_of_another_data_set_are_refused() -> None:
    """The counts must be as many as the problems."""
    data = Dataset([problem("a", "a")])
    with pytest.raises(DataError, match="counts for 2 problems; the data set has 1"):
        select(data, Tally(np.ones(2, int), np.ones(2, int)))


def simulated(
    seed: int, items: int = 100, people: int = 16
) -> tuple[Dataset, list[Response], np.ndarray]:
    """Return problems, answers, and how likely a new person is to give the intended one."""
    rng = np.random.default_rng(seed)
    data = Dataset(
        Problem(f"{at}", f"Cup {at} hit the jug and _ broke.", ("cup", "jug"), 0)
        for at in range(items)
    )
    likely = rng.beta(9, 1.5, items)
    right = rng.random((people, items)) < likely
    said = [
        Response(str(at), f"s{who}", "test", 0 if right[who, at] else 1)
        for who in range(people)
        for at in range(items)
    ]
    return data, said, likely


@pytest.mark.long
def test_cross_fitting_removes_the_bias() -> None:
    """Over 25 simulated tests the naive figure is 4 points too high, this one is not."""
    rules = Rules(size=35, floor=0.5)
    naive, fitted = [], []
    for seed in range(25):
        data, said, likely = simulated(seed)
        found = select(data, tally(data, said), rules)
        truth = likely[list(found.rows)].mean()
        naive.append(found.naive_accuracy - truth)
        fitted.append(cross_fit(data, said, rules, folds=16).agreement.value - truth)
    assert np.mean(naive) > 0.03
    assert abs(np.mean(fitted)) < 0.01


def test_two_tests_are_spread_over_the_folds() -> None:
    """Takers of each test are in every fold, so that each problem keeps people to choose by."""
    data, said, _ = simulated(1, items=20, people=12)
    halves = [r for r in said if (int(r.participant[1:]) < 6) == (int(r.problem_id) < 10)]
    fit = cross_fit(data, halves, Rules(floor=0.5, subjects=4), folds=6)
    assert fit.folds == 6
    assert min(fit.sizes) >= 15
    assert 0 < fit.kept_fraction <= 1
    assert fit.record()["folds"] == 6


def test_the_agreement_is_the_share_of_intended_answers() -> None:
    """Where each problem is chosen whoever is held out, every answer counts once."""
    data, said, _ = simulated(5, items=20, people=12)
    fit = cross_fit(data, said, Rules(floor=0.0, subjects=1), folds=4)
    assert fit.sizes == (20, 20, 20, 20)
    assert fit.agreement.n == len(said)
    assert fit.agreement.right == sum(response.choice == 0 for response in said)


def test_the_same_seed_gives_the_same_estimate() -> None:
    """The order of the responses does not matter, and the seed decides the folds."""
    data, said, _ = simulated(2, items=30, people=8)
    rules = Rules(size=10, floor=0.5)
    once = cross_fit(data, said, rules, folds=4, seed=3)
    assert cross_fit(data, said[::-1], rules, folds=4, seed=3) == once


def test_progress_is_told() -> None:
    """Each fold is told with how many there are; there are no more folds than people."""
    data, said, _ = simulated(2, items=10, people=4)
    told: list[tuple[int, int]] = []
    cross_fit(data, said, folds=9, on_fold=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_too_few_people_and_folds_are_refused() -> None:
    """With three people nobody can be spared, and one fold leaves nobody to choose."""
    data, said, _ = simulated(2, items=5, people=3)
    with pytest.raises(DataError, match=r"3 people answered; .* needs at least 4"):
        cross_fit(data, said)
    data, said, _ = simulated(2, items=5, people=5)
    with pytest.raises(InputError, match="folds is 1; it must be a whole number, 2 or more"):
        cross_fit(data, said, folds=1)


def test_a_set_that_a_fold_can_not_fill_takes_what_there_is() -> None:
    """When fewer people let through fewer problems than asked for, the fold's set is smaller."""
    data, said, _ = simulated(4, items=20, people=6)
    counts = tally(data, said)
    size = int((counts.compute_agreement() >= 0.83).sum())
    fit = cross_fit(data, said, Rules(size=size, floor=0.83), folds=6)
    assert max(fit.sizes) <= size
    assert fit.agreement.n > 0
