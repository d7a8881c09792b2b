"""PMI filtering: drop the twins whose words lean to their answers (WinoGrande, section 3)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.debias._labels import problem_labels
from winosmith.errors import InputError
from winosmith.metrics import PMI_SMOOTHING, pair_counts, pmi_with_answers, word_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PmiResult", "PmiVariant", "pmi", "word_pmi"]

PmiVariant = Literal["signed", "absolute", "max", "pairwise"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PmiResult:
    """What a PMI filter kept and removed.

    Attributes:
        kept: ascending rows that were kept.
        removed: ascending rows that were removed.
        scores: (n,) the score of each row's twin; both halves have the same. NaN for singles that
            were kept without a score.
        variant: how twins were scored.
        smoothing: what was added to the counts.
    """

    kept: NDArray[np.intp]
    removed: NDArray[np.intp]
    scores: Floats
    variant: PmiVariant
    smoothing: float

    def __post_init__(self) -> None:
        arrays: tuple[NDArray[np.generic], ...] = (self.kept, self.removed, self.scores)
        for array in arrays:
            array.flags.writeable = False


def pmi(
    data: Dataset,
    *,
    size: int | None = None,
    threshold: float | None = None,
    variant: PmiVariant = "signed",
    smoothing: float = PMI_SMOOTHING,
    singles: Literal["score", "keep"] = "score",
    seed: int = 0,
) -> PmiResult:
    """Keep the twins that are hard to tell apart by their words.

    A twin with the halves t1 and t2 scores
    ``f(t1, t2) = Σ_{w in t1} PMI(y=1; w) - Σ_{w in t2} PMI(y=1; w)``; "we only retain twins that
    have a small difference" (WinoGrande, section 3). Words that both halves share cancel out, so
    f is about their trigger words. The variants are those of the paper's footnote 7:

    - "signed": f as it stands.
    - "absolute": |f|.
    - "max": the largest PMI(y; w) of a word of either half with that half's own answer.
    - "pairwise": f over unordered pairs of distinct words of a sentence in place of words.

    What the paper leaves open, and what is done here:

    - Which half is t1: the one whose answer is option 1 (the first row, should both or neither
      have it). So f is high when the words give the answers away, negative when they mislead; a
      strongly negative f is small, and kept, by "signed", and not by "absolute".
    - Words are lower-cased tokens, the blank left out; a word that occurs twice in a sentence is
      summed twice, but counted once for the PMI, a problem being the unit of the counts.
    - A twin is two problems, and no third, with one `twin_id`. Any other problem is a single, and
      is scored as a twin whose other half is empty. Nothing cancels then, so its score lies
      further from zero than a twin's; `singles="keep"` keeps them all unscored instead.

    Args:
        data: two-option problems with known answers.
        size: how many problems to keep: whole twins from the lowest score up, as many as fit;
            ties are broken by a draw, not by the order of the data.
        threshold: instead of `size`: keep what scores below.
        variant: how twins are scored.
        smoothing: added to each count of a word with an answer, above 0.
        singles: "score" or "keep".
        seed: of the draw for ties.

    Raises:
        DataError: see `problem_labels`.
        InputError: not exactly one of `size` and `threshold`; a parameter is out of its range; more
            singles are to be kept than `size` has room for.
    """
    _check(len(data), size, threshold, variant, smoothing, singles)
    labels = problem_labels(data)
    groups: list[tuple[int, ...]] = [*data.twins, *((row,) for row in data.singles)]
    scores = _scores(data, labels, groups, variant, smoothing)
    given: list[int] = []
    if singles == "keep":
        given = list(data.singles)
        scores[given] = np.nan
        groups = list(data.twins)
    ranked = _ranked(data, groups, scores, seed)
    if threshold is not None:
        chosen = [group for group in ranked if scores[group[0]] < threshold]
    else:
        chosen = _fitting(ranked, int(size or 0) - len(given))
    kept = np.array(sorted([*given, *(row for group in chosen for row in group)]), np.intp)
    removed = np.setdiff1d(np.arange(len(data)), kept)
    return PmiResult(kept, removed, scores, variant, smoothing)


def word_pmi(data: Dataset, *, smoothing: float = PMI_SMOOTHING) -> dict[str, float]:
    """Return PMI(y=1; w) in nats for each word, from the one that speaks most for option 1 down.

    Raises:
        DataError: see `problem_labels`.
        InputError: `smoothing` is not above 0.
    """
    _check_smoothing(smoothing)
    counts, vocabulary = word_counts(data)
    first = pmi_with_answers(counts, problem_labels(data), smoothing)[0]
    order = np.argsort(-first, kind="stable")
    return {vocabulary[word]: float(first[word]) for word in order}


def _scores(
    data: Dataset,
    labels: NDArray[np.int8],
    groups: list[tuple[int, ...]],
    variant: PmiVariant,
    smoothing: float,
) -> Floats:
    """Return the score of each row's twin or single."""
    words, _ = word_counts(data)
    features = pair_counts(words) if variant == "pairwise" else words
    information = pmi_with_answers(features, labels, smoothing)
    scores = np.empty(len(data))
    if variant == "max":
        own = _largest(features, information, labels)
        for group in groups:
            scores[list(group)] = own[list(group)].max()
        return scores
    sums = features @ information[0]
    for group in groups:
        scores[list(group)] = _difference(sums, labels, group)
    return np.abs(scores) if variant == "absolute" else scores


def _difference(sums: Floats, labels: NDArray[np.int8], group: tuple[int, ...]) -> float:
    """Return f(t1, t2), t1 the half whose answer is option 1; 0 for the half that is missing."""
    if len(group) == 1:
        return float(sums[group[0]] if labels[group[0]] == 0 else -sums[group[0]])
    first, second = group
    if labels[first] == 1 and labels[second] == 0:
        first, second = second, first
    return float(sums[first] - sums[second])


def _largest(features: csr_array, information: Floats, labels: NDArray[np.int8]) -> Floats:
    """Return each row's largest PMI of a feature with the row's own answer; 0 without features."""
    starts = features.indptr
    return np.array(
        [
            information[labels[row], features.indices[first:last]].max() if last > first else 0.0
            for row, (first, last) in enumerate(itertools.pairwise(starts))
        ]
    )


def _ranked(
    data: Dataset, groups: list[tuple[int, ...]], scores: Floats, seed: int
) -> list[tuple[int, ...]]:
    """Return the groups from the lowest score up, ties in an order drawn over the sorted ids."""
    place = {problem_id: number for number, problem_id in enumerate(sorted(data.ids))}
    draw = np.random.default_rng(seed).permutation(len(place))
    return sorted(
        groups,
        key=lambda group: (scores[group[0]], min(draw[place[data.ids[row]]] for row in group)),
    )


def _fitting(ranked: list[tuple[int, ...]], room: int) -> list[tuple[int, ...]]:
    """Return the first groups that fit, passing over one that no longer does."""
    if room < 0:
        raise InputError(f"size is too small by {-room} to keep all singles")
    chosen = []
    for group in ranked:
        if len(group) <= room:
            chosen.append(group)
            room -= len(group)
    return chosen


def _check(
    rows: int,
    size: int | None,
    threshold: float | None,
    variant: str,
    smoothing: float,
    singles: str,
) -> None:
    if (size is None) == (threshold is None):
        raise InputError("either size or threshold is needed, and not both")
    if size is not None and not 0 <= size <= rows:
        raise InputError(f"size is 0 to {rows}, the number of problems; not {size}")
    if threshold is not None and math.isnan(threshold):
        raise InputError("threshold is a number, not NaN")
    if variant not in get_args(PmiVariant):
        raise InputError(f"variant is one of {', '.join(get_args(PmiVariant))}; not {variant!r}")
    if singles not in ("score", "keep"):
        raise InputError(f"singles is 'score' or 'keep', not {singles!r}")
    _check_smoothing(smoothing)


def _check_smoothing(smoothing: float) -> None:
    if not 0 < smoothing < math.inf:
        raise InputError(f"smoothing is a number above 0, not {smoothing}")
