"""Guessers: verification of filters on halves that they saw separately, and linear probes."""

import numpy as np
import pytest
from scipy.stats import t

from winosmith import debias, metrics
from winosmith.debias import probe
from winosmith.errors import DataError, InputError

QUICK = {"splits": 2, "draws": 20}


def twins(rows=1200, d=8, signal=0.0, share=1.0, seed=0):
    """Return vectors, labels, pairs of rows with opposite labels, and which of them are planted."""
    rng = np.random.default_rng(seed)
    y = (np.arange(rows) % 2) ^ np.repeat(rng.integers(0, 2, rows // 2), 2)
    planted = np.repeat(rng.random(rows // 2) < share, 2)
    X = rng.standard_normal((rows, d)).astype(np.float32)
    X[:, 0] += signal * planted * (2 * y - 1)
    return X, y, [(row, row + 1) for row in range(0, rows, 2)], planted


def everything(rows):
    return rows


def aflite(X, y):
    """Return AFLite as a filter, with the paper's fractions of the given rows."""

    def kept(rows):
        train_size, cutoff = debias.suggest_sizes(len(rows))
        found = debias.aflite(
            X[rows], y[rows], train_size=train_size, cutoff=cutoff, threshold=0.65, ids=rows
        )
        return rows[found.kept]

    return kept


def thinned(X, y):
    """Return mirror with the aim "chance" as a filter; rows 2 n and 2 n + 1 are a twin."""

    def kept(rows):
        units = np.unique(rows // 2)
        signs = (1 - 2 * y)[:, None] * X
        found = debias.mirror(signs[2 * units] + signs[2 * units + 1], ids=units, aim="chance")
        return rows[np.isin(rows // 2, units[found.kept])]

    return kept


def test_filter_without_removals_changes_no_accuracy():
    """The accuracy of the linear guesser is the planted one, 0.8413."""
    X, y, pairs, _ = twins(signal=1.0)
    found = debias.verify(X, y, everything, blocks=pairs, others={"other": X[:, 1:]}, **QUICK)
    assert found.before == found.after
    assert (found.kept, found.problems, found.blocks) == (1.0, 1200, 600)
    assert list(found.after) == ["linear", "two-piece", "other"]
    assert found.after["linear"].low < 0.8413 < found.after["linear"].high
    assert found.after["other"].low < 0.5 < found.after["other"].high


def test_random_filter_leaves_the_accuracies():
    X, y, pairs, _ = twins(3000, signal=0.6)

    def drawn(rows):
        return rows[np.random.default_rng(len(rows)).random(len(rows)) < 0.7]

    found = debias.verify(X, y, drawn, blocks=pairs, **QUICK)
    for guesser, before in found.before.items():
        assert found.after[guesser].accuracy == pytest.approx(before.accuracy, abs=0.02)
    assert found.kept == pytest.approx(0.7, abs=0.02)


def test_verification_of_noise_covers_one_half():
    """Cross-validation on the rows that AFLite kept is below one half, which is misleading."""
    X, y, pairs, _ = twins(1800, d=20, seed=2)
    chosen = aflite(X, y)
    kept = chosen(np.arange(len(y)))
    place = {row: at for at, row in enumerate(kept.tolist())}
    groups = [[place[row] for row in pair if row in place] for pair in pairs]
    old = debias.probe(X[kept], y[kept], [group for group in groups if group])
    new = debias.verify(X, y, chosen, blocks=pairs, **QUICK)
    assert len(kept) < 0.95 * len(y)
    assert old.high < 0.5
    for guess in new.after.values():
        assert guess.low < 0.5 < guess.high


def test_remaining_planted_signal_is_measured():
    """A filter that removes all planted rows leaves chance; one that removes half does not."""
    X, y, pairs, planted = twins(2400, signal=1.5, share=0.5)

    def all_of_them(rows):
        return rows[~planted[rows]]

    def half_of_them(rows):
        return rows[~planted[rows] | (rows % 4 < 2)]

    whole, half = (
        debias.verify(X, y, chosen, blocks=pairs, **QUICK) for chosen in (all_of_them, half_of_them)
    )
    before = whole.before["linear"].accuracy
    assert whole.after["linear"].low < 0.5 < whole.after["linear"].high
    assert half.after["linear"].low > 0.55
    assert half.after["linear"].high < before


def test_two_piece_guesser_detects_a_margin_cutoff():
    """Beyond the margin from which all agreeing rows are gone, the opposite answer is correct."""
    X, y, pairs, _ = twins(2400, signal=0.5)
    agreed = (2 * y - 1) * X[:, 0]

    def beyond(rows):
        return rows[agreed[rows] < 1]

    found = debias.verify(X, y, beyond, blocks=pairs, **QUICK).after
    assert found["two-piece"].accuracy > found["linear"].accuracy + 0.05
    assert found["two-piece"].low > 0.52


def test_margin_cutoff_is_detected_by_overfitted_models():
    """The margin is found with models fitted on other problems."""
    X, y, pairs, _ = twins(800, d=200, signal=1.0)
    agreed = (2 * y - 1) * X[:, 0]
    found = debias.verify(X, y, lambda rows: rows[agreed[rows] < 0.5], blocks=pairs, **QUICK)
    assert found.after["two-piece"].accuracy > 0.51


def test_interval_ends_at_1_for_a_strong_signal():
    X, y, pairs, _ = twins(200, signal=2.6)
    one, other = (
        debias.verify(
            scale * X, y, everything, blocks=pairs, C=1 / scale**2, ids=range(200), **QUICK
        )
        for scale in (1.0, 2.0**30)
    )
    assert one == other
    found = one.after["linear"]
    assert found.low < found.accuracy < found.high == 1


def test_options_and_problem_order_do_not_change_results():
    """Not by a bit, even if options are swapped until all answers are option 1."""
    X, y, pairs, _ = twins(600, signal=0.5)
    ids = [f"p{row:04}" for row in range(len(y))]

    def measured(order, swapped):
        sign = np.where(swapped[order], -1, 1)
        there = {row: place for place, row in enumerate(order.tolist())}
        others, labels = X[order] * sign[:, None].astype(np.float32), y[order] ^ swapped[order]
        named = [ids[row] for row in order]

        def kept(rows):
            return rows[[int(named[row][1:]) % 5 > 0 for row in rows]]

        return debias.verify(
            others,
            labels,
            kept,
            blocks=[[there[row] for row in pair] for pair in pairs[::-1]],
            ids=named,
            others={"other": others[:, ::2]},
            **QUICK,
        )

    rng = np.random.default_rng(5)
    plain = measured(np.arange(len(y)), np.zeros(len(y), int))
    assert measured(rng.permutation(len(y)), rng.integers(0, 2, len(y))) == plain
    assert measured(np.arange(len(y)), y) == plain


def test_intercept_is_only_for_vectors_without_a_sign():
    """If most answers are option 1, only a model with an intercept profits."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((1200, 5)), (np.arange(1200) % 4 == 0).astype(int)
    blocks = [(row,) for row in range(1200)]
    for flips_sign in (True, False):
        verified = debias.verify(X, y, everything, blocks=blocks, flips_sign=flips_sign, **QUICK)
        probed = probe(X[:600], y[:600], blocks[:600], flips_sign=flips_sign)
        for found in (verified.after["linear"], probed):
            assert found.chance == pytest.approx(0.5 if flips_sign else 0.75, abs=0.01)
            if flips_sign:
                assert found.low < 0.5 < found.high
            else:
                assert found.accuracy == pytest.approx(0.75, abs=0.02)
        assert probed.chance == (0.5 if flips_sign else 0.75)
        assert verified.after["linear"].chance == 0.5 or not flips_sign


def test_zero_vectors_score_one_half():
    X, y, pairs, _ = twins(200)
    found = debias.verify(0 * X, y, everything, blocks=pairs, **QUICK)
    assert {(one.accuracy, one.low, one.high) for one in found.after.values()} == {(0.5, 0.5, 0.5)}
    assert probe(0 * X, y, pairs).accuracy == 0.5


def test_intervals_of_more_guessers_are_wider():
    """For G guessers they extend t(1 − .05/(2 G); draws − 1) standard errors to each side."""
    X, y, pairs, _ = twins(400)

    def width(more):
        others = {f"other {n}": X[:, n : n + 2] for n in range(more)}
        found = debias.verify(X, y, everything, blocks=pairs, others=others, **QUICK)
        return found.after["linear"].high - found.after["linear"].low

    two, six = (t.ppf(1 - 0.05 / (2 * guessers), QUICK["draws"] - 1) for guessers in (2, 6))
    assert width(4) / width(0) == pytest.approx(six / two)


@pytest.mark.long
@pytest.mark.parametrize("method", ["aflite", "mirror"])
def test_false_alarm_rate_is_compatible_with_five_percent(method):
    """Labels are unrelated to the vectors.

    An alarm is a guesser whose interval excludes chance. The lower end of Wilson's interval of the
    rate is at most 5 %.
    """
    sets, alarms = 60, 0
    for seed in range(sets):
        X, y, pairs, _ = twins(240, d=4, seed=seed)
        others = {"other": X[:, :2] + np.random.default_rng(seed).normal(size=(240, 2))}
        chosen = aflite(X, y) if method == "aflite" else thinned(X, y)
        found = debias.verify(X, y, chosen, blocks=pairs, others=others, seed=seed, **QUICK)
        alarms += any(not guess.low <= 0.5 <= guess.high for guess in found.after.values())
    assert metrics.wilson_interval(alarms, sets)[0] <= 0.05


REFUSED = [
    ({"X": np.ones((38, 8)), "y": np.arange(38) // 19, "blocks": [(n, n + 19) for n in range(19)]},
     r"there are 19 blocks .* requires 20"),
    ({"kept": lambda rows: rows[:10], "ids": range(200)},
     r"filter kept 5 blocks .* requires 10 or more$"),
    ({"kept": lambda rows: np.arange(200)}, "must return some of the given rows"),
    ({"others": {"other": np.ones((100, 8))}}, "other: there are 100 vectors for 200 problems"),
    ({"ids": range(199)}, "X has 200 rows, but ids has 199 entries"),
    ({"X": np.ones((200, 3, 2)), "options": [3] * 200, "ids": range(199)},
     "X has 200 rows, but ids has 199 entries"),
    ({"draws": 19}, "draws is 19; it must be a whole number, 20 or more"),
    ({"splits": 0}, "splits is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), REFUSED)
def test_too_few_blocks_and_invalid_filters_are_refused(change, told):
    X, y, pairs, _ = twins(200)
    chosen = {"X": X, "y": y, "kept": everything, "blocks": pairs, **QUICK, **change}
    rows = [chosen.pop(name) for name in ("X", "y", "kept")]
    with pytest.raises(InputError, match=told) as refused:
        debias.verify(*rows, **chosen)
    assert isinstance(refused.value, DataError) == (not change.keys() <= {"draws", "splits"})


def test_progress_counts_filtered_and_measured_halves():
    X, y, pairs, _ = twins(200)
    steps = []
    debias.verify(X, y, everything, blocks=pairs, on_step=lambda *step: steps.append(step), **QUICK)
    assert steps == [(done, 8) for done in range(1, 9)]


def data(signal, rows=2000, seed=0):
    """Return embeddings in which one direction carries the label with that strength."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    X = rng.standard_normal((rows, 5))
    X[:, 0] += signal * (2 * y - 1)
    return X, y, [(row, row + 1) for row in range(0, rows, 2)]


def test_probe_accuracy_matches_the_normal_distribution():
    """The direction is one standard deviation from the boundary."""
    found = probe(*data(1.0))
    assert found.low < 0.8413 < found.high
    assert (found.chance, found.n) == (0.5, 2000)


def test_interval_on_noise_covers_one_half():
    covered = [p.low <= 0.5 <= p.high for p in (probe(*data(0.0, 200, seed)) for seed in range(40))]
    assert sum(covered) >= 34


def test_interval_of_single_problems_is_1_96_standard_errors():
    X, y, _ = data(0.4, rows=200)
    found = probe(X, y, [(row,) for row in range(200)])
    error = np.sqrt(found.accuracy * (1 - found.accuracy) / 199)
    assert found.high - found.accuracy == pytest.approx(1.96 * error, rel=1e-3)


def test_groups_are_not_split_over_folds():
    """Two copies with opposite labels then teach nothing about each other."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((300, 50)), 2, axis=0)
    y = np.tile([0, 1], 300)
    groups = [(row, row + 1) for row in range(0, 600, 2)]
    assert probe(X, y, groups).accuracy == pytest.approx(0.5)


def test_copies_in_one_block_do_not_narrow_the_interval():
    X, y, groups = data(0.4, rows=600)
    once = probe(X, y, groups)
    thrice = probe(
        np.tile(X, (3, 1)),
        np.tile(y, 3),
        [[row + 600 * copy for row in rows for copy in range(3)] for rows in groups],
    )
    assert thrice.accuracy == pytest.approx(once.accuracy, abs=0.01)
    assert thrice.high - thrice.low > 0.97 * (once.high - once.low)


def test_too_few_groups_are_refused():
    X, y, groups = data(1.0, rows=6)
    with pytest.raises(DataError, match="5 folds needs 5 groups or more, but there are 3"):
        probe(X, y, groups)
