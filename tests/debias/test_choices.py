"""Problems with any number of options: their units, probing, filtering and verification."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from tests.conftest import examples
from winosmith import Dataset, Problem, debias
from winosmith.debias._mirror import _sort_by_unit
from winosmith.debias._units import ChoiceProblems
from winosmith.errors import DataError

Drawn = tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.intp]]

SIZES = st.sampled_from([(2,), (3,), (2, 3, 5)])


def draw_problems(
    seed: int,
    n: int = 300,
    sizes: tuple[int, ...] = (2, 3, 5),
    signal: float = 0.0,
    share: float = 1.0,
) -> Drawn:
    """Return options' vectors (padded with zeros), keys, and numbers of options."""
    rng = np.random.default_rng(seed)
    options = rng.choice(sizes, n)
    key = rng.integers(options)
    X = rng.normal(size=(n, max(sizes), 6)).astype(np.float32)
    X[np.arange(n), key, 0] += signal * (np.arange(n) < share * n)
    X[np.arange(max(sizes)) >= options[:, None]] = 0
    return X, key, options


def shuffle_options(made: Drawn, rng: np.random.Generator) -> Drawn:
    X, key, options = (part.copy() for part in made)
    for row, size in enumerate(options.tolist()):
        order = rng.permutation(size)
        X[row, :size] = X[row, order]
        key[row] = np.flatnonzero(order == key[row])[0]
    return X, key, options


def make_pool(made: Drawn) -> Dataset:
    """Return problems with these keys and numbers of options, whose words carry no information."""
    _, key, options = made
    return Dataset(
        Problem(f"p{row:04}", f"Which of these is number {row}? _",
                tuple(f"choice {row} {at}" for at in range(size)), answer)
        for row, (answer, size) in enumerate(zip(key.tolist(), options.tolist(), strict=True))
    )  # fmt: skip


def verify_chance_filter(made: Drawn, order: NDArray[np.intp] | None = None) -> debias.Verification:
    """Return the verification of the mirror filter with the aim "chance"."""
    X, key, options = made
    order = np.arange(len(X)) if order is None else order
    X, key, options, pool = (
        X[order],
        key[order],
        options[order],
        make_pool(made).select(order.tolist()),
    )

    def kept(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        units = debias.make_option_units(pool.select(rows.tolist()), X[rows])
        found = debias.mirror(
            units.V, items=units.items, key=units.key, ids=units.ids, aim="chance", folds=4
        )
        return rows[units.get_rows(found.kept)]

    blocks = [(row,) for row in range(len(X))]
    return debias.verify(
        X, key, kept, blocks=blocks, ids=pool.ids, options=options, splits=1, draws=20,
        others={"other": X[:, :, 1:]},
    )  # fmt: skip


@given(seed=st.integers(0, 10_000), sizes=SIZES)
@examples(6)
def test_option_order_does_not_change_results(seed: int, sizes: tuple[int, ...]) -> None:
    made = draw_problems(seed, 120, sizes, signal=0.8)
    other = shuffle_options(made, np.random.default_rng(seed))
    assert verify_chance_filter(made) == verify_chance_filter(other)
    groups = [(row,) for row in range(120)]
    one, two = (debias.probe(X, y, groups, options=k) for X, y, k in (made, other))
    assert one == two


@given(seed=st.integers(0, 10_000))
@examples(4)
def test_problem_order_does_not_change_results(seed: int) -> None:
    made = draw_problems(seed, 120, signal=0.8)
    assert verify_chance_filter(made) == verify_chance_filter(
        made, np.random.default_rng(seed).permutation(120)
    )


@given(seed=st.integers(0, 10_000))
@examples(10)
def test_two_option_vectors_give_margins_of_their_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = [row % 2 for row in range(60)] + rng.integers(0, 2, 20).tolist()
    pool = Dataset(
        Problem(f"p{row:03}", f"The {row // 2} fell, and _ was {row}.", ("cup", "jug"), answer,
                f"t{row // 2}" if row < 60 else None)
        for row, answer in enumerate(answers)
    )  # fmt: skip
    X = rng.normal(size=(80, 2, 4)).astype(np.float32)
    of, single = debias.make_option_units(pool, X), debias.make_twin_units(pool, X[:, 0] - X[:, 1])
    assert (of.rows, of.blocks, of.kinds, of.ids) == (
        single.rows, single.blocks, single.kinds, single.ids,
    )  # fmt: skip
    found = [
        debias.mirror(
            units.V, items=units.items, key=units.key, blocks=units.blocks, kinds=units.kinds,
            ids=units.ids, aim="chance", folds=4,
        )
        for units in (of, single)
    ]  # fmt: skip
    assert found[0].margins.tobytes() == found[1].margins.tobytes()
    assert found[0].kept.tobytes() == found[1].kept.tobytes()


def test_chance_is_the_mean_of_one_over_the_option_count() -> None:
    made = draw_problems(1, 1500)
    X, key, options = made
    blocks = [(row,) for row in range(len(X))]
    found = debias.verify(
        X, key, lambda rows: rows, blocks=blocks, options=options, splits=2, draws=30
    )
    for guess in found.after.values():
        assert guess.chance == pytest.approx(np.mean(1 / options), abs=0.01)
        assert guess.low < guess.chance < guess.high
    probed = debias.probe(X, key, blocks, options=options)
    assert probed.chance == np.mean(1 / options)
    assert probed.low < probed.chance < probed.high


def test_filter_lowers_the_accuracy_of_a_planted_signal() -> None:
    found = verify_chance_filter(draw_problems(2, 1200, (3,), signal=3.0, share=0.4))
    before, after = found.before["linear"], found.after["linear"]
    assert before.low > before.chance + 0.1
    assert after.accuracy < before.accuracy - 0.1
    assert found.after["other"].low < 1 / 3 < found.after["other"].high


def test_constant_answer_is_measured_like_any_order() -> None:
    """The first option may be correct everywhere in the data set as it is written."""
    made = draw_problems(3, 120, signal=1.0)
    X, key, options = (part.copy() for part in made)
    for row in range(120):
        X[row, [0, key[row]]] = X[row, [key[row], 0]]
    assert verify_chance_filter((X, 0 * key, options)) == verify_chance_filter(made)


def test_tied_options_score_one_over_their_number() -> None:
    X, key, options = draw_problems(4, 100)
    found = debias.probe(0 * X, key, [(row,) for row in range(100)], options=options)
    assert found.accuracy == pytest.approx(np.mean(1 / options))


HALF = Problem("a", "Why did it get dark? _", ("night", "noon", "rain"), 0, "t")


def test_correct_option_is_first_of_equal_options() -> None:
    """So neither its original place nor rounding reveals it."""
    found = ChoiceProblems.from_vectors(np.ones((3, 3, 2)), [0, 1, 2], [3, 3, 3])
    assert found.key.tolist() == [0, 0, 0]


@pytest.mark.parametrize("columns", [2, 3, 80])
def test_options_are_ordered_by_any_single_column(columns: int) -> None:
    for column in range(columns):
        rows = np.zeros((2, columns), np.float32)
        rows[1, column] = 1
        one, other = (
            _sort_by_unit(rows[turn], np.zeros(2, np.intp), np.array([turn[0]]), np.array([2]))
            for turn in (np.array([0, 1]), np.array([1, 0]))
        )
        assert one[0].tolist() == other[0].tolist()
        assert one[1].tolist() == other[1].tolist()


def test_three_option_twin_is_one_unit_with_six_options() -> None:
    """They are the sums over the pairs of different options; the key is the pair of its answers."""
    other = replace(
        HALF, id="b", sentence="Why did it get wet? _", options=("rain", "night", "noon")
    )
    X = np.arange(6.0).reshape(2, 3, 1) ** 2
    units = debias.make_option_units(Dataset([HALF, other]), X)
    assert (units.rows, units.kinds) == (((0, 1),), ("twin",))
    assert units.items is not None
    assert units.key is not None
    assert len(units.items) == 6
    assert units.V[units.key[0]].tolist() == [X[0, 0, 0] + X[1, 0, 0]]


def test_twins_with_equal_option_vectors_have_zero_margins() -> None:
    """So no twin is removed because of its options, which both halves share."""
    rng = np.random.default_rng(0)
    twins = [
        replace(HALF, id=f"{number}{half}", sentence=f"Why {number} {half}? _", answer=half,
                options=(f"a{number}", f"b{number}", f"c{number}"), twin_id=f"t{number}")
        for number in range(30) for half in (0, 1)
    ]  # fmt: skip
    X = np.repeat(rng.normal(size=(30, 3, 4)), 2, axis=0)
    units = debias.make_option_units(Dataset(twins), X)
    assert len(units.rows) == 30
    found = debias.mirror(units.V, items=units.items, key=units.key, ids=units.ids, aim="chance")
    assert not found.margins.any()


def test_contradicting_copies_are_one_unit_of_tied_options() -> None:
    pool = Dataset([replace(HALF, twin_id=None), replace(HALF, id="b", answer=1, twin_id=None)])
    units = debias.make_option_units(pool, np.ones((2, 3, 2)))
    assert units.rows == ((0, 1),)
    assert not units.V.any()


def test_key_follows_the_problem_whose_vectors_are_used() -> None:
    """A copy with its options in another order does not move the key."""
    turned = replace(HALF, id="b", options=HALF.options[::-1], answer=2, twin_id=None)
    units = debias.make_option_units(
        Dataset([replace(HALF, twin_id=None), turned]), np.arange(6.0).reshape(2, 3, 1)
    )
    assert units.rows == ((0, 1),)
    assert units.key is not None
    assert (units.key.tolist(), units.V.ravel().tolist()) == ([0], [0, 1, 2])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"X": np.ones((40, 3))}, r"X has the shape \(40, 3\)"),
        ({"options": [1] * 40}, "problem 0 has 1 options; X allows 2 to 3"),
        ({"options": [4] * 40}, "problem 0 has 4 options; X allows 2 to 3"),
        ({"y": [3] * 40}, r"key\[0\] is 3; the problem has 3 options"),
        ({"y": [0] * 39}, "there are 40 problems in X, 39 keys"),
        ({"X": np.full((40, 3, 2), np.nan)}, "row 0 of X contains NaN or infinity"),
    ],
)
def test_inconsistent_options_are_refused(change: dict[str, Any], told: str) -> None:
    given = {"X": np.ones((40, 3, 2)), "y": [0] * 40, "options": [3] * 40, **change}
    groups = [(row,) for row in range(len(given["y"]))]
    with pytest.raises(DataError, match=told):
        debias.probe(given["X"], np.array(given["y"]), groups, options=given["options"])
