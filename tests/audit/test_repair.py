"""A repair thins items that cues reveal, states why items are removed, and bounds what is left."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import everything, examples
from winosmith import Dataset, Extra, Problem, audit
from winosmith.audit._items import TIE_SHARES, Bools, Floats
from winosmith.audit._thinning import _compute_bounds
from winosmith.errors import DataError, OutputError

LENGTHS = [
    cue
    for cue in audit.CUES
    if "length" in cue.name or "characters" in cue.name or cue.name in ("the first", "the last")
]
LONGEST = "the longest, in characters"


def _plant(n: int, share: float, options: int = 4, seed: int = 0) -> Dataset:
    """Make items of random words.

    The longest option is the key in a fraction of them, otherwise a random one.
    """
    rng = np.random.default_rng(seed)
    found = []
    for at in range(n):
        texts = [
            " ".join(f"w{word}" for word in rng.integers(0, 400, int(rng.integers(1, 9))))
            + f" {place}{at}"
            for place in "abcdefghijkl"[:options]
        ]
        longest = int(np.argmax([len(text) for text in texts]))
        key = longest if rng.random() < share else int(rng.integers(options))
        order = rng.permutation(options).tolist()
        found.append(
            Problem(
                f"q{at}",
                f"Which is {at}, or {rng.integers(10**6)}?",
                tuple(texts[place] for place in order),
                order.index(key),
                blank=None,
            )
        )
    return Dataset(found, "planted")


HOW: dict[str, Any] = {"cues": LENGTHS, "draws": 39, "probe_draws": 0}


def _repair(data: Dataset, **how: Any) -> audit.Repair:
    return audit.repair(data, **(HOW | how))


def _find_selected(items: audit.Items) -> Floats:
    """Return each item's credit if the longest option is chosen."""
    longest = next(cue for cue in LENGTHS if cue.name == LONGEST)
    picked = items.count_ties([longest])[items.find_correct_options(items.unit_key), 0]
    return np.asarray(TIE_SHARES[picked])


def _find_bound(proof: audit.Proof, rule: str = LONGEST) -> audit.Bound:
    return next(bound for bound in proof.bounds if bound.rule == rule)


@pytest.fixture(scope="module")
def planted() -> Dataset:
    """Return 900 items of ten options; the longest is the key in 40 %."""
    return _plant(900, 0.33, options=10)


@pytest.fixture(scope="module")
def repaired(planted: Dataset) -> audit.Repair:
    return _repair(planted)


def test_planted_cue_is_at_chance_on_held_out_blocks(repaired):
    longest = next(one for one in repaired.cue_changes if one.rule == LONGEST)
    assert LONGEST in repaired.cues
    assert longest.before > 0.35
    assert abs(longest.after - 0.1) < 0.03
    bound = _find_bound(repaired.proof)
    assert bound.low < 0 < bound.high < 0.07
    assert len(repaired.dataset) > 450


def test_thinning_removes_items_at_random(planted, repaired):
    """Some items whose key the cue selects are kept, and some others are removed."""
    items = audit.Items.from_dataset(planted)
    picked = _find_selected(items) > 0
    stayed = np.array([problem.id in repaired.dataset for problem in items.problems])
    assert stayed[picked].any()
    assert not stayed[~picked].all()


@pytest.mark.parametrize("kept", [0.0, 1.0])
def test_bounds_reveal_too_much_and_too_little_thinning(planted, kept):
    """All items whose longest option is correct are removed, or none."""
    items = audit.Items.from_dataset(planted)
    stays = np.where(_find_selected(items)[items.unit_starts] > 0, kept, 1.0)
    proof = audit.bound_accuracies(items, lambda _: stays, LENGTHS)
    assert not proof.is_within_limit
    bound = _find_bound(proof)
    assert bound.low > 0.2 if kept else bound.high < -audit.LIMIT


def test_many_items_without_a_cue_are_shown_to_be_at_chance():
    found = _repair(_plant(1500, 0.0, options=12, seed=3), cues=LENGTHS[2:4])
    assert (found.cues, found.has_word_model, found.filtered.dropped) == ((), False, ())
    assert found.proof.is_within_limit
    assert not found.proof.wide_bounds
    assert "rules is shown to be within" in audit.explain_repair(found)
    assert "No items were thinned" in audit.render_repair(found)


def test_few_items_are_not_shown_to_be_at_chance():
    found = _repair(_plant(120, 0.0))
    told = audit.explain_repair(found)
    assert "not shown" in told
    assert "clean" not in audit.render_repair(found)
    shuffled = {bound.rule for bound in found.proof.bounds if bound.is_shuffled}
    assert shuffled == {"the first", "the last"}
    assert audit.render_repair(found).count("shuffled</td>") == 2
    assert found.proof.items_needed is None or found.proof.items_needed > 120


def test_twins_with_equal_options_are_at_chance():
    """A cue of options is correct for only one of the halves, so all bounds are narrow."""
    data = Dataset(
        Problem(f"{at}{half}", f"The w{at} hit y{at} and the _ was {word}.",
                (f"w{at} {'long ' * (at % 4)}", f"y{at}"), half, f"t{at}")
        for at in range(300)
        for half, word in enumerate(["big", "small"])
    )  # fmt: skip
    items = audit.Items.from_dataset(data)
    assert audit.bound_accuracies(items, lambda _: np.ones(len(items.unit_starts))).is_within_limit


@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 99))
@examples(20)
def test_bound_contains_the_observed_value(size, heard, seed):
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(60), size)
    speaks = (block < heard)[:, None]
    excess = np.where(speaks, rng.choice([0.75, -0.25]), 0.0)
    stays = rng.random(len(block))
    low, high = _compute_bounds(excess, speaks, stays, block, seed)
    assert low[0] <= stays @ excess[:, 0] / stays.sum() <= high[0]


def _measure_bound_and_truth(seed: int) -> tuple[audit.Bound, float]:
    """Return the bound of a thinning from 400 items, and its effect on 1,000 others."""
    items = audit.Items.from_dataset(_plant(1400, 0.2, seed=seed))
    right = _find_selected(items)
    new = items.rows >= 400
    left = []

    def thin(learnt: Bools) -> Floats:
        share = right[~new][learnt].mean()
        stays = np.where(right > 0, min(1.0, (1 - share) / (3 * share)), 1.0)
        left.append(stays[new] @ (right[new] - 0.25) / stays[new].sum())
        return np.asarray(stays[~new])

    proof = audit.bound_accuracies(items.subset(~new), thin, LENGTHS, seed=seed)
    return _find_bound(proof), float(np.mean(left))


def test_bound_contains_the_effect_on_other_items():
    found = [_measure_bound_and_truth(seed) for seed in range(6)]
    assert sum(bound.low <= truth <= bound.high for bound, truth in found) >= 5


@given(st.randoms(use_true_random=False))
@examples(6)
def test_repair_ignores_order_and_duplicates(random):
    data = list(_plant(130, 0.4))
    first = _repair(Dataset(data))
    moved = [
        replace(p, options=tuple(options), answer=options.index(p.options[p.answer or 0]))
        for p in data
        for options in [random.sample(p.options, len(p.options))]
    ]
    moved += [replace(moved[at], id=f"z{at}") for at in (3, 40)]
    random.shuffle(moved)
    again = _repair(Dataset(moved))
    texts = [sorted((p.id, p.options, p.answer) for p in found.dataset) for found in (first, again)]
    assert texts[0] == texts[1]
    assert [*map(str, first.proof.bounds)] == [*map(str, again.proof.bounds)]
    assert sum(entry.stage == "copy" for entry in again.filtered.dropped) == 2


@given(st.integers(100, 160), st.integers(0, 9))
@examples(6)
def test_kept_and_removed_items_are_the_input(n, seed):
    """The recorded orders lead from the input to the kept items."""
    data = _plant(n, 0.4, seed=seed)
    data = Dataset([*data, replace(data[0], id="again"), replace(data[1], id="none", answer=None)])
    found = _repair(data, seed=seed)
    assert found.filtered.input() == data
    assert all(entry.reason for entry in found.filtered.dropped)
    for came, is_now in zip(found.filtered.kept, found.dataset, strict=True):
        order = found.orders.get(came.id, tuple(range(4)))
        assert tuple(came.options[place] for place in order) == is_now.options
        assert came.options[came.answer or 0] == is_now.options[is_now.answer or 0]


def test_copies_and_all_contradictions_are_removed():
    data = [*_plant(120, 0.0)]
    wrong = replace(data[7], id="wrong", answer=(data[7].answer or 0) ^ 1)
    found = _repair(Dataset([*data, replace(data[5], id="a copy"), wrong]))
    told = {entry.problem.id: (entry.stage, entry.reason) for entry in found.filtered.dropped}
    assert told["q5"] == ("copy", "a copy of a copy")
    assert told["q7"] == ("contradiction", "the same as wrong, with different keys")
    assert told["wrong"] == ("contradiction", "the same as q7, with different keys")
    assert "a copy" in found.dataset


def test_positions_are_shuffled_or_thinned_if_order_is_fixed():
    """An option "none of the above", or a field that may refer to an option, fixes the order."""
    data = [
        replace(p, options=(*p.options[p.answer or 0 :], *p.options[: p.answer or 0]), answer=0)
        for p in _plant(200, 0.0)
    ]
    data[0] = replace(data[0], options=(*data[0].options[:3], "none of the above"))
    extra = {"csv.gpt4_pred": 2}, {"csv.gpt4_pred": 3}, {"csv.llama": "B"}, {"csv.level": 2}
    data[1:5] = [replace(p, extra=Extra(own)) for p, own in zip(data[1:5], extra, strict=True)]
    found = _repair(Dataset(data))
    places = np.bincount([p.answer or 0 for p in found.dataset], minlength=4)
    assert places.min() > 25
    assert found.fixed_order_count == 4
    assert [p.options for p in found.dataset if len(p.extra)][:3] == [p.options for p in data[1:4]]
    assert found.dataset[0].options[3] == "none of the above"
    rng = np.random.default_rng(0)
    classes = Dataset(
        Problem(f"{at}", f"Is {rng.integers(10**6)} or {at} prime?", ("no", "yes"),
                int(rng.random() < 0.75), blank=None)
        for at in range(600)
    )  # fmt: skip
    thinned = _repair(classes)
    assert all(p.options == ("no", "yes") for p in thinned.dataset)
    assert abs(np.mean([p.answer for p in thinned.dataset]) - 0.5) < 0.1
    assert 200 < len(thinned.dataset) < 400


def test_twins_stay_whole():
    """Their options don't reveal which half has which key, so no twin is removed."""
    rng = np.random.default_rng(2)
    data = Dataset(
        Problem(f"{at}{half}", f"The w{at} x{at} hit y{at} and the _ was {word}.",
                (f"w{at} {'long ' * int(rng.integers(1, 4)) if not half else 'long'}", f"y{at}"),
                half, f"t{at}")
        for at in range(110)
        for half, word in enumerate(["big", "small"])
    )  # fmt: skip
    data = Dataset(replace(p, options=data[at - at % 2].options) for at, p in enumerate(data))
    options = [p.options for p in _repair(data).dataset]
    assert len(options) == 220
    assert options[::2] == options[1::2]


def test_impossible_repairs_are_refused_with_the_reason():
    with pytest.raises(DataError, match=r"the 99 items of planted are too few .*there are 99"):
        _repair(_plant(99, 0.0))
    with pytest.raises(DataError, match=r"characters” is correct for 97\.1 % of the items"):
        _repair(_plant(400, 1.0))
    with pytest.raises(DataError, match="no item has a key; omit this file"):
        _repair(Dataset(p.blind() for p in _plant(120, 0.0)))


def test_interrupted_repair_resumes(tmp_path):
    data = _plant(130, 0.4)
    audit.repair_to_folder(data, tmp_path / "a" / "whole", **HOW)

    def stop(told: str) -> None:
        if "half" in told:
            raise KeyboardInterrupt

    out = tmp_path / "b" / "stopped"
    with pytest.raises(KeyboardInterrupt):
        audit.repair_to_folder(data, out, step=stop, **HOW)
    assert not (out / "kept.jsonl").exists()
    steps: list[str] = []
    audit.repair_to_folder(data, out, step=steps.append, **HOW)
    assert not any("what all" in step for step in steps)
    assert everything(out) == everything(tmp_path / "a" / "whole")


def test_repairs_of_the_same_items_are_counted(tmp_path):
    """Another seed counts, with `force` or in a folder next to it; the same repair doesn't."""
    data = _plant(110, 0.0)
    how = HOW | {"draws": 19}
    one, two = tmp_path / "one", tmp_path / "two"
    tried = [
        audit.repair_to_folder(items, out, seed=seed, force=force, **how).repair_count
        for items, out, seed, force in [
            (data, one, 0, False),
            (data, one, 0, False),
            (data, one, 1, True),
            (Dataset(data[::-1]), two, 2, False),
            (_plant(110, 0.0, seed=1), tmp_path / "other", 0, False),
        ]
    ]
    assert tried == [1, 1, 2, 3, 1]
    assert json.loads((two / "report.json").read_text("utf-8"))["tried"] == 3
    with pytest.raises(OutputError, match="other settings"):
        audit.repair_to_folder(data, one, seed=5, **how)


def test_items_of_two_splits_stay_only_in_the_last_one(tmp_path):
    train, test = [*_plant(130, 0.4)], [*_plant(120, 0.4, seed=7)]
    near = replace(test[1], id="near", sentence=test[1].sentence.replace("Which", "What"))
    halves = [
        Problem(f"h{half}", f"The w1 hit y1 and the _ was {word}.", ("w1 v1", "y1"), half, "t")
        for half, word in enumerate(["big", "small"])
    ]
    splits = {
        "train": Dataset([*train, replace(test[0], id="same"), near, *halves], "train"),
        "test": Dataset([*test, halves[0]], "test"),
    }
    found = audit.repair_splits(splits, tmp_path / "out", **HOW)
    left = {e.problem.id: e.reason for e in found["train"].filtered.dropped
            if e.stage == "in a later split"}  # fmt: skip
    assert left.keys() == {"same", "near", "h0", "h1"}
    assert left["same"] == f"identical or nearly identical to {test[0].id} in test"
    assert not any(e.stage == "in a later split" for e in found["test"].filtered.dropped)
    assert all(found[name].filtered.input() == splits[name] for name in splits)
    assert all(found[name].proof.bounds for name in splits)
    assert _repair(splits["test"]).dataset == found["test"].dataset
    page = audit.render_repair(found["train"])
    assert "Removed items that occur in a later split: 4, such as same" in page
    assert (tmp_path / "out" / "train" / "kept.jsonl").exists()
    again = audit.repair_splits(splits, tmp_path / "b", seed=1, **HOW)
    assert [again[name].repair_count for name in splits] == [2, 2]
    with pytest.raises(DataError, match="train: the repair would remove all items; for example, q"):
        audit.repair_splits(dict.fromkeys(splits, splits["test"]), tmp_path / "c", **HOW)


def test_split_that_is_too_small_is_refused_before_any_work(tmp_path):
    """The items of later splits don't count."""
    large, small = _plant(130, 0.4), _plant(80, 0.4, seed=1)
    test = _plant(120, 0.4, seed=7)
    copied = Dataset([*small, *(replace(test[at], id=f"c{at}") for at in range(60))])
    steps: list[str] = []
    for splits, message in (
        ({"train": large, "test": _plant(40, 0.4, seed=7)}, "test: the 40 items .* are 40 if"),
        ({"train": large, "dev": copied, "test": test},
         r"dev: the 140 items of +\(80 remain; in a later split: 60\) are too few for a "
         "repair, which needs 100: .*there are 80 if .* omit dev to repair the others"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message):
            audit.repair_splits(splits, tmp_path / "out", step=steps.append, **HOW)
    assert steps == []
    assert not (tmp_path / "out").exists()


def test_no_split_is_written_if_one_can_not_be_repaired(tmp_path):
    splits = {"train": _plant(130, 0.4), "test": _plant(400, 1.0, seed=7)}
    with pytest.raises(DataError, match=r"test: no item .* Nothing was written; omit test"):
        audit.repair_splits(splits, tmp_path, **HOW)
    assert not any(tmp_path.iterdir())
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "mine").touch()
    with pytest.raises(OutputError, match="was not written by winosmith"):
        audit.repair_splits(splits, tmp_path, **HOW)
    assert not (tmp_path / "train").exists()
