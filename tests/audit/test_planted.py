"""The ranking learnt from planted wrong keys, and the bounds of the number of wrong keys."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.conftest import examples
from winosmith import Dataset, Problem, answers, audit
from winosmith.answers import from_choices
from winosmith.audit._planted import (
    Choices,
    bound_wrong_keys,
    compute_features,
    fit_ridge,
    rank_items,
)
from winosmith.metrics import wilson_interval
from winosmith.recast import reorder_options

Chosen = dict[str, dict[str, int | None]]


def _quiz(n: int, models: int = 6, *, wrong: int = 4, seed: int = 0) -> tuple[Dataset, Chosen]:
    """Make items with different words and models' answers; the first items have wrong keys."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    keys = np.where(np.arange(n) < wrong, (truth + 1) % 4, truth)
    words = rng.permutation(90_000)[: 7 * n].reshape(n, 7) + 10_000
    data = Dataset(
        Problem(f"q{at}", "Which of {} and {} did {} see?".format(*own[:3]),
                tuple(f"w{word}" for word in own[3:]), int(key), blank=None)
        for at, (own, key) in enumerate(zip(words, keys, strict=True))
    )  # fmt: skip
    knows = rng.random((models, n)) < np.linspace(0.5, 0.9, models)[:, None]
    chosen = np.where(knows, truth, rng.integers(4, size=(models, n)))
    said: Chosen = {
        f"m{at}": dict(zip(data.ids, map(int, own), strict=True)) for at, own in enumerate(chosen)
    }
    return data, said


def _triage(data: Dataset, said: Chosen) -> audit.Triage:
    return audit.triage(audit.Items.from_dataset(data), from_choices(said))


def test_wrong_keys_are_ranked_first_and_bounded():
    """Each block has a planted key once."""
    data, said = _quiz(300)
    found = _triage(data, said)
    assert {one.id for one in found.suspects[:4]} == {"q0", "q1", "q2", "q3"}
    assert all(data[data.row(one.id)].answer != one.other for one in found.suspects)
    keys = found.wrong_keys
    assert (keys.blocks, keys.planted) == (300, 300)
    bounds = {(one.planted, one.visibility): one.most for one in keys.bounds}
    assert len(bounds) == 6
    for kind in ("random", "attractive"):
        most = [bounds[kind, v] for v in (1.0, 0.75, 0.5)]
        assert all(one is not None and 4 <= one < 100 for one in most)
        assert most == sorted(most)


def test_bound_is_always_shown_with_its_condition():
    data, said = _quiz(200)
    found = audit.audit(data, draws=19, probe_draws=0, answers=from_choices(said))
    page = " ".join(audit.render_page(found).split())
    assert "if a wrong key is detected v times as often as a planted one" in page
    assert "They include only keys for which another listed option is correct" in page
    record = found.record()["splits"]["data"]["answers"]["wrong_keys"]
    assert [one["visibility"] for one in record["bounds"]] == [1.0, 0.75, 0.5] * 2
    first = record["bounds"][1]
    assert first["in_words"] == (
        f"at most {first['most']}, if a wrong key is detected 0.75 times as often as a planted one"
    )
    assert {*record} == {"blocks", "planted", "bounds"}
    keys = found.parts[0].triage
    assert first["in_words"] in keys.wrong_keys.summary()
    assert len(keys.wrong_keys.to_frame()) == 6


@pytest.mark.parametrize(
    ("blocks", "wrong", "visibility"),
    [(500, 5, 1.0), (500, 50, 1.0), (2000, 200, 0.75), (500, 50, 0.5), (100, 10, 1.0)],
)
def test_bound_is_correct_in_95_percent_if_its_condition_is_true(blocks, wrong, visibility):
    """The condition is that a wrong key scores like a planted one with the stated probability."""
    rng, sets = np.random.default_rng([blocks, wrong]), 300
    most = [_simulate_bound(blocks, wrong, visibility, visibility, rng) for _ in range(sets)]
    assert wilson_interval(sum(one >= wrong for one in most), sets)[1] >= 0.95
    assert np.median(most) < max(0.6 * blocks, 2 * wrong)


def test_bound_is_too_low_if_wrong_keys_are_seen_less_often():
    """With half the stated visibility, it is mostly below the 400 wrong keys of 4,000 items."""
    rng = np.random.default_rng(0)
    assert np.mean([_simulate_bound(4000, 400, 0.5, 1.0, rng) >= 400 for _ in range(50)]) < 0.2


def _simulate_bound(
    blocks: int, wrong: int, seen: float, stated: float, rng: np.random.Generator
) -> int:
    """Return the bound if planted keys score 2 standard deviations above sound ones."""
    scores = rng.normal(size=blocks)
    scores[:wrong] += 2 * (rng.random(wrong) < seen)
    planted = rng.normal(2, 1, blocks)
    beyond = (blocks - np.searchsorted(np.sort(scores), planted) + 1) / (blocks + 1)
    most = bound_wrong_keys(beyond[:, None], blocks, stated)
    return blocks if most is None else most


@given(st.integers(0, 99))
@examples(5)
def test_ranking_does_not_depend_on_any_order(seed):
    rng = np.random.default_rng(seed)
    data, said = _quiz(60, seed=seed)
    order = {p.id: rng.permutation(4).tolist() for p in data}
    moved = Dataset(
        reorder_options(data[int(row)], order[data[int(row)].id])
        for row in rng.permutation(len(data))
    )
    there: Chosen = {
        f"other {model}": {name: order[name].index(at) for name, at in said[model].items()}
        for model in map(str, rng.permutation([*said]))
    }
    one, other = _triage(data, said), _triage(moved, there)
    ranked = [(of.id, of.proposed) for of in one.suspects]
    assert ranked == [(of.id, of.proposed) for of in other.suspects]
    assert one.wrong_keys.bounds == other.wrong_keys.bounds


@given(st.integers(0, 99))
@examples(5)
def test_copies_change_neither_bounds_nor_ranking(seed):
    data, said = _quiz(60, seed=seed)
    doubled = Dataset([*data, *(replace(p, id=f"{p.id}-again") for p in data)])
    both: Chosen = {
        model: {**own, **{f"{name}-again": at for name, at in own.items()}}
        for model, own in said.items()
    }
    one, other = _triage(data, said), _triage(doubled, both)
    assert one.wrong_keys.bounds == other.wrong_keys.bounds
    originals = [of.id for of in other.suspects if not of.id.endswith("-again")]
    assert originals == [of.id for of in one.suspects]


def _choices(n: int) -> Choices:
    data, said = _quiz(n)
    items = audit.Items.from_dataset(data)
    chosen = np.array([[own[p.id] for p in items.problems] for own in said.values()])
    return Choices.from_items(items, chosen, np.ones(chosen.shape, bool))


def test_ability_is_measured_on_other_blocks():
    made = _choices(60)
    other = made.chosen.copy()
    other[:, 7] = made.keys[7]
    assert (other[:, 7] != made.chosen[:, 7]).any()
    before, after = (of.compute_ability(made.keys) for of in (made, replace(made, chosen=other)))
    moved = (other[:, 7] != made.chosen[:, 7])[:, None] & (np.arange(60) != 7)
    assert ((after != before) == moved).all()


def test_contradiction_of_all_models_is_a_feature():
    """The correlation of such an item is undefined, so two features mark it."""
    chosen = np.array([[1, 0, 1, 2]] * 3 + [[1, 0, 0, 2]])
    made = Choices(
        chosen, np.ones((4, 4), bool), np.zeros(4, int), np.full(4, 3), np.arange(4), np.arange(4)
    )
    values = compute_features(made, made.keys)[0]
    assert values[:, 14].tolist() == [1, 0, 0, 1]
    assert values[:, 15].tolist() == [1, 0, 0, 1]


def test_number_of_planted_keys_is_limited(monkeypatch):
    monkeypatch.setattr("winosmith.audit._planted._MAX_PLANTED_KEYS", 100)
    found = rank_items(_choices(330), 0)
    assert found.planted == 100
    assert np.isfinite(found.scores).all()


SIXTY, SAID = _quiz(60)

BELOW_CHANCE: Chosen = {
    name: {p.id: ((p.answer or 0) + 1 + row // 3**at % 3) % 4 for row, p in enumerate(SIXTY)}
    for at, name in enumerate(SAID)
}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (_quiz(49), "its items form 49 blocks (groups of copies, twins and look-alikes)"),
        (
            (Dataset(replace(SIXTY[0], id=p.id) for p in SIXTY), SAID),
            "its items form 1 block (groups",
        ),
        (_quiz(60, 1), "there is 1 model with different answers, but 4 are needed"),
        (_quiz(60, 3), "there are 3 models with different answers, but 4 are needed"),
        ((SIXTY, dict.fromkeys(SAID, SAID["m3"])), "all models give the same answers"),
        ((SIXTY, BELOW_CHANCE), "no model is better than chance"),
    ],
)
def test_unsuitable_answers_have_a_reason(made, why):
    """Suspects are then ranked by agreement, and the number of wrong keys has no bound."""
    found = _triage(*made)
    assert found.wrong_keys is None
    assert found.planting_obstacle.startswith(why)
    by_agreement = sorted(found.suspects, key=lambda one: (-one.agreement, one.id))
    assert [*found.suspects] == by_agreement
    given = from_choices(made[1])
    page = audit.render_page(audit.audit(made[0], draws=19, probe_draws=0, answers=given))
    words = " ".join(page.split())
    assert "The ranking uses only agreement, because" in words
    assert "The number of wrong keys in data has no bound, because" in words


def test_model_below_chance_has_no_weight_next_to_others():
    data, said = _quiz(200, wrong=0)
    opposed = {p.id: ((p.answer or 0) + 1) % 4 for p in data}
    found = _triage(data, {**said, "below": opposed})
    assert found.wrong_keys is not None
    assert found.models["below"].below_chance is not None
    assert all(one.models > 1 for one in found.suspects)


def test_items_without_a_key_are_not_ranked():
    data, said = _quiz(120)
    half = Dataset(replace(p, answer=None) if at % 2 else p for at, p in enumerate(data))
    found = _triage(half, said)
    assert found.wrong_keys.blocks == 60
    assert {one.id for one in found.suspects} <= {p.id for p in half if p.answer is not None}


def test_grades_without_letters_rank_items_by_incorrect_models():
    data, said = _quiz(80)
    words = "incorrect", "correct"
    table = [
        {"id": p.id, **{m: words[own[p.id] == p.answer] for m, own in said.items()}} for p in data
    ]
    given = answers.read(table, data)
    found = audit.triage(audit.Items.from_dataset(data), given)
    letters = _triage(data, said)
    rights = [{m: one.right for m, one in of.models.items()} for of in (found, letters)]
    assert rights[0] == rights[1]
    assert found.wrong_keys is None
    assert found.planting_obstacle == (
        "the answers only state whether they are correct, not which option was chosen"
    )
    assert {one.other for one in found.suspects} == {None}
    missed = {p.id: sum(own[p.id] != p.answer for own in said.values()) for p in data}
    assert all(one.models == missed[one.id] for one in found.suspects)
    agreements = [one.agreement for one in found.suspects]
    assert agreements == sorted(agreements, reverse=True)
    assert missed[found.suspects[0].id] == 6
    page = audit.render_page(audit.audit(data, draws=19, probe_draws=0, answers=given))
    assert "ranking uses only the weight of the models that are incorrect" in " ".join(page.split())


def test_incorrect_answer_to_two_options_is_the_other_one():
    data = Dataset(
        Problem(f"q{at}", f"Is {at} odd?", ("it is", "no"), at % 2, blank=None) for at in range(9)
    )
    given = answers.read([{"id": p.id, "m": "incorrect"} for p in data], data)["m"]
    assert [given.by_id[p.id].chosen for p in data] == [(1 - at % 2,) for at in range(9)]


def test_grades_0_and_1_are_refused_with_advice():
    """Numbers are options, counted from 1."""
    data, _ = _quiz(9)
    with pytest.raises(ValueError, match="if 0 and 1 mean wrong and right, write"):
        answers.read([{"id": p.id, "m": str(at % 2)} for at, p in enumerate(data)], data)


@pytest.mark.parametrize("start", [0.0, 5.0])
def test_fit_ridge_minimises_its_loss_on_separable_rows(start):
    """The gradient of the penalised loss is 0, from any start."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 4))
    planted = (values[:, 0] > 0).astype(float)
    weights = np.ones(300)
    line = fit_ridge(values, planted, weights, np.full(5, start))
    chance = 1 / (1 + np.exp(-(values @ line[:-1] + line[-1])))
    slope = values.T @ (chance - planted) + line[:-1]
    assert np.abs(slope).max() < 1e-3
    assert abs((chance - planted).sum()) < 1e-3
