"""Stability: error depths with intervals and nulls, accuracy by depth, and consistency."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.conftest import installed
from tests.metrics.answering import choosing, right_but
from winosmith import Dataset, Lineage, Problem, formats
from winosmith.errors import DataError
from winosmith.metrics import (
    Graded,
    Overlap,
    draw_stability,
    error_depth,
    find_clusters,
    grade,
    measure_stability,
)
from winosmith.problem import Extra
from winosmith.testing import make_families, make_twins

installed("lifelines")

MANY = make_families(*([1, 2, 3, 4, 5, 6] for _ in range(25)))


def guess_all(dataset: Dataset, seed: int) -> Graded:
    """Return random answers, with correct answers for the roots."""
    rng = np.random.default_rng(seed)
    return right_but(dataset, lambda p: p.lineage is not None and bool(rng.random() < 0.5))


def depth(problem: Problem) -> int:
    return problem.lineage.declared or 0 if problem.lineage else 0


def test_error_depths_match_hand_computed_values():
    """Errors at 2, 4 and 3: 3 pooled, (3 + 3) / 2 over families, and 2.5 for the first error."""
    data = make_families([1, 2, 4], [3, 5], [6])
    found = measure_stability(right_but(data, lambda p: p.id in ("r0-1", "r0-2", "r1-0")))
    assert (found.depth, found.n, found.unknown) == ("declared", 6, 0)
    assert (found.mean.value, found.mean.errors) == (3.0, 3)
    assert (found.family_mean.value, found.family_mean.errors) == (3.0, 2)
    assert (found.first.value, found.first.errors) == (2.5, 2)
    assert [(f.root, f.mean, f.first, f.root_credit) for f in found.families] == [
        ("r0", 3.0, 2.0, 1.0),
        ("r1", 3.0, 3.0, 1.0),
        ("r2", None, None, 1.0),
    ]
    assert found.mean.interval is None  # three families are too few


def test_null_of_guessing_matches_all_outcomes():
    """With depths 1 and 2, guessers have a first error at 4/3 on average and a mean of 3/2.

    A single error, shuffled over both depths, is at 3/2.
    """
    found = measure_stability(right_but(make_families([1, 2])))
    for figure, expected in ((found.first, 4 / 3), (found.family_mean, 3 / 2)):
        assert figure.null.coin == pytest.approx(expected, abs=0.05)
        assert figure.null.coin_interval == (1, 2)
    early = measure_stability(right_but(make_families([1, 2]), lambda p: depth(p) == 1)).first
    assert early.value == 1
    assert early.null.shuffled == pytest.approx(3 / 2, abs=0.05)


def tied(graded: Graded, *rows: int) -> Graded:
    """Return the answers with ties of both options in some rows."""
    said = enumerate(graded.predictions)
    both = [replace(p, choice=0, tied=(0, 1)) if row in rows else p for row, p in said]
    return grade(graded.dataset, both)


@pytest.mark.parametrize("right", [True, False, 0.5])
def test_root_is_recorded_as_a_boolean_unless_it_is_a_tie(right):
    graded = right_but(make_families([1, 2]), () if right else {0})
    found = measure_stability(tied(graded, 0) if right == 0.5 else graded)
    (family,) = found.record()["families"]
    assert family["root_right"] is right or family["root_right"] == 0.5 == right


def test_error_depths_are_none_without_errors():
    """The null of guessing is still reported."""
    found = measure_stability(right_but(MANY))
    for figure in (found.mean, found.family_mean, found.first):
        assert (figure.value, figure.interval, figure.null.p_value) == (None, None, None)
    assert found.mean.null.coin == 3.5
    assert found.consistency.value == 1
    assert found.survival.errors == (0,)


def test_roots_have_no_error_depth():
    found = measure_stability(right_but(MANY, lambda p: p.lineage is None))
    assert found.mean.value is None
    assert found.roots.right == 0
    assert (found.accuracy.right, found.accuracy.n) == (150, 150)
    assert (found.survival.depths, found.survival.errors) == ((0,), (25,))
    without = measure_stability(right_but(make_families([1], [2], include_roots=False)))
    assert without.roots is None


def test_accuracy_by_depth_is_clustered_by_family():
    found = measure_stability(right_but(MANY, lambda p: depth(p) > 4))
    shares = {at: share.value for at, share in found.by_depth.items()}
    assert shares == {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 0.0, 6: 0.0}
    assert found.by_depth[3].n == found.by_depth[3].clusters == 25
    assert found.by_depth[3].chance == 0.5
    assert (found.accuracy.n, found.accuracy.clusters) == (150, 25)


def test_consistent_families_have_no_errors():
    """Not even at the root; guessing gives 1/2^n."""
    data = make_families([1, 2], [1, 2], [1, 2])
    found = measure_stability(right_but(data, lambda p: p.id in ("r0", "r1-1"))).consistency
    assert (found.right, found.n, found.chance) == (1, 3, 1 / 8)


@pytest.mark.long
def test_null_of_guessing_is_the_mean_depth():
    found = [measure_stability(guess_all(MANY, seed), draws=50).mean for seed in range(60)]
    values, null = [one.value for one in found], found[0].null
    low, high = null.coin_interval
    assert null.coin == np.mean([depth(p) for p in MANY if p.lineage])
    assert abs(np.mean(values) - null.coin) < 0.05
    assert 0.85 <= np.mean([low <= value <= high for value in values]) <= 1


@pytest.mark.long
def test_shuffle_p_values_of_guessers_are_rarely_small():
    found = [measure_stability(guess_all(MANY, seed), draws=50).mean.null for seed in range(100)]
    p_values = np.array([null.p_value for null in found])
    assert (p_values < 0.05).mean() <= 0.12
    assert (p_values < 0.5).mean() >= 0.3


def test_interval_of_five_families_exceeds_the_percentiles():
    data = make_families(*([1, 2, 3, 4, 5, 6] for _ in range(5)))
    wrong = {"r0-1", "r1-2", "r2-4", "r3-3", "r3-5", "r4-0"}
    found = measure_stability(right_but(data, lambda p: p.id in wrong)).mean
    depths = [[2], [3], [5], [4, 6], [1]]
    drawn = np.random.default_rng(0).integers(0, 5, (20_000, 5))
    sums, counts = (np.array([of(d) for d in depths])[drawn].sum(axis=1) for of in (sum, len))
    low, high = np.quantile(sums / counts, [0.025, 0.975])
    assert found.interval[0] < low - 0.2
    assert found.interval[1] > high + 0.2


@pytest.mark.parametrize(("families", "has"), [(4, False), (5, True)])
def test_interval_needs_five_families_with_an_error(families, has):
    """An error in one family of 25 would give an interval without width."""
    found = measure_stability(right_but(MANY, {f"r{at}-{at}" for at in range(families)}))
    for one in (found.mean, found.family_mean, found.first):
        assert (one.interval is not None) == has


def test_late_errors_have_a_small_p_value():
    found = measure_stability(right_but(MANY, lambda p: depth(p) > 4)).mean
    assert found.value == 5.5
    assert found.null.shuffled == pytest.approx(3.5, abs=0.05)
    assert found.null.shuffled_interval[1] < 4
    assert found.null.p_value == 2 / 2001


def test_shuffles_approximate_the_exact_distribution():
    """Eight families have one error each.

    p is twice the fraction of all arrangements that are at least as early.
    """
    depths, errors = [1, 2, 3, 6], [0, 0, 1, 1, 2, 0, 1, 0]
    data = make_families(*(depths for _ in errors))
    wrong = {f"r{row}-{at}" for row, at in enumerate(errors)}
    found = measure_stability(right_but(data, lambda p: p.id in wrong)).mean
    every = np.array(list(product(depths, repeat=8))).mean(axis=1)
    value = np.mean([depths[at] for at in errors])
    assert found.value == value
    assert found.null.shuffled == pytest.approx(3, abs=0.1)
    assert found.null.shuffled_interval == pytest.approx(
        np.quantile(every, [0.025, 0.975]), abs=0.2
    )
    assert found.null.p_value == pytest.approx(2 * (every <= value).mean(), abs=0.02)


def test_ties_are_shuffled_onto_problems_without_errors():
    """At depths 1 and 2, one has the error and the other the tie:

    means 4/3 or 5/3, firsts 1 or 3/2.
    """
    found = measure_stability(tied(right_but(make_families([1, 2]), {1}), 2))
    assert found.mean.null.shuffled_interval == pytest.approx((4 / 3, 5 / 3))
    assert found.mean.null.shuffled == pytest.approx(3 / 2, abs=0.02)
    assert found.first.null.shuffled_interval == pytest.approx((1, 3 / 2))
    assert found.first.null.shuffled == pytest.approx(5 / 4, abs=0.02)


def test_shuffles_stay_within_families():
    """So the depth of a solver that fails in all deep families is explained by the families."""
    data = make_families(*([1, 1, 2, 2] for _ in range(10)), *([8, 8, 9, 9] for _ in range(10)))
    found = measure_stability(right_but(data, lambda p: depth(p) > 5)).mean
    assert found.value == found.null.shuffled == 8.5
    assert found.null.p_value == 1
    assert found.null.coin == 5


def test_depth_is_outside_its_interval_exactly_if_p_is_at_most_five_percent():
    data = make_families(*[[1, 1, 1, 2, 3, 12]] * 7)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = measure_stability(right_but(data, lambda p, r=rng: r.random() < 0.2), draws=50)
        for one in (found.mean, found.family_mean, found.first):
            low, high = one.null.shuffled_interval
            is_outside = not low - 1e-9 <= one.value <= high + 1e-9
            assert is_outside == (one.null.p_value <= 0.05)


def test_copies_do_not_change_the_nulls():
    """Copies share an answer, so three copies of each problem are no further evidence."""
    data = make_families(*[[1, 2, 3, 4, 5, 6]] * 6)
    copies = Dataset(
        [*data, *(replace(p, id=f"{p.id}/{n}") for p in data for n in "ab" if p.lineage)]
    )
    once, often = (
        measure_stability(right_but(of, lambda p: p.id.partition("/")[0][-1] in "34"))
        for of in (data, copies)
    )
    assert (once.n, often.n) == (36, 108)
    for name in ("mean", "family_mean", "first"):
        assert getattr(once, name).null == getattr(often, name).null


def test_families_of_one_block_move_together():
    """A copy of each family, with the same errors, is no further evidence."""
    lineages = [p.lineage and replace(p.lineage, root=f"{p.root}/") for p in MANY]
    again = [replace(p, id=f"{p.id}/", lineage=of) for p, of in zip(MANY, lineages, strict=True)]
    graded = guess_all(MANY, 4)
    wrong = {p.id for p, credit in zip(MANY, graded.credit, strict=True) if not credit}
    once, often = (
        measure_stability(right_but(of, lambda p: p.id.rstrip("/") in wrong), draws=50)
        for of in (MANY, Dataset([*MANY, *again]))
    )
    assert len(often.families) == 2 * len(once.families)
    for name in ("mean", "family_mean", "first"):
        one, other = getattr(once, name), getattr(often, name)
        assert (one.value, one.null.shuffled) == pytest.approx(
            (other.value, other.null.shuffled), abs=0.03
        )
        assert np.ptp(other.null.shuffled_interval) == pytest.approx(
            np.ptp(one.null.shuffled_interval), rel=0.1
        )
        assert other.null.p_value == pytest.approx(one.null.p_value, abs=0.06)


def test_copies_with_different_answers_are_not_early_errors():
    """One of two copies is wrong at each depth, so no shuffle differs from the answers."""
    data = make_families(*[[1, 2, 3, 4, 5]] * 6)
    copies = Dataset([*data, *(replace(p, id=f"{p.id}/a") for p in data if p.lineage)])
    first = measure_stability(right_but(copies, lambda p: "/" in p.id)).first
    assert first.null.shuffled == pytest.approx(first.value)
    assert first.null.p_value == 1


def test_copies_of_families_narrow_no_interval():
    """The twice-read families have the same answers, so they are the same observations."""
    data = make_families(*[[1, 2, 3]] * 9)
    lineages = {
        p.id: p.lineage and Lineage(f"{p.root}/a", f"{p.root}/a", declared=depth(p)) for p in data
    }
    twice = Dataset([*data, *(replace(p, id=f"{p.id}/a", lineage=lineages[p.id]) for p in data)])
    wrong = {"r0", "r1-0", "r2-1", "r3-2", "r4-0", "r4-1"}
    one, other = (
        measure_stability(right_but(of, lambda p: p.id.removesuffix("/a") in wrong))
        for of in (data, twice)
    )
    for name in ("accuracy", "roots", "consistency"):
        assert getattr(other, name).interval == pytest.approx(getattr(one, name).interval, abs=1e-9)
    assert other.by_depth[2].interval == pytest.approx(one.by_depth[2].interval)
    assert other.survival.at_risk == (18, 16, 12, 10)
    assert np.ravel(other.survival.intervals) == pytest.approx(np.ravel(one.survival.intervals))


def test_interval_matches_a_bootstrap_of_families():
    rng = np.random.default_rng(0)
    data = make_families(*(rng.integers(1, 9, size=8) for _ in range(30)))
    graded = right_but(data, lambda p: p.id[1] in "1357" or depth(p) > 6)
    found = measure_stability(graded)
    totals = np.array([(f.depths @ f.wrong, f.wrong.sum()) for f in found.families], float)
    draws = np.random.default_rng(1).integers(0, 30, size=(10_000, 30))
    sums = totals[draws].sum(axis=1)
    expected = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    assert found.mean.interval == pytest.approx(expected, abs=0.05)


def test_families_of_twin_roots_share_a_cluster():
    """Four clusters are too few for an interval."""
    halves = make_twins(4)
    children = [
        replace(p, id=f"{p.id}+", sentence=f"Well, {p.sentence}", twin_id=None,
                lineage=Lineage(p.id, p.id, declared=1))
        for p in halves
    ]  # fmt: skip
    data = Dataset([*halves, *children])
    assert len(set(find_clusters(data))) == 4
    found = measure_stability(right_but(data, lambda p: p.lineage is not None))
    assert len(found.families) == 8
    assert (found.mean.value, found.mean.interval) == (1.0, None)


def test_chart_omits_depths_with_fewer_than_five_problems():
    found = measure_stability(right_but(make_families(*([1, 2] for _ in range(4)), [1, 3])))
    ((_, accuracies),) = draw_stability({"toy": found})
    told = accuracies.description.replace("\xa0", " ")
    assert told == "toy: 100.0 % at depth 0, 100.0 % at depth 1"


def test_most_complete_depth_is_used_by_default():
    data = make_families([1, 2], [3, 4])
    bare = Dataset(
        replace(p, lineage=replace(p.lineage, declared=None)) if p.id == "r1-1" and p.lineage else p
        for p in data
    )
    graded = right_but(bare, lambda p: p.lineage is not None)
    taken, asked = measure_stability(graded), measure_stability(graded, depth="declared")
    assert (taken.depth, taken.n, taken.mean.value) == ("lineage", 4, 2.5)
    assert (asked.depth, asked.n, asked.unknown, asked.mean.value) == ("declared", 3, 1, 2.0)
    assert "depth:lineage" in str(taken.signature)


def test_problem_without_a_root_counts_by_its_distance():
    """A row of EvoGrad's table before any original has a declared depth, and is its own family."""
    lost = Problem("9", "A lost _ .", ("x", "y"), 0, extra=Extra({"evograd.distance": 4}))
    data = Dataset([lost, *make_families([2])])
    found = measure_stability(right_but(data, lambda p: True))
    assert (found.n, found.mean.value, found.families[0].root_credit) == (2, 3.0, None)


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (make_twins(3), None, "no problem has a lineage"),
        (make_families([1]), "depth", "unknown depth 'depth'; use one of declared, lineage, edit"),
        (
            make_families([1], include_roots=False),
            "edit",
            "known edit depth; 1 have declared depth",
        ),
    ],
)
def test_data_without_the_depth_are_refused(data, kind, reason):
    with pytest.raises(DataError, match=reason):
        measure_stability(right_but(data), depth=kind)


def test_accuracies_are_withheld_if_training_may_overlap():
    """Error depths are reported, as in EvoGrad's table 4."""
    seen = Overlap({0: "the training set contains its sentence"}, len(MANY))
    found = measure_stability(right_but(MANY, lambda p: depth(p) > 4), overlap=seen)
    assert (found.accuracy, found.roots, found.by_depth, found.consistency) == (None,) * 4
    assert found.mean.value == 5.5
    assert found.record()["overlap"]["withheld"] is True


def test_record_is_json_and_deterministic():
    graded = guess_all(MANY, 3)
    record = measure_stability(graded, seed=5).record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert measure_stability(graded, seed=5).record() == record


def test_results_do_not_depend_on_the_order_of_problems():
    graded = guess_all(MANY, 3)
    backwards = grade(MANY.select(range(len(MANY))[::-1]), graded.predictions)
    one, other = measure_stability(graded), measure_stability(backwards)
    assert one.mean.value == other.mean.value
    assert one.by_depth == other.by_depth
    assert one.survival == other.survival


@pytest.mark.data
def test_perturbed_wsc_is_measured_by_lineage(data_dir):
    """Its eight kinds are families of their originals, with depths from the edits."""
    data = formats.read(data_dir / "perturbed_wsc" / "dataset" / "enhanced_wsc.tsv")
    found = measure_stability(choosing(data, [0] * len(data)))
    assert (found.depth, found.unknown, len(found.families)) == ("lineage", 0, 285)
    assert found.n == len(data) - 285
    wrong = [f.wrong for f in found.families]
    depths = [f.depths for f in found.families]
    assert found.mean.value == error_depth(np.concatenate(depths), np.concatenate(wrong))
    assert found.mean.interval[0] < found.mean.value < found.mean.interval[1]
    assert sum(found.survival.errors) + sum(found.survival.censored) == 285
