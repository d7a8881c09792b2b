"""PMI filtering: remove the twins whose words predict their answers (WinoGrande, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith import formats, metrics
from winosmith.dataset import Dataset
from winosmith.debias._rows import get_problem_labels, make_read_only
from winosmith.errors import InputError
from winosmith.options import PmiLabel, PmiVariant, Positive, Seed, checked
from winosmith.results import HIDDEN, Result

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PmiResult(Result):
    """The rows that a PMI filter kept and removed.

    Attributes:
        kept: The kept rows, in ascending order.
        removed: The removed rows, in ascending order.
        scores: (n,) the score of each row's twin, the same for both halves; NaN for singles, which
            have no score.
        variant: The formula that scored the twins; see `pmi`.
        label: The option that is correct if y = 1.
        smoothing: The number added to each count.
    """

    kept: NDArray[np.intp] = field(metadata={"json": len})
    removed: NDArray[np.intp] = field(metadata={"json": len})
    scores: Floats = field(metadata=HIDDEN)
    variant: PmiVariant
    label: PmiLabel
    smoothing: float

    def __post_init__(self) -> None:
        make_read_only(self.kept, self.removed, self.scores)


@checked
def pmi(
    data: Any,
    *,
    size: int,
    variant: PmiVariant = "signed",
    label: PmiLabel = "first-mentioned",
    smoothing: Positive = metrics.PMI_SMOOTHING,
    seed: Seed = 0,
) -> PmiResult:
    """Keep the twins whose halves are hard to distinguish by their words.

    A twin with the halves t1 and t2 scores ``f(t1, t2) = Σ_{w in t1} PMI(y=1; w) - Σ_{w in t2}
    PMI(y=1; w)``; "we only retain twins that have a small difference" (WinoGrande, section 3).
    Words shared by both halves cancel out, so f depends on the trigger words. The variants are
    those of the paper's footnote 7:

    - "signed": f unchanged.
    - "absolute": |f|.
    - "max": the largest PMI(y; w) of a word of either half with that half's own answer.
    - "pairwise": f over unordered pairs of distinct words of a sentence, instead of over words.

    The paper leaves some details open, which are settled as follows:

    - The meaning of "y=1": by default (`label="first-mentioned"`), the option that the sentence
      mentions first is correct, so that swapping the options of a problem changes no score; see
      `metrics.find_first_mentioned_options`. `label="option-1"` is the paper's definition: option 1
      is correct. Swapping options then changes the scores. In WinoGrande's train_xl both
      definitions agree in 89 % of the problems; if options are in random order, they agree in half.
    - The order of the halves: t1 is the half whose answer is that option (if this is true of both
      halves or neither, the half whose id sorts first). So f is high if the words reveal the
      answers, and negative if the words mislead. Twins with a strongly negative f are kept with
      "signed", but not with "absolute".
    - Words are defined by `metrics.count_words`. A word that occurs twice in a sentence is added
      twice to the sum, but counted once for the PMI, which counts problems.
    - A twin is exactly two problems with the same `twin_id`. Any other problem is a single. f is
      defined only for twins: for a single, its sign would depend on the label, so that problems
      with one answer would be kept and problems with the other removed. The words of singles are
      counted, but singles have no score. Singles are drawn at random at the same rate as twins are
      kept.

    Args:
        data: Two-option problems with known answers, as a data set or any input of `formats.read`.
        size: The number of problems to keep, as whole twins in ascending order of their scores.
            Ties are broken at random, not by the order of the data.
        variant: The formula for a twin's score.
        label: The option that is correct if y = 1.
        smoothing: The number added to each count of a word with an answer, above 0.
        seed: The random seed for ties and singles.

    Raises:
        DataError: The problems are invalid for `get_problem_labels`.
        RecipeError: A parameter is out of range.
        InputError: `size` is not in the range from 0 to the number of problems.
    """
    data = formats.as_dataset(data)
    if not 0 <= size <= len(data):
        raise InputError(f"size is {size}; choose 0 to {len(data)}, the number of problems")
    scores = _score_twins(data, variant, label, smoothing)
    drawn = np.random.default_rng(seed).permutation(len(data)).tolist()
    rank = dict(zip(sorted(data.ids), drawn, strict=True))
    place = [rank[problem_id] for problem_id in data.ids]
    ranked = sorted(data.twins, key=lambda twin: (scores[twin[0]], min(place[row] for row in twin)))
    unpaired = sorted(data.singles, key=place.__getitem__)
    # Twins and singles are kept at the same rate; if possible, whole twins fill the rest of `size`.
    rate = size * len(unpaired) / len(data)
    possible = range(max(0, size - 2 * len(ranked)), min(len(unpaired), size) + 1)
    even = [count for count in possible if (size - count) % 2 == 0]
    count = min(even or possible, key=lambda count: (abs(count - rate), count))
    chosen = ranked[: (size - count) // 2]
    kept = np.array(sorted([*unpaired[:count], *(row for twin in chosen for row in twin)]), np.intp)
    removed = np.setdiff1d(np.arange(len(data)), kept)
    return PmiResult(kept, removed, scores, variant, label, smoothing)


def _score_twins(data: Dataset, variant: PmiVariant, label: PmiLabel, smoothing: float) -> Floats:
    first = metrics.find_first_mentioned_options(data) if label == "first-mentioned" else 0
    labels = np.asarray(get_problem_labels(data) != first, np.intp)  # 0 for rows with y = 1
    words, _ = metrics.count_words(data)
    features = metrics.make_word_pair_matrix(words) if variant == "pairwise" else words
    information = metrics.compute_pmi_with_answers(features, labels, smoothing)
    scores = np.full(len(data), np.nan)
    if variant == "max":

        def find_largest(row: int) -> float:
            present = features.indices[features.indptr[row] : features.indptr[row + 1]]
            return float(information[labels[row], present].max()) if len(present) else 0.0

        for twin in data.twins:
            scores[list(twin)] = max(map(find_largest, twin))
        return scores
    sums = features @ information[0]
    for one, other in data.twins:
        t1, t2 = sorted((one, other), key=lambda row: (labels[row], data.ids[row]))
        scores[[one, other]] = sums[t1] - sums[t2]
    return np.abs(scores) if variant == "absolute" else scores
