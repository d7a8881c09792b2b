"""Measure the accuracy of linear models on all problems and on those that a filter kept.

A probe is a logistic regression trained on some problems and tested on others, with whole blocks
kept together. Unlike the KL divergence along one principal component, a probe needs no bins, has a
known chance level, and uses all directions of the embedding. A probe is meaningless on problems
that a filter selected by their answers: the selection affects both the training and the test set,
so that the accuracy falls below chance even if nothing is predictable.

So a filter is verified across two halves of the data. The blocks of a data set are assigned to the
halves, and the filter runs on each half separately. A guesser trained on the kept problems of one
half is scored on the kept problems of the other.

Swapping the options of a problem flips the sign of a `difference` vector, and the order of options
has no meaning. So models trained on these vectors have no intercept. They are trained with the
correct option first, and swapping options leaves the result bit-for-bit identical. For problems
with any number of options, each option has a vector, and the model is a conditional logit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias import _rows
from winosmith.debias._logit import Logit, bound_rounding_errors
from winosmith.debias._units import ChoiceProblems, ModelScores
from winosmith.errors import DataError
from winosmith.options import Count, Draws, Positive, Seed, TwoOrMore, checked
from winosmith.parallel import ordered_map, use_one_thread
from winosmith.results import Result
from winosmith.text import format_count


@dataclass(frozen=True, slots=True)
class GuesserAccuracy(Result):
    """The accuracy of a guesser that was trained on one half and tested on the other.

    Attributes:
        accuracy: The fraction of correct predictions, 0–1, as the mean over all splits in both
            directions. A tie of t options that includes the correct option scores 1 / t.
        low: The lower end of the 95 % interval; see `Verification`.
        high: The upper end of the interval.
        chance: The chance level: the mean of 1 / K over problems with K options (0.5 for two
            options). If swapping options does not flip the sign of vectors, it is the fraction of
            problems with the more frequent answer, which an intercept can learn.
    """

    accuracy: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, slots=True)
class Probe(GuesserAccuracy):
    """The result of a probe: the held-out accuracy of a linear model, as in `GuesserAccuracy`.

    The 95 % interval treats each group as one observation.

    Attributes:
        n: The number of test problems.
    """

    n: int


@checked
def probe(
    X: NDArray[Any],
    y: NDArray[Any],
    groups: Sequence[Sequence[int]],
    *,
    options: ArrayLike | None = None,
    flips_sign: bool = True,
    folds: TwoOrMore = 5,
    C: Positive = 1.0,
    seed: Seed = 0,
) -> Probe:
    """Return the cross-validated accuracy of a linear model, with each group in one fold.

    Args:
        X: (n, d) embeddings; with `options`, the (n, K, d) embeddings of every option.
        y: (n,) labels, 0 or 1; with `options`, the 0-based index of the correct option.
        groups: The rows that must not be split, such as `blocks.find_blocks(dataset)`, which
            contains copies and look-alikes as well as twins; every row is in one group.
        options: (n,) the number of options of each problem; None if all have two, and X has one
            vector per problem.
        flips_sign: Whether swapping the options of a problem flips the sign of its vector, as in
            `difference`. If not (`concat`, most other vectors), the model has an intercept, and the
            order of the options can change the result.
        folds: The number of folds; each fold is predicted by a model trained on the others.
        C: The inverse strength of the L2 penalty.
        seed: The random seed for assigning the groups to folds.

    Raises:
        DataError: There are fewer groups than folds, or X has values that are not finite.
    """
    if len(groups) < folds:
        raise DataError(
            f"a probe with {folds} folds needs {folds} groups or more, but there are {len(groups)}"
        )
    if options is None and not np.isfinite(X).all():
        raise DataError("X has values that are not finite")
    group_of = _rows.encode_groups(groups, len(y))
    fold_of = np.random.default_rng([seed, folds]).permutation(len(groups))[group_of] % folds
    problems: _Vectors = (
        _TwoOptionProblems.from_rows(X, np.asarray(y), flips_sign, np.arange(len(y)))
        if options is None
        else ChoiceProblems.from_vectors(X, y, options)
    )
    weights = (fold_of[:, None] != np.arange(folds)).astype(np.float32)
    n, clusters = len(y), len(groups)
    credit = problems.score(problems.fit(weights, C)).credit[np.arange(n), fold_of]
    accuracy = float(credit.mean())
    # The linearised variance of a mean over clusters of unequal sizes.
    residuals = np.bincount(group_of, weights=credit - accuracy)
    reach = Z * float(np.sqrt((residuals**2).sum() * clusters / (clusters - 1))) / n
    low, high = max(0.0, accuracy - reach), min(1.0, accuracy + reach)
    return Probe(accuracy, low, high, problems.chance, n)


Z = 1.959963984540054
"""The 97.5 % point of the normal distribution, for a 95 % interval."""

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Filter = Callable[[Rows], ArrayLike]

LINEAR, TWO_PIECE = "linear", "two-piece"
"""The names of the guessers that use the filter's own vectors."""

MIN_BLOCKS = 20
"""The minimum number of blocks. The filter must keep half as many blocks in each half, because an
interval from fewer resampled blocks would be meaningless."""

CONCURRENT_HALVES = 2
"""The number of halves to filter or measure at the same time; each needs its own memory."""

FOLDS = 3
"""The number of cross-validation folds for the two-piece guesser's margins on its training half."""

CHUNK_ROWS = 4096

MARGIN_QUANTILES = 50
"""The number of quantiles of the margin at which the two-piece guesser may reverse predictions."""

LEVEL = 0.05
"""The maximum probability that any guesser's interval excludes chance if nothing is predictable;
see `Verification`."""

INTERCEPT_VALUE = 10.0
"""The value of the intercept column, large enough to make the intercept's penalty negligible."""


@dataclass(frozen=True, slots=True)
class Verification(Result):
    """The accuracy of guessers on two halves of the data that were filtered separately.

    The 95 % intervals are simultaneous: in 95 % of data sets or more, the intervals of all G
    guessers contain the true values (Bonferroni, G guessers and two sides). So if nothing is
    predictable, an interval excludes chance in at most one report in twenty.

    Attributes:
        before: The accuracy of each guesser by name, before filtering.
        after: The accuracy of each guesser by name, on the problems that the filter kept. "linear"
            and "two-piece" use the filter's own vectors; the others have the names of their
            vectors.
        kept: The mean fraction of problems kept in a half, 0–1.
        problems: The number of problems assigned to halves.
        blocks: The number of blocks of these problems.
        splits: The number of splits into halves.
        draws: The number of bootstrap resamples for each interval.
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
    filter: Filter,  # noqa: A002 - the clearest name
    *,
    blocks: Sequence[Sequence[int]],
    ids: Sequence[Hashable] | None = None,
    options: ArrayLike | None = None,
    others: Mapping[str, NDArray[Any]] | None = None,
    flips_sign: bool = True,
    splits: Count = 5,
    draws: Draws = 100,
    seed: Seed = 0,
    C: Positive = 1.0,
    on_step: Callable[[int, int], object] | None = None,
) -> Verification:
    """Measure how accurately guessers predict the problems that a filter keeps.

    Each split assigns the blocks to two halves and filters each half separately. In both
    directions, three kinds of guessers are trained on one half and tested on the other:

    - *linear*: a logistic regression on the filter's own vectors.
    - *two-piece*: a guesser that knows that a filter makes linear predictions incorrect beyond some
      margin. A linear model w of the unfiltered half gives each problem a margin (cross-validated
      within the half, in three folds with whole blocks together). From the kept problems the
      guesser learns a threshold and the side on which to follow w; on the other side it predicts
      the opposite. It applies this rule in the other half, where the threshold is at the same rank
      of margins.
    - one linear model on each of the `others`.

    With `options`, problems may have any number of options, and all models are conditional logits
    with one vector of weights for all options. A guesser predicts the option with the highest
    score; "the opposite" is a random other option, which is correct in one of K − 1 cases if the
    prediction is incorrect.

    For the intervals, the blocks are resampled `draws` times, and every guesser is refitted; the
    kept problems stay the same. Splits of the same data are not independent. So a block has the
    same multinomial weight in all splits, and the standard error is the standard deviation of the
    resampled means over all splits. Because a resample has fewer distinct blocks, its guessers are
    slightly less accurate. So the interval is the real accuracy ± t standard errors, not quantiles
    of the resampled accuracies. t is the 1 − .05/(2 G) quantile of Student's distribution with
    `draws` − 1 degrees of freedom, for G guessers. (Cross-validated accuracies vary 1.1 to 1.4
    times as much as binomial ones.)

    The result does not depend on the order of options, the number of threads or, with `ids`, the
    order of rows. Two halves are filtered, and then measured, at the same time, so the filter is
    called from two threads.

    Args:
        X: (n, d) the filter's own vectors; with `options`, the (n, K, d) vectors of every option.
        y: (n,) labels, 0 or 1; with `options`, the 0-based index of the correct option.
        filter: A function that receives the rows of one half and returns the rows to keep. It must
            not use any other rows.
        blocks: The rows that are never split, such as `blocks.find_blocks(dataset)`; every row is
            in one block.
        ids: (n,) distinct strings or integers that define the order of the draws; by default the
            order of a digest of each row's numbers and label.
        options: See `probe`.
        others: (n, e) other vectors of the same problems by name. Swapping options must flip the
            sign of these vectors. With `options`, (n, K, e) vectors.
        flips_sign: See `probe`. The models of such vectors learn from problems with the correct
            option first.
        splits: The number of splits of the blocks into halves, 1 or more.
        draws: The number of resamples, 20 or more.
        seed: The random seed of the splits and resamples.
        C: See `probe`.
        on_step: Called with the number of completed steps and their total: one step filters a half,
            another measures it.

    Raises:
        DataError: There are too few blocks, or a filter keeps too few blocks of a half; rows or
            labels are invalid; without `flips_sign`, all labels are the same; or the filter returns
            rows that it was not given.
        RecipeError: `splits` or `draws` is out of range.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> X = rng.standard_normal((400, 3)) + 0.8 * (2 * y[:, None] - 1)
    >>> pairs = [(row, row + 1) for row in range(0, 400, 2)]
    >>> found = verify(X, y, lambda rows: rows, blocks=pairs, splits=1, draws=20)
    >>> found.before == found.after, found.before["linear"].low > 0.8
    (True, True)
    """
    from scipy.special import stdtrit

    if len(blocks) < MIN_BLOCKS:
        raise DataError(
            f"there {'is' if len(blocks) == 1 else 'are'} {format_count(len(blocks), 'block')} "
            "(twins, families, copies, look-alikes); measuring predictability requires "
            f"{MIN_BLOCKS} blocks or more"
        )
    report_step = on_step or (lambda done, steps: None)
    labels = np.asarray(y)
    vectors = {LINEAR: X, **(others or {})}
    block_of = _rows.encode_groups(blocks, len(labels))
    for name, array in (others or {}).items():
        if len(array) != len(labels):
            raise DataError(f"{name}: there are {len(array)} vectors for {len(labels)} problems")
    selectors: dict[str, Callable[[Rows], _Vectors]] = {}
    if options is not None:
        choices = {
            name: ChoiceProblems.from_vectors(array, labels, options)
            for name, array in vectors.items()
        }
        order = _rows.find_canonical_order(choices[LINEAR].to_canonical_rows(), ids)
        selectors.update((name, own.select) for name, own in choices.items())
    else:
        order = _rows.check_rows(X, labels, ids, None, allow_one_label=flips_sign).order
        for name, array in vectors.items():
            flips = flips_sign or name != LINEAR
            selectors[name] = partial(_TwoOptionProblems.from_rows, array, labels, flips)
    block_of[order] = _rows.encode_group_labels(block_of.tolist(), order)
    shared = _SharedData(selectors, block_of, _draw_bootstrap_weights(len(blocks), draws, seed), C)
    halves = [
        half for split in range(splits) for half in _draw_halves(order, block_of, seed, split)
    ]
    directions = [(train, train ^ 1) for train in range(len(halves))]
    found: dict[str, list[tuple[_Scores, _Scores]]] = {}
    kept: list[Rows] = []
    with use_one_thread(), ThreadPoolExecutor(CONCURRENT_HALVES) as threads:
        for rows in ordered_map(
            lambda half: _apply_filter(filter, half, block_of),
            halves,
            threads,
            max_pending=CONCURRENT_HALVES,
        ):
            kept.append(rows)
            report_step(len(kept), 4 * splits)
        guesses = ordered_map(
            lambda direction: _score_guessers(
                shared, *(rows[half] for half in direction for rows in (halves, kept))
            ),
            directions,
            threads,
            max_pending=CONCURRENT_HALVES,
        )
        for done, guess in enumerate(guesses, start=len(kept) + 1):
            for name, pair in guess.items():
                found.setdefault(name, []).append(pair)
            report_step(done, 4 * splits)
    shares = [len(rows) / len(half) for rows, half in zip(kept, halves, strict=True)]
    factor = float(stdtrit(draws - 1, 1 - LEVEL / (2 * len(found))))
    return Verification(
        {name: _summarize_scores([s[0] for s in scores], factor) for name, scores in found.items()},
        {name: _summarize_scores([s[1] for s in scores], factor) for name, scores in found.items()},
        kept=float(np.mean(shares)),
        problems=len(labels),
        blocks=len(blocks),
        splits=splits,
        draws=draws,
    )


@dataclass(frozen=True, slots=True)
class _TwoOptionProblems:
    """Problems with one vector for both options.

    `oriented` contains the vectors with the correct option first.
    """

    oriented: NDArray[np.float32]
    y: NDArray[Any]
    flips_sign: bool

    @classmethod
    def from_rows(
        cls, X: NDArray[Any], y: NDArray[Any], flips_sign: bool, rows: Rows
    ) -> _TwoOptionProblems:
        sign = np.where(y[rows] == 1, 1, -1).astype(np.float32)[:, None]
        chosen = X[rows].astype(np.float32, copy=False)
        if not flips_sign:
            chosen = np.hstack([chosen, np.full((len(chosen), 1), INTERCEPT_VALUE, np.float32)])
        return cls(sign * chosen, y[rows], flips_sign)

    def select(self, rows: NDArray[np.bool_]) -> _TwoOptionProblems:
        return _TwoOptionProblems(self.oriented[rows], self.y[rows], self.flips_sign)

    @property
    def chance(self) -> float:
        ones = float(np.mean(self.y == 1))
        return 0.5 if self.flips_sign else max(ones, 1 - ones)

    def fit(self, weights: NDArray[np.float32], C: float) -> Floats:
        return Logit(self.oriented, C=C).fit(weights)

    def score(self, W: Floats) -> ModelScores:
        margins = np.empty((len(self.oriented), W.shape[1]))
        with use_one_thread():
            for start in range(0, len(margins), CHUNK_ROWS):  # converts only a part to float64
                margins[start : start + CHUNK_ROWS] = self.oriented[start : start + CHUNK_ROWS] @ W
        margins[np.abs(margins) <= bound_rounding_errors(self.oriented, W)] = 0.0
        credit = (np.sign(margins) + 1) / 2
        return ModelScores(margins, credit, 1 - credit)


_Vectors = ChoiceProblems | _TwoOptionProblems


@dataclass(frozen=True, slots=True)
class _SharedData:
    """The data shared by all halves; `resampled` are the weights from `_draw_bootstrap_weights`."""

    selectors: Mapping[str, Callable[[Rows], _Vectors]]
    block_of: Rows
    resampled: Floats
    C: float

    def get_weights(self, rows: Rows) -> Floats:
        """Return the weights of rows in the real data (the first column) and in each draw."""
        return self.resampled[self.block_of[rows]]


_Scores = tuple[Floats, float]
"""The (1 + draws,) accuracies of a guesser on one half, and its chance level."""


def _score_guessers(
    shared: _SharedData, train_rows: Rows, train_kept: Rows, test_rows: Rows, test_kept: Rows
) -> dict[str, tuple[_Scores, _Scores]]:
    found: dict[str, tuple[_Scores, _Scores]] = {}
    inside, outside = np.isin(train_rows, train_kept), np.isin(test_rows, test_kept)
    weights, count = shared.get_weights(train_rows), shared.resampled.shape[1]
    before, after = shared.get_weights(test_rows), shared.get_weights(test_kept)
    counts = weights.astype(np.float32)
    parts = np.unique(shared.block_of[train_rows], return_inverse=True)[1] % FOLDS
    for name, select in shared.selectors.items():
        train, test = select(train_rows), select(test_rows)
        chances = [test.chance, select(test_kept).chance]
        sets = [inside | True] + ([] if inside.all() else [inside])
        folds = [parts != part for part in range(FOLDS)] if name == LINEAR else []
        models = train.fit(np.hstack([counts * rows[:, None] for rows in sets + folds]), shared.C)
        scored = [test.score(models[:, at * count :][:, :count]) for at in range(len(sets))]
        found[name] = (
            (_compute_weighted_accuracy(scored[0].credit, before), chances[0]),
            (_compute_weighted_accuracy(scored[-1].credit[outside], after), chances[1]),
        )
        if name == LINEAR:
            shape = (len(train_rows), count)
            cross = ModelScores(np.empty(shape), np.empty(shape), np.empty(shape))
            for part in range(FOLDS):
                at = (len(sets) + part) * count
                fold = train.select(parts == part).score(models[:, at : at + count])
                for field in ("leads", "credit", "opposite"):
                    getattr(cross, field)[parts == part] = getattr(fold, field)
            train_ranks = _compute_margin_ranks(cross.leads)
            test_ranks = _compute_margin_ranks(scored[0].leads)
            pair = []
            for train_mask, test_mask, chance in (
                (inside | True, outside | True, chances[0]),
                (inside, outside, chances[1]),
            ):
                gains = (cross.credit - cross.opposite)[train_mask]
                steps, beyond = _fit_rule(gains, train_ranks[train_mask], weights[train_mask])
                follows = np.where(test_ranks >= steps, beyond, -beyond) > 0
                credit = np.where(follows, scored[0].credit, scored[0].opposite)[test_mask]
                pair.append((_compute_weighted_accuracy(credit, before[test_mask]), chance))
            found[TWO_PIECE] = (pair[0], pair[1])
    return {name: found[name] for name in (LINEAR, TWO_PIECE, *found)}


def _compute_margin_ranks(margins: Floats) -> NDArray[np.integer[Any]]:
    """Return the rank of each margin's magnitude in its column, as a 0-based quantile."""
    sizes = np.abs(margins)
    ranks = np.empty(sizes.shape, np.int8)
    steps = np.arange(len(sizes)) * MARGIN_QUANTILES // max(len(sizes), 1)
    for column in range(sizes.shape[1]):
        ranks[np.argsort(sizes[:, column], kind="stable"), column] = steps
    return ranks


def _fit_rule(
    gains: Floats, ranks: NDArray[np.integer[Any]], weights: Floats
) -> tuple[NDArray[np.integer[Any]], Floats]:
    """Return each column's threshold and sign.

    With sign 1, the rule follows the model at or above the threshold; with sign -1, below the
    threshold. `gains` are the problems' gains from following the model instead of predicting the
    opposite.
    """
    gains = weights * gains
    columns = np.arange(gains.shape[1])
    by_step = np.zeros((MARGIN_QUANTILES, len(columns)))
    for column in columns:
        by_step[:, column] = np.bincount(ranks[:, column], gains[:, column], MARGIN_QUANTILES)
    below = np.vstack([np.zeros((1, len(columns))), np.cumsum(by_step, axis=0)])
    above = below[-1] - 2 * below  # the gain from following the model at or above it
    steps = np.argmax(np.abs(above), axis=0)
    best = np.sign(above[steps, columns])
    return steps, np.where(best == 0, 1.0, best)


def _compute_weighted_accuracy(credit: Floats, weights: Floats) -> Floats:
    whole = weights.sum(axis=0)
    return np.asarray((weights * credit).sum(axis=0) / np.where(whole > 0, whole, 1))


def _draw_halves(order: Rows, block_of: Rows, seed: int, split: int) -> tuple[Rows, Rows]:
    blocks = block_of.max() + 1
    half = (np.random.default_rng([seed, split]).permutation(blocks) % 2)[block_of[order]]
    return order[half == 0], order[half == 1]


def _apply_filter(keep_rows: Filter, rows: Rows, block_of: Rows) -> Rows:
    kept = np.asarray(keep_rows(rows), np.intp)
    is_kept = np.isin(rows, kept)
    if is_kept.sum() != len(kept):
        raise DataError("the filter must return some of the given rows, each at most once")
    left = len(np.unique(block_of[rows[is_kept]]))
    if left < MIN_BLOCKS // 2:
        raise DataError(
            f"the filter kept {left} blocks (twins, families, copies, look-alikes) of one half "
            f"of the data; measuring predictability requires {MIN_BLOCKS // 2} or more"
        )
    return rows[is_kept]


def _draw_bootstrap_weights(block_count: int, draws: int, seed: int) -> Floats:
    """Return the bootstrap weights of blocks, (blocks, 1 + draws); the first column is ones."""
    drawn = np.random.default_rng([seed, draws, block_count]).multinomial(
        block_count, np.full(block_count, 1 / block_count), draws
    )
    return np.vstack([np.ones((1, block_count)), drawn]).T.copy()


def _summarize_scores(scores: Sequence[_Scores], factor: float) -> GuesserAccuracy:
    mean = np.mean([accuracies for accuracies, _ in scores], axis=0)
    spread = factor * float(np.std(mean[1:], ddof=1))
    accuracy = float(mean[0])
    return GuesserAccuracy(
        accuracy,
        max(0.0, accuracy - spread),
        min(1.0, accuracy + spread),
        float(np.mean([chance for _, chance in scores])),
    )
