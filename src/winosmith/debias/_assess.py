"""Assess what a filter did to the embeddings: PCA, the answers along an axis, KL next to a null.

The figure that WinoGrande publishes (section 3, figure 1) is KL(p(d1, y=1) || q(d1, y=2)) =
2.53 for the whole set, 2.51 after random reduction, 2.42 after PMI filtering and 0.12 after
AFLite. Its units, smoothing, and the meaning of "bin size 100" (a number or a width) are not
stated, and neither is a null, so these four numbers are a shape to compare with, not a target.
What is taken here, each a parameter: nats; 100 bins of equal width over the range of the rows
that the PCA was fitted on; half a problem added to every bin of both histograms (Krichevsky &
Trofimov 1981); option 1 against option 2.

With 100 bins and few rows the KL of labels that mean nothing is well above zero: that is what
the null shows, and a KL means no more than its distance from the null.

The paper's encoder was fine-tuned on the task, so its embeddings vary most between the answers.
Those of other embedders do not: on WinoGrande's train_l, with MiniLM as it is, the KL along d1 is
that of the null before any filter. So the same figure is measured along the *answer axis* too: the
direction along which the answers stand furthest apart. Fisher's linear discriminant is made for it:
w ∝ Σ⁻¹ (mean of option 2 − mean of option 1), with Σ the covariance of all rows, whatever their
labels (for two classes it gives the same direction as the covariance within the classes). A
direction fitted to labels finds something in any labels, so it is fitted on one half of the twins
and read on the other, and the other way around; and the null fits it again to every draw.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from winosmith.debias._chance import Null, flip_labels, make_null
from winosmith.debias._rows import checked_labels, number_rows
from winosmith.errors import DataError
from winosmith.options import Draws, OrFalse, Positive, Seed, TwoOrMore, declaration
from winosmith.parallel import one_thread
from winosmith.report import Bars, Cloud, Svg, clouds as draw_clouds, histograms
from winosmith.results import Result

Direction = Literal["1||2", "2||1", "mean"]


@declaration
class AssessmentSettings:
    """How an assessment is made."""

    bins: TwoOrMore = 100
    """Number of bins of equal width: along d1 over the range of the rows that the PCA was fitted
    on, along the answer axis over 4 standard deviations to each side."""
    bin_width: OrFalse[Positive] = None
    """Width of the bins along d1, in place of their number: the other reading of "bin size"."""
    smoothing: Positive = 0.5
    """Number of problems added to every bin of both histograms."""
    direction: Direction = "1||2"
    """Divergence: "1||2" is KL(option 1 || option 2), the paper's; "2||1"; "mean" of both."""
    fit: Literal["all", "each"] = "all"
    """Rows of the PCA: "all" fits it once and projects the subsets, so that every panel has the
    same axis and scale. "each" fits it on each subset, as the paper's words suggest ("the principal
    component analysis on the PMI-filtered subset"): d1 is then another direction in every panel."""
    draws: Draws = 200
    """Number of draws of the null."""
    points: Annotated[int, Field(ge=0)] = 1_500
    """Largest number of points of a subset in the scatter."""
    seed: Seed = 0
    """Random seed of the null and of the choice of points."""


@dataclass(frozen=True, slots=True)
class Subset(Result):
    """What the embeddings of some of the rows show.

    Attributes:
        name: as given.
        rows: how many.
        answers: how many with option 1 right, and with option 2, as written.
        twins: twins with both halves among the rows.
        parted: twins of which only one half is: singles that the filter made.
        singles: rows that were no half of a twin before.
        explained: the fractions of the variance along d1 and d2, 0–1, where the PCA was fitted.
        points: (d1, d2) of a choice of the rows; the same choice in every subset. Where vectors
            turn with the options, each is shown with its options in an order drawn at random.
        point_answers: 0 or 1 for each point.
        d1: how the answers lie along the first principal component, the paper's figure.
        axis: how they lie along the answer axis, which is fitted to tell them apart and read on
            held-out twins (`answer_axis`); within this subset alone.
    """

    name: str
    rows: int
    answers: tuple[int, int]
    twins: int
    parted: int
    singles: int
    explained: tuple[float, float]
    points: tuple[tuple[float, float], ...]
    point_answers: tuple[int, ...]
    d1: AnswerHistograms
    axis: AnswerHistograms


@dataclass(frozen=True, slots=True)
class Assessment(Result):
    """The subsets, in the order given, and how they were measured.

    Attributes:
        subsets: in the order given.
        settings: how they were measured.
        turns: whether vectors turn with the options, so that each problem was counted in both
            orders.
    """

    subsets: tuple[Subset, ...] = field(metadata={"rows": True})
    settings: AssessmentSettings
    turns: bool = False

    def panels(self) -> tuple[tuple[Svg, ...], ...]:
        """Return the first two components, the first one, and the answer axis of each subset."""
        clouds = [Cloud(s.name, s.points, s.point_answers, f"{s.rows:,} problems")
                  for s in self.subsets]  # fmt: skip

        def bars(name: str, found: AnswerHistograms) -> Bars:
            null, told = found.null, "no KL: it needs both answers"
            if found.kl is not None and null is not None:
                noise = f"noise {null.mean:.3f}, {null.low:.3f}–{null.high:.3f}"
                told = f"KL {found.kl:.3f} ({noise})"
            return Bars(name, found.edges, found.counts, told)

        return (
            tuple(draw_clouds(clouds)),
            histograms([bars(s.name, s.d1) for s in self.subsets], what="d₁"),
            histograms(
                [bars(s.name, s.axis) for s in self.subsets],
                what="answer axis, standard deviations",
            ),
        )

    def charts(self) -> list[Svg]:
        """Return the drawings of the paper's figure 1, and the answer axis."""
        return [svg for panel in self.panels() for svg in panel]


def assess(
    X: NDArray[Any],
    y: ArrayLike,
    subsets: Mapping[str, Iterable[int]],
    *,
    groups: Sequence[Sequence[int]] | None = None,
    blocks: Sequence[Sequence[int]] | None = None,
    turns: bool = True,
    settings: AssessmentSettings | None = None,
    shown: Iterable[int] | None = None,
) -> Assessment:
    """Measure how far apart the answers lie in the embeddings of each subset.

    Args:
        X: (n, d) embeddings, finite; where d is 1, d2 is 0.
        y: (n,) 0 if option 1 is right, 1 where option 2 is.
        subsets: name → rows; "all" is `range(n)`.
        groups: the rows of each twin, every row in one group, such as `Dataset.groups`; by
            default every row stands alone. Within a subset, a half whose other half is not in it
            is a single.
        blocks: the rows that are never parted between what a direction is fitted on and what it is
            read on, and whose answers the null flips together, such as `blocks.blocks(dataset)`;
            by default the groups.
        turns: whether swapping the options of a problem turns its vector around, as in those of
            `difference`; not so in `concat` and, usually, in vectors from elsewhere.
        settings: see `AssessmentSettings`.
        shown: the rows that may be drawn one by one as `Subset.points`; by default all.

    Raises:
        DataError: arrays or rows that do not fit together or are not finite; without `turns`, of
            one answer only.
    """
    settings = settings or AssessmentSettings()
    X, labels = checked_embeddings(X, y, alike=turns)
    chosen = {name: checked_rows_of(name, rows, len(X)) for name, rows in subsets.items()}
    group_of = np.arange(len(X)) if groups is None else number_rows(groups, len(X))
    block_of = group_of if blocks is None else number_rows(blocks, len(X))
    order = np.random.default_rng([settings.seed, 0]).permutation(len(X))
    sides = order % 2 if turns else labels
    drawable = np.full(len(X), shown is None)
    drawable[checked_rows_of("shown", () if shown is None else shown, len(X))] = True
    shared = _project(X, settings, turns)
    found = []
    for name, rows in chosen.items():
        axes, binning, where = shared
        where = where[rows]
        if settings.fit == "each" and len(rows):
            axes, binning, where = _project(X[rows], settings, turns)
        points = np.argsort(order[rows])
        points = points[drawable[rows[points]]][: settings.points]
        turned = np.where(labels == sides, 1.0, -1.0)[rows][points, None]
        found.append(
            Subset(
                name=name,
                rows=len(rows),
                answers=_pair(np.bincount(labels[rows], minlength=2)),
                **_twins(group_of, rows),
                explained=_pair(axes.explained, float),
                points=tuple(_pair(point, float) for point in turned * where[points]),
                point_answers=tuple(sides[rows][points].tolist()),
                **_along(name, X, rows, labels, block_of, where[:, 0], binning, settings, turns),
            )
        )
    return Assessment(tuple(found), settings, turns)


def checked_embeddings(
    X: NDArray[Any], y: ArrayLike, *, alike: bool = False
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return finite rows and their labels, 0 and 1; a column alone gets one of zeros next to it.

    With `alike` all labels may be the same.
    """
    X, labels = np.asarray(X), checked_labels(y, alike=alike).astype(np.intp)
    if X.ndim != 2 or X.shape[1] < 1:
        raise DataError(f"X must have rows and columns; its shape is {X.shape}")
    if len(labels) != len(X):
        raise DataError(f"X has {len(X)} rows, but y has {len(labels)} entries")
    finite = np.isfinite(X).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(f"row {row} of X holds NaN or infinity; embed that problem again")
    if X.shape[1] == 1:
        X = np.hstack([X, np.zeros_like(X)])
    return X, labels


def checked_rows_of(name: str, rows: Iterable[int], n: int) -> NDArray[np.intp]:
    """Return the rows of a subset, ascending; each is once there."""
    found = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows))
    if not len(found):
        return np.empty(0, np.intp)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.integer):
        raise DataError(f"the subset {name!r} must be a list of row numbers")
    if found.min() < 0 or found.max() >= n or len(np.unique(found)) < len(found):
        raise DataError(f"the subset {name!r} must name each row once, from 0 to {n - 1}")
    return np.sort(found.astype(np.intp))


def _project(
    X: NDArray[Any], settings: AssessmentSettings, turns: bool
) -> tuple[Axes, Binning, NDArray[np.float64]]:
    axes = principal_axes(X, 2, turns=turns)
    where = axes.coordinates(X)
    low, high = where[:, 0].min(), where[:, 0].max()
    if turns:
        high = max(-low, high)
        low = -high
    return axes, Binning.over(low, high, settings.bins, settings.bin_width), where


def _twins(group_of: NDArray[np.intp], rows: NDArray[np.intp]) -> dict[str, Any]:
    before = np.bincount(group_of)
    now = np.bincount(group_of[rows], minlength=len(before))
    twins, parted = int(((before == 2) & (now == 2)).sum()), int(((before == 2) & (now == 1)).sum())
    return {"twins": twins, "parted": parted, "singles": len(rows) - 2 * twins - parted}


def _along(
    name: str,
    X: NDArray[Any],
    rows: NDArray[np.intp],
    labels: NDArray[np.intp],
    block_of: NDArray[np.intp],
    d1: NDArray[np.float64],
    binning: Binning,
    settings: AssessmentSettings,
    turns: bool,
) -> dict[str, Any]:
    """Return how the answers of a subset lie along d1 and along the answer axis."""
    rng = np.random.default_rng([settings.seed, 1, zlib.crc32(name.encode("utf-8", "replace"))])
    groups = _groups_within(block_of[rows])
    numbers = number_rows(groups, len(rows))
    drawn = np.stack(
        [
            labels[rows],
            *(
                flip_labels(labels[rows], numbers, rng, permute=not turns)
                for _ in range(settings.draws)
            ),
        ]
    )
    axis = answer_axis(X[rows], drawn, groups, rng, turns=turns)
    scale = Binning.over(*RANGE, settings.bins)
    places = {"d1": (binning, d1), "axis": (scale, axis)}
    return {
        key: AnswerHistograms.of(
            bins,
            np.zeros((len(drawn), 2, bins.bins), np.intp)
            if where is None
            else _counted(bins, where, drawn, turns),
            smoothing=settings.smoothing,
            direction=settings.direction,
        )
        for key, (bins, where) in places.items()
    }


def _counted(
    bins: Binning, where: NDArray[np.float64], labels: NDArray[np.intp], turns: bool
) -> NDArray[np.intp]:
    """Return the histograms of both answers for each labelling; see `Binning.count`.

    Rows that turn are counted in both orders of their options: where the first is right, and turned
    around, where the second is.
    """
    if not turns:
        return bins.count(where, labels)
    first = np.where(labels == 0, where, -where)
    ways = [bins.count(way, np.zeros_like(labels))[..., 0, :] for way in (first, -first)]
    return np.stack(ways, axis=-2)


def _groups_within(group_of: NDArray[np.intp]) -> list[tuple[int, ...]]:
    """Return the rows of each group, numbered from 0 within the subset."""
    order = np.argsort(group_of, kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order])) + 1
    return [tuple(rows.tolist()) for rows in np.split(order, starts) if len(rows)]


def _pair(values: Iterable[Any], kind: type = int) -> Any:
    first, second = values
    return kind(first), kind(second)


_CHUNK = 8_192
"""Rows taken to double precision at once, so that 47,000 × 1,024 need no second copy."""

_DIGITS = 10
"""Coordinates keep this many digits of the largest, so that the last bit's noise of another
machine's linear algebra does not put a row into another bin."""


@dataclass(frozen=True)
class Axes:
    """The first principal components of some rows.

    Attributes:
        mean: (d,) of those rows; 0 if they turn with their options.
        directions: (d, k) orthonormal columns, by falling variance.
        explained: (k,) each one's fraction of the variance, 0–1.
    """

    mean: NDArray[np.float64]
    directions: NDArray[np.float64]
    explained: NDArray[np.float64]

    def coordinates(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Return the (n, k) coordinates of rows."""
        found = np.concatenate(
            [
                (X[start : start + _CHUNK].astype(np.float64) - self.mean) @ self.directions
                for start in range(0, max(len(X), 1), _CHUNK)
            ]
        )
        scale = 10.0 ** np.ceil(np.log10(np.abs(found).max(initial=0) or 1))
        rounded: NDArray[np.float64] = np.round(found / scale, _DIGITS) * scale
        return rounded


def principal_axes(X: NDArray[Any], k: int, *, turns: bool = False) -> Axes:
    """Return the first `k` principal components of the rows of X, or all d when d < k.

    They are the eigenvectors of the covariance in double precision: no random start, no
    tolerance. A component's sign, which is arbitrary, makes the loading of largest magnitude
    positive; it does not look at the answers. The linear algebra runs on one thread, because the
    order in which several add up may vary.

    Args:
        X: (n, d) with n ≥ 1.
        k: how many.
        turns: whether rows turn around when the options of their problems are swapped. Their mean
            is then 0, each problem being taken in both orders, and turning rows changes nothing.
    """
    from scipy.linalg import eigh

    d = X.shape[1]
    k = min(k, d)
    mean = np.zeros(d) if turns else X.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((d, d))
    with one_thread():
        for start in range(0, len(X), _CHUNK):
            part = X[start : start + _CHUNK].astype(np.float64) - mean
            covariance += part.T @ part
        values, vectors = eigh(covariance, subset_by_index=[d - k, d - 1])
    directions = vectors[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.where(directions[largest, range(k)] < 0, -1.0, 1.0)
    total = float(np.trace(covariance)) or 1.0
    return Axes(mean, directions, np.clip(values[::-1] / total, 0, 1))


RANGE = (-4.0, 4.0)
"""What the bins span, in standard deviations; what lies outside is in the outermost bins."""

_SHRINKAGE = 0.1
"""How much of the covariance is replaced by a sphere of the same trace, so that few rows in many
columns still give a direction (regularised discriminant analysis, Friedman 1989)."""

_DECIMALS = 9
"""Scores are rounded, so that the last bit's noise of another machine's linear algebra does not
put a row into another bin."""


def answer_axis(
    X: NDArray[Any],
    labels: NDArray[np.intp],
    groups: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    turns: bool = False,
) -> NDArray[np.float64] | None:
    """Return where the rows lie along the answer axis, once for each labelling.

    Args:
        X: (n, d) embeddings.
        labels: (k, n) labellings, 0 or 1.
        groups: rows that are never parted between the two halves; every row in one.
        rng: deals the groups to the halves.
        turns: whether rows turn around when the options of their problems are swapped. Each
            problem is then taken in both orders: the mean is 0, and the direction that to the rows
            turned to option 2.

    Returns:
        (k, n) positions in standard deviations, larger where option 2 is expected; None if a
        half is empty or, unless rows turn, does not hold both answers in every labelling.
    """
    half_of = np.empty(labels.shape[1], np.intp)
    for number, at in enumerate(rng.permutation(len(groups))):
        half_of[list(groups[at])] = number % 2
    found = np.zeros(labels.shape)
    with one_thread():  # several threads may add up in another order
        for half in (0, 1):
            train, test = np.flatnonzero(half_of != half), np.flatnonzero(half_of == half)
            seconds = labels[:, train].sum(axis=1)
            both = turns or bool(((seconds > 0) & (seconds < len(train))).all())
            if not len(test) or not len(train) or not both:
                return None
            found[:, test] = _read(X[train], labels[:, train], X[test], turns)
    rounded: NDArray[np.float64] = np.round(found, _DECIMALS)
    return rounded


def _read(
    X: NDArray[Any], labels: NDArray[np.intp], others: NDArray[Any], turns: bool
) -> NDArray[np.float64]:
    """Fit the discriminant of each labelling to X, and return where it puts other rows, (k, m)."""
    from scipy.linalg import cho_factor, cho_solve

    mean = np.zeros(X.shape[1]) if turns else X.mean(axis=0, dtype=np.float64)
    centred = X - mean
    covariance = centred.T @ centred / len(X)
    sphere = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _SHRINKAGE * sphere
    if turns:
        weights = np.where(labels == 1, 1.0, -1.0)  # their length means nothing
    else:
        seconds = labels.sum(axis=1, keepdims=True)
        weights = np.where(labels == 1, 1 / seconds, -1 / (labels.shape[1] - seconds))
    apart = (weights @ centred).T  # (d, k): mean of option 2 − mean of option 1
    directions = cho_solve(cho_factor(covariance), apart)
    spread = np.sqrt((directions * (covariance @ directions)).sum(axis=0))
    directions /= np.where(spread > 0, spread, 1)
    read: NDArray[np.float64] = ((others - mean) @ directions).T
    return read


_MOST_BINS = 100_000


@dataclass(frozen=True, slots=True)
class AnswerHistograms(Result):
    """How the two answers lie along an axis.

    Attributes:
        edges: of the bins.
        counts: of the bins, for option 1 and for option 2.
        kl: their divergence in nats, 0 or more; None if it can't be measured, as with one
            answer only.
        null: the same with the labels of whole blocks flipped; None with `kl`.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    kl: float | None
    null: Null | None

    @classmethod
    def of(
        cls,
        binning: Binning,
        counts: NDArray[np.intp],
        *,
        smoothing: float,
        direction: Direction,
    ) -> AnswerHistograms:
        """Return the divergence of the first of several pairs of histograms, the rest as its null.

        Args:
            binning: of the histograms.
            counts: (1 + draws, 2, bins), from `Binning.count`; the first is what was measured.
            smoothing: what is added to every bin of both histograms.
            direction: of the divergence.
        """
        shown = tuple(tuple(row) for row in counts[0].tolist())
        if not counts[0].sum(axis=-1).all():
            return cls(binning.edges, shown, None, None)
        found = divergence(counts[:, 0], counts[:, 1], smoothing=smoothing, direction=direction)
        kl, drawn = float(found[0]), found[1:]
        return cls(binning.edges, shown, kl, make_null(kl, drawn.tolist()))


@dataclass(frozen=True, slots=True)
class Binning:
    """How positions on an axis fall into bins of equal width.

    Attributes:
        low: the lower edge of the first bin.
        width: of a bin.
        bins: how many.
    """

    low: float
    width: float
    bins: int

    @classmethod
    def over(cls, low: float, high: float, bins: int, width: float | None = None) -> Binning:
        """Return `bins` equal bins from `low` to `high`, or bins of that `width`.

        Bins of a given width begin at multiples of it.

        Raises:
            DataError: the width asks for more than 100,000 bins.
        """
        if width is None:
            return cls(low, ((high - low) or 1.0) / bins, bins)
        start = float(np.floor(low / width))
        number = float(np.floor(high / width)) - start + 1
        if number > _MOST_BINS:
            raise DataError(
                f"bins of width {width:g} would be {number:,.0f}; the axis spans {high - low:.3g}: "
                "choose a larger width, or a number of bins"
            )
        return cls(start * width, float(width), int(number))

    @property
    def edges(self) -> tuple[float, ...]:
        """The edges of the bins, one more than there are bins."""
        return tuple((self.low + self.width * np.arange(self.bins + 1)).tolist())

    def count(self, positions: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many rows of each answer fall into each bin, (…, 2, bins).

        The largest position of the range is in the last bin, as in `numpy.histogram`; what lies
        outside is in the last bin on its side.

        Args:
            positions: (n,), or (k, n) with other positions for each labelling.
            labels: (n,) or (k, n), 0 or 1.
        """
        places = np.floor((positions - self.low) / self.width).astype(np.intp)
        places = np.clip(places, 0, self.bins - 1)
        places, labels = np.broadcast_arrays(places, labels)
        shape = (*labels.shape[:-1], 2, self.bins)
        cells = places + self.bins * labels
        cells += (2 * self.bins * np.arange(len(cells)))[:, None] if cells.ndim == 2 else 0
        return np.bincount(cells.ravel(), minlength=int(np.prod(shape))).reshape(shape)


def divergence(
    first: NDArray[Any], second: NDArray[Any], *, smoothing: float, direction: Direction = "1||2"
) -> Any:
    """Return KL(p || q) in nats between two histograms: sum over bins of p · ln(p / q).

    Each histogram becomes a distribution after `smoothing` is added to every bin of both, so
    that an empty bin does not make the divergence infinite. Leading axes broadcast.

    >>> round(float(divergence(np.array([8, 2]), np.array([2, 8]), smoothing=0.0)), 4)
    0.8318
    """
    if direction == "2||1":
        first, second = second, first
    p, q = first + smoothing, second + smoothing
    p = p / p.sum(axis=-1, keepdims=True)
    q = q / q.sum(axis=-1, keepdims=True)
    ratio = np.log(np.where(p > 0, p, 1)) - np.log(np.where(p > 0, q, 1))
    forward = np.maximum((p * ratio).sum(axis=-1), 0)
    if direction == "mean":
        return (forward + divergence(second, first, smoothing=smoothing)) / 2
    return forward
