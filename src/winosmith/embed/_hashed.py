"""The stranger: words after the blank, hashed; it has learnt nothing from the problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from winosmith.embed._embedder import Combine, Vectors, check_combine, check_two_options, combined
from winosmith.embed._light import FIRST, LONGER, Sides, sides
from winosmith.problem import Problem


@dataclass(frozen=True)
class HashedEmbedder:
    """Problems into vectors without learning anything: a second opinion on what a filter left.

    An option is mentioned first or not, and has more letters or not. Its features are these two
    marks, and each of them with each word after the blank ("the option mentioned first, because
    _ was *late*"). They are hashed into signed columns (the hashing trick, Weinberger et al.
    2009); the vector of a problem is option 1's minus option 2's, scaled to length 1. So it
    depends on that problem alone, and turns around when its options are swapped. It knows nothing
    of the options' own words, which the light embedder reads, but keeps words apart that lie
    together there.

    Attributes:
        dimensions: the width of an option's vector, 2 or more.
        combine: "difference" or "concat"; see `Combine`.

    >>> ann = Problem("1", "They praised Ann and blamed Beth, as _ was late.", ("Ann", "Beth"))
    >>> HashedEmbedder(256).embed([ann]).shape
    (1, 256)
    """

    dimensions: int = 512
    combine: Combine = "difference"

    @property
    def parameters(self) -> dict[str, Any]:
        """What determines the vectors, beside the problems; for signatures and recipes."""
        return {"embedder": "hashed", "dimensions": self.dimensions, "combine": self.combine}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one vector a problem, (n, d) float32; d is `dimensions`, or twice that.

        Raises:
            DataError: a problem with more than two options.
        """
        from sklearn.feature_extraction import FeatureHasher

        check_combine(self.combine)
        check_two_options(problems)
        read = [sides(problem) for problem in problems]
        hasher = FeatureHasher(self.dimensions, input_type="string", dtype=np.float32)
        first, second = (
            hasher.transform(_features(one, option) for one in read).toarray() for option in (0, 1)
        )
        lengths = np.linalg.norm(first - second, axis=1)[:, None, None]
        options: Vectors = np.stack([first, second], axis=1)
        options /= np.where(lengths > 0, lengths, 1)
        return combined(options, self.combine)


def _features(read: Sides, option: int) -> Iterator[str]:
    for mark in (FIRST, LONGER):
        if mark in read.attributes[option]:
            yield mark
            yield from (f"{mark} {cue}" for cue in read.cues)
