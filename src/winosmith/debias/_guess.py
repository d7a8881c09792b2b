"""What a linear model can guess: of problems that no filter has selected, and of what one left.

A probe is a logistic regression trained on some problems and tested on others, whole blocks apart.
Unlike a KL over one principal component it needs no bins, has a known chance level, and looks at
every direction of the embedding at once. Of what a filter by answers kept it says nothing: it would
meet the selection twice, and fall below chance if nothing is left to find, which describes the
filter and not the problems.

So what a filter left is verified where the filter has not looked: the blocks of a data set are
dealt to two halves, the whole filter runs on each alone, and a guesser that was trained on what it
kept of one half is scored on what it kept of the other.

The vectors of `difference` turn around when the options of a problem are swapped, and which is
written first means nothing. So models of them have no intercept: they learn w from the problems
turned so that the right option comes first, and swapping options changes not a bit of the result.
Of problems with any number of options each option has a vector, and the model is a conditional
logit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._chance import Z
from winosmith.debias._logit import Logit, rounding_error
from winosmith.debias._rows import canonical_order, checked_rows, number_rows
from winosmith.debias._units import Choices, Judged
from winosmith.errors import DataError
from winosmith.options import Count, Draws, Positive, Seed, TwoOrMore, checked
from winosmith.parallel import one_thread, ordered_map
from winosmith.results import Result
from winosmith.text import number_of


@dataclass(frozen=True, slots=True)
class Probe(Result):
    """Held-out accuracy of a linear model.

    Attributes:
        accuracy: the share of test problems it guesses, 0–1, a tie counted as one over the options
            that tie; chance is `chance`.
        low: the lower end of the 95 % interval, each group counted as one observation.
        high: its upper end.
        chance: the mean of 1 / K over problems of K options, one half of two; where vectors do not
            turn with the options, the fraction of the more frequent answer among the test problems,
            which an intercept can learn.
        n: the number of test problems.
    """

    accuracy: float
    low: float
    high: float
    chance: float
    n: int


@checked
def probe(
    X: NDArray[Any],
    y: NDArray[Any],
    groups: Sequence[Sequence[int]],
    *,
    options: ArrayLike | None = None,
    turns: bool = True,
    folds: TwoOrMore = 5,
    C: Positive = 1.0,
    seed: Seed = 0,
) -> Probe:
    """Return the cross-validated accuracy of a linear model, whole groups in one fold.

    Args:
        X: (n, d) embeddings; with `options` (n, K, d), those of every option.
        y: (n,) labels, 0 or 1; with `options` the place of the right one, from 0.
        groups: the rows that must not be parted, such as `blocks.blocks(dataset)`, which has
            copies and what looks alike next to twins; every row in one.
        options: (n,) how many options each problem has; None for two, of which X has one vector.
        turns: whether swapping the options of a problem turns its vector around, as in those of
            `difference`. If not (`concat`, vectors from elsewhere), the model has an intercept, and
            the order of the options can change the figure.
        folds: how many parts, each tested once by a model trained on the others.
        C: the inverse strength of the L2 penalty.
        seed: deals the groups to the folds.

    Raises:
        DataError: fewer groups than folds, or X has values that are not finite.
    """
    if len(groups) < folds:
        raise DataError(f"a probe with {folds} folds needs as many groups; there are {len(groups)}")
    if options is None and not np.isfinite(X).all():
        raise DataError("X has values that are not finite")
    group_of = number_rows(groups, len(y))
    fold_of = np.random.default_rng([seed, folds]).permutation(len(groups))[group_of] % folds
    of: _Vectors = (
        _Twos(X, np.asarray(y), turns).at(np.arange(len(y)))
        if options is None
        else Choices.of(X, y, options)
    )
    weights = (fold_of[:, None] != np.arange(folds)).astype(np.float32)
    credit = of.judged(of.models(weights, C)).credit
    return _probed(credit[np.arange(len(y)), fold_of], group_of, of.chance)


def _probed(right: NDArray[np.float64], group_of: NDArray[np.intp], chance: float) -> Probe:
    """Return the share that is right, with an interval that is robust to clusters.

    The variance is the linearised one of a mean over clusters of unequal sizes: the sum of the
    squared cluster residuals over n squared, with g / (g - 1) for g clusters.
    """
    n = len(right)
    accuracy = float(right.mean())
    residuals = np.bincount(group_of, weights=right - accuracy)
    clusters = len(np.unique(group_of))
    error = float(np.sqrt((residuals**2).sum() * clusters / max(clusters - 1, 1))) / n
    return Probe(
        accuracy=accuracy,
        low=max(0.0, accuracy - Z * error),
        high=min(1.0, accuracy + Z * error),
        chance=chance,
        n=n,
    )


Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Filter = Callable[[Rows], ArrayLike]

LINEAR, TWO_PIECE = "linear", "two-piece"
"""The guessers on a filter's own vectors."""

LEAST = 20
"""Blocks that there must be, and half as many of them in what is kept of each half: an interval
that resamples fewer means nothing."""

AT_ONCE = 2
"""Number of halves that are filtered or measured at the same time; each needs its own memory."""

FOLDS = 3
"""Parts in which the two-piece guesser finds its own half's margins."""

PART = 4096
"""Rows that are multiplied at a time."""

CUTS = 50
"""Steps in which it seeks where to turn: each is two per cent of a half's problems."""

LEVEL = 0.05
"""The chance that any guesser is off chance if nothing can be guessed; see `Verification`."""

CONSTANT = 10.0
"""What the column of an intercept holds: so large that the penalty on it is next to nothing."""


@dataclass(frozen=True, slots=True)
class GuesserAccuracy(Result):
    """How much one guesser guesses of one half when it has learnt from the other.

    Attributes:
        accuracy: the fraction of problems, 0–1, a tie counted as one over the options that tie; the
            mean over all splits, both ways.
        low: the lower end of the 95 % interval; see `Verification`.
        high: its upper end.
        chance: the mean of 1 / K over problems of K options: one half of two; where vectors do not
            turn with the options, the fraction of the more frequent answer, which an intercept can
            learn.
    """

    accuracy: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, slots=True)
class Verification(Result):
    """What can be guessed across halves that were filtered apart.

    The 95 % intervals are simultaneous: those of all G guessers hold their true values together in
    95 % of data sets or more (Bonferroni, G guessers and two sides). So if nothing can be
    guessed, at most one report in twenty has an interval without chance in it.

    Attributes:
        before: by guesser, across the halves with nothing removed.
        after: by guesser, across what the filter kept of them. "linear" and "two-piece" are on the
            filter's own vectors; the rest have the names of the other ones.
        kept: the fraction of the problems that was kept of a half, 0–1, the mean over all.
        problems: how many were dealt to halves.
        blocks: in how many blocks.
        splits: how often they were dealt.
        draws: resamples behind each interval.
    """

    before: Mapping[str, GuesserAccuracy]
    after: Mapping[str, GuesserAccuracy]
    kept: float
    problems: int
    blocks: int
    splits: int
    draws: int


@checked
def verify(
    X: NDArray[Any],
    y: ArrayLike,
    filter: Filter,  # noqa: A002 - it is one
    *,
    blocks: Sequence[Sequence[int]],
    ids: Sequence[Hashable] | None = None,
    options: ArrayLike | None = None,
    others: Mapping[str, NDArray[Any]] | None = None,
    turns: bool = True,
    splits: Count = 5,
    draws: Draws = 100,
    seed: Seed = 0,
    C: Positive = 1.0,
    on_step: Callable[[int, int], object] | None = None,
) -> Verification:
    """Return what guessers make of what a filter keeps, across halves that it sees apart.

    Each split deals the blocks to two halves and filters each alone. Both ways, three kinds of
    guessers learn from one half and are asked the other:

    - *linear*: a logistic regression on the filter's own vectors.
    - *two-piece*: it knows that a filter turns at a margin. A linear model w of the whole of its
      half gives each problem a margin (on that half itself cross-fitted in three parts, whole
      blocks together). On what was kept it learns from which margin on w is to be followed, and
      whether beyond that or before it the opposite is to be said; it does so in the other half.
      The position of a margin is its place among all of its half.
    - one linear model on each of the `others`.

    With `options`, problems have as many each, and all models are conditional logits: one vector
    of weights for the vectors of all options. A guesser names the highest one; "the opposite" is
    any other one, which is right in one of K − 1 where the highest is wrong.

    The intervals resample the blocks `draws` times, one multinomial weight a block for all splits,
    and refit every guesser; what the filter kept stays as it is. Splits of the same data are not
    independent, so they add nothing to the degrees of freedom: a block has the same weight in all
    of them, and the standard error is the standard deviation of the resampled means. A refit sees
    fewer distinct blocks and guesses a little worse, so the interval is the real figure ± t
    standard errors, not the quantiles of the resampled ones. t is the 1 − .05/(2 G) quantile of
    Student's distribution with `draws` − 1 degrees of freedom, of G guessers. (Cross-fitted
    accuracies spread 1.1 to 1.4 times as far as binomial ones.)

    Swapping options, the order of the rows (with `ids`) and the number of threads change nothing.
    Two halves are filtered, and then measured, at the same time: the filter is called from two
    threads.

    Args:
        X: (n, d) the filter's own vectors; with `options` (n, K, d), those of every option.
        y: (n,) labels, 0 or 1; with `options` the place of the right one, from 0.
        filter: takes rows of X, those of one half, and returns which it keeps when it
            sees no others.
        blocks: the rows that are never parted, such as `blocks.blocks(dataset)`; every row in one.
        ids: (n,) distinct texts or whole numbers, whose order the draws follow; without them, that
            of a digest of each row's numbers and label.
        options: (n,) how many options each problem has, 2 or more; None for two each, of which X
            has one vector for both.
        others: by name, (n, e) other vectors of the same problems, which turn; with `options`
            (n, K, e).
        turns: whether swapping the options of a problem turns its vector in X around, as in those
            of `difference`; the models have no intercept then, and learn from problems turned so
            that the right option comes first.
        splits: how often the blocks are dealt, 1 or more.
        draws: resamples, 20 or more.
        seed: deals and resamples.
        C: the inverse strength of the guessers' L2 penalty.
        on_step: called with the number of halves that have been filtered and measured, and of all.

    Raises:
        DataError: too few blocks, or too few of them left in a half; rows or labels that can't be
            used, without `turns` also labels that are all alike; a filter that keeps what it was
            not given.
        RecipeError: `splits` or `draws` is out of range.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> X = rng.standard_normal((400, 3)) + 0.8 * (2 * y[:, None] - 1)
    >>> pairs = [(row, row + 1) for row in range(0, 400, 2)]
    >>> found = verify(X, y, lambda rows: rows, blocks=pairs, splits=1, draws=20)
    >>> found.before == found.after, found.before["linear"].low > 0.8
    (True, True)
    """
    if len(blocks) < LEAST:
        raise DataError(
            f"there {'is' if len(blocks) == 1 else 'are'} {number_of(len(blocks), 'block')} "
            "(twins, families, copies, look-alikes); what can be guessed is measured across "
            f"halves of {LEAST} blocks or more"
        )
    report_step = on_step or (lambda done, steps: None)
    labels = np.asarray(y)
    vectors = {LINEAR: X, **(others or {})}
    numbers = number_rows(blocks, len(labels))
    for name, one in (others or {}).items():
        if len(one) != len(labels):
            raise DataError(f"{name}: there are {len(one)} vectors for {len(labels)} problems")
    of: dict[str, _Vectors] = {}
    if options is not None:
        chosen = {name: Choices.of(one, labels, options) for name, one in vectors.items()}
        order = canonical_order(chosen[LINEAR].canonical(), ids)
        of.update(chosen)
    else:
        order = checked_rows(X, labels, ids, None, alike=turns).order
        for name, one in vectors.items():
            of[name] = _Twos(one, labels, turns or name != LINEAR)
    block_of = _in_order(numbers, order)
    job = _Job(of, block_of, _resampled(len(blocks), draws, seed), C)
    halves = [half for split in range(splits) for half in _halves(order, block_of, seed, split)]
    ways = [(at, at ^ 1) for at in range(len(halves))]
    found: dict[str, list[tuple[_Scores, _Scores]]] = {}
    kept: list[Rows] = []
    with one_thread(), ThreadPoolExecutor(AT_ONCE) as threads:
        for rows in ordered_map(
            lambda half: _kept(filter, half, block_of), halves, threads, ahead=AT_ONCE
        ):
            kept.append(rows)
            report_step(len(kept), 4 * splits)
        guesses = ordered_map(
            lambda way: _guessed(job, *(of[at] for at in way for of in (halves, kept))),
            ways,
            threads,
            ahead=AT_ONCE,
        )
        for done, guess in enumerate(guesses, start=len(kept) + 1):
            for name, scores in guess.items():
                found.setdefault(name, []).append(scores)
            report_step(done, 4 * splits)
    shares = [len(rows) / len(half) for rows, half in zip(kept, halves, strict=True)]
    times = _quantile(len(found), draws)
    return Verification(
        {name: _summary([before for before, _ in one], times) for name, one in found.items()},
        {name: _summary([after for _, after in one], times) for name, one in found.items()},
        kept=float(np.mean(shares)),
        problems=len(labels),
        blocks=len(blocks),
        splits=splits,
        draws=draws,
    )


@dataclass(frozen=True, slots=True)
class _Twos:
    """One vector for both options of a problem.

    Attributes:
        X: (n, d).
        y: (n,) labels, 0 or 1.
        turning: whether they turn with the options; if not, the models have an intercept.
        turned: the vectors, turned so that the right option comes first; None until they are asked
            for.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    turning: bool
    turned: NDArray[np.float32] | None = None

    def at(self, rows: Rows | NDArray[np.bool_]) -> _Twos:
        """Return some of the problems, turned."""
        y = self.y[rows]
        if self.turned is not None:
            return _Twos(self.X, y, self.turning, self.turned[rows])
        sign = np.where(y == 1, 1, -1).astype(np.float32)[:, None]
        chosen = self.X[rows].astype(np.float32, copy=False)
        if not self.turning:
            chosen = np.hstack([chosen, np.full((len(chosen), 1), CONSTANT, np.float32)])
        return _Twos(self.X, y, self.turning, sign * chosen)

    @property
    def chance(self) -> float:
        """One half, or the fraction of the more frequent answer."""
        ones = float(np.mean(self.y == 1))
        return 0.5 if self.turning else max(ones, 1 - ones)

    def models(self, weights: NDArray[np.float32], C: float) -> Floats:
        """Return the weights of logistic regressions."""
        assert self.turned is not None  # noqa: S101 - `at` turned them
        return Logit(self.turned, C=C).fit(weights)

    def judged(self, W: Floats) -> Judged:
        """Return margins, and what their signs earn."""
        assert self.turned is not None  # noqa: S101 - `at` turned them
        margins = np.empty((len(self.turned), W.shape[1]))
        with one_thread():
            for start in range(0, len(margins), PART):  # float64 copies of a part at a time
                margins[start : start + PART] = self.turned[start : start + PART] @ W
        margins[np.abs(margins) <= rounding_error(self.turned, W)] = 0.0
        credit = (np.sign(margins) + 1) / 2
        return Judged(margins, credit, 1 - credit)


_Vectors = Choices | _Twos
"""Vectors of problems with their keys: what a guesser learns from and is asked."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What all halves share.

    Attributes:
        vectors: by name.
        block_of: (n,) the number of each row's block.
        resampled: (blocks, 1 + draws) weights; the first column is the real one, all ones.
        C: of the guessers.
    """

    vectors: Mapping[str, _Vectors]
    block_of: Rows
    resampled: Floats
    C: float

    def weights(self, rows: Rows) -> Floats:
        """Return the weight of each row in each draw, (rows, 1 + draws)."""
        return self.resampled[self.block_of[rows]]


_Scores = tuple[Floats, float]
"""The fraction of one half that a guesser gets right, (1 + draws,), and by chance."""


def _guessed(
    job: _Job, learnt: Rows, kept: Rows, asked: Rows, left: Rows
) -> dict[str, tuple[_Scores, _Scores]]:
    """Return what each guesser makes of another half, before the filter and after.

    Args:
        job: what all halves share.
        learnt: the rows of the half that guessers learn from.
        kept: those that the filter kept.
        asked: the rows of the other half.
        left: those that the filter kept there.
    """
    found: dict[str, tuple[_Scores, _Scores]] = {}
    inside, outside = np.isin(learnt, kept), np.isin(asked, left)
    weights, count = job.weights(learnt), job.resampled.shape[1]
    before, after = job.weights(asked), job.weights(left)
    counts = weights.astype(np.float32)
    parts = np.unique(job.block_of[learnt], return_inverse=True)[1] % FOLDS
    for name, of in job.vectors.items():
        here, there = of.at(learnt), of.at(asked)
        chances = [there.chance, of.at(left).chance]
        sets = [inside | True] + ([] if inside.all() else [inside])
        folds = [parts != part for part in range(FOLDS)] if name == LINEAR else []
        models = here.models(np.hstack([counts * rows[:, None] for rows in sets + folds]), job.C)
        judged = [there.judged(models[:, at * count :][:, :count]) for at in range(len(sets))]
        found[name] = (
            (_share(judged[0].credit, before), chances[0]),
            (_share(judged[-1].credit[outside], after), chances[1]),
        )
        if name == LINEAR:
            shape = (len(learnt), count)
            own = Judged(np.empty(shape), np.empty(shape), np.empty(shape))
            for part in range(FOLDS):
                at = (len(sets) + part) * count
                one = here.at(parts == part).judged(models[:, at : at + count])
                for field in ("leads", "credit", "opposite"):
                    getattr(own, field)[parts == part] = getattr(one, field)
            ranks, places = _places(own.leads), _places(judged[0].leads)
            pair = []
            for mine, theirs, chance in (
                (inside | True, outside | True, chances[0]),
                (inside, outside, chances[1]),
            ):
                gained = (own.credit - own.opposite)[mine]
                rule = _rule(gained, ranks[mine], weights[mine])
                said = _followed(judged[0], places, rule)[theirs]
                pair.append((_share(said, before[theirs]), chance))
            found[TWO_PIECE] = (pair[0], pair[1])
    return {name: found[name] for name in (LINEAR, TWO_PIECE, *found)}


def _places(margins: Floats) -> NDArray[np.integer[Any]]:
    """Return the step, 0 to `CUTS` - 1, in which each size of a margin lies, column by column."""
    sizes = np.abs(margins)
    ranks = np.empty(sizes.shape, np.int8)
    steps = np.arange(len(sizes)) * CUTS // max(len(sizes), 1)
    for column in range(sizes.shape[1]):
        ranks[np.argsort(sizes[:, column], kind="stable"), column] = steps
    return ranks


def _rule(
    gained: Floats, places: NDArray[np.integer[Any]], weights: Floats
) -> tuple[NDArray[np.integer[Any]], Floats]:
    """Return for each column at which step to turn, and what to do from there on (1: follow).

    Args:
        gained: what following the model earns of each problem beyond saying the opposite.
        places: the step in which its lead lies.
        weights: how often each column counts it.
    """
    gained = weights * gained
    columns = np.arange(gained.shape[1])
    by_step = np.zeros((CUTS, len(columns)))
    for column in columns:
        by_step[:, column] = np.bincount(places[:, column], gained[:, column], CUTS)
    below = np.vstack([np.zeros((1, len(columns))), np.cumsum(by_step, axis=0)])
    turned = below[-1] - 2 * below  # what is won by following from a step on, and not before it
    steps = np.argmax(np.abs(turned), axis=0)
    best = np.sign(turned[steps, columns])
    return steps, np.where(best == 0, 1.0, best)


def _followed(
    judged: Judged, places: NDArray[np.integer[Any]], rule: tuple[NDArray[np.integer[Any]], Floats]
) -> Floats:
    """Return what the rule earns of each problem."""
    steps, beyond = rule
    follows = np.where(places >= steps, beyond, -beyond) > 0
    return np.where(follows, judged.credit, judged.opposite)


def _share(right: Floats, weights: Floats) -> Floats:
    """Return the weighted share that is right, one a column."""
    whole = weights.sum(axis=0)
    share: Floats = (weights * right).sum(axis=0) / np.where(whole > 0, whole, 1)
    return share


def _halves(order: Rows, block_of: Rows, seed: int, split: int) -> tuple[Rows, Rows]:
    """Return the rows of each half of a split, in canonical order."""
    blocks = block_of.max() + 1
    side = (np.random.default_rng([seed, split]).permutation(blocks) % 2)[block_of[order]]
    return order[side == 0], order[side == 1]


def _kept(chosen: Filter, rows: Rows, block_of: Rows) -> Rows:
    """Return what a filter keeps of one half, in the order of that half."""
    kept = np.asarray(chosen(rows), np.intp)
    there = np.isin(rows, kept)
    if there.sum() != len(kept):
        raise DataError("the filter must return rows that it was given, each once")
    left = len(np.unique(block_of[rows[there]]))
    if left < LEAST // 2:
        raise DataError(
            f"of one half of the data the filter left {left} blocks (twins, families, copies, "
            f"look-alikes); what can be guessed of it is measured on {LEAST // 2} or more"
        )
    return rows[there]


def _in_order(numbers: Rows, order: Rows) -> Rows:
    """Return the number of each row's block, blocks numbered as the canonical order meets them."""
    first = np.unique(numbers[order], return_index=True)[1]
    renamed = np.empty(len(first), np.intp)
    renamed[np.argsort(first)] = np.arange(len(first))
    return renamed[numbers]


def _resampled(blocks: int, draws: int, seed: int) -> Floats:
    """Return the weight of each block, (blocks, 1 + draws); the first column is ones."""
    drawn = np.random.default_rng([seed, draws, blocks]).multinomial(
        blocks, np.full(blocks, 1 / blocks), draws
    )
    return np.vstack([np.ones((1, blocks)), drawn]).T.copy()


def _quantile(guessers: int, draws: int) -> float:
    """Return how many standard errors an interval reaches to each side.

    >>> round(_quantile(3, 100), 3), round(_quantile(1, 10**6), 2)
    (2.435, 1.96)
    """
    from scipy.special import stdtrit

    return float(stdtrit(draws - 1, 1 - LEVEL / (2 * guessers)))


def _summary(found: Sequence[_Scores], times: float) -> GuesserAccuracy:
    """Return the mean over splits, and the interval that reaches `times` standard errors."""
    mean = np.mean([right for right, _ in found], axis=0)
    spread = times * float(np.std(mean[1:], ddof=1))
    accuracy = float(mean[0])
    return GuesserAccuracy(
        accuracy,
        max(0.0, accuracy - spread),
        min(1.0, accuracy + spread),
        float(np.mean([chance for _, chance in found])),
    )
