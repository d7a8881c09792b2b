"""The mirror filter: what gives its answers away, found by its mirror image.

A twin is one bit. Its halves have opposite answers, so all that there is to guess is the sign of
one vector, v = s_a x_a + s_b x_b, with s = ±1 for the answer; of a single it is v = s x. A linear
model without an intercept, trained on other units, gives each a margin. Call a unit *sound* if,
given all vectors and every other unit's key, its key is uniform over its options: then its margin
is as likely −m as m. So the units beyond −t show how many sound ones there are beyond t, which is
target–decoy competition (Elias & Gygi 2007, "Target-decoy search strategy"), the knockoff+
threshold (Barber & Candès 2015, "Controlling the false discovery rate via knockoffs") and the
mirror statistic (Dai et al. 2022, "False discovery rate control via data splitting").

With more options the leader a* and its lead over the runner-up do not depend on the key either. A
sound unit of K options is led by its key once in K times, so each that is led by another option
stands for 1/(K − 1) sound ones that are led by their key.
"""

from __future__ import annotations

import hashlib
import math
import os
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
from winosmith.debias._rows import number_labels
from winosmith.errors import DataError
from winosmith.options import Aim, Count, FalseShare, Positive, Seed, TwoOrMore, checked
from winosmith.parallel import one_thread, ordered_map
from winosmith.report import Svg, mirrored
from winosmith.results import HIDDEN, Result, computed

RUNS = 19
"""The fewest runs with turned keys: with the real one 20, so that fractions of a twentieth can be
told. An error below that takes more."""

TOGETHER = 10
"""Runs that are fitted at once: as many more columns of one product as make it faster, and two
parts of the usual nineteen, so that two processors have one each."""

DIGESTED = 256
"""Units whose vectors are digested at a time."""

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class MirrorResult(Result):
    """What the mirror filter kept and removed, and why.

    Attributes:
        kept: ascending units that were kept.
        removed: ascending units that were removed; with `kept` they are all units.
        margins: (U,) the lead of the highest-scoring option over the runner-up, by models that
            never saw the unit's block; positive where it is the key, negative where it is not,
            0 if options tie except for rounding.
        options: (U,) the options of each unit.
        leaving: (U,) the probability with which a unit was to go; 0 for all that did not agree.
            With the aim "error" 1 from the threshold on.
        threshold: the margin from which on units go; None if no margin is large enough, and
            with the aim "chance".
        false_share: the estimate of the share of sound ones among what reaches the threshold (or,
            with the aim "chance", among what was to go); None if nothing was removed.
        found: what reaches the threshold before the test by turned keys, in blocks; with the aim
            "chance" what agrees minus what is expected of sound units.
        turned: the same figure in each run with turned keys; empty if none was needed.
        p: (1 + runs with turned keys that found as much) / (1 + such runs); 1 without any find.
        parameters: everything that the result depends on besides the arrays.
    """

    kept: Numbers = field(metadata={"json": len})
    removed: Numbers = field(metadata={"json": len})
    margins: Floats = field(metadata=HIDDEN)
    options: Numbers = field(metadata=HIDDEN)
    leaving: Floats = field(metadata=HIDDEN)
    threshold: float | None
    false_share: float | None
    found: int
    turned: tuple[int, ...]
    p: float
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        for array in (self.kept, self.removed, self.margins, self.options, self.leaving):
            array.flags.writeable = False

    def charts(self) -> list[Svg]:
        """Return the units at each margin, next to the mirror image of those that disagree."""
        gone = np.isin(np.arange(len(self.margins)), self.removed)
        return [mirrored(self.margins, gone, options=self.options, threshold=self.threshold)]

    @property
    @computed()
    def units(self) -> int:
        """The number of units."""
        return len(self.margins)

    @property
    @computed()
    def agreeing(self) -> int:
        """The number of units whose leader is the key."""
        return int((self.margins > 0).sum())

    @property
    @computed()
    def disagreeing(self) -> int:
        """The number of units whose leader is another option."""
        return int((self.margins < 0).sum())

    @property
    @computed()
    def ties(self) -> int:
        """The number of units without a leader; a guesser gets half of those of two options."""
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
    error: FalseShare = 0.1,
    folds: TwoOrMore = 10,
    repeats: Count = 1,
    C: Positive = 1.0,
    seed: Seed = 0,
    executor: Executor | None = None,
    on_run: Callable[[int, int], object] | None = None,
) -> MirrorResult:
    """Remove the units whose answers a linear model guesses, and state the error of that.

    Blocks are dealt to folds, whatever their keys. Each fold's units are scored by a conditional
    logit that was fitted to the others: the options' vectors times one shared vector of weights,
    no intercept, nothing centred. `repeats` deals are averaged.

    aim "error" finds culprits. In each block one unit counts, that with the largest lead, whether
    it agrees or not. The threshold is the least t at which::

        (1/(K_min - 1) + sum over m <= -t of 1/(K - 1)) / #{m >= t}  <=  error

    and what agrees from there on goes, but only if it is more than what all but a share `error` of
    20 runs find: the real one, and 19 in which the keys of whole blocks were turned at random,
    whatever they were (more runs where `error` is below a twentieth). So where all keys that these
    turns can make are as likely, something is removed in at most that share of data sets, exactly;
    where something gives answers away, the mean fraction of sound blocks among those removed is at
    most `error`, up to what a unit's key adds to the weights by which others are scored (measured:
    within a point; where numbers of options are mixed there is the measurement and no proof). What
    is kept is *not* at chance: beyond the threshold only those that disagree are left.

    aim "chance" leaves no trace along the margin, and names no culprit. A unit that agrees at
    margin m goes with probability 1 − D(m)/((K − 1) A(m)), where D and A are the fractions of those
    that disagree and agree at that margin (isotonic regression; kinds, and numbers of options,
    apart). Then as many agree as sound ones would, at every margin. A unit's lot depends on its id,
    so that another seed, other vectors or more units change little of what goes; without `ids` it
    is drawn by the seed. `error` and the 19 runs have no part in it; running it again on what it
    kept voids all of the above.

    An option that is found may be known, not given away: a unit can be guessed because the answer
    is true. Vectors that see the options alone, not the question, or the difference of a twin's
    halves, leave little to know.

    The result does not depend on the executor, on the order of options, nor on that of the units:
    they are first put in an order by their `ids`, or else by their vectors (then units with equal
    vectors keep the order in which they came).

    Args:
        V: (n, d) real numbers, held as float32. Without `items` each row is a unit of two options:
            the vector of its first option minus that of its second (for a twin the sum over its
            halves, each times ±1 for its answer, see `twin_units`). With `items` each row is an
            option.
        items: (n,) the unit of each option; units are numbered in the order in which they come.
        key: the right option of each unit. Without `items`: (U,) True or 1 where the first option
            is right, False, 0 or −1 where it is not; None when all rows are turned so that it is.
            With `items`: (U,) its 0-based place among the unit's options as they come.
        blocks: (U,) units that reveal each other (copies, families) share one; each for itself
            when None, as is a unit whose entry is None.
        kinds: (U,) units that are not alike, such as twins and singles: the aim "chance" thins
            each kind apart.
        ids: (U,) distinct texts or numbers.
        aim: "error" or "chance".
        error: above 0, at most 0.2, with the aim "error".
        folds: 2 or more; at most as many as blocks.
        repeats: deals of the blocks to folds, 1 or more.
        C: inverse strength of the penalty, above 0; see `winosmith.debias._logit`.
        seed: 0 or more, of the deals, the turns, and the lots of units without ids.
        executor: who fits the runs with turned keys; a thread for each processor when None.
        on_run: called with the runs done and all runs.

    Raises:
        DataError: V is not two-dimensional, empty, not real or not finite; lengths differ; a key is
            out of range; a unit has one option; ids occur twice; fewer blocks than folds; vectors
            far longer than the others, or a C too large, for single precision.
        RecipeError: a parameter is out of its range.

    >>> rng = np.random.default_rng(0)
    >>> V, key = rng.normal(size=(600, 20)), rng.integers(0, 2, 600)
    >>> V[:200, 0] += 3 * (2 * key[:200] - 1)  # 200 units give themselves away
    >>> found = mirror(V, key=key)
    >>> bool((found.removed < 200).mean() > 0.8), found.p
    (True, 0.05)
    """
    units = _Units.of(V, items, key, blocks, kinds, ids)
    if units.blocks.max() + 1 < folds:
        raise DataError(
            f"there are {units.blocks.max() + 1} blocks, fewer than the {folds} folds; "
            "give fewer folds"
        )
    asked = on_run or (lambda done, total: None)
    with one_thread():
        scorer = _Scorer.of(units, folds, repeats, C, seed)
        margins = scorer.margins(units.key[:, None])[:, 0]
        if aim == "chance":
            asked(1, 1)
            outcome = _thinned(units, margins)
        else:
            outcome = _culprits(scorer, margins, error, seed, executor, asked)
    goes = outcome.leaving > _lots(units.order, ids, seed)
    back = np.argsort(units.order)
    return MirrorResult(
        kept=np.flatnonzero(~goes[back]),
        removed=np.flatnonzero(goes[back]),
        margins=margins[back],
        options=units.options[back],
        leaving=outcome.leaving[back],
        threshold=outcome.threshold,
        false_share=outcome.false_share if goes.any() else None,
        found=outcome.found,
        turned=outcome.turned,
        p=_p(outcome.found, outcome.turned),
        parameters=MappingProxyType(
            {
                "aim": aim,
                **({"error": error} if aim == "error" else {}),
                "folds": folds,
                "repeats": repeats,
                "C": C,
                "seed": seed,
            }
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """The units in their own order, in which nothing is left of how they came.

    Attributes:
        V: (n, d) float32; a row a unit (turned to a sign of its own), or a row an option.
        starts: (U,) the first row of each unit; None if a row is a unit.
        key: (U,) ±1 where a row is a unit; otherwise the place of the right option.
        options: (U,) how many there are.
        blocks: (U,) numbers from 0, by the first of their units.
        kinds: (U,) numbers from 0.
        order: (U,) which unit of the input each is.
    """

    V: NDArray[np.float32]
    starts: Numbers | None
    key: Numbers
    options: Numbers
    blocks: Numbers
    kinds: Numbers
    order: Numbers

    @classmethod
    def of(
        cls,
        V: ArrayLike,
        items: Sequence[Hashable] | None,
        key: ArrayLike | None,
        blocks: Sequence[Hashable] | None,
        kinds: Sequence[Hashable] | None,
        ids: Sequence[Hashable] | None,
    ) -> _Units:
        rows = _matrix(V)
        if items is not None and len(items) != len(rows):
            raise DataError(f"items has {len(items)} entries; there are {len(rows)}")
        unit = np.arange(len(rows)) if items is None else number_labels(items)
        count = int(unit.max()) + 1
        options = np.full(count, 2) if items is None else np.bincount(unit)
        if options.min() < 2:
            raise DataError(f"unit {int(options.argmin())} has one option; it needs two or more")
        keys = _keys(key, options, items is None)
        if items is not None:
            rows, keys, starts = _by_unit(rows, unit, keys, options)
            if options.max() == 2:  # only the difference counts
                rows, keys, items = rows[::2] - rows[1::2], 1 - 2 * keys, None
        if items is None:
            first = np.argmax(rows != 0, axis=1)
            sign = np.where(rows[np.arange(count), first] < 0, -1, 1)
            keys, turned = keys * sign, sign.astype(np.float32)
            starts = np.arange(count)
        else:
            turned = np.ones(len(rows), np.float32)
        for name, values in (("blocks", blocks), ("kinds", kinds), ("ids", ids)):
            if values is not None and len(values) != count:
                raise DataError(f"{name} has {len(values)} entries for {count} units")
        place = _by_id(ids) if ids is not None else _digests(rows, turned, starts).__getitem__
        order = np.array(sorted(range(count), key=place), np.intp)
        if items is None:
            V32, begin = rows[order], None
            V32 *= turned[order, None]
        else:
            moved = np.argsort(np.repeat(np.argsort(order), options), kind="stable")
            V32, begin = rows[moved], np.cumsum(options[order]) - options[order]
        return cls(
            V32,
            begin,
            keys[order],
            options[order],
            np.arange(count) if blocks is None else number_labels(blocks, order),
            # in tuples, for None is a kind like any other
            number_labels(
                [(kind,) for kind in ([None] * count if kinds is None else kinds)], order
            ),
            order,
        )


def _matrix(V: ArrayLike) -> NDArray[np.float32]:
    array = np.asarray(V)
    if array.ndim != 2 or not array.size:
        raise DataError(f"V has the shape {array.shape}; it must be (rows, columns), not empty")
    if array.dtype.kind not in "fiub":
        raise DataError(f"V holds {array.dtype}; it must hold real numbers")
    with np.errstate(over="ignore"):
        rows = np.asarray(array, np.float32)
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise DataError(f"row {row} of V is not finite in float32")
    return rows


def _keys(key: ArrayLike | None, options: Numbers, rows: bool) -> Numbers:
    """Return ±1 for units that are rows, otherwise places."""
    if key is None:
        if not rows:
            raise DataError("key is needed with items: the place of the right option of each unit")
        return np.ones(len(options), np.intp)
    keys = np.asarray(key)
    if keys.shape != options.shape:
        raise DataError(f"key has {keys.size} entries for {len(options)} units")
    places = keys.astype(np.intp)
    allowed = np.isin(keys, (-1, 0, 1)) if rows else (places == keys) & (places >= 0)
    wrong = np.flatnonzero(~(allowed & (places < (options if not rows else 2))))
    if wrong.size:
        unit = int(wrong[0])
        raise DataError(
            f"key[{unit}] is {keys[unit]}; "
            + ("it is 1 or 0" if rows else f"the unit has {options[unit]} options")
        )
    return np.where(places > 0, 1, -1) if rows else places


def _by_unit(
    rows: NDArray[np.float32], unit: Numbers, keys: Numbers, options: Numbers
) -> tuple[NDArray[np.float32], Numbers, Numbers]:
    """Return the options by unit and within it by their vectors, the keys' places, the starts."""
    came = np.argsort(unit, kind="stable")
    starts = np.cumsum(options) - options
    right = np.zeros(len(rows), np.bool_)
    right[came[starts + keys]] = True
    by = [*rows.T[::-1], unit]
    if rows.shape[1] > 64:  # sort wide rows by digests, which are equal where rows are
        ones, every = np.ones(len(rows), np.float32), np.arange(len(rows))
        by = [np.array(_digests(rows, ones, every)), unit]
    order = np.lexsort(by)
    return rows[order], np.flatnonzero(right[order]) - starts, starts


def _digests(
    rows: NDArray[np.float32], turned: NDArray[np.float32], starts: Numbers
) -> list[bytes]:
    """Return a digest of each unit's rows.

    Args:
        rows: (n, d) numbers; zeros are equal whatever their sign.
        turned: (n,) by what each row is multiplied first.
        starts: the first row of each unit.
    """
    ends = np.append(starts, len(rows))

    def some(first: int) -> list[bytes]:
        cuts = ends[first : first + DIGESTED + 1]
        part = rows[cuts[0] : cuts[-1]] * turned[cuts[0] : cuts[-1], None]
        part += 0
        return [
            hashlib.blake2b(part[a:b].data, digest_size=16).digest()
            for a, b in pairwise((cuts - cuts[0]).tolist())
        ]

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return [one for part in threads.map(some, range(0, len(starts), DIGESTED)) for one in part]


def _by_id(ids: Sequence[Hashable]) -> Callable[[int], Any]:
    """Return by what units with ids are sorted."""
    if len(ids) != len(set(ids)):
        raise DataError("ids occur twice")
    return lambda unit: (type(ids[unit]).__name__, ids[unit])


@dataclass(frozen=True, slots=True, eq=False)
class _Scorer:
    """Models by which units are scored that they have not seen.

    Attributes:
        units: what is scored.
        deals: the models of each deal of the blocks to folds.
    """

    units: _Units
    deals: tuple[CrossLogit, ...]

    @classmethod
    def of(cls, units: _Units, folds: int, repeats: int, C: float, seed: int) -> _Scorer:
        """Return the scorer of some deals."""
        blocks = int(units.blocks.max()) + 1
        deals = (
            np.random.default_rng([seed, 1, number]).permutation(blocks) % folds
            for number in range(repeats)
        )
        return cls(
            units,
            tuple(CrossLogit(units.V, d[units.blocks], C=C, starts=units.starts) for d in deals),
        )

    def margins(self, keys: Numbers) -> Floats:
        """Return the (U, r) margins of every unit by each of r ways to key them."""
        scores, lengths = zip(*(deal.scores(keys) for deal in self.deals), strict=True)
        runs = zip(np.mean(scores, axis=0).T, keys.T, strict=True)
        margins = np.stack([_led(self.units, *run) for run in runs], 1)
        pairs = zip(self.deals, lengths, strict=True)
        long = np.mean([own[deal.fold] for deal, own in pairs], axis=0)
        blur = self.deals[0].rounded[:, None] * long  # the same of every deal
        margins[np.abs(margins) <= blur] = 0
        return margins


def _led(units: _Units, scores: Floats, key: Numbers) -> Floats:
    """Return the lead of each unit's highest option, negative where that is not the key."""
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
    """What an aim makes of the margins; see `MirrorResult`. Units are in their own order."""

    leaving: Floats
    threshold: float | None
    found: int
    turned: tuple[int, ...]
    false_share: float | None


def _p(found: int, turned: Sequence[int]) -> float:
    """Return the fraction of runs, the real one among them, that found as much."""
    return (1 + sum(count >= found for count in turned)) / (1 + len(turned)) if turned else 1.0


def _culprits(
    scorer: _Scorer,
    margins: Floats,
    error: float,
    seed: int,
    executor: Executor | None,
    on_run: Callable[[int, int], object],
) -> _Outcome:
    """Return what goes with the aim "error": all from a threshold on, if turned keys find less."""
    units = scorer.units
    heads = _heads(margins, units.blocks)
    leads, options = margins[heads], units.options[heads]
    threshold, found = _threshold(leads, options, error)
    leaving = np.zeros(len(margins))
    runs = 0 if threshold is None else max(RUNS, math.ceil(1 / error) - 1)
    on_run(1, 1 + runs)
    if threshold is None:
        return _Outcome(leaving, None, 0, (), None)
    turned: tuple[int, ...] = ()
    parts = [range(a, min(a + TOGETHER, runs)) for a in range(0, runs, TOGETHER)]
    for part in ordered_map(partial(_turned, scorer, seed, error), parts, executor):
        turned += part
        on_run(1 + len(turned), 1 + runs)
    if _p(found, turned) > error:
        return _Outcome(leaving, threshold, found, turned, None)
    agreeing = np.zeros(int(units.blocks.max()) + 1, np.bool_)
    agreeing[units.blocks[heads[leads >= threshold]]] = True
    leaving = ((margins >= threshold) & agreeing[units.blocks]).astype(np.float64)
    decoys = 1 / (units.options.min() - 1) + (1 / (options[leads <= -threshold] - 1)).sum()
    return _Outcome(leaving, threshold, found, turned, float(decoys / found))


def _thinned(units: _Units, margins: Floats) -> _Outcome:
    """Return what goes with the aim "chance": of those that agree, what is too many."""
    leaving = _leaving(margins, units.options, units.kinds)
    agree = margins > 0
    expected = (margins < 0) @ (1 / (units.options - 1))
    goes = leaving[agree]
    # of those that agree at a margin, D/((K − 1) A) are sound: the probability to stay
    share = float(goes @ (1 - goes) / goes.sum()) if goes.any() else None
    return _Outcome(leaving, None, round(float(agree.sum() - expected)), (), share)


def _heads(margins: Floats, blocks: Numbers) -> Numbers:
    """Return the unit with the largest lead of each block: what counts for it."""
    if len(margins) == blocks.max() + 1:
        return np.argsort(blocks)
    order = np.lexsort((np.arange(len(margins)), -np.abs(margins), blocks))
    first = np.append(True, np.diff(blocks[order]) > 0)
    return np.asarray(order[first], np.intp)


def _threshold(margins: Floats, options: Numbers, error: float) -> tuple[float | None, int]:
    """Return the least margin at which the false share is at most the error, and how many agree.

    The knockoff+ threshold (Barber & Candès 2015, equation 1.9); one decoy is added as if it were
    beyond all, so that the share is not underestimated where few are left.
    """
    order = np.argsort(-np.abs(margins), kind="stable")
    leads, agree = np.abs(margins)[order], margins[order] > 0
    decoys = np.where(margins[order] < 0, 1 / (options[order] - 1), 0.0)
    shares = (1 / (options.min() - 1) + np.cumsum(decoys)) / np.maximum(np.cumsum(agree), 1)
    last = np.append(np.diff(leads) != 0, True)  # equal leads come together
    good = np.flatnonzero(last & agree.cumsum().astype(bool) & (shares <= error) & (leads > 0))
    if not good.size:
        return None, 0
    return float(leads[good[-1]]), int(agree[: good[-1] + 1].sum())


def _steps(options: Numbers, blocks: Numbers, rng: np.random.Generator) -> Numbers:
    """Return how many places each unit's key is turned by: one draw for each block.

    The draws of a block are the steps of a cycle whose length each of its numbers of options
    divides. They are a group, without which the fraction of runs that find as much is not exact
    (Hemerik & Goeman 2018, "Exact testing with random permutations").
    """
    cycle = np.ones(int(blocks.max()) + 1, np.intp)
    np.lcm.at(cycle, blocks, options)
    step = np.floor(rng.random(len(cycle)) * cycle).astype(np.intp)
    return np.asarray(step[blocks] % options, np.intp)


def _turned(scorer: _Scorer, seed: int, error: float, runs: range) -> tuple[int, ...]:
    """Return what is found where the keys of whole blocks are turned at random."""
    units = scorer.units
    keys = np.empty((len(units.key), len(runs)), np.intp)
    for at, run in enumerate(runs):
        turn = _steps(units.options, units.blocks, np.random.default_rng([seed, 3, run]))
        keys[:, at] = (
            units.key * (1 - 2 * turn)
            if units.starts is None
            else (units.key + turn) % units.options
        )
    with one_thread():
        margins = scorer.margins(keys)
    found = []
    for run in margins.T:
        heads = _heads(run, units.blocks)
        found.append(_threshold(run[heads], units.options[heads], error)[1])
    return tuple(found)


def _leaving(margins: Floats, options: Numbers, kinds: Numbers) -> Floats:
    """Return the probability with which each unit goes so that no margin reveals its sign."""
    from scipy.optimize import isotonic_regression

    leaving = np.zeros(len(margins))
    for kind, number in sorted({*zip(kinds.tolist(), options.tolist(), strict=True)}):
        rows = np.flatnonzero((kinds == kind) & (options == number) & (margins != 0))
        if not rows.size:
            continue
        _, at, units = np.unique(np.abs(margins[rows]), return_inverse=True, return_counts=True)
        shares = np.bincount(at, margins[rows] < 0) / units  # equal margins are one observation
        differs = isotonic_regression(shares, weights=units, increasing=False).x[at]
        with np.errstate(divide="ignore"):
            stays = differs / ((number - 1) * (1 - differs))
        leaving[rows] = np.where(margins[rows] > 0, 1 - np.minimum(stays, 1), 0.0)
    return leaving


def _lots(order: Numbers, ids: Sequence[Hashable] | None, seed: int) -> Floats:
    """Return a number in [0, 1) for each unit: by its id, or by the seed where it has none."""
    if ids is None:
        return np.random.default_rng([seed, 2]).random(len(order))
    names = (str(ids[unit]).encode("utf-8", "surrogatepass") for unit in order)
    digests = (hashlib.blake2b(name, digest_size=8).digest() for name in names)
    return np.array([(int.from_bytes(one, "big") >> 11) / 2**53 for one in digests])
