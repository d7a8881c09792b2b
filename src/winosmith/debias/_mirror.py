"""The mirror filter, which uses mirror statistics to find problems that reveal their answers.

The halves of a twin have opposite answers, so the twin's key is one bit: a model can only predict
the sign of one vector, v = s_a x_a + s_b x_b, with s = ±1 for the answer. For a single, v = s x. A
linear model without an intercept, trained on other units, gives each unit a margin. A unit is
*sound* if its key is uniform over its options, given all vectors and every other unit's key. Then
the margins m and −m are equally likely. So the number of units with a margin of at most −t
estimates the number of sound units with a margin of at least t. This is target–decoy competition
(Elias & Gygi 2007, "Target-decoy search strategy"), the knockoff+ threshold (Barber & Candès 2015,
"Controlling the false discovery rate via knockoffs") and the mirror statistic (Dai et al. 2022,
"False discovery rate control via data splitting").

With more options, the size of a margin is the lead of the highest-scoring option, the leader, over
the runner-up. Neither the leader nor its lead depends on the key. The leader of a sound unit with K
options is the key with probability 1/K, so each unit with another leader represents 1/(K − 1) sound
units whose leader is the key.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._logit import CrossLogit
from winosmith.debias._rows import encode_group_labels, make_read_only
from winosmith.errors import DataError
from winosmith.options import Aim, Count, FalseRemovalFraction, Positive, Seed, TwoOrMore, checked
from winosmith.parallel import count_processors, ordered_map, use_one_thread
from winosmith.report import Svg, draw_margins
from winosmith.results import HIDDEN, Result, computed

PERMUTED_RUNS = 19
"""The minimum number of runs with permuted keys. Together with the real run there are 20, so that a
p-value of 1/20 is possible. A smaller error requires more runs."""

RUNS_PER_FIT = 10
"""The number of runs to fit together, because products with more columns are faster. The usual
nineteen runs form two batches, which two processors can share."""

DIGEST_CHUNK = 256

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class MirrorResult(Result):
    """The units that the mirror filter kept and removed, with their margins.

    Attributes:
        kept: The kept units, in ascending order.
        removed: The removed units, in ascending order.
        margins: (U,) the lead of the highest-scoring option over the runner-up, from models that
            were not fitted to the unit's block; positive if the highest-scoring option is the key,
            negative if it is not, 0 if options tie up to rounding.
        options: (U,) the number of options of each unit.
        removal_probability: (U,) the probability of removing each unit; 0 if its leader is not the
            key. With the aim "error", the probability is 1 at or above the threshold.
        threshold: The minimum margin at which units are removed; None if no margin is large enough,
            or with the aim "chance".
        false_share: The estimated fraction of sound units among those at or above the threshold or,
            with the aim "chance", among the removed units; None if nothing was removed.
        found: The number of blocks at or above the threshold before the test with permuted keys;
            with the aim "chance", the number of agreeing units in excess of the number expected if
            all units were sound.
        permuted_counts: For each run with permuted keys, the number of blocks at or above its own
            threshold; empty if no run was needed.
        p: The p-value: (1 + runs with permuted keys that found at least as many blocks) / (1 + runs
            with permuted keys); 1 if nothing was found.
        parameters: All parameters that the result depends on, except the arrays.
    """

    kept: Numbers = field(metadata={"json": len})
    removed: Numbers = field(metadata={"json": len})
    margins: Floats = field(metadata=HIDDEN)
    options: Numbers = field(metadata=HIDDEN)
    removal_probability: Floats = field(metadata=HIDDEN)
    threshold: float | None
    false_share: float | None
    found: int
    permuted_counts: tuple[int, ...] = field(metadata={"key": "turned"})
    p: float
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        make_read_only(
            self.kept, self.removed, self.margins, self.options, self.removal_probability
        )

    def charts(self) -> list[Svg]:
        """Return a chart of agreeing units by margin, with disagreeing units mirrored."""
        marked = np.isin(np.arange(len(self.margins)), self.removed)
        return [draw_margins(self.margins, marked, options=self.options, threshold=self.threshold)]

    @property
    @computed()
    def units(self) -> int:
        """The number of units."""
        return len(self.margins)

    @property
    @computed()
    def agreeing(self) -> int:
        """The number of units whose highest-scoring option is the key."""
        return int((self.margins > 0).sum())

    @property
    @computed()
    def disagreeing(self) -> int:
        """The number of units whose highest-scoring option is not the key."""
        return int((self.margins < 0).sum())

    @property
    @computed()
    def ties(self) -> int:
        """The number of units whose highest-scoring options tie."""
        return int((self.margins == 0).sum())


@checked
def mirror(
    V: ArrayLike,
    *,
    items: Sequence[Hashable] | None = None,
    key: ArrayLike | None = None,
    blocks: Sequence[Hashable] | None = None,
    kinds: Sequence[Hashable] | None = None,
    ids: Sequence[Hashable] | None = None,
    aim: Aim = "error",
    error: FalseRemovalFraction = 0.1,
    folds: TwoOrMore = 10,
    repeats: Count = 1,
    C: Positive = 1.0,
    seed: Seed = 0,
    executor: Executor | None = None,
    on_run: Callable[[int, int], object] | None = None,
) -> MirrorResult:
    """Remove the units whose answers a linear model predicts, limiting false removals.

    Blocks are assigned to folds independently of their keys. Each fold's units are scored by a
    conditional logit that was fitted to the other folds: the options' vectors times one shared
    weight vector, without an intercept or centring. The scores of `repeats` assignments are
    averaged.

    The aim "error" finds the units that reveal their answers. Each block is represented by its unit
    with the largest lead, agreeing or not. The threshold is the smallest t at which::

        (1/(K_min - 1) + sum over m <= -t of 1/(K - 1)) / #{m >= t}  <=  error

    Agreeing units with a margin of at least t are removed, but only if there are more of them than
    in all but a fraction `error` of 20 runs. These are the real run and 19 runs in which the keys
    of whole blocks were permuted at random (more runs if `error` is below a twentieth). So if all
    keys that these permutations can produce are equally likely, units are removed in at most a
    fraction `error` of data sets; this guarantee is exact. If some units reveal their answers, the
    mean fraction of sound blocks among the removed blocks is at most `error`. This bound ignores
    the influence of a unit's own key on the weights that score other units, which was measured to
    be within a percentage point. For mixed numbers of options, the bound itself is measured, not
    proven. The kept units are *not* at chance: beyond the threshold, only disagreeing units are
    left.

    The aim "chance" makes the kept units look random at every margin, but does not identify the
    units that reveal their answers. An agreeing unit at margin m is removed with probability 1 −
    D(m)/((K − 1) A(m)). D and A are the fractions of disagreeing and agreeing units at that margin,
    from an isotonic regression for each kind and number of options. Then the expected number of
    agreeing units at every margin is that of sound units. The random number that decides a removal
    depends on the unit's id, so that another seed, other vectors or more units change little.
    Without `ids`, the random number depends on the seed. This aim uses neither `error` nor the 19
    runs.

    These guarantees are invalid if the filter is run again on the kept units.

    A model may also predict an answer because it knows the truth. Vectors of only the options, or
    of the difference of a twin's halves, contain little such knowledge.

    The result does not depend on the executor, the order of options or the order of units. Units
    are first sorted by their `ids` or, without ids, by their vectors (units with equal vectors keep
    their original order).

    Args:
        V: (n, d) real numbers, stored as float32. Without `items`, each row is a unit with two
            options: the vector of its first option minus that of its second option (for a twin the
            sum over its halves, each times ±1 for its answer, see `make_twin_units`). With `items`,
            each row is an option.
        items: (n,) the unit of each option; units are numbered in the order of first occurrence.
        key: The correct option of each unit. Without `items`: (U,) True or 1 if the first option is
            correct, False, 0 or −1 if the second is; None if the first option is always correct.
            With `items`: (U,) the 0-based index of the correct option among the unit's options.
        blocks: (U,) equal labels for units that reveal each other's answers (copies, families).
            Without `blocks`, or with None, a unit is a separate block.
        kinds: (U,) labels for kinds of units, such as twins and singles; with the aim "chance" the
            removal probability is estimated separately for each kind.
        ids: (U,) distinct strings or numbers.
        aim: "error" or "chance".
        error: With the aim "error": the maximum fraction of false removals, above 0 and at most
            0.2.
        folds: The number of folds, 2 or more and at most the number of blocks.
        repeats: The number of assignments of the blocks to folds, 1 or more.
        C: The inverse strength of the penalty, above 0; see `winosmith.debias._logit`.
        seed: The random seed, 0 or more, of the folds, the permutations, and the draws for units
            without ids.
        executor: The executor that fits the runs with permuted keys; by default one thread per
            processor.
        on_run: Called with the number of completed runs and the total.

    Raises:
        DataError: V is not two-dimensional, empty, not real or not finite; lengths differ; a key is
            out of range; a unit has one option; an id occurs twice; there are fewer blocks than
            folds; some vectors are far longer than the others, or C is too large, for single
            precision.
        RecipeError: A parameter is out of range.

    >>> rng = np.random.default_rng(0)
    >>> V, key = rng.normal(size=(600, 20)), rng.integers(0, 2, 600)
    >>> V[:200, 0] += 3 * (2 * key[:200] - 1)  # 200 units reveal their answers
    >>> found = mirror(V, key=key)
    >>> bool((found.removed < 200).mean() > 0.8), found.p
    (True, 0.05)
    """
    units = _Units.from_arrays(V, items, key, blocks, kinds, ids)
    block_count = int(units.blocks.max()) + 1
    if block_count < folds:
        raise DataError(
            f"there are {block_count} blocks, fewer than the {folds} folds; choose fewer folds"
        )
    report_run = on_run or (lambda done, total: None)
    with use_one_thread():
        drawn = (
            np.random.default_rng([seed, 1, number]).permutation(block_count) % folds
            for number in range(repeats)
        )
        models = (CrossLogit(units.V, d[units.blocks], C=C, starts=units.starts) for d in drawn)
        scorer = _Scorer(units, tuple(models))
        margins = scorer.compute_margins(units.key[:, None])[:, 0]
        if aim == "chance":
            report_run(1, 1)
            outcome = _thin_to_chance(units, margins)
        else:
            outcome = _find_revealing_units(scorer, margins, error, seed, executor, report_run)
    is_removed = outcome.removal_probability > _draw_uniform_numbers(units.order, ids, seed)
    back = np.argsort(units.order)
    limit = {"error": error} if aim == "error" else {}
    return MirrorResult(
        kept=np.flatnonzero(~is_removed[back]),
        removed=np.flatnonzero(is_removed[back]),
        margins=margins[back],
        options=units.options[back],
        removal_probability=outcome.removal_probability[back],
        threshold=outcome.threshold,
        false_share=outcome.false_share if is_removed.any() else None,
        found=outcome.found,
        permuted_counts=outcome.permuted_counts,
        p=_compute_p_value(outcome.found, outcome.permuted_counts),
        parameters=MappingProxyType(
            {"aim": aim, **limit, "folds": folds, "repeats": repeats, "C": C, "seed": seed}
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The units in canonical order, which does not depend on the input order.

    Attributes:
        V: (n, d) float32; each row is a unit (with a canonical sign) or an option.
        starts: (U,) the first row of each unit; None if each row is a unit.
        key: (U,) ±1 if each row is a unit; otherwise the index of the correct option.
        options: (U,) the number of options of each unit.
        blocks, kinds: (U,) block and kind numbers from 0, in order of first occurrence.
        order: (U,) the index of each unit in the input.
    """

    V: NDArray[np.float32]
    starts: Numbers | None
    key: Numbers
    options: Numbers
    blocks: Numbers
    kinds: Numbers
    order: Numbers

    @classmethod
    def from_arrays(
        cls,
        V: ArrayLike,
        items: Sequence[Hashable] | None,
        key: ArrayLike | None,
        blocks: Sequence[Hashable] | None,
        kinds: Sequence[Hashable] | None,
        ids: Sequence[Hashable] | None,
    ) -> _Units:
        rows = _check_matrix(V)
        if items is not None and len(items) != len(rows):
            raise DataError(f"items has {len(items)} entries, but V has {len(rows)} rows")
        unit = np.arange(len(rows)) if items is None else encode_group_labels(items)
        count = int(unit.max()) + 1
        options = np.full(count, 2) if items is None else np.bincount(unit)
        if options.min() < 2:
            raise DataError(f"unit {int(options.argmin())} has one option; two or more are needed")
        keys = _check_keys(key, options, items is None)
        if items is not None:
            rows, keys, starts = _sort_by_unit(rows, unit, keys, options)
            if options.max() == 2:  # only the difference counts
                rows, keys, items = rows[::2] - rows[1::2], 1 - 2 * keys, None
        if items is None:
            first = np.argmax(rows != 0, axis=1)
            sign = np.where(rows[np.arange(count), first] < 0, -1, 1)
            keys, signs = keys * sign, sign.astype(np.float32)
            starts = np.arange(count)
        else:
            signs = np.ones(len(rows), np.float32)
        for name, values in (("blocks", blocks), ("kinds", kinds), ("ids", ids)):
            if values is not None and len(values) != count:
                raise DataError(f"{name} has {len(values)} entries for {count} units")
        places: Sequence[Any]
        if ids is None:
            places = _digest_units(rows, signs, starts)
        elif len(ids) != len(set(ids)):
            raise DataError("ids must be distinct, but some occur twice")
        else:
            places = [(type(name).__name__, name) for name in ids]
        order = np.array(sorted(range(count), key=places.__getitem__), np.intp)
        if items is None:
            V32, begin = rows[order], None
            V32 *= signs[order, None]
        else:
            moved = np.argsort(np.repeat(np.argsort(order), options), kind="stable")
            V32, begin = rows[moved], np.cumsum(options[order]) - options[order]
        return cls(
            V32,
            begin,
            keys[order],
            options[order],
            np.arange(count) if blocks is None else encode_group_labels(blocks, order),
            # in tuples, because None is a valid kind
            encode_group_labels(
                [(kind,) for kind in ([None] * count if kinds is None else kinds)], order
            ),
            order,
        )


def _check_matrix(V: ArrayLike) -> NDArray[np.float32]:
    array = np.asarray(V)
    if array.ndim != 2 or not array.size:
        raise DataError(f"V has the shape {array.shape}; a non-empty (rows, columns) is needed")
    if array.dtype.kind not in "fiub":
        raise DataError(f"V has the type {array.dtype}; real numbers are needed")
    with np.errstate(over="ignore"):
        rows = np.asarray(array, np.float32)
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DataError(f"row {row} of V is not finite in float32")
    return rows


def _check_keys(key: ArrayLike | None, options: Numbers, rows_are_units: bool) -> Numbers:
    if key is None:
        if not rows_are_units:
            raise DataError(
                "if items is given, key is required: the index of the correct option of each unit"
            )
        return np.ones(len(options), np.intp)
    keys = np.asarray(key)
    if keys.shape != options.shape:
        raise DataError(f"key has {keys.size} entries for {len(options)} units")
    places = keys.astype(np.intp)
    allowed = np.isin(keys, (-1, 0, 1)) if rows_are_units else (places == keys) & (places >= 0)
    wrong = np.flatnonzero(~(allowed & (places < (options if not rows_are_units else 2))))
    if wrong.size:
        unit = int(wrong[0])
        raise DataError(
            f"key[{unit}] is {keys[unit]}; "
            + ("expected 1 or 0" if rows_are_units else f"the unit has {options[unit]} options")
        )
    return np.where(places > 0, 1, -1) if rows_are_units else places


def _sort_by_unit(
    rows: NDArray[np.float32], unit: Numbers, keys: Numbers, options: Numbers
) -> tuple[NDArray[np.float32], Numbers, Numbers]:
    arrival = np.argsort(unit, kind="stable")
    starts = np.cumsum(options) - options
    is_key = np.zeros(len(rows), np.bool_)
    is_key[arrival[starts + keys]] = True
    sort_keys = [*rows.T[::-1], unit]
    if rows.shape[1] > 64:  # sorting wide rows by their digests is faster
        ones, every = np.ones(len(rows), np.float32), np.arange(len(rows))
        sort_keys = [np.array(_digest_units(rows, ones, every)), unit]
    order = np.lexsort(sort_keys)
    return rows[order], np.flatnonzero(is_key[order]) - starts, starts


def _digest_units(
    rows: NDArray[np.float32], signs: NDArray[np.float32], starts: Numbers
) -> list[bytes]:
    """Return a digest of each unit's rows times `signs`, in which +0 and −0 are equal."""
    ends = np.append(starts, len(rows))

    def digest(first: int) -> list[bytes]:
        cuts = ends[first : first + DIGEST_CHUNK + 1]
        part = rows[cuts[0] : cuts[-1]] * signs[cuts[0] : cuts[-1], None]
        part += 0
        return [
            hashlib.blake2b(part[a:b].data, digest_size=16).digest()
            for a, b in pairwise((cuts - cuts[0]).tolist())
        ]

    with ThreadPoolExecutor(count_processors()) as threads:
        return [
            one for part in threads.map(digest, range(0, len(starts), DIGEST_CHUNK)) for one in part
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Scorer:
    """Cross-validated models of the units, one for each assignment of blocks to folds."""

    units: _Units
    assignments: tuple[CrossLogit, ...]

    def compute_margins(self, keys: Numbers) -> Floats:
        """Return the margins of units in each run, given their keys; both are (units, runs)."""
        scores, lengths = zip(
            *(assignment.score_rows(keys) for assignment in self.assignments), strict=True
        )
        runs = zip(np.mean(scores, axis=0).T, keys.T, strict=True)
        margins = np.stack([_compute_signed_leads(self.units, *run) for run in runs], 1)
        pairs = zip(self.assignments, lengths, strict=True)
        long = np.mean([own[assignment.fold] for assignment, own in pairs], axis=0)
        blur = self.assignments[0].unit_rounding[:, None] * long  # the same for all assignments
        margins[np.abs(margins) <= blur] = 0
        return margins


def _compute_signed_leads(units: _Units, scores: Floats, key: Numbers) -> Floats:
    if units.starts is None:
        return scores * key
    starts, sizes = units.starts, units.options
    top = np.maximum.reduceat(scores, starts)
    is_top = scores == np.repeat(top, sizes)
    place = np.arange(len(scores))
    leader = np.minimum.reduceat(np.where(is_top, place, len(scores)), starts)
    others = scores.copy()
    others[leader] = -np.inf
    lead = top - np.maximum.reduceat(others, starts)
    return np.where(leader == starts + key, lead, -lead)


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """The result of the filter, with units in canonical order; see `MirrorResult`."""

    removal_probability: Floats
    threshold: float | None
    found: int
    permuted_counts: tuple[int, ...]
    false_share: float | None


def _compute_p_value(observed: int, counts: Sequence[int]) -> float:
    return (1 + sum(count >= observed for count in counts)) / (1 + len(counts)) if counts else 1.0


def _find_revealing_units(
    scorer: _Scorer,
    margins: Floats,
    error: float,
    seed: int,
    executor: Executor | None,
    on_run: Callable[[int, int], object],
) -> _Outcome:
    units = scorer.units
    leaders = _select_block_leaders(margins, units.blocks)
    leads, options = margins[leaders], units.options[leaders]
    threshold, found = _find_threshold(leads, options, error)
    removal_probability = np.zeros(len(margins))
    runs = 0 if threshold is None else max(PERMUTED_RUNS, math.ceil(1 / error) - 1)
    on_run(1, 1 + runs)
    if threshold is None:
        return _Outcome(removal_probability, None, 0, (), None)
    permuted_counts: tuple[int, ...] = ()
    parts = [range(a, min(a + RUNS_PER_FIT, runs)) for a in range(0, runs, RUNS_PER_FIT)]
    for part in ordered_map(
        partial(_count_discoveries_with_permuted_keys, scorer, seed, error), parts, executor
    ):
        permuted_counts += part
        on_run(1 + len(permuted_counts), 1 + runs)
    if _compute_p_value(found, permuted_counts) > error:
        return _Outcome(removal_probability, threshold, found, permuted_counts, None)
    agreeing = np.zeros(int(units.blocks.max()) + 1, np.bool_)
    agreeing[units.blocks[leaders[leads >= threshold]]] = True
    removal_probability = ((margins >= threshold) & agreeing[units.blocks]).astype(np.float64)
    decoys = 1 / (units.options.min() - 1) + (1 / (options[leads <= -threshold] - 1)).sum()
    return _Outcome(removal_probability, threshold, found, permuted_counts, float(decoys / found))


def _thin_to_chance(units: _Units, margins: Floats) -> _Outcome:
    from scipy.optimize import isotonic_regression

    removal_probability = np.zeros(len(margins))
    for kind, options in {*zip(units.kinds.tolist(), units.options.tolist(), strict=True)}:
        alike = (units.kinds == kind) & (units.options == options)
        rows = np.flatnonzero(alike & (margins != 0))
        if not rows.size:
            continue
        _, at, counts = np.unique(np.abs(margins[rows]), return_inverse=True, return_counts=True)
        shares = np.bincount(at, margins[rows] < 0) / counts  # equal margins are one observation
        differs = isotonic_regression(shares, weights=counts, increasing=False).x[at]
        with np.errstate(divide="ignore"):
            stays = differs / ((options - 1) * (1 - differs))
        removal_probability[rows] = np.where(margins[rows] > 0, 1 - np.minimum(stays, 1), 0.0)
    agree = margins > 0
    expected = (margins < 0) @ (1 / (units.options - 1))
    removed = removal_probability[agree]
    # At each margin, a fraction D/((K − 1) A) of agreeing units is sound, which is 1 − `removed`.
    share = float(removed @ (1 - removed) / removed.sum()) if removed.any() else None
    return _Outcome(removal_probability, None, round(float(agree.sum() - expected)), (), share)


def _select_block_leaders(margins: Floats, blocks: Numbers) -> Numbers:
    if len(margins) == blocks.max() + 1:
        return np.argsort(blocks)
    order = np.lexsort((np.arange(len(margins)), -np.abs(margins), blocks))
    first = np.append(True, np.diff(blocks[order]) > 0)
    return np.asarray(order[first], np.intp)


def _find_threshold(margins: Floats, options: Numbers, error: float) -> tuple[float | None, int]:
    """Return the threshold that limits false removals, and the number of agreeing units above it.

    This is the knockoff+ threshold; see Barber and Candès (2015, equation 1.9). One decoy is added,
    so as not to underestimate the fraction of false removals if few units are above the threshold.
    """
    order = np.argsort(-np.abs(margins), kind="stable")
    leads, agree = np.abs(margins)[order], margins[order] > 0
    decoys = np.where(margins[order] < 0, 1 / (options[order] - 1), 0.0)
    shares = (1 / (options.min() - 1) + np.cumsum(decoys)) / np.maximum(np.cumsum(agree), 1)
    last = np.append(np.diff(leads) != 0, True)  # equal leads are accepted together
    good = np.flatnonzero(last & agree.cumsum().astype(bool) & (shares <= error) & (leads > 0))
    if not good.size:
        return None, 0
    return float(leads[good[-1]]), int(agree[: good[-1] + 1].sum())


def _draw_key_shifts(options: Numbers, blocks: Numbers, rng: np.random.Generator) -> Numbers:
    """Draw a random key shift for each block, and return the shift of each unit's key.

    A block's shifts are the steps of a cycle whose length is a multiple of each unit's number of
    options. These shifts form a group, which an exact p-value requires. See Hemerik and Goeman
    (2018), "Exact testing with random permutations".
    """
    cycle = np.ones(int(blocks.max()) + 1, np.intp)
    np.lcm.at(cycle, blocks, options)
    step = np.floor(rng.random(len(cycle)) * cycle).astype(np.intp)
    return np.asarray(step[blocks] % options, np.intp)


def _count_discoveries_with_permuted_keys(
    scorer: _Scorer, seed: int, error: float, runs: range
) -> tuple[int, ...]:
    units = scorer.units
    keys = np.empty((len(units.key), len(runs)), np.intp)
    for at, run in enumerate(runs):
        shift = _draw_key_shifts(units.options, units.blocks, np.random.default_rng([seed, 3, run]))
        keys[:, at] = (
            units.key * (1 - 2 * shift)
            if units.starts is None
            else (units.key + shift) % units.options
        )
    with use_one_thread():
        margins = scorer.compute_margins(keys)
    counts = []
    for run in margins.T:
        leaders = _select_block_leaders(run, units.blocks)
        counts.append(_find_threshold(run[leaders], units.options[leaders], error)[1])
    return tuple(counts)


def _draw_uniform_numbers(order: Numbers, ids: Sequence[Hashable] | None, seed: int) -> Floats:
    if ids is None:
        return np.random.default_rng([seed, 2]).random(len(order))
    names = (str(ids[unit]).encode("utf-8", "surrogatepass") for unit in order)
    digest = (hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.array([(int.from_bytes(one, "big") >> 11) / 2**53 for one in digest])
