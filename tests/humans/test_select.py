"""Selection of a reliable subset, unbiased estimates of its agreement, and its publication."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, Response, formats
from winosmith.errors import DataError, InputError
from winosmith.humans import (
    CANARY,
    Rules,
    Tally,
    cross_fit,
    get_text,
    publish,
    read_tally,
    select,
    tally,
)
from winosmith.testing import make_twins


def problem(name: str, text: str, *, answer: int = 0, twin: str | None = None) -> Problem:
    """Return a problem on the text with this name."""
    sentence = f"The {text} cup hit the jug and _ broke."
    return Problem(name, sentence, ("cup", "jug"), answer, twin, pronoun="it")


def counted(dataset: Dataset, right: list[int], of: int = 9) -> Tally:
    """Return a tally with these numbers of correct people, each out of `of`."""
    return Tally(np.full(len(dataset), of), np.array(right))


@st.composite
def materials(draw: st.DrawFn) -> tuple[Dataset, Tally, Rules]:
    """Draw up to nine problems on few texts, some of them twins, with counts and rules."""
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
    """Check the rules for a choice independently of `select`."""
    chosen = [data[row] for row in rows]
    texts = [get_text(p) for p in chosen]
    twins = [p.twin_id for p in chosen if p.twin_id is not None]
    sound = all(counts.compute_agreement()[row] >= rules.floor for row in rows)
    if rules.both_halves:
        for twin in twins:
            members = [row for row, other in enumerate(data) if other.twin_id == twin]
            halves = counts.compute_agreement()[members]
            sound = sound and len(members) == 2 and halves.min() >= rules.floor
    few = max(map(texts.count, texts), default=0) <= rules.per_text
    return sound and few and len(set(twins)) == len(twins)


def agreement(data: Dataset, counts: Tally, rules: Rules) -> np.ndarray:
    """Return the mean agreement of both halves of each schema, or that of a single problem."""
    worth = counts.compute_agreement()
    for rows in map(list, data.twins):
        if worth[rows].min() >= rules.floor:
            worth[rows] = worth[rows].mean()
    return worth


@examples(60)
@given(materials())
def test_selection_is_optimal(made):
    """It has the maximum number of problems, then the maximum agreement, that the rules allow."""
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
def test_selection_ignores_the_order_of_problems_and_options(made, seed, rng):
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


def test_ties_are_resolved_independently_of_the_order():
    """Two choices have equal sums of random numbers."""
    texts = zip("0123", "abab", (None, None, "t", "t"), strict=True)
    made = [problem(name, text, twin=twin) for name, text, twin in texts]
    rules = Rules(floor=0, per_text=1, both_halves=False)
    chosen = {
        frozenset(select(data, counted(data, [9] * 4), rules).filtered.kept.ids)
        for data in map(Dataset, permutations(made))
    }
    assert len(chosen) == 1


@examples(60)
@given(materials(), st.integers(0, 3))
def test_kept_and_dropped_are_the_input(made, seed):
    """Every problem is chosen or has a reason."""
    data, counts, rules = made
    found = select(data, counts, rules, seed)
    dropped = {left.row for left in found.filtered.dropped}
    assert dropped | set(found.rows) == set(range(len(data)))
    assert not dropped & set(found.rows)
    assert all(left.reason for left in found.filtered.dropped)
    assert select(data, counts, rules, seed).rows == found.rows


def test_published_60_pdps_have_the_printed_counts(data_dir):
    """See Davis et al. (2016), section 5."""
    data = formats.read(data_dir / "pdp/PDPChallenge2016.xml")
    counts = read_tally(data)
    assert counts is not None
    found = select(data, counts)
    assert (len(found.rows), found.right, found.answers) == (60, 1103, 1140)
    assert f"{found.naive_accuracy:.2%}" == "96.75%"
    assert found.levels == {(19, 19): 33, (18, 19): 19, (17, 19): 6, (16, 19): 2}


def schemas_of_2016() -> tuple[Dataset, Tally]:
    """Return 89 schemas with the agreement in section 4.4 of Davis et al. (2016)."""
    pairs = [(9, 9)] * 38 + [(9, 8)] * 21 + [(8, 8)] * 3 + [(9, 7)] * 27
    data = Dataset(
        problem(f"{at}{half}", f"{at}{half}", answer=answer, twin=str(at))
        for at in range(89)
        for answer, half in enumerate("ab")
    )
    return data, counted(data, [n for pair in pairs for n in pair])


def test_60_halves_of_2016_are_selected_as_published():
    """See Davis et al. (2016), section 5."""
    data, counts = schemas_of_2016()
    found = select(data, counts, Rules(size=60, floor=8 / 9))
    assert found.schemas == {((9, 9), (9, 9)): 38, ((9, 9), (8, 9)): 21, ((8, 9), (8, 9)): 1}
    assert sum(found.levels.values()) == 60
    assert found.record()["schemas"] == [[9, 9, 9, 9, 38], [9, 9, 8, 9, 21], [8, 9, 8, 9, 1]]


@pytest.mark.parametrize(("size", "kinds"), [(38, [38]), (59, [38, 21]), (10, [10])])
def test_schemas_are_ranked_by_both_halves(size, kinds):
    data, counts = schemas_of_2016()
    for seed in range(5):
        found = select(data, counts, Rules(size=size, floor=8 / 9), seed)
        assert list(found.schemas.values()) == kinds


def test_half_is_drawn_independently_of_its_agreement():
    """Of the 4,200 draws, 2,100 are expected: 107 is 3.3 binomial standard deviations of 32."""
    data, counts = schemas_of_2016()
    rules = Rules(size=59, floor=8 / 9)
    rows = [row for seed in range(200) for row in select(data, counts, rules, seed).rows]
    unequal = [row for row in rows if 76 <= row < 118]
    assert abs(sum(counts.intended[row] == 9 for row in unequal) - 2100) < 107
    assert set(unequal) == set(range(76, 118))


def test_drawn_halves_do_not_depend_on_the_counts():
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


def test_reasons_state_the_violated_rule():
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
    right, asked = np.array([2, 4, 9, 8, 9, 9, 9, 3, 9, 9, 9]), np.array([2, *[9] * 10])
    choices = np.zeros((len(data), 5), int)
    answers = np.array([item.answer or 0 for item in data])
    choices[range(11), answers], choices[range(11), 1 - answers] = right, asked - right
    counts = Tally(asked, right, choices)
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
def test_impossible_or_invalid_rules_are_refused(rules, message):
    data = Dataset(problem(str(at), str(at)) for at in range(4))
    with pytest.raises(InputError, match=message):
        select(data, counted(data, [8] * 4), Rules(**rules))


def test_tally_counts_x_but_no_votes_of_judges():
    data = Dataset([problem("a", "a"), problem("b", "b")])
    said = [Response(*of, "test", choice) for *of, choice in
            [("b", "s1", 0), ("b", "s2", 1), ("a", "s1", 0)]]  # fmt: skip
    said.append(Response("a", "s2", "test", None, ambiguous=True))
    counts = tally(data, [*said, Response("a", "s3", "validate", 0)])
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
def test_inconsistent_responses_are_refused(said, message):
    data = Dataset([problem("a", "a")])
    with pytest.raises(DataError, match=message):
        tally(data, [Response(item, who, "test", choice) for item, who, choice in said])


def test_counts_of_another_data_set_are_refused():
    data = Dataset([problem("a", "a")])
    with pytest.raises(DataError, match="counts for 2 problems; the data set has 1"):
        select(data, Tally(np.ones(2, int), np.ones(2, int)))


def simulated(
    seed: int, items: int = 100, people: int = 16
) -> tuple[Dataset, list[Response], np.ndarray]:
    """Return problems, answers, and each problem's probability of the intended answer."""
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
def test_cross_fitting_removes_selection_bias():
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


def test_takers_of_each_test_are_in_every_fold():
    """So each problem keeps people whose answers select it."""
    data, said, _ = simulated(1, items=20, people=12)
    halves = [r for r in said if (int(r.participant[1:]) < 6) == (int(r.problem_id) < 10)]
    fit = cross_fit(data, halves, Rules(floor=0.5, subjects=4), folds=6)
    assert fit.folds == 6
    assert min(fit.sizes) >= 15
    assert 0 < fit.kept_fraction <= 1
    assert fit.record()["folds"] == 6


def test_cross_fit_counts_each_answer_once():
    """All problems are chosen in every fold."""
    data, said, _ = simulated(5, items=20, people=12)
    fit = cross_fit(data, said, Rules(floor=0.0, subjects=1), folds=4)
    assert fit.sizes == (20, 20, 20, 20)
    assert fit.agreement.n == len(said)
    assert fit.agreement.right == sum(response.choice == 0 for response in said)


def test_cross_fit_does_not_depend_on_response_order():
    data, said, _ = simulated(2, items=30, people=8)
    rules = Rules(size=10, floor=0.5)
    once = cross_fit(data, said, rules, folds=4, seed=3)
    assert cross_fit(data, said[::-1], rules, folds=4, seed=3) == once
    assert cross_fit(data, said, rules, folds=4, seed=4) != once


def test_progress_reports_each_fold():
    data, said, _ = simulated(2, items=10, people=4)
    told: list[tuple[int, int]] = []
    cross_fit(data, said, folds=9, on_fold=lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_too_few_people_and_folds_are_refused():
    data, said, _ = simulated(2, items=5, people=3)
    with pytest.raises(DataError, match=r"3 people answered; .* needs at least 4"):
        cross_fit(data, said)
    data, said, _ = simulated(2, items=5, people=5)
    with pytest.raises(InputError, match="folds is 1; it must be a whole number, 2 or more"):
        cross_fit(data, said, folds=1)


def test_fold_may_select_fewer_problems_than_requested():
    data, said, _ = simulated(4, items=20, people=6)
    counts = tally(data, said)
    size = int((counts.compute_agreement() >= 0.83).sum())
    fit = cross_fit(data, said, Rules(size=size, floor=0.83), folds=6)
    assert max(fit.sizes) <= size
    assert fit.agreement.n > 0


def test_used_twins_are_released_and_others_embargoed():
    data = make_twins(10)
    used = [data[row].id for pair in data.twins[:3] for row in pair[:1]]
    after = publish(data, used)
    assert len(after.released) == 6
    assert after.alternates == 3
    assert sorted([*after.released.ids, *after.withheld.ids]) == sorted(data.ids)
    assert all(problem.embargo for problem in after.withheld)
    assert not any(problem.embargo for problem in after.released)


def test_embargo_ends_when_a_problem_is_used():
    data = make_twins(4)
    first = publish(data, [data[data.twins[0][0]].id])
    later = publish(first.withheld, [first.withheld[0].id])
    assert not any(problem.embargo for problem in later.released)


def test_every_problem_has_the_canary_of_the_data():
    data = make_twins(3)
    after = publish(data, [data[0].id])
    marks = {problem.extra[CANARY] for problem in (*after.released, *after.withheld)}
    assert marks == {after.canary}
    assert publish(data, [data[0].id]).canary == after.canary
    assert publish(data[:2], [data[0].id]).canary != after.canary


@pytest.mark.parametrize(
    ("used", "message"),
    [([], "the list of used problems is empty"), (["?"], "no problem with the id")],
)
def test_no_or_unknown_used_problems_are_refused(used, message):
    with pytest.raises(DataError, match=message):
        publish(Dataset(make_twins(2)), used)
