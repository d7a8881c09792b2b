"""`Embedder` turns problems into vectors; `OptionsEmbedder` reads only the options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from winosmith import seen
from winosmith.errors import DataError
from winosmith.options import TwoOrMore, checked_class
from winosmith.problem import Problem
from winosmith.text import kind_of_script, units

Vectors = npt.NDArray[np.float32]

Combine = Literal["difference", "concat"]
"""How the vectors v of the two filled-in sentences become the one of the problem:

- `difference`: v(option 1 filled in) − v(option 2 filled in), of v's width. Common parts
  cancel out, and swapping the options turns the vector around.
- `concat`: v(option 1 filled in) followed by v(option 2 filled in), twice v's width.
"""


class Embedder(Protocol):
    """Turns problems into vectors, without their answers.

    Answers kept, flipped or absent give equal vectors; the same problems give the same bytes.
    """

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one finite vector a problem, (n, d) float32, in the order of the problems."""
        ...


class TextEmbedder(Protocol):
    """Turns texts into vectors independently: `OptionsEmbedder`, `EncoderEmbedder`."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that determine the vectors."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return one finite vector a text, (n, d) float32, in the order of the texts."""
        ...


def combine_options(options: Vectors, combine: Combine) -> Vectors:
    """Return the problems' vectors, (n, d) or (n, 2 d), from those of their options, (n, 2, d).

    >>> combine_options(np.array([[[1, 2], [3, 5]]], np.float32), "difference").tolist()
    [[-2.0, -3.0]]
    >>> combine_options(np.array([[[1, 2], [3, 5]]], np.float32), "concat").tolist()
    [[1.0, 2.0, 3.0, 5.0]]
    """
    if combine == "difference":
        return options[:, 0] - options[:, 1]
    return options.reshape(len(options), -1)


def check_two_options(problems: Sequence[Problem]) -> None:
    """Refuse problems with more than two options, with a DataError that names the first three."""
    advice = "a vector is of two options, so recast them as two-way comparisons or remove them"
    seen.check_two_options(problems, advice)


LETTERS = (3, 4)
"""How many letters in a row are a feature."""


@checked_class
@dataclass(frozen=True)
class OptionsEmbedder:
    """Turns the options of problems into vectors, without the sentence and each other.

    A model can guess from them only answers that the wording of the options gives away, or that
    are known without the question ("the sun is cold" is never correct). An option's
    words and pairs of neighbouring words (without spaces between words: letters and pairs of
    letters), or its letters, are hashed into signed columns (the
    hashing trick, Weinberger et al. 2009) and scaled to length 1. Two more columns mark whether it
    is the longest of its problem, and whether it is the shortest, in characters; of several as
    long none is.

    Attributes:
        dimensions: columns that are hashed into, 2 or more.
        combine: how two options become one vector; see `Combine`.
        features: "words", or "letters", three and four in a row.

    Raises:
        RecipeError: a value out of range.

    >>> ann = Problem("1", "They praised Ann, as _ was early.", ("Ann", "Beth", "both of them"))
    >>> OptionsEmbedder(64).embed_options([ann]).shape
    (1, 3, 66)
    """

    dimensions: TwoOrMore = 512
    combine: Combine = "difference"
    features: Literal["words", "letters"] = "words"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the vectors, for signatures and recipes."""
        return {
            "embedder": "options",
            "dimensions": self.dimensions,
            "combine": self.combine,
            "features": self.features,
        }

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one vector a problem of two options, (n, d) float32; see `combine`.

        Raises:
            DataError: no problem, or one with more than two options.
        """
        check_two_options(problems)
        return combine_options(self.embed_options(problems), self.combine)

    def embed_options(self, problems: Sequence[Problem]) -> Vectors:
        """Return the vectors of all options, (n, K, d) float32.

        K is the largest number of options; beyond a problem's own there are zeros.

        Raises:
            DataError: no problem.
        """
        if not len(problems):
            raise DataError("there is no problem to embed")
        hashed = self.embed_texts([option for problem in problems for option in problem.options])
        marks = np.concatenate([_mark_options(problem.options) for problem in problems])
        rows = np.hstack([hashed, marks])
        return pad_options(rows, [len(problem.options) for problem in problems])

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, (n, dimensions) float32, without the marks of length."""
        rows = hash_features(map(self._features, texts), self.dimensions)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        found: Vectors = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return found

    def _features(self, option: str) -> Iterator[str]:
        words = units(option)
        if self.features == "words":
            yield from words
            if kind_of_script(option) == "unspaced":
                return  # pairs of neighbours are among the units
            yield from (f"{a} {b}" for a, b in zip(["", *words], [*words, ""], strict=True))
            return
        text = f" {' '.join(words)} "
        for length in LETTERS:
            yield from (text[at : at + length] for at in range(max(1, len(text) - length + 1)))


def hash_features(texts: Iterable[Iterable[str]], columns: int) -> Vectors:
    """Return the number of times each text has each feature, in signed columns, (n, columns).

    The hashing trick (Weinberger et al. 2009), with the hash and the signs of scikit-learn's
    `FeatureHasher`.

    >>> hash_features([["a", "b", "a"], []], 4).tolist()
    [[0.0, -1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    import mmh3

    hashes = [np.array([mmh3.hash(feature) for feature in text], np.int64) for text in texts]
    numbers = np.concatenate([np.empty(0, np.int64), *hashes])
    found = np.zeros((len(hashes), columns), np.float32)
    row = np.repeat(np.arange(len(hashes)), list(map(len, hashes)))
    np.add.at(found, (row, np.abs(numbers) % columns), np.where(numbers < 0, -1, 1))
    return found


def pad_options(rows: Vectors, counts: Sequence[int]) -> Vectors:
    """Return the options of problems, one after the other, as (n, K, d), zeros beyond the last.

    >>> pad_options(np.ones((3, 1), np.float32), [1, 2])[:, :, 0].tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    found = np.zeros((len(counts), max(counts), rows.shape[1]), np.float32)
    found[np.arange(max(counts)) < np.asarray(counts)[:, None]] = rows
    return found


def _mark_options(options: Sequence[str]) -> Vectors:
    """Return which option is the longest and which the shortest, (K, 2)."""
    sizes = np.array([len(option.strip()) for option in options])
    ends = [sizes == sizes.max(), sizes == sizes.min()]
    return np.stack([end if end.sum() == 1 else 0 * end for end in ends], 1).astype(np.float32)
