"""Models' answers: wrong keys, and items that all or no models solve."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from winosmith import Dataset, Prediction, Problem, answers, audit
from winosmith.answers import from_choices
from winosmith.audit._triage import choose_items_to_set_aside
from winosmith.errors import DataError
from winosmith.metrics import compare, grade

Chosen = dict[str, dict[str, int | None]]


def _items(n: int) -> Dataset:
    return Dataset(
        Problem(f"q{at}", f"What is number {at} of {n} things? _",
                tuple(f"{letter}{at}" for letter in "abc"), 0)
        for at in range(n)
    )  # fmt: skip


def _triage(data: Dataset, chosen: Chosen) -> audit.Triage:
    return audit.triage(audit.Items.from_dataset(data), from_choices(chosen))


def test_items_are_ranked_by_agreement_on_another_option():
    data = _items(20)
    good = {problem.id: 0 for problem in data} | {"q3": 2}
    poor = {problem.id: 1 for problem in data} | {"q3": 0}
    found = _triage(data, {"one": good, "two": good, "three": good, "poor": poor})
    assert (found.suspects[0].id, found.suspects[0].other, found.suspects[0].models) == ("q3", 2, 3)
    assert found.suspects[0].agreement == 1.0
    assert found.missed == ()
    assert found.saturated == ()
    assert next(iter(found.models)) in ("one", "two", "three")


@pytest.mark.parametrize("copies", [1, 3])
def test_audit_and_compare_give_equal_accuracies(copies):
    rng = np.random.default_rng(0)
    data = Dataset(replace(p, id=f"{p.id}-{n}") for p in _items(60) for n in range(copies))
    chosen = {
        name: {p.id: int(rng.random() > share) for p in data}
        for name, share in (("one", 0.7), ("two", 0.55), ("three", 0.4))
    }
    found = _triage(data, chosen)
    compared = compare(
        {
            name: grade(data, [Prediction(p.id, own[p.id]) for p in data])
            for name, own in chosen.items()
        }
    )
    assert [*found.models] == ["one", "two", "three"]
    for name, of in compared.accuracies.items():
        model = found.models[name]
        assert (model.accuracy.right, model.asked_count) == (of.right, of.n)
        assert model.interval == pytest.approx(of.interval)
    part = audit.audit(data, draws=19, probe_draws=0, answers=from_choices(chosen))
    assert f"{100 * found.models['two'].right:.1f}" in audit.render_page(part)


def test_items_that_all_or_no_models_solve_are_listed():
    data = _items(3)
    one = {"q0": 0, "q1": 1, "q2": 0}
    found = _triage(data, {"one": one, "two": {"q0": 0, "q1": 2}})
    assert (found.saturated, found.missed) == (("q0", "q2"), ("q1",))
    assert [one.asked_count for one in found.models.values()] == [3, 2]
    invalid = _triage(data, {"one": one, "two": {"q2": None}})
    assert invalid.saturated == ("q0",)
    assert [one.invalid for one in invalid.models.values()] == [0, 1]
    assert [one.right for one in invalid.models.values()] == [2 / 3, 0.0]


def test_answer_beyond_the_options_is_refused():
    with pytest.raises(
        DataError, match="m: the answer to 'q0' is option 4, but the problem has only 3"
    ):
        _triage(_items(2), {"m": {"q0": 3}})


def test_answers_to_another_data_set_are_refused():
    with pytest.raises(DataError, match="a different data set"):
        audit.audit(_items(5), draws=19, probe_draws=0, answers=from_choices({"m": {"x": 0}}))


def test_answers_to_one_split_are_reported_only_for_it():
    other = Dataset(Problem(f"o{at}", f"Who is {at}? _", ("x", "y"), 0) for at in range(5))
    splits, given = {"a": _items(5), "b": other}, from_choices({"m": {"o1": 0}})
    found = audit.audit(splits, draws=19, probe_draws=0, answers=given)
    assert [part.triage is None for part in found.parts] == [True, False]
    page = audit.render_page(found)
    assert "1 model. Items that all models solve: 1; that no model solves: 0." in page


@pytest.fixture(scope="module")
def redux(data_dir: Path) -> tuple[audit.Items, Mapping[str, answers.Answers], set[str]]:
    """Return MMLU-Redux, answers of 14 models, and the ids of keys that experts marked as wrong."""
    folder = data_dir / "mmlu_redux"
    rows = [
        json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").split("\n")[:-1]
    ]
    assert (sum(row["error_type"] != "ok" for row in rows), len(rows)) == (370, 5700)
    data = Dataset(
        Problem(row["id"], row["question"], tuple(row["choices"]), row["answer"], blank=None)
        for row in rows
        if len({choice.strip() for choice in row["choices"]}) == len(row["choices"])
    )
    wrong = {row["id"] for row in rows if row["error_type"] == "wrong_groundtruth"} & {*data.ids}
    return audit.Items.from_dataset(data), answers.read(folder / "answers.csv", data), wrong


def test_planted_keys_find_more_wrong_keys_of_mmlu_redux(redux):
    """The ranking is compared with that by agreement. Experts marked 370 of 5,700 items."""
    items, given, wrong = redux
    found = audit.triage(items, given)
    agreement = {suspect.id: suspect.agreement for suspect in found.suspects}
    marked = [problem.id in wrong for problem in items.problems]
    scores = [agreement.get(problem.id, 0.0) for problem in items.problems]
    assert roc_auc_score(marked, scores) > 0.89
    first = found.suspects[: len(wrong)]
    assert sum(suspect.id in wrong for suspect in first) / len(wrong) > 0.4
    by_agreement = sorted(found.suspects, key=lambda one: -one.agreement)[:500]
    hits = sum(suspect.id in wrong for suspect in found.suspects[:500])
    assert hits > 80 > 77 > sum(suspect.id in wrong for suspect in by_agreement)
    keys = found.wrong_keys
    assert roc_auc_score(marked, keys.scores) > roc_auc_score(marked, scores)
    assert all(one.most is not None and one.most >= len(wrong) for one in keys.bounds)


def test_49_of_113_set_aside_items_of_mmlu_redux_have_wrong_keys(redux):
    """By default, a repair sets aside 2 % of the 5,693 items. Experts marked the wrong keys."""
    items, given, wrong = redux
    found = choose_items_to_set_aside(items, given, None, 0)
    assert len(found.set_aside) == int(0.02 * len(items)) == 113
    assert sum(one.id in wrong for one in found.set_aside) == 49
