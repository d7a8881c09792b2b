"""Verification of filters on halves of the data that they saw separately."""

import numpy as np
import pytest
from scipy.stats import t

from winosmith import debias, metrics
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
    turned = debias.verify(X, y, everything, blocks=blocks, **QUICK).after["linear"]
    assert turned.chance == 0.5
    assert turned.low < 0.5 < turned.high
    free = debias.verify(X, y, everything, blocks=blocks, flips_sign=False, **QUICK).after["linear"]
    assert free.accuracy == pytest.approx(0.75, abs=0.02)
    assert free.chance == pytest.approx(0.75, abs=0.01)


def test_zero_vectors_score_one_half():
    X, y, pairs, _ = twins(200)
    found = debias.verify(0 * X, y, everything, blocks=pairs, **QUICK)
    assert {(one.accuracy, one.low, one.high) for one in found.after.values()} == {(0.5, 0.5, 0.5)}


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

    An alarm is a guesser whose interval excludes chance. The lower end of Wilson's interval of
    the
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


def test_too_few_blocks_and_invalid_filters_are_refused():
    X, y, pairs, _ = twins(200)
    with pytest.raises(DataError, match=r"there are 19 blocks .* requires 20"):
        debias.verify(X[:38], y[:38], everything, blocks=pairs[:19], **QUICK)
    with pytest.raises(DataError, match=r"filter kept 5 blocks .* requires 10 or more$"):
        debias.verify(X, y, lambda rows: rows[:10], blocks=pairs, ids=range(200), **QUICK)
    with pytest.raises(DataError, match="must return some of the given rows"):
        debias.verify(X, y, lambda rows: np.arange(200), blocks=pairs, **QUICK)
    with pytest.raises(DataError, match="other: there are 100 vectors for 200 problems"):
        debias.verify(X, y, everything, blocks=pairs, others={"other": X[:100]}, **QUICK)
    with pytest.raises(DataError, match="X has 200 rows, but ids has 199 entries"):
        debias.verify(X, y, everything, blocks=pairs, ids=range(199), **QUICK)
    with pytest.raises(DataError, match="X has 200 rows, but ids has 199 entries"):
        debias.verify(
            np.ones((200, 3, 2)), y, everything, blocks=pairs, options=[3] * 200, ids=range(199),
            **QUICK,
        )  # fmt: skip
    with pytest.raises(InputError, match="draws is 19; it must be a whole number, 20 or more"):
        debias.verify(X, y, everything, blocks=pairs, draws=19)
    with pytest.raises(InputError, match="splits is 0"):
        debias.verify(X, y, everything, blocks=pairs, splits=0)


def test_progress_counts_filtered_and_measured_halves():
    X, y, pairs, _ = twins(200)
    steps = []
    debias.verify(X, y, everything, blocks=pairs, on_step=lambda *step: steps.append(step), **QUICK)
    assert steps == [(done, 8) for done in range(1, 9)]
