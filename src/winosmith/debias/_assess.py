"""Assess what a filter did to the embeddings: PCA, the answers along an axis, KL beside a null.

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
that of the null before any filter. So the same figure is measured along the answer axis too.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from winosmith.debias._assess_axis import RANGE, answer_axis
from winosmith.debias._assess_input import checked_embeddings, checked_rows_of
from winosmith.debias._assess_kl import Along, Binning
from winosmith.debias._assess_pca import Axes, principal_axes
from winosmith.debias._assess_settings import AssessmentSettings
from winosmith.debias._groups import numbered
from winosmith.debias._null import flipped


@dataclass(frozen=True, slots=True)
class Subset:
    """What the embeddings of some of the rows show.

    Attributes:
        name: as given.
        rows: how many.
        answers: how many with option 1 right, and with option 2, as written.
        twins: twins with both halves among the rows.
        parted: twins of which only one half is: singles that the filter made.
        singles: rows that were no half of a twin before.
        explained: the shares of the variance along d1 and d2, 0–1, where the PCA was fitted.
        points: (d1, d2) of a choice of the rows; the same choice in every subset. Where vectors
            turn with the options, each is shown with its options in an order drawn at random.
        point_answers: 0 or 1 for each point.
        d1: how the answers lie along the first principal component, the paper's figure.
        axis: how they lie along the answer axis, which is fitted to tell them apart and read on
            held-out twins (`_assess_axis`); within this subset alone.
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
    d1: Along
    axis: Along


@dataclass(frozen=True, slots=True)
class Assessment:
    """The subsets, in the order given, and how they were measured.

    Attributes:
        subsets: in the order given.
        settings: how they were measured.
        turns: whether vectors turn with the options, so that each problem was counted in both
            orders.
    """

    subsets: tuple[Subset, ...]
    settings: AssessmentSettings
    turns: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON can hold it, unrounded."""
        return asdict(self)


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
        y: (n,) 0 where option 1 is right, 1 where option 2 is.
        subsets: name → rows; "all" is `range(n)`.
        groups: the rows of each twin, every row in one group, such as `Dataset.groups`; by
            default every row stands alone. Within a subset, a half whose other half is not in it
            is a single.
        blocks: the rows that are never parted between what a direction is fitted on and what it is
            read on, and whose answers the null flips together, such as `blocks.blocks(dataset)`;
            by default the groups.
        turns: whether swapping the options of a problem turns its vector around, as in those of
            `difference`; not so in `concat` and, as a rule, in vectors from elsewhere.
        settings: see `AssessmentSettings`.
        shown: the rows that may be drawn one by one as `Subset.points`; by default all.

    Raises:
        DataError: arrays or rows that do not fit together or are not finite; without `turns`, of
            one answer only.
    """
    settings = settings or AssessmentSettings()
    X, labels = checked_embeddings(X, y, alike=turns)
    chosen = {name: checked_rows_of(name, rows, len(X)) for name, rows in subsets.items()}
    group_of = np.arange(len(X)) if groups is None else numbered(groups, len(X))
    block_of = group_of if blocks is None else numbered(blocks, len(X))
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
    numbers = numbered(groups, len(rows))
    drawn = np.stack(
        [
            labels[rows],
            *(
                flipped(labels[rows], numbers, rng, permute=not turns)
                for _ in range(settings.draws)
            ),
        ]
    )
    axis = answer_axis(X[rows], drawn, groups, rng, turns=turns)
    scale = Binning.over(*RANGE, settings.bins)
    places = {"d1": (binning, d1), "axis": (scale, axis)}
    return {
        key: Along.of(
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
