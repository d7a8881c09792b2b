"""Twins and singles as units for the mirror filter, and their options' vectors.

`ChoiceProblems` first sorts the options of each problem by their vectors, so that the original
order has no effect on models. `Separability` counts the units whose vectors depend on the answer;
no model can predict the answers of the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.blocks import find_blocks, find_copies, find_whole_twins, normalize_tokens
from winosmith.dataset import Dataset
from winosmith.debias._logit import ROUNDING_ERROR, Floats, Logit, Rows, bound_rounding_errors
from winosmith.debias._rows import CHUNK, encode_groups, get_choice_keys, get_problem_labels
from winosmith.errors import DataError
from winosmith.parallel import use_one_thread
from winosmith.results import Result


@dataclass(frozen=True, slots=True)
class ModelScores:
    """The scores of models on problems, as (n, models) arrays.

    Attributes:
        leads: The lead of the highest-scoring option over the runner-up; 0 for a tie.
        credit: The credit for predicting the highest-scoring option: 1 if it is the key, otherwise
            0, or 1 / (number of tied options) if the key is one of them.
        opposite: The mean credit for predicting any other option, (1 − credit) / (K − 1).
    """

    leads: Floats
    credit: Floats
    opposite: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceProblems:
    """Problems as the vectors of their options, with keys.

    Attributes:
        X: (n, K, d) float32 vectors of the options of each problem, padded with zeros.
        key: (n,) the index of the correct option.
        options: (n,) the number of options.
    """

    X: NDArray[np.float32]
    key: Rows
    options: Rows

    @classmethod
    def from_vectors(cls, X: NDArray[Any], key: ArrayLike, options: ArrayLike) -> ChoiceProblems:
        """Check the arrays, and sort each problem's options by their vectors."""
        X = np.asarray(X)
        keys, sizes = np.asarray(key), np.asarray(options, np.intp)
        if X.ndim != 3 or not X.size:
            raise DataError(f"X has the shape {X.shape}; (problems, options, columns) is needed")
        if not len(X) == len(keys) == len(sizes):
            raise DataError(
                f"there are {len(X)} problems in X, {len(keys)} keys and {len(sizes)} numbers of "
                "options"
            )
        wrong = np.flatnonzero((sizes < 2) | (sizes > X.shape[1]))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"problem {row} has {sizes[row]} options; X allows 2 to {X.shape[1]}")
        wrong = np.flatnonzero(~((keys >= 0) & (keys < sizes) & (keys == keys.astype(np.intp))))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(f"key[{row}] is {keys[row]}; the problem has {sizes[row]} options")
        if not np.isfinite(X).all():
            row = int(np.flatnonzero(~np.isfinite(X).all(axis=(1, 2)))[0])
            raise DataError(f"row {row} of X contains NaN or infinity; embed the problem again")
        place = np.tile(np.arange(X.shape[1]), (len(X), 1))
        for row, size in enumerate(sizes.tolist()):
            vectors = np.ascontiguousarray(X[row, :size], np.float32) + np.float32(0)
            digests = [hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in vectors]
            # Among equal options the key is first; otherwise rounding could reveal it.
            place[row, :size] = sorted(range(size), key=lambda at: (digests[at], at != keys[row]))
        moved = np.take_along_axis(X, place[:, :, None], axis=1).astype(np.float32)
        moved[np.arange(X.shape[1]) >= sizes[:, None]] = 0
        return cls(moved, np.argmax(place == keys[:, None], axis=1), sizes)

    def __len__(self) -> int:
        return len(self.key)

    def select(self, rows: Rows | NDArray[np.bool_]) -> ChoiceProblems:
        return ChoiceProblems(self.X[rows], self.key[rows], self.options[rows])

    @property
    def chance(self) -> float:
        return float(np.mean(1 / self.options))

    @property
    def _stacked_vectors(self) -> tuple[NDArray[np.float32], Rows]:
        is_option = np.arange(self.X.shape[1]) < self.options[:, None]
        return self.X[is_option], np.cumsum(self.options) - self.options

    def fit(self, weights: NDArray[np.float32], C: float) -> Floats:
        """Fit a model for each column of problem weights, (n, c).

        The coefficients have the shape (dimensions, c).
        """
        V, starts = self._stacked_vectors
        right = np.zeros((len(V), weights.shape[1]), np.float32)
        right[starts + self.key] = 1
        return Logit(V, C=C, starts=starts).fit(weights, right)

    def score(self, W: Floats) -> ModelScores:
        V, starts = self._stacked_vectors
        with use_one_thread():
            scores = V @ W
        top = np.maximum.reduceat(scores, starts)
        tied = scores >= np.repeat(top - bound_rounding_errors(V, W, starts), self.options, axis=0)
        ties = np.add.reduceat(tied.astype(np.intp), starts)
        credit = tied[starts + self.key] / ties
        place = np.arange(len(V))[:, None]
        leader = np.minimum.reduceat(np.where(tied, place, len(V)), starts)
        np.put_along_axis(scores, leader, -np.inf, axis=0)
        leads = np.where(ties > 1, 0.0, top - np.maximum.reduceat(scores, starts))
        return ModelScores(leads, credit, (1 - credit) / (self.options[:, None] - 1))

    def to_canonical_rows(self) -> NDArray[np.float32]:
        """Return one row per problem: its options' vectors and, in the last column, its key."""
        return np.hstack([self.X.reshape(len(self), -1), self.key[:, None].astype(np.float32)])


@dataclass(frozen=True, slots=True, eq=False)
class TwinUnits:
    """Twins and singles for `mirror`, with one vector per unit or one per option of the unit.

    Attributes:
        V: (U, d) float32: the sum over the halves of ±x, with + if the first option is correct;
            copies of a half are averaged first. With `items`, each row is an option.
        rows: The data set's rows that are kept or removed with each unit, in ascending order.
        blocks: (U,) block numbers; units of one family, or with identical sentences, share a block.
        kinds: (U,) "twin" or "single".
        ids: (U,) the alphabetically first id of each unit's problems.
        items: (n,) the unit of each row of V; None if each row is a unit.
        key: (U,) the index of the correct option among each unit's rows; None if each row is a
            unit.
    """

    V: NDArray[np.float32]
    rows: tuple[tuple[int, ...], ...]
    blocks: tuple[int, ...]
    kinds: tuple[str, ...]
    ids: tuple[str, ...]
    items: NDArray[np.intp] | None = None
    key: NDArray[np.intp] | None = None

    def get_rows(self, units: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the data set's rows that belong to the given units, in ascending order."""
        return np.array(sorted(row for unit in units for row in self.rows[unit]), np.intp)


def make_twin_units(pool: Dataset, X: NDArray[Any]) -> TwinUnits:
    """Return the units of two-option problems, with one vector per unit.

    A unit is a twin with all copies of its halves, or a single with its copies. Swapping a
    problem's options has no effect, because both x and the sign of the answer flip. Look-alikes are
    in separate blocks here, so that the filter can find sentences that contributors repeat. (Splits
    keep look-alikes together; see `winosmith.blocks`.)

    Args:
        pool: Problems with two options each and known answers.
        X: (n, d) vectors whose sign flips when options are swapped, such as `difference` vectors.

    Raises:
        DataError: `get_problem_labels` rejects the problems, or the number of vectors differs.

    >>> from winosmith import Problem
    >>> a = Problem("a", "It is in the _ as it is old.", ("box", "bin"), 0, "t")
    >>> b = Problem("b", "It is in the _ as it is new.", ("box", "bin"), 1, "t")
    >>> make_twin_units(Dataset([a, b]), np.array([[3.0, 1.0], [3.0, 0.0]])).V.tolist()
    [[0.0, 1.0]]
    """
    signs = 1 - 2 * get_problem_labels(pool).astype(np.float32)
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    identical = find_copies(pool)
    copy_of = {row: rows[0] for rows in identical for row in rows}
    first = [copy_of.get(row, row) for row in range(len(pool))]
    share = (1 / np.bincount(first, minlength=len(pool))[first]).astype(np.float32)
    rows = find_whole_twins(pool, identical)
    ids, weights = pool.ids, (signs * share)[:, None]
    # Rows are summed in the order of ids, because the order may change the last bit.
    summed = [sorted(group, key=ids.__getitem__) for group in rows]
    V = np.stack([(X[group].astype(np.float32) * weights[group]).sum(axis=0) for group in summed])
    block_of = encode_groups(find_blocks(pool, lookalikes=False), len(pool)).tolist()
    return TwinUnits(
        V=V,
        rows=tuple(map(tuple, rows)),
        blocks=tuple(block_of[group[0]] for group in rows),
        kinds=tuple("twin" if len({first[row] for row in g}) > 1 else "single" for g in rows),
        ids=tuple(ids[group[0]] for group in summed),
    )


def make_option_units(pool: Dataset, X: NDArray[Any]) -> TwinUnits:
    """Return the units of problems with any number of options, with one vector per option.

    A unit is a twin with all copies of its halves, or a single with its copies. If the halves of a
    twin have two options each, its key is one bit, as in `make_twin_units`. With K options each,
    the unit has K (K − 1) options: all pairs of different answers to its halves. A pair's vector is
    the sum of the vectors of both answers. (If vectors represent only the options, a pair ties with
    its reverse, so nothing about a twin is predictable.) Copies with different answers get zero
    vectors, so their answers are not predictable either.

    Args:
        pool: Problems with known answers.
        X: (n, K, d) vectors of the options of each problem, such as those of `embed_options`.

    Raises:
        DataError: An answer is withheld, there are no problems, or the number of vectors differs.

    >>> from winosmith import Problem
    >>> a = Problem("a", "Why is it dark? _", ("night", "noon", "rain"), 0)
    >>> b = Problem("b", "Who barks? _", ("dog", "cat"), 0)
    >>> units = make_option_units(Dataset([a, b]), np.ones((2, 3, 1)))
    >>> units.items.tolist(), units.key.tolist()
    ([0, 0, 0, 1, 1], [0, 0])
    """
    keys = get_choice_keys(pool)
    if X.ndim != 3 or len(X) != len(pool):
        raise DataError(f"X has the shape {X.shape}; (problems, options, columns) is needed")
    identical = find_copies(pool)
    copy_of = {row: rows[0] for rows in identical for row in rows}
    block_of = encode_groups(find_blocks(pool, lookalikes=False), len(pool)).tolist()
    found: list[_OptionUnit] = []
    for group in find_whole_twins(pool, identical):
        halves: dict[int, list[int]] = {}
        for row in sorted(group, key=pool.ids.__getitem__):
            halves.setdefault(copy_of.get(row, row), []).append(row)
        found += _iter_option_units(pool, X, keys, list(halves.values()))
    vectors, correct, rows, kinds = zip(*found, strict=True)
    return TwinUnits(
        V=np.concatenate(vectors),
        rows=tuple(tuple(sorted(own)) for own in rows),
        blocks=tuple(block_of[own[0]] for own in rows),
        kinds=kinds,
        ids=tuple(pool.ids[own[0]] for own in rows),
        items=np.repeat(np.arange(len(found)), list(map(len, vectors))),
        key=np.array(correct, np.intp),
    )


_OptionUnit = tuple[NDArray[np.float32], int, list[int], str]
"""A unit's vectors, one per option, the index of its key, its rows sorted by id, and its kind."""


def _iter_option_units(
    pool: Dataset, X: NDArray[Any], keys: NDArray[np.intp], halves: Sequence[list[int]]
) -> Iterator[_OptionUnit]:
    """Yield the units of one group: a single, a twin, or halves that do not form a twin.

    `halves` are the rows of each half with its copies, sorted by id.
    """
    named = [[normalize_tokens(option) for option in pool[rows[0]].options] for rows in halves]
    right = [{normalize_tokens(pool[row].options[keys[row]]) for row in rows} for rows in halves]
    is_clear = all(len(one) == 1 for one in right)
    of = [X[rows[0], : len(names)] for rows, names in zip(halves, named, strict=True)]
    of = [np.asarray(one, np.float32) * np.float32(is_clear) for one in of]
    rows = sorted((row for half in halves for row in half), key=pool.ids.__getitem__)
    kind = "twin" if len(halves) > 1 else "single"
    if {len(names) for names in named} == {2}:
        v = np.zeros(X.shape[2], np.float32)
        for one, half in zip(of, halves, strict=True):
            v += one[keys[half[0]]] - one[1 - keys[half[0]]]
        yield np.stack([v, 0 * v]), 0, rows, kind
    elif len(halves) == 2 and sorted(named[0]) == sorted(named[1]) and right[0] != right[1]:
        there = [named[1].index(name) for name in named[0]]
        pairs = list(permutations(range(len(there)), 2))
        V = np.stack([of[0][i] + of[1][there[j]] for i, j in pairs])
        key = pairs.index((int(keys[halves[0][0]]), there.index(int(keys[halves[1][0]]))))
        yield V, key, rows, kind
    else:
        for one, half in zip(of, halves, strict=True):
            yield one, int(keys[half[0]]), half, "single"


MIN_SEPARABLE = 0.1
"""Vectors are blind if they depend on the answer for a smaller fraction of units than this. The
light embedder does not read triggers before the blank: its vectors depend on the answer for 86 % of
the twins and singles of WinoGrande's dev set, 69 % of the practice twins, 32 % of the handwritten
twins, and 0 % in a language that it does not support."""


@dataclass(frozen=True, slots=True)
class Separability(Result):
    """The number of twins and singles whose vectors could reveal the answer.

    Attributes:
        units: The number of twins and singles.
        separable: The number of twins whose halves have different vectors, plus the number of
            singles whose vector is not zero.
    """

    units: int
    separable: int = field(metadata={"key": "seen"})

    @property
    def fraction(self) -> float:
        """The fraction of units whose vectors could reveal the answer, 0–1."""
        return self.separable / self.units

    @property
    def is_blind(self) -> bool:
        """Whether the vectors reveal too few answers for a filter or a guesser."""
        return self.fraction < MIN_SEPARABLE


def measure_separability(
    pool: Dataset, X: NDArray[Any], *, flips_sign: bool = True
) -> Separability:
    """Count the twins and singles whose vectors could reveal their answers.

    A twin's halves have opposite answers, so a model can only predict them if their vectors differ.
    A single's vector must differ from zero or, with `flips_sign=False`, from the vector of the
    first problem, because an intercept absorbs what all vectors have in common. With more than two
    options, the vectors of a unit's options must differ. If all vectors are the same, the count is
    0. Differences up to 10⁻⁶ of the length of the longest vector are treated as rounding errors.

    Args:
        pool: Problems with answers.
        X: (n, d) vectors, or (n, K, d) with one per option if a problem has more than two.
        flips_sign: Whether swapping the options of a problem flips the sign of its vector.

    Raises:
        DataError: There are no problems, an answer is withheld, or the number of vectors differs.

    >>> from winosmith.testing import make_twins
    >>> measure_separability(make_twins(2), np.zeros((4, 3)))
    Separability(units=2, separable=0)
    >>> measure_separability(make_twins(2), np.eye(4))
    Separability(units=2, separable=2)
    """
    if len(X) != len(pool):
        raise DataError(f"there are {len(X)} vectors for {len(pool)} problems")
    if X.ndim == 3:
        units = make_option_units(pool, X)
        of_units = np.asarray(units.items)
        starts = np.unique(of_units, return_index=True)[1]
        distances = np.linalg.norm(units.V - units.V[starts][of_units], axis=1)
        longest = np.linalg.norm(units.V, axis=1).max()
        differs = np.maximum.reduceat(distances, starts) > ROUNDING_ERROR * longest
        return Separability(len(differs), int(differs.sum()))
    labels = get_problem_labels(pool)
    longest, lengths = 0.0, []
    is_constant = True
    for first in range(0, len(pool.groups), CHUNK):
        groups = pool.groups[first : first + CHUNK]
        rows = np.concatenate(groups)
        sizes = np.array([len(group) for group in groups])
        starts = np.cumsum(sizes) - sizes
        vectors = X[rows].astype(np.float64)
        longest = max(longest, float(np.linalg.norm(vectors, axis=1).max()))
        is_constant = is_constant and bool((vectors == X[0]).all())
        signs = 1.0 - 2 * labels[rows]
        if not flips_sign:
            vectors -= X[0]
            signs = np.where(np.arange(len(rows)) == np.repeat(starts, sizes), 1.0, -1.0)
        lengths.append(np.linalg.norm(np.add.reduceat(vectors * signs[:, None], starts), axis=1))
    differs = np.concatenate(lengths) > ROUNDING_ERROR * longest
    return Separability(len(differs), 0 if is_constant else int(differs.sum()))
