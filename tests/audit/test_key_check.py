"""The check of keys by people: drawn items, judges' questions, the interval of wrong keys."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import hypergeom

from tests.conftest import examples
from winosmith import Dataset, Extra, Problem, Response, audit
from winosmith.audit import (
    KeyCheck,
    Suspect,
    draw_check,
    estimate_wrong_keys,
    make_problems_for_judges,
)
from winosmith.audit._key_check import bound_marked_items, judge_keys
from winosmith.errors import DataError, FormatError
from winosmith.metrics import wilson_interval


def _items(n: int) -> Dataset:
    return Dataset(
        Problem(f"item{at}", f"What is number {at}?", tuple(f"{letter}{at}" for letter in "abc"),
                at % 3, blank=None, extra=Extra({"csv.key": "abc"[at % 3]}))
        for at in range(n)
    )  # fmt: skip


def _suspects(ids: list[str]) -> list[Suspect]:
    return [Suspect(name, 0, 0.9, 3) for name in ids]


def _judge(check: KeyCheck, wrong: set[str], judges: str = "xyz") -> list[Response]:
    """Return answers of perfect judges."""
    return [
        Response(one.asked, judge, "test", (one.key + (one.id in wrong)) % len(one.options))
        for one in check.items
        for judge in judges
    ]


@examples(60)
@given(st.integers(1, 60), st.data())
def test_limits_are_hypergeometric(items, data):
    """Each number of wrong keys within the limits is compatible with the sample; no other is."""
    drawn = data.draw(st.integers(1, items))
    found = data.draw(st.integers(0, drawn))
    alpha = data.draw(st.sampled_from([0.025, 0.0125, 0.2]))
    low, high = bound_marked_items(items, drawn, found, alpha)
    possible = range(found, items - drawn + found + 1)
    above = [M for M in possible if hypergeom.sf(found - 1, items, M, drawn) > alpha]
    below = [M for M in possible if hypergeom.cdf(found, items, M, drawn) > alpha]
    assert (low, high) == (min(above), max(below))


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.03, 0.10])
def test_interval_covers_the_number_of_wrong_keys(rate):
    """In 400 data sets, coverage is compatible with 95 %, by Wilson's interval.

    The judges are perfect. Half of the wrong keys are among the first tenth of the suspects.
    """
    data, rng = _items(1000), np.random.default_rng(0)
    covered = 0
    for seed in range(400):
        order = [*map(str, rng.permutation(data.ids))]
        ranks = np.where(rng.random(round(rate * 1000)) < 0.5, 100, 1000)
        wrong = {order[rng.integers(most)] for most in ranks}
        check = draw_check(data, _suspects(order[:300]), 60, seed=seed)
        low, high = estimate_wrong_keys(check, _judge(check, wrong)).limits
        covered += low <= len(wrong) <= high
    assert wilson_interval(covered, 400)[1] >= 0.95


def test_first_suspects_and_random_other_items_are_drawn():
    """A quarter of the checks is for the first suspects; every other item can be drawn."""
    data = _items(60)
    suspects = _suspects(["item5", "unknown", "item3", "item8", "item1", "item2", "item4"])
    drawn: set[str] = set()
    orders = set()
    for seed in range(30):
        check = draw_check(data, suspects, 16, seed=seed)
        first = {one.id for one in check.items if one.stratum == 0}
        assert first == {"item5", "item3", "item8", "item1"}
        assert [(one.items, one.drawn) for one in check.strata] == [(4, 4), (56, 12)]
        assert [one.asked for one in check.items] == [str(at) for at in range(1, 17)]
        drawn |= {one.id for one in check.items}
        orders.add(tuple(one.stratum for one in check.items))
    assert drawn == {*data.ids}
    assert len(orders) > 20
    assert draw_check(data, suspects, 16, seed=1) == draw_check(data, suspects, 16, seed=1)
    (alone,) = draw_check(data, (), 20).strata
    assert (alone.name, alone.items, alone.drawn) == ("all items", 60, 20)
    (first, _) = draw_check(data, _suspects(["item3", "item4"]), 20, suspect_count=1).strata
    assert first.name == "the first 1 suspect"
    with pytest.raises(DataError, match="all 10 checked items would be suspects"):
        draw_check(data, _suspects(data.ids), 10, suspect_count=10)
    with pytest.raises(DataError, match="use 10 or more"):
        draw_check(_items(9), (), 20)


def test_problems_for_judges_have_no_keys_and_new_ids(tmp_path):
    twin = [Problem(f"t{half}", f"The cup and the jug {half} _.", ("cup", "jug"), 0, "twin")
            for half in ("fell", "broke")]  # fmt: skip
    data = Dataset([*_items(12), *twin], "quiz")
    check = draw_check(data, _suspects(["item3"]), 99)
    asked = make_problems_for_judges(check, data).kept
    assert {*asked.ids} == {str(at) for at in range(1, 15)}
    shown = repr(asked.problems)
    assert not any(word in shown for word in ("item", "csv.key", "audit", "twin_id='twin'"))
    assert {problem.answer for problem in asked} == {None}
    assert len(asked.twins) == 1
    keys = {one.asked: one.key for one in check.items}
    on_site = make_problems_for_judges(check, data, site=True).kept
    assert {problem.id: problem.answer for problem in on_site} == keys
    path = tmp_path / "check.json"
    path.write_text(json.dumps(audit.make_check_record(check)))
    assert audit.read_check(path) == check


def test_copies_are_judged_once_and_each_key_gets_a_verdict():
    once = _items(12)
    copies = [replace(once[0], id="same"), replace(once[0], id="other", answer=2)]
    check = draw_check(Dataset([*once, *copies]), (), 14)
    asked = make_problems_for_judges(check, Dataset([*once, *copies])).kept
    assert [*asked.ids] == [f"{at}" for at in range(1, 13)]
    said = [
        Response(p.id, judge, "test", int(p.options[0][1:]) % 3) for p in asked for judge in "xyz"
    ]
    verdicts = {key.id: key.verdict for key in judge_keys(check, said)}
    assert verdicts == dict.fromkeys([*once.ids, "same"], "sound") | {"other": "wrong"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"winosmith": "sheet"}, "not written by `winosmith audit --check`"),
        ({"seed": "0"}, "seed"),
        ({"strata": [{"name": "all", "items": 5, "drawn": 20}]}, "the stratum 'all' must have"),
        ({"strata": []}, "strata"),
        ({"items": []}, "items"),
    ],
)
def test_invalid_check_is_refused(change, fault, tmp_path):
    path = tmp_path / "check.json"
    path.write_text(json.dumps(audit.make_check_record(draw_check(_items(60), (), 20)) | change))
    with pytest.raises(FormatError, match=f"check.json: .*{fault}"):
        audit.read_check(path)


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([1, 1, 0], "wrong"),
        ([0, 0, 1], "sound"),
        ([0, 1, 2], "undecided"),
        ([1, 1, None], "wrong"),
        ([1, None, None], "undecided"),
        ([1], "undecided"),
        ([1, 1], "wrong"),
        ([1, 1, 0, 0], "undecided"),
        ([1, 1, 1, 0, 2], "wrong"),
        ([], "undecided"),
    ],
)
def test_verdict_needs_two_judges_and_a_majority(answers, verdict):
    """No choice is an answer, too: the judge finds the item ambiguous."""
    check = draw_check(_items(60), (), 20)
    one, other = (next(item for item in check.items if item.key == 0), check.items[-1])
    said = [Response(one.asked, f"J{at}", "test", choice, ambiguous=choice is None)
            for at, choice in enumerate(answers)]  # fmt: skip
    said += [Response(other.asked, "x", "validate", 0)] * (other is not one)
    found = {key.id: key.verdict for key in judge_keys(check, said)}
    assert found[one.id] == verdict


def test_undecided_keys_widen_the_interval():
    """They count as sound in the lower limit and as wrong in the upper one."""
    data = _items(400)
    check = draw_check(data, (), 40)
    wrong = {check.items[0].id, check.items[1].id}
    said = [one for one in _judge(check, wrong) if one.problem_id not in ("3", "4", "5")]
    said.append(Response(check.items[0].asked, "not a judge", "local", 0))
    found = estimate_wrong_keys(check, said)
    (low, _), (_, high) = (bound_marked_items(400, 40, wrong, 0.025) for wrong in (2, 5))
    assert found.limits == (low, high)
    counts = [len(found.filter_keys(verdict)) for verdict in ("wrong", "undecided")]
    assert (counts, found.people) == ([2, 3], 3)
    assert [one.new for one in found.errata if one.old != one.new] == [
        (one.key + 1) % 3 for one in check.items[:2]
    ]
    assert len(found.errata) == 37


def test_precision_and_visibility_of_the_ranking_are_estimated():
    """4 of 5 suspects are wrong; the limit of the other items bounds all wrong keys."""
    data = _items(400)
    ids = [f"item{at}" for at in range(5)]
    planted = [0.0] * 6 + [0.5] * 4
    check = draw_check(data, _suspects(ids), 20, planted=planted)
    assert check.planted == 0.6
    found = estimate_wrong_keys(check, _judge(check, {*ids[:4]}))
    first, rest = found.strata
    assert (first.wrong, first.limits, first.precision) == (4, (4, 4), (0.8, 0.8))
    assert rest.limits == (0, bound_marked_items(395, 15, 0, 0.025)[1])
    assert found.limits == (4, 4 + rest.limits[1])
    assert found.seen == (4 / found.limits[1], 1.0)
    assert found.visibility == pytest.approx((found.seen[0] / 0.6, 1 / 0.6))
    assert check.max_if_none_found == rest.limits[1]
    wrong = [one for one in check.items if one.id in ids[:4]]
    assert found.confirmed_proposals == sum(one.other == (one.key + 1) % 3 for one in wrong)


def test_invalid_answers_of_judges_are_refused():
    data = _items(400)
    check = draw_check(data, _suspects(["item3", "item4", "item5", "item6", "item7"]), 20)
    said = _judge(check, set())
    with pytest.raises(DataError, match="no answer belongs to an item of this check"):
        estimate_wrong_keys(check, [Response("q", "x", "test", 0)])
    with pytest.raises(DataError, match="'x' judged 'item"):
        estimate_wrong_keys(check, [*said, said[0]])
    with pytest.raises(DataError, match="chose option 4 of 'item"):
        estimate_wrong_keys(check, [Response("1", "x", "test", 3)])
    first = {one.asked for one in check.items if one.stratum == 0}
    with pytest.raises(DataError, match=r"keys of the first 5 suspects .* any of the 5 items"):
        estimate_wrong_keys(check, [one for one in said if one.problem_id not in first])
