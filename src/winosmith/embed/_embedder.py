"""The protocols of embedders, and `OptionsEmbedder`, which reads only the options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from winosmith import seen
from winosmith.errors import DataError
from winosmith.options import TwoOrMore, checked_class
from winosmith.problem import Problem
from winosmith.text import detect_script, split_units

Vectors = npt.NDArray[np.float32]

Combine = Literal["difference", "concat"]
"""How the vectors v of the two filled-in sentences are combined into the problem's vector:

- `difference`: v(option 1 filled in) − v(option 2 filled in). Common parts cancel, and swapping the
  options flips the sign.
- `concat`: v(option 1 filled in) followed by v(option 2 filled in), with twice the width.
"""


class Embedder(Protocol):
    """Turns problems into vectors, without using their answers.

    The same problems always give bitwise equal vectors.
    """

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one finite vector per problem, in the problems' order, as (n, d) float32."""
        ...


class TextEmbedder(Protocol):
    """Turns texts into vectors, like `OptionsEmbedder` and `EncoderEmbedder`."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that determine the vectors."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return one finite vector per text, in the texts' order, as (n, d) float32."""
        ...


def combine_options(options: Vectors, combine: Combine) -> Vectors:
    """Combine (n, 2, d) option vectors into (n, d) or (n, 2 d) problem vectors.

    >>> combine_options(np.array([[[1, 2], [3, 5]]], np.float32), "difference").tolist()
    [[-2.0, -3.0]]
    >>> combine_options(np.array([[[1, 2], [3, 5]]], np.float32), "concat").tolist()
    [[1.0, 2.0, 3.0, 5.0]]
    """
    if combine == "difference":
        return options[:, 0] - options[:, 1]
    return options.reshape(len(options), -1)


def check_two_options(problems: Sequence[Problem]) -> None:
    advice = "a vector combines two options, so recast them as two-way comparisons or remove them"
    seen.check_two_options(problems, advice)


NGRAM_LENGTHS = (3, 4)


@checked_class
@dataclass(frozen=True)
class OptionsEmbedder:
    """Turns each option into a vector that ignores the sentence and the other options.

    From these vectors, a model can predict only answers that the options' wording reveals, or that
    are known without the question ("the sun is cold" is never correct). An option's features are
    its words and pairs of adjacent words (characters and character bigrams in text without spaces
    between words), or sequences of letters. The features are hashed into signed columns (the
    hashing trick, Weinberger et al. 2009) and scaled to length 1. Two additional columns mark a
    problem's longest and shortest option, in characters, unless there are ties.

    Attributes:
        dimensions: number of hashed columns, 2 or more.
        combine: how the vectors of two options are combined; see `Combine`.
        features: "words" for words and word pairs, or "letters" for sequences of three and four
            letters.

    Raises:
        RecipeError: a value is out of range.

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
        return {"embedder": "options", **asdict(self)}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return one vector per problem, as (n, d) float32; each problem must have two options.

        Raises:
            DataError: there are no problems, or one has more than two options.
        """
        check_two_options(problems)
        return combine_options(self.embed_options(problems), self.combine)

    def embed_options(self, problems: Sequence[Problem]) -> Vectors:
        """Return the vectors of all options, as (problems, K, dimensions) float32.

        K is the maximum number of options; missing options are padded with zeros.

        Raises:
            DataError: there are no problems.
        """
        if not len(problems):
            raise DataError("there are no problems to embed")
        hashed = self.embed_texts([option for problem in problems for option in problem.options])
        marks = []  # flags of the longest and the shortest option; ties get no flag
        for problem in problems:
            sizes = np.array([len(option.strip()) for option in problem.options])
            ends = [sizes == sizes.max(), sizes == sizes.min()]
            marks.append(np.stack([end if end.sum() == 1 else 0 * end for end in ends], 1))
        rows = np.hstack([hashed, np.concatenate(marks).astype(np.float32)])
        return pad_options(rows, [len(problem.options) for problem in problems])

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return each text's vector, as (n, dimensions) float32, without the length columns."""
        rows = hash_features(map(self._iterate_features, texts), self.dimensions)
        found: Vectors = (rows / compute_nonzero_lengths(rows)).astype(np.float32)
        return found

    def _iterate_features(self, option: str) -> Iterator[str]:
        words = split_units(option)
        if self.features == "words":
            yield from words
            if detect_script(option) == "unspaced":
                return  # the units already include pairs
            yield from (f"{a} {b}" for a, b in zip(["", *words], [*words, ""], strict=True))
            return
        text = f" {' '.join(words)} "
        for length in NGRAM_LENGTHS:
            yield from (text[at : at + length] for at in range(max(1, len(text) - length + 1)))


def compute_nonzero_lengths(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the length of each row, with 1 in place of 0, as an (n, 1) array."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, lengths, 1)


def hash_features(texts: Iterable[Iterable[str]], columns: int) -> Vectors:
    """Hash and count each text's features in signed columns; return an (n, columns) array.

    This is the hashing trick, with the hash function and signs of scikit-learn's `FeatureHasher`.
    See Weinberger et al. (2009).

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
    """Stack option rows by problem into a (problems, options, columns) array, padded with zeros.

    >>> pad_options(np.ones((3, 1), np.float32), [1, 2])[:, :, 0].tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    found = np.zeros((len(counts), max(counts), rows.shape[1]), np.float32)
    found[np.arange(max(counts)) < np.asarray(counts)[:, None]] = rows
    return found
