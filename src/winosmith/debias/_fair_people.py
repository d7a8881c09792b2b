"""What is measured of people's agreement, and of labels that may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.debias._dynamics import Dynamics
from winosmith.debias._figure import Mask, Measure, share_of
from winosmith.debias._people import ambiguous, fresh_right, human_agreement, vote_counts


def people_measures(pool: Dataset, votes: Sequence[Response]) -> Iterator[Measure]:
    """Yield the agreement of judges, and the accuracy of people who had not judged.

    Agreement is no accuracy: problems were kept because judges agreed with their answers.
    """
    agreement = human_agreement(pool, votes)
    if not np.isnan(agreement).all():
        unanimous = np.where(np.isnan(agreement), np.nan, agreement == 1)
        yield share_of("people", "votes for the answer", agreement)
        yield share_of("people", "all judges chose the answer", unanimous)
        yield share_of("people", "called ambiguous by a judge", ambiguous(pool, votes))
        yield Measure("people", "Krippendorff's alpha of the judges", ".3f", _alpha(pool, votes))
    fresh = fresh_right(pool, votes)
    if not np.isnan(fresh).all():
        yield share_of("people", "right by the majority of a human test", fresh)


def _alpha(pool: Dataset, votes: Sequence[Response]) -> Any:
    """Return Krippendorff's alpha of any subset; see `metrics.krippendorff_alpha`."""
    counts = vote_counts(pool, votes)
    answers = counts.sum(axis=1)
    several = answers >= 2
    differing = np.zeros(len(counts))
    pairs = answers**2 - (counts**2).sum(axis=1)
    np.divide(pairs, answers - 1, out=differing, where=several)

    def of(mask: Mask) -> float:
        rows = mask & several
        total = counts[rows].sum(axis=0)
        n = int(total.sum())
        expected = n**2 - int((total**2).sum())
        return 1 - (n - 1) * float(differing[rows].sum()) / expected if expected else float("nan")

    return of


def label_measures(
    dynamics: Dynamics | None, marks: Mapping[str, NDArray[Any]]
) -> Iterator[Measure]:
    """Yield signs of wrong labels, and whatever is known of the problems.

    Swayamdipta et al. (2020, "Dataset Cartography", section 3) call the third with the lowest mean
    probability of the label *hard to learn*, that with the highest *easy to learn*, and the third
    with the most varying probability *ambiguous*; thirds of the pool, here. Hard to learn is where
    they find label errors (section 5). The map is a model's: what a filter keeps is hard for
    models, and some of what these figures show is just that.
    """
    if dynamics is not None:
        yield share_of("labels", "confidence in the label", dynamics.confidence, ".3f")
        yield share_of("labels", "variability of that", dynamics.variability, ".3f")
        for name, third in dynamics.regions().items():
            yield share_of("labels", name, third)
        yield share_of("labels", "label thought less likely than not", dynamics.doubted())
        if dynamics.correctness is not None:
            never = np.where(np.isnan(dynamics.correctness), np.nan, dynamics.correctness == 0)
            yield share_of("labels", "never learnt", never)
    for name, mark in marks.items():
        yield share_of("labels", name, mark)
