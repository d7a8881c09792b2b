"""Repairs set wrong keys aside that models reveal, and report the effect on the others."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, audit, formats
from winosmith.answers import from_choices
from winosmith.audit._triage import MAX_SET_ASIDE, choose_items_to_set_aside
from winosmith.errors import DataError

CUES = [cue for cue in audit.CUES if cue.name in ("the longest, in characters", "a comma")]
HOW: dict[str, Any] = {"cues": CUES, "draws": 39, "probe_draws": 0}


def _quiz(
    n: int,
    wrong: float,
    *,
    share: float = 0.5,
    mark: str = " and so on",
    models: int = 8,
    right: tuple[float, float] = (0.6, 0.9),
    seed: int = 0,
) -> tuple[Dataset, dict[str, dict[str, int | None]], set[str]]:
    """Make items, models' answers and the ids of wrong keys.

    The correct option has a mark in a fraction of the items, otherwise a random one. Each model
    chooses the correct option with a random probability within `right`, otherwise another random
    one.
    """
    rng = np.random.default_rng(seed)
    truth, off = rng.integers(4, size=n), rng.integers(1, 4, size=(models + 1, n))
    marked = np.where(rng.random(n) < share, truth, rng.integers(4, size=n))
    is_wrong = rng.permutation(n) < round(wrong * n)
    keys = np.where(is_wrong, (truth + off[0]) % 4, truth)
    words = [rng.permutation(900)[:4] + 100 for _ in range(n)]
    found = []
    for at in range(n):
        marks = [mark if place == marked[at] else "" for place in range(4)]
        options = (f"w{word} {at}{end}" for word, end in zip(words[at], marks, strict=True))
        asked = f"Which is {at}, or {rng.integers(10**6)}?"
        found.append(Problem(f"q{at}", asked, tuple(options), int(keys[at]), blank=None))
    data = Dataset(found, "quiz")
    sees = rng.random((models, n)) < rng.uniform(*right, models)[:, None]
    chosen = np.where(sees, truth, (truth + off[1:]) % 4)
    said: dict[str, dict[str, int | None]] = {
        f"m{at}": dict(zip(data.ids, map(int, own), strict=True)) for at, own in enumerate(chosen)
    }
    return data, said, {data.ids[at] for at in np.flatnonzero(is_wrong)}


def _repair(data: Dataset, **how: Any) -> audit.Repair:
    return audit.repair(data, **HOW, **how)


def _rate(data: Dataset, wrong: set[str]) -> float:
    return sum(name in wrong for name in data.ids) / len(data)


@pytest.mark.parametrize("seed", range(6))
def test_thinning_with_answers_does_not_raise_rate_of_wrong_keys(seed):
    """Models that are correct in 60 to 90 % reveal so many wrong keys that the rate falls."""
    rng = np.random.default_rng(seed)
    n, mark = int(rng.integers(400, 700)), str(rng.choice([" and so on", ", I think"]))
    data, said, planted = _quiz(
        n, rng.uniform(0.01, 0.03), share=rng.uniform(0.2, 0.65), mark=mark, seed=seed
    )
    found = _repair(data, answers=from_choices(said))
    assert _rate(found.dataset, planted) <= _rate(data, planted)
    assert len(found.set_aside) <= MAX_SET_ASIDE * n
    assert found.filtered.input() == data


def test_first_suspects_are_set_aside_with_their_reason():
    data, said, _ = _quiz(400, 0.02)
    ranked = audit.triage(audit.Items.from_dataset(data), from_choices(said)).suspects
    suspects = sorted(ranked, key=lambda one: -one.agreement)
    assert len(suspects) > 15
    found = _repair(data, answers=from_choices(said), set_aside=15)
    least = suspects[14].agreement
    assert [one.agreement for one in found.doubts.set_aside] == pytest.approx(
        [one.agreement for one in suspects[:15]]
    )
    assert {one.id for one in suspects if one.agreement > least + 1e-9} <= {*found.set_aside.ids}
    first = found.doubts.set_aside[0]
    problem = data[data.row(first.id)]
    gone = {e.problem.id: e.reason for e in found.filtered.dropped if e.stage == "set aside"}
    assert gone.keys() == {*found.set_aside.ids}
    assert gone[first.id].startswith(
        f"{first.models} models choose “{problem.options[first.other]}”, but its key is “"
    )
    assert "three models must" not in audit.render_repair(found)
    every = _repair(data, answers=from_choices(said), set_aside=1000)
    assert f"Models doubt only {len(suspects)} keys." in audit.render_repair(every)
    none = _repair(data, answers=from_choices(said), set_aside=0)
    assert len(none.set_aside) == 0
    assert none.dataset == _repair(data).dataset


def test_item_set_aside_can_be_appended_to_kept_items(tmp_path):
    """Its options have the order in which they would be kept."""
    data, said, _ = _quiz(300, 0.02)
    found = audit.repair_to_folder(data, tmp_path / "out", answers=from_choices(said), **HOW)
    aside = formats.read(tmp_path / "out" / "set_aside.jsonl")
    assert aside.problems == found.set_aside.problems
    for problem in aside:
        came = data[data.row(problem.id)]
        order = found.orders.get(problem.id, (0, 1, 2, 3))
        assert tuple(came.options[place] for place in order) == problem.options
        assert came.options[came.answer or 0] == problem.options[problem.answer or 0]
    lines = (tmp_path / "out" / "set_aside.jsonl").read_text("utf-8")
    with (tmp_path / "out" / "kept.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines)
    assert len(formats.read(tmp_path / "out" / "kept.jsonl")) == len(found.dataset) + len(aside)


def test_other_half_of_a_suspect_is_also_set_aside():
    """A half without its twin would make one answer more likely."""
    halves = [
        Problem(f"h{half}", f"The w1 hit y1 and the _ was {word}.", ("w1 v1", "y1"), half, "t")
        for half, word in enumerate(["big", "small"])
    ]
    data, said, _ = _quiz(200, 0.0)
    told = {name: {**own, "h0": 1, "h1": 1} for name, own in said.items()}
    both = Dataset([*data, *halves])
    found = _repair(both, answers=from_choices(told), set_aside=1)
    reasons = {e.problem.id: e.reason for e in found.filtered.dropped if e.stage == "set aside"}
    assert reasons["h1"] == "the other half of h0, whose key models doubt"
    assert reasons.keys() == {"h0", "h1"}


@given(st.permutations(range(150)))
@examples(10)
def test_items_set_aside_do_not_depend_on_ids_or_row_order(order):
    """Suspects with equal agreement are drawn by their texts."""
    data, said, _ = _quiz(150, 0.0, models=3, right=(0.4, 0.4), seed=3)
    names = {name: f"x{at}" for name, at in zip(data.ids, order, strict=True)}
    rows = Dataset(replace(data[at], id=names[data[at].id]) for at in order)
    renamed = {m: {names[name]: choice for name, choice in own.items()}
               for m, own in said.items()}  # fmt: skip
    one = choose_items_to_set_aside(audit.Items.from_dataset(data), from_choices(said), 5, 0)
    two = choose_items_to_set_aside(audit.Items.from_dataset(rows), from_choices(renamed), 5, 0)
    assert [names[found.id] for found in one.set_aside] == [found.id for found in two.set_aside]


def test_two_models_set_nothing_aside_by_default():
    """Each of two models has only one other, whose answer would be the agreement of all others."""
    data, said, _ = _quiz(300, 0.02, models=2)
    found = _repair(data, answers=from_choices(said))
    assert (found.doubts.set_aside, found.doubts.threshold) == ((), None)
    assert "requires the answers of at least three models" in audit.render_repair(found)
    some = _repair(data, answers=from_choices(said), set_aside=3)
    assert len(some.set_aside) == 3


def test_page_and_json_report_bias_of_items_set_aside():
    """Without these items the accuracy is higher, because models answered them incorrectly."""
    data, said, _ = _quiz(500, 0.05)
    found = _repair(data, answers=from_choices(said))
    page, record = audit.render_repair(found), found.record()
    assert len(found.doubts.set_aside) == 10
    beyond = found.doubts.strong_count
    assert beyond > 10
    for sentence in (
        "Set aside because models agree on another option: 10 items, such as "
        + found.doubts.set_aside[0].id,
        "Most of them may be sound items that models get wrong.",
        "are biased upwards",
        f") on {beyond - 10} other items.",
        f"set_aside={beyond} includes them",
    ):
        assert sentence in page
    assert record["dropped"]["set aside"] == 10
    assert len(record["set_aside"]["items"]) == 10
    keys = {problem.id: problem.answer for problem in data}
    for model, shares in record["set_aside"]["accuracy"].items():
        given = said[model]
        for name, ids in (("before", data.ids), ("after", found.dataset.ids)):
            right = np.mean([given[one] == keys[one] for one in ids])
            assert shares[name] == pytest.approx(right)
        assert shares["without"] > shares["before"]


def test_factor_is_the_effect_of_thinning_on_planted_wrong_keys():
    """Repairs of the same items with planted wrong keys raise their rate by the same factor."""
    data = _quiz(300, 0.0)[0]
    found = _repair(data)
    told = found.concentration
    assert told.sets >= 20
    assert (told.planted, told.items, told.total_items) == (10, 300, 300)
    assert 1.5 < told.low < told.factor < told.high < 2.5
    factors = []
    for seed in range(6):
        wrong = {*np.random.default_rng(seed).permutation(300)[:12].tolist()}
        planted = Dataset(
            replace(p, answer=((p.answer or 0) + 1) % 4) if at in wrong else p
            for at, p in enumerate(data)
        )
        names = {data.ids[at] for at in wrong}
        factors.append(_rate(_repair(planted).dataset, names) / _rate(data, names))
    error = float(np.std(factors, ddof=1)) / 6**0.5
    assert abs(np.mean(factors) - told.factor) < 3 * error + 0.05
    assert f"multiplies the rate of wrong keys by {told.factor:.2f}" in audit.render_repair(found)
    assert found.record()["wrong_keys"]["factor"] == told.factor


def test_no_factor_is_reported_if_nothing_is_thinned():
    """Every item is equally likely to be kept."""
    found = _repair(_quiz(300, 0.0, share=0.0)[0])
    assert (found.cues, found.concentration) == ((), None)
    assert found.record()["wrong_keys"] is None
    assert "rate of wrong keys" not in audit.render_repair(found)


def test_factor_of_large_data_is_measured_on_a_sample(monkeypatch):
    monkeypatch.setattr("winosmith.audit._thinning._MAX_SYNTHETIC_ITEMS", 300)
    found = _repair(_quiz(500, 0.0)[0])
    assert (found.concentration.items, found.concentration.total_items) == (300, 500)
    assert "these items (300, drawn from 500)" in audit.render_repair(found)


def test_repair_that_keeps_too_few_is_refused(tmp_path):
    data = _quiz(600, 0.0, share=0.885, seed=1)[0]
    steps: list[str] = []
    folder = tmp_path / "out"
    refused = pytest.raises(DataError, match=r"characters” is correct for 89\.5 % of the items")
    with refused as error:
        audit.repair_to_folder(data, folder, step=steps.append, **HOW)
    message = str(error.value)
    assert "would be kept, but at least 20 % must be" in message
    assert "rewrite options so that “the longest, in characters” is incorrect" in message
    assert not folder.exists()
    lower = float(message.rpartition("least_kept=")[2].rstrip("`"))
    found = audit.repair_to_folder(data, folder, least_kept=lower, step=steps.append, **HOW)
    kept = next(at for at, step in enumerate(steps) if "items will be kept" in step)
    assert steps[kept].startswith(f"repair: {len(found.dataset)} of 600 items will be kept")
    assert not any("half" in step for step in steps[:kept])


def test_only_splits_with_answers_set_items_aside(tmp_path):
    data, said, _ = _quiz(300, 0.02)
    other = Dataset([replace(p, id=f"x{p.id}") for p in _quiz(300, 0.02, seed=5)[0]], "other")
    splits = {"other": other, "quiz": data}
    found = audit.repair_splits(splits, tmp_path / "out", answers=from_choices(said), **HOW)
    assert found["other"].doubts is None
    assert not (tmp_path / "out" / "other" / "set_aside.jsonl").exists()
    assert len(found["quiz"].set_aside) > 0
    foreign = from_choices({"m": {"none": 0}})
    with pytest.raises(DataError, match="a different data set"):
        audit.repair_splits({"other": other}, tmp_path / "b", answers=foreign, **HOW)
    with pytest.raises(DataError, match="a different data set"):
        _repair(data, answers=foreign)
    with pytest.raises(DataError, match="setting aside 3 items requires models' answers"):
        _repair(data, set_aside=3)
