"""Measure how a filter changed the embeddings: PCA, and the KL divergence between the answers.

WinoGrande (section 3, figure 1) publishes KL(p(d1, y=1) || q(d1, y=2)): 2.53 for the whole data
set, 2.51 after random reduction, 2.42 after PMI filtering and 0.12 after AFLite. The paper does not
state the units, the smoothing or the meaning of "bin size 100" (a number or a width), and has no
null, so only the pattern of these four numbers can be compared. We use nats, and 100 bins of equal
width over the range of the rows that the PCA was fitted on. Half a problem is added to every bin of
both histograms, as in Krichevsky and Trofimov (1981). Option 1 is compared with option 2.

With 100 bins and few rows, even random labels have a KL divergence well above zero, as the null
shows. So only the excess over the null is meaningful.

The paper's encoder was fine-tuned on the task, so its embeddings vary most between the answers. Not
all embeddings do so: on WinoGrande's train_l with pretrained MiniLM, the KL divergence along d1
equals that of the null even before filtering. So the divergence is also measured along the *answer
axis*, the direction along which the answers are furthest apart. It is Fisher's linear discriminant:
w ∝ Σ⁻¹ (mean of option 2 − mean of option 1), where Σ is the covariance of all rows, regardless of
their labels. (For two classes, the covariance within the classes gives the same direction.) A
direction fitted to labels finds a difference even between random labels. So the direction is fitted
on one half of the twins and evaluated on the other, and vice versa. It is fitted again for every
draw of the null.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from winosmith.debias._chance import NullTest, compare_with_null, flip_labels
from winosmith.debias._rows import check_labels, encode_groups
from winosmith.errors import DataError
from winosmith.options import Draws, Seed, TwoOrMore, declaration
from winosmith.parallel import use_one_thread
from winosmith.report import HistogramPanel, ScatterPanel, Svg, draw_histograms, draw_scatter_plots
from winosmith.results import Result

SMOOTHING = 0.5
"""Number of problems added to every bin of both histograms."""


@declaration
class AssessmentSettings:
    """The settings of an assessment."""

    bins: TwoOrMore = 100
    """Number of bins of equal width: along d1 over the range of the rows that the PCA was fitted
    on, along the answer axis over 4 standard deviations to each side."""
    draws: Draws = 200
    """Number of draws for the null distribution."""
    points: Annotated[int, Field(ge=0)] = 1_500
    """Maximum number of points per subset in the scatter plot."""
    seed: Seed = 0
    """Random seed for the null distribution and for choosing the plotted points."""


@dataclass(frozen=True, slots=True)
class Subset(Result):
    """Measurements of a subset's embeddings.

    Attributes:
        name: The name of the subset.
        rows: The number of rows.
        answers: The numbers of rows whose answer is option 1 and option 2, as the options are
            written.
        twins: The number of twins with both halves among the rows.
        incomplete_twins: The number of twins with only one half among the rows, because the filter
            removed the other.
        singles: The number of rows that were not half of a twin before the filter.
        explained: The fractions of variance that d1 and d2 explain, 0–1, among the rows on which
            the PCA was fitted.
        points: The (d1, d2) coordinates of a random sample of the rows, drawn in the same order in
            every subset. If swapping options flips the sign of vectors, each vector is shown with
            its options in a random order.
        point_answers: The answer of each point, 0 or 1.
        d1: The histograms of the answers along the first principal component, as in the paper.
        axis: The histograms along the answer axis, which is fitted to separate this subset's
            answers and evaluated on held-out twins (see `project_on_answer_axis`).
    """

    name: str
    rows: int
    answers: tuple[int, int]
    twins: int
    incomplete_twins: int = field(metadata={"key": "parted"})
    singles: int
    explained: tuple[float, float]
    points: tuple[tuple[float, float], ...]
    point_answers: tuple[int, ...]
    d1: AnswerHistograms
    axis: AnswerHistograms


@dataclass(frozen=True, slots=True)
class Assessment(Result):
    """The measurements of all subsets, and the settings of the assessment.

    Attributes:
        subsets: The measurements of each subset, in the order given.
        settings: The settings of the assessment.
        flips_sign: Whether swapping the options of a problem flips the sign of its vector, so that
            each problem was counted in both orders.
    """

    subsets: tuple[Subset, ...] = field(metadata={"rows": True})
    settings: AssessmentSettings
    flips_sign: bool = field(default=False, metadata={"key": "turns"})

    def panels(self) -> tuple[tuple[Svg, ...], ...]:
        """Return charts of the first two components, the first component and the answer axis."""
        clouds = [
            ScatterPanel(
                s.name, s.points, s.point_answers, f"{len(s.points):,} of {s.rows:,} problems"
            )
            for s in self.subsets
        ]

        def make_panel(name: str, histograms: AnswerHistograms) -> HistogramPanel:
            null, title = histograms.null, "KL is undefined, because one answer is missing"
            if histograms.kl is not None and null is not None:
                noise = f"noise {null.mean:.3f}, limit {null.high:.3f}"
                title = f"KL {histograms.kl:.3f} ({noise})"
            return HistogramPanel(name, histograms.edges, histograms.counts, title)

        return (
            tuple(draw_scatter_plots(clouds)),
            draw_histograms([make_panel(s.name, s.d1) for s in self.subsets], label="d₁"),
            draw_histograms(
                [make_panel(s.name, s.axis) for s in self.subsets],
                label="answer axis, standard deviations",
            ),
        )

    def charts(self) -> list[Svg]:
        """Return the charts of the paper's figure 1 and of the answer axis."""
        return [svg for panel in self.panels() for svg in panel]


def assess(
    X: NDArray[Any],
    y: ArrayLike,
    subsets: Mapping[str, Iterable[int]],
    *,
    groups: Sequence[Sequence[int]] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
    flips_sign: bool = True,
    settings: AssessmentSettings | None = None,
    shown: Iterable[int] | None = None,
) -> Assessment:
    """Measure how well the embeddings of each subset separate the answers.

    Args:
        X: (n, d) finite embeddings; with a single column, d2 is 0.
        y: (n,) labels: 0 if option 1 is correct, 1 if option 2 is.
        subsets: Row numbers by subset name, such as `range(n)` for "all".
        groups: The rows of each twin, such as `Dataset.groups`; each row is in exactly one group.
            By default, every row is a separate group.
        blocks: Groups of rows that are never split between fitting and evaluating a direction, and
            whose answers are flipped together under the null, such as
            `blocks.find_blocks(dataset)`; by default `groups`.
        flips_sign: Whether swapping the options of a problem flips the sign of its vector. True for
            `difference`, False for `concat` and for most other vectors.
        settings: The settings of the assessment; by default `AssessmentSettings()`.
        shown: The rows that may be shown as individual points in `Subset.points`; by default all.

    Raises:
        DataError: Arrays or rows do not match, are not finite or, without `flips_sign`, have only
            one answer.
    """
    settings = settings or AssessmentSettings()
    X, labels = check_embeddings(X, y, allow_one_label=flips_sign)
    chosen = {name: check_subset_rows(name, rows, len(X)) for name, rows in subsets.items()}
    group_of = np.arange(len(X)) if groups is None else encode_groups(groups, len(X))
    block_of = group_of if blocks is None else encode_groups(blocks, len(X))
    order = np.random.default_rng([settings.seed, 0]).permutation(len(X))
    sides = order % 2 if flips_sign else labels
    drawable = np.full(len(X), shown is None)
    drawable[check_subset_rows("shown", () if shown is None else shown, len(X))] = True
    axes = compute_principal_axes(X, 2, flips_sign=flips_sign)
    projected = axes.project(X)
    low, high = projected[:, 0].min(), projected[:, 0].max()
    if flips_sign:
        high = max(-low, high)
        low = -high
    bins = Binning.from_range(low, high, settings.bins)
    scale = Binning.from_range(*AXIS_RANGE, settings.bins)
    sizes = np.bincount(group_of)
    found = []
    for name, rows in chosen.items():
        positions = projected[rows]
        left = np.bincount(group_of[rows], minlength=len(sizes))
        twins, incomplete = (int(((sizes == 2) & (left == halves)).sum()) for halves in (2, 1))
        points = np.argsort(order[rows])
        points = points[drawable[rows[points]]][: settings.points]
        turned = np.where(labels == sides, 1.0, -1.0)[rows][points, None]
        rng = np.random.default_rng([settings.seed, 1, zlib.crc32(name.encode("utf-8", "replace"))])
        blocks_here = np.unique(block_of[rows], return_inverse=True)[1]
        drawn = [labels[rows]]
        for _ in range(settings.draws):
            drawn.append(flip_labels(labels[rows], blocks_here, rng, permute=not flips_sign))
        stacked = np.stack(drawn)
        axis = project_on_answer_axis(X[rows], stacked, blocks_here, rng, flips_sign=flips_sign)
        found.append(
            Subset(
                name=name,
                rows=len(rows),
                answers=_convert_pair(np.bincount(labels[rows], minlength=2)),
                twins=twins,
                incomplete_twins=incomplete,
                singles=len(rows) - 2 * twins - incomplete,
                explained=_convert_pair(axes.explained, float),
                points=tuple(_convert_pair(point, float) for point in turned * positions[points]),
                point_answers=tuple(sides[rows][points].tolist()),
                d1=make_histograms(bins, positions[:, 0], stacked, flips_sign),
                axis=make_histograms(scale, axis, stacked, flips_sign),
            )
        )
    return Assessment(tuple(found), settings, flips_sign)


def check_embeddings(
    X: NDArray[Any], y: ArrayLike, *, allow_one_label: bool = False
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Check embeddings and labels, and add a column of zeros to one-column embeddings."""
    X, labels = np.asarray(X), check_labels(y, allow_one_label=allow_one_label).astype(np.intp)
    if X.ndim != 2 or X.shape[1] < 1:
        raise DataError(f"X must have rows and columns; its shape is {X.shape}")
    if len(labels) != len(X):
        raise DataError(f"X has {len(X)} rows, but y has {len(labels)} entries")
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(f"row {row} of X contains NaN or infinity; embed the problem again")
    if X.shape[1] == 1:
        X = np.hstack([X, np.zeros_like(X)])
    return X, labels


def check_subset_rows(name: str, rows: Iterable[int], n: int) -> NDArray[np.intp]:
    """Check a subset's row numbers, and return them in ascending order."""
    found = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if not len(found):
        return np.empty(0, np.intp)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise DataError(f"the subset {name!r} is not a list of row numbers")
    if found.min() < 0 or found.max() >= n or len(np.unique(found)) < len(found):
        raise DataError(f"the subset {name!r} must list each row at most once, from 0 to {n - 1}")
    return np.sort(found.astype(np.intp))


def make_histograms(
    bins: Binning,
    positions: NDArray[np.float64] | None,
    labels: NDArray[np.intp],
    flips_sign: bool,
) -> AnswerHistograms:
    """Return the answers' histograms for the first labelling, and a null from the others.

    With `flips_sign`, each problem is counted in both orders of its options.
    """
    if positions is None:
        counts = np.zeros((len(labels), 2, bins.bins), np.intp)
    elif flips_sign:
        first = np.where(labels == 0, positions, -positions)
        ways = [bins.count(way, np.zeros_like(labels))[..., 0, :] for way in (first, -first)]
        counts = np.stack(ways, axis=-2)
    else:
        counts = bins.count(positions, labels)
    shown = tuple(map(tuple, counts[0].tolist()))
    if not counts[0].sum(axis=-1).all():
        return AnswerHistograms(bins.edges, shown, None, None)
    kl, *drawn = compute_divergence(counts[:, 0], counts[:, 1]).tolist()
    return AnswerHistograms(bins.edges, shown, kl, compare_with_null(kl, drawn))


def _convert_pair(values: Iterable[Any], convert: type = int) -> Any:
    first, second = values
    return convert(first), convert(second)


_CHUNK = 8_192
"""The number of rows to convert to float64 at a time, so that no second copy is needed."""

_DIGITS = 10
"""The number of significant digits of coordinates, relative to the largest, so that rounding
differences between machines don't move a row into another bin."""


@dataclass(frozen=True)
class Axes:
    """The first principal components of a set of rows.

    Attributes:
        mean: (d,) the mean of the rows; 0 if swapping options flips the sign of vectors.
        directions: (d, k) orthonormal columns, sorted by descending variance.
        explained: (k,) the fraction of the variance that each component explains, 0–1.
    """

    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    explained: NDArray[np.float64]

    def project(self, X: NDArray[Any]) -> NDArray[np.float64]:
        found = np.concatenate(
            [
                (X[start : start + _CHUNK].astype(np.float64) - self.mean) @ self.directions
                for start in range(0, max(len(X), 1), _CHUNK)
            ]
        )
        scale = 10.0 ** np.ceil(np.log10(np.abs(found).max(initial=0) or 1))
        return np.asarray(np.round(found / scale, _DIGITS) * scale)


def compute_principal_axes(X: NDArray[Any], k: int, *, flips_sign: bool = False) -> Axes:
    """Return the first `k` principal components of the rows of X, or all if there are fewer.

    The components are the eigenvectors of the covariance in float64, computed without a random
    start or a tolerance. The arbitrary sign of a component is chosen so that its loading of largest
    magnitude is positive. The linear algebra runs on one thread, because the order of sums may vary
    with several threads. With `flips_sign`, the mean is 0, because each problem is counted in both
    orders of its options.
    """
    from scipy.linalg import eigh

    d = X.shape[1]
    k = min(k, d)
    mean = np.zeros(d) if flips_sign else X.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((d, d))
    with use_one_thread():
        for start in range(0, len(X), _CHUNK):
            part = X[start : start + _CHUNK].astype(np.float64) - mean
            covariance += part.T @ part
        values, vectors = eigh(covariance, subset_by_index=[d - k, d - 1])
    directions = vectors[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, range(k)] < 0, -1.0, 1.0)
    total = float(np.trace(covariance)) or 1.0
    return Axes(mean, directions, np.clip(values[::-1] / total, 0, 1))


AXIS_RANGE = (-4.0, 4.0)
"""The range of the bins in standard deviations; rows outside are counted in the outermost bins."""

_SHRINKAGE = 0.1
"""The fraction of the covariance that is replaced by a scaled identity with the same trace, so that
few rows in many columns still define a direction (regularised discriminant analysis, Friedman
1989)."""

_DECIMALS = 9
"""The number of decimals of scores, so that rounding differences between machines don't move a row
into another bin."""


def project_on_answer_axis(
    X: NDArray[Any],
    labels: NDArray[np.intp],
    group_of: NDArray[np.intp],
    rng: np.random.Generator,
    *,
    flips_sign: bool = False,
) -> NDArray[np.float64] | None:
    """Return the positions of the rows along the answer axis of each labelling.

    `labels` contains k labellings, (k, n). `group_of` is the number of each row's group, (n,);
    groups are never split between the two halves. With `flips_sign`, the mean is 0, because each
    problem is counted in both orders of its options.

    Returns:
        (k, n) positions in standard deviations, larger if option 2 is predicted; None if a half is
        empty or, without `flips_sign`, lacks one of the answers in some labelling.
    """
    halves = np.arange(int(group_of.max(initial=-1)) + 1) % 2
    halves[rng.permutation(len(halves))] = halves.copy()
    half_of = halves[group_of]
    found = np.zeros(labels.shape)
    with use_one_thread():  # the order of sums may vary with several threads
        for half in (0, 1):
            train, test = np.flatnonzero(half_of != half), np.flatnonzero(half_of == half)
            seconds = labels[:, train].sum(axis=1)
            both = flips_sign or bool(((seconds > 0) & (seconds < len(train))).all())
            if not len(test) or not len(train) or not both:
                return None
            found[:, test] = _fit_discriminants(X[train], labels[:, train], X[test], flips_sign)
    return np.asarray(np.round(found, _DECIMALS))


def _fit_discriminants(
    X: NDArray[Any], labels: NDArray[np.intp], X_test: NDArray[Any], flips_sign: bool
) -> NDArray[np.float64]:
    """Fit a discriminant per labelling, and return the test rows' positions, (labellings, rows)."""
    from scipy.linalg import cho_factor, cho_solve

    mean = np.zeros(X.shape[1]) if flips_sign else X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    covariance = centred.T @ centred / len(X)
    sphere = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _SHRINKAGE * sphere
    if flips_sign:
        weights = np.where(labels == 1, 1.0, -1.0)  # their scale has no effect
    else:
        seconds = labels.sum(axis=1, keepdims=True)
        weights = np.where(labels == 1, 1 / seconds, -1 / (labels.shape[1] - seconds))
    difference = (weights @ centred).T  # (d, k): mean of option 2 − mean of option 1
    directions = cho_solve(cho_factor(covariance), difference)
    spread = np.sqrt((directions * (covariance @ directions)).sum(axis=0))
    directions /= np.where(spread > 0, spread, 1)
    return np.asarray(((X_test - mean) @ directions).T)


@dataclass(frozen=True, slots=True)
class AnswerHistograms(Result):
    """The histograms of the two answers along an axis.

    Attributes:
        edges: The edges of the bins.
        counts: The number of rows in each bin, for option 1 and for option 2.
        kl: The KL divergence between the histograms in nats, 0 or more; None if it can't be
            measured, for example because all answers are the same.
        null: The divergence when the labels of whole blocks are flipped at random; None if `kl` is
            None.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    kl: float | None
    null: NullTest | None


@dataclass(frozen=True, slots=True)
class Binning:
    """Bins of equal width along an axis; `low` is the lower edge of the first bin."""

    low: float
    width: float
    bins: int

    @classmethod
    def from_range(cls, low: float, high: float, bins: int) -> Binning:
        return cls(low, ((high - low) or 1.0) / bins, bins)

    @property
    def edges(self) -> tuple[float, ...]:
        return tuple((self.low + self.width * np.arange(self.bins + 1)).tolist())

    def count(self, positions: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of rows with each answer in each bin, shape (…, 2, bins).

        As in `numpy.histogram`, the last bin includes its upper edge. Positions outside the range
        are counted in the nearest bin. `labels` have the shape (n,) or (k, n). `positions`
        have the shape (n,), or (k, n) with different positions for each labelling.
        """
        places = np.floor((positions - self.low) / self.width).astype(np.intp)
        places = np.clip(places, 0, self.bins - 1)
        places, labels = np.broadcast_arrays(places, labels)
        shape = (*labels.shape[:-1], 2, self.bins)
        cells = places + self.bins * labels
        cells += (2 * self.bins * np.arange(len(cells)))[:, None] if cells.ndim == 2 else 0
        return np.bincount(cells.ravel(), minlength=int(np.prod(shape))).reshape(shape)


def compute_divergence(
    first: NDArray[Any], second: NDArray[Any], *, smoothing: float = SMOOTHING
) -> Any:
    """Return KL(p || q) in nats between two histograms: the sum over bins of p · ln(p / q).

    `smoothing` is added to every bin of both histograms, so that an empty bin does not make the
    divergence infinite. Each histogram is then normalised to sum to 1. Leading axes broadcast.

    >>> round(float(compute_divergence(np.array([8, 2]), np.array([2, 8]), smoothing=0.0)), 4)
    0.8318
    """
    p, q = first + smoothing, second + smoothing
    p = p / p.sum(axis=-1, keepdims=True)
    q = q / q.sum(axis=-1, keepdims=True)
    ratio = np.log(np.where(p > 0, p, 1)) - np.log(np.where(p > 0, q, 1))
    return np.maximum((p * ratio).sum(axis=-1), 0)
