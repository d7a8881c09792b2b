"""Units of twins, singles and problems with any number of options: vectors, ties and order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from tests.conftest import examples
from winosmith import Dataset, Problem, debias
from winosmith.debias._mirror import _sort_by_unit
from winosmith.debias._units import ChoiceProblems
from winosmith.errors import DataError
from winosmith.testing import make_twins

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
def test_order_of_options_and_problems_does_not_change_results(seed, sizes):
    """So a data set whose first option is always correct is measured like any other."""
    made = draw_problems(seed, 120, sizes, signal=0.8)
    rng = np.random.default_rng(seed)
    other = shuffle_options(made, rng)
    X, key, options = (part.copy() for part in made)
    for row in range(120):
        X[row, [0, key[row]]] = X[row, [key[row], 0]]
    found = verify_chance_filter(made)
    assert verify_chance_filter(other) == found
    assert verify_chance_filter((X, 0 * key, options)) == found
    assert verify_chance_filter(made, rng.permutation(120)) == found
    groups = [(row,) for row in range(120)]
    one, two = (debias.probe(X, y, groups, options=k) for X, y, k in (made, other))
    assert one == two


@given(seed=st.integers(0, 10_000))
@examples(10)
def test_two_option_vectors_give_margins_of_their_difference(seed):
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


def test_chance_is_the_mean_of_one_over_the_option_count():
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


def test_filter_lowers_the_accuracy_of_a_planted_signal():
    found = verify_chance_filter(draw_problems(2, 1200, (3,), signal=3.0, share=0.4))
    before, after = found.before["linear"], found.after["linear"]
    assert before.low > before.chance + 0.1
    assert after.accuracy < before.accuracy - 0.1
    assert found.after["other"].low < 1 / 3 < found.after["other"].high


HALF = Problem("a", "Why did it get dark? _", ("night", "noon", "rain"), 0, "t")


def test_correct_option_is_first_of_equal_options():
    """So neither its original place nor rounding reveals it."""
    found = ChoiceProblems.from_vectors(np.ones((3, 3, 2)), [0, 1, 2], [3, 3, 3])
    assert found.key.tolist() == [0, 0, 0]


@pytest.mark.parametrize("columns", [2, 3, 80])
def test_options_are_ordered_by_any_single_column(columns):
    for column in range(columns):
        rows = np.zeros((2, columns), np.float32)
        rows[1, column] = 1
        one, other = (
            _sort_by_unit(rows[turn], np.zeros(2, np.intp), np.array([turn[0]]), np.array([2]))
            for turn in (np.array([0, 1]), np.array([1, 0]))
        )
        assert one[0].tolist() == other[0].tolist()
        assert one[1].tolist() == other[1].tolist()


def test_three_option_twin_is_one_unit_with_six_options():
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


def test_twins_with_equal_option_vectors_have_zero_margins():
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


def test_contradicting_copies_are_one_unit_of_tied_options():
    pool = Dataset([replace(HALF, twin_id=None), replace(HALF, id="b", answer=1, twin_id=None)])
    units = debias.make_option_units(pool, np.ones((2, 3, 2)))
    assert units.rows == ((0, 1),)
    assert not units.V.any()


def test_key_follows_the_problem_whose_vectors_are_used():
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
def test_inconsistent_options_are_refused(change, told):
    given = {"X": np.ones((40, 3, 2)), "y": [0] * 40, "options": [3] * 40, **change}
    groups = [(row,) for row in range(len(given["y"]))]
    with pytest.raises(DataError, match=told):
        debias.probe(given["X"], np.array(given["y"]), groups, options=given["options"])


N = 40
"""Number of problems of each sort."""


def make_tied_options(seed: int, sizes: tuple[int, ...], common: float) -> Drawn:
    """Return options' vectors, keys and numbers of options; half of the problems have only ties.

    The correct options of the first half are shifted along one shared direction; each option of
    the other half has a direction of its own. All vectors are rotated, so that none are exactly
    orthogonal in single precision, and perturbed by half of the last digit.

    Args:
        seed: seed of the keys and of the perturbation.
        sizes: numbers of options of the problems, repeated in turn.
        common: distance of all options from the origin, in one direction.
    """
    rng = np.random.default_rng([seed, 1])
    options = np.resize(sizes, 2 * N)
    key = rng.integers(options)
    width = 1 + int(options.sum())
    turned = np.linalg.qr(np.random.default_rng(len(sizes)).normal(size=(width + 1, width + 1)))[0]
    X = np.zeros((2 * N, max(sizes), width + 1))
    there = np.arange(max(sizes)) < options[:, None]
    X[there] = np.eye(width + 1)[1:-1]
    X[:N, :, 1:-1] = 0
    X[np.arange(N), key[:N], 0] = 1
    X[there, -1] = common
    shaken = (X @ turned) * (1 + 2.0**-24 * rng.uniform(-1, 1, X.shape))
    return shaken.astype(np.float32), key, options


@examples(5)
@given(
    seed=st.integers(0, 1000),
    sizes=st.sampled_from([(2,), (3,), (2, 3, 5)]),
    common=st.sampled_from([0.0, 3.0]),
)
def test_problems_that_share_nothing_are_predicted_by_chance(seed, sizes, common):
    """They score 1 over their number of options in verify and probe, and their margins are 0."""
    X, key, options = make_tied_options(seed, sizes, common)
    blocks = [(row,) for row in range(len(X))]
    right = (N + (1 / options[N:]).sum()) / len(X)
    how = {"options": options, "blocks": blocks, "ids": range(len(X)), "splits": 1, "draws": 20}
    found = debias.verify(X, key, lambda rows: rows, **how).after["linear"].accuracy
    assert found == pytest.approx(right, abs=1e-9)
    assert debias.probe(X, key, blocks, options=options).accuracy == pytest.approx(right, abs=1e-9)
    there = np.arange(X.shape[1]) < options[:, None]
    for aim in ("error", "chance"):
        mirrored = debias.mirror(
            X[there], items=np.repeat(np.arange(len(X)), options), key=key, aim=aim
        )
        assert np.array_equal(mirrored.margins == 0, np.arange(len(X)) >= N)


@examples(5)
@given(seed=st.integers(0, 1000))
def test_difference_vectors_with_rounding_residue_are_ties(seed):
    """The tiny difference of two long vectors is a tie, whichever way it points."""
    X, key, _ = make_tied_options(seed, (2,), 0.0)
    turns, blocks = X[:, 1] - X[:, 0], [(row,) for row in range(len(X))]
    long = X[np.arange(10), key[:10]]
    turns[N : N + 10] = np.nextafter(long, 9) - long
    assert 0 < np.abs(turns[N : N + 10]).max() < 1e-6
    how = {"blocks": blocks, "ids": range(len(X)), "splits": 1, "draws": 20}
    found = debias.verify(turns, key, lambda rows: rows, **how).after["linear"].accuracy
    assert (found, debias.probe(turns, key, blocks).accuracy) == (0.75, 0.75)
    mirrored = debias.mirror(turns, key=key, aim="chance")
    assert np.array_equal(mirrored.margins == 0, np.arange(len(X)) >= N)


def test_one_long_vector_does_not_turn_small_margins_into_ties():
    """The rounding tolerance depends on each unit's own length, with two options and with three."""
    rng = np.random.default_rng(0)
    key = np.arange(600) % 2
    X = rng.normal(size=(600, 20))
    X[:, 0] = np.where(key == 1, 1e-3, -1e-3)  # small margins far above rounding
    X[0] *= 2000
    assert debias.mirror(X, key=key, aim="chance").ties == 0
    three = np.stack([X, -X, np.zeros_like(X)], 1)
    items = np.repeat(np.arange(600), 3)
    assert debias.mirror(three.reshape(-1, 20), items=items, key=1 - key, aim="chance").ties == 0


def _twin(name: str, first: int) -> list[Problem]:
    options = ("box", "bin")
    return [
        Problem(f"{name}-a", f"The {name} is in the _ as it is old.", options, first, name),
        Problem(f"{name}-b", f"The {name} is in the _ as it is new.", options, 1 - first, name),
    ]


def test_copies_of_a_half_do_not_change_its_twins_unit():
    pool = Dataset([*_twin("cup", 0), *_twin("jug", 1)])
    X = np.array([[3.0, 1], [2, 0], [1, 0], [1, 5]])
    units = debias.make_twin_units(pool, X)
    assert units.V.tolist() == [[1, 1], [0, 5]]
    copied = Dataset([*pool, Problem("x", pool[0].sentence, pool[0].options, 0)])
    more = debias.make_twin_units(copied, np.append(X, X[:1], axis=0))
    assert more.V.tolist() == units.V.tolist()
    assert more.rows == ((0, 1, 4), (2, 3))
    assert more.kinds == ("twin", "twin")


def test_row_order_does_not_change_units():
    twins = [problem for number in range(30) for problem in _twin(f"cup {number}", number % 2)]
    copied = [Problem(f"{one.id} {n}", one.sentence, one.options, one.answer)
              for one in twins[::2] for n in range(2)]  # fmt: skip
    pool = Dataset([*twins, *copied])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(len(pool), 6)).astype(np.float32)
    order = rng.permutation(len(pool))
    one, other = (
        debias.make_twin_units(pool, X),
        debias.make_twin_units(pool.select(order.tolist()), X[order]),
    )
    at = [other.ids.index(name) for name in one.ids]
    assert other.V[at].tobytes() == one.V.tobytes()
    assert [other.kinds[unit] for unit in at] == list(one.kinds)


def test_family_shares_a_block_and_similar_twins_do_not():
    pool = Dataset([*_twin("cup", 0), *_twin("mug", 0)])
    X = np.ones((4, 2))
    assert len(set(debias.make_twin_units(pool, X).blocks)) == 2
    from winosmith.lineage import make_child

    child = make_child(
        pool[0], "The old cup is in the _ as it is old.", pool[0].options, 0, source="person"
    )
    family = debias.make_twin_units(Dataset([*pool, child]), np.ones((5, 2)))
    assert len(set(family.blocks)) == 2
    assert sorted(family.kinds) == ["single", "twin", "twin"]


POOL = make_twins(20, singles=10)
RNG = np.random.default_rng(0)


def test_equal_vectors_are_blind():
    for X in (np.zeros((50, 3)), np.ones((50, 3)), 1e-30 * np.ones((50, 1))):
        for flips_sign in (True, False):
            found = debias.measure_separability(POOL, X, flips_sign=flips_sign)
            assert (found.units, found.separable, found.is_blind) == (30, 0, True)


@given(st.integers(0, 20), st.integers(0, 10), st.floats(1e-6, 1e6))
def test_separable_twins_and_singles_are_counted(twins, singles, scale):
    """Twins whose halves have equal vectors are not separable, nor are singles of zeros.

    The scale of the vectors does not matter.
    """
    X = np.repeat(RNG.normal(size=(20, 4)), 2, axis=0)
    X[: 2 * twins : 2] += 1
    X = scale * np.vstack([X, np.zeros((10, 4))])
    X[40 : 40 + singles] = scale
    found = debias.measure_separability(POOL, X)
    assert (found.units, found.separable) == (30, twins + singles)
    assert found.is_blind == (twins + singles < 3)


def test_swapped_options_do_not_change_separability():
    """A half with swapped options has the negative vector, and still equals its copy."""
    swapped = Dataset(
        replace(p, options=p.options[::-1], answer=1 - p.answer) if row % 2 else p
        for row, p in enumerate(POOL)
    )
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0)
    turned = np.where(np.arange(50) % 2, -1, 1)[:, None] * X
    assert debias.measure_separability(POOL, X) == debias.measure_separability(swapped, turned)
    assert debias.measure_separability(POOL, X).separable == 10


def test_rounding_differences_are_not_separable():
    X = np.repeat(RNG.normal(size=(25, 4)), 2, axis=0).astype(np.float32)
    X[40:] = 0
    X[::2] = np.nextafter(X[::2], np.float32(9))
    assert debias.measure_separability(POOL, X).separable == 0


def test_problems_with_different_options_are_separable():
    three = Dataset(
        Problem(f"{row}", f"Which of {row} is it? _", ("a", "b", "c"), 0) for row in range(10)
    )
    X = np.ones((10, 3, 2))
    assert debias.measure_separability(three, X).separable == 0
    X[:4, 1] = 2
    assert debias.measure_separability(three, X).separable == 4
    alone = np.repeat(RNG.normal(size=(20, 2, 3)), 2, axis=0)
    found = debias.measure_separability(make_twins(20), alone)
    assert (found.separable, found.is_blind) == (0, True)


def test_wrong_number_of_vectors_is_refused():
    with pytest.raises(DataError, match="there are 49 vectors for 50 problems"):
        debias.measure_separability(POOL, np.zeros((49, 2)))
