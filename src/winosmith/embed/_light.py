"""The light embedder, which needs no download and takes seconds for all of WinoGrande.

Bags of words are projected to a few dimensions: the leading right singular vectors of a sparse
matrix of contrasts. Vectors are exact up to rounding, ties are never split, and signs are fixed, so
that the result does not depend on the library.

The hashed embedder hashes the words after the blank, without learning from the problems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset
from winosmith.embed import _embedder
from winosmith.embed._embedder import Combine, Vectors, check_two_options
from winosmith.errors import DataError
from winosmith.options import TwoOrMore, checked_class
from winosmith.parallel import use_one_thread
from winosmith.problem import BLANK, Problem
from winosmith.seen import split_units_with_blank
from winosmith.text import Writing, detect_script, get_inflection_prefix, is_content, split_units

Bag = Sequence[str]
Floats = npt.NDArray[np.float64]
Matrix = Any
"""A scipy.sparse matrix."""

NEAR_TIE = 1e-3
"""Relative difference below which two consecutive singular values are treated as tied. Rounding
errors, about 1e-16, rotate a subspace by their ratio to this gap, so that different machines agree
to much better than 1e-4. Of 32 values for real twins, one or two are tied with the next."""

ZERO_FRACTION = 1e-5
"""Fraction of the largest singular value below which others count as rounding errors."""

DENSE_LIMIT = 800
"""Maximum number of words or contrasts for which all singular vectors are computed (with LAPACK);
for more, only the leading ones are computed."""

ROUNDING = 1e-9
"""Relative difference below which eigenvalues are treated as equal."""


@dataclass(frozen=True)
class Space:
    """A projection of weighted words to a few dimensions.

    Attributes:
        columns: The column of each known word in a matrix of counts.
        axes: (words, dimensions) the position of each word.
    """

    columns: Mapping[str, int]
    weights: Floats
    axes: Floats

    def project(self, bags: Sequence[Bag]) -> Floats:
        """Sum the weighted positions of each bag's words; return a (bags, dimensions) array."""
        placed: Floats = _count_words(bags, self.columns, self.weights) @ self.axes
        return placed

    def measure_lengths(self, bags: Sequence[Bag]) -> Floats:
        """Return the lengths of the bags' weighted counts before the projection, (bags, 1)."""
        counted = _count_words(bags, self.columns, self.weights)
        lengths: Floats = np.sqrt((counted * counted).sum(axis=1)).reshape(-1, 1)
        return lengths


def learn_space(
    contrasts: Sequence[tuple[Bag, Bag]],
    words: Iterable[str],
    weights: Mapping[str, float] | None,
    dimensions: int,
) -> Space:
    """Learn the axes along which the two bags of each contrast differ most.

    The axes are the right singular vectors of (first − second), uncentred, so that the sign and the
    order of contrasts have no effect except for rounding.

    There are at most `dimensions` axes, or fewer if the last would be tied with the next (see
    `NEAR_TIE`), because ties are not split. If all singular values are tied (no two contrasts share
    a word), there is no axis, and all bags are projected to 0.
    """
    columns = {word: column for column, word in enumerate(sorted(words))}
    weighed = np.array([weights[word] if weights else 1.0 for word in columns])
    first, second = (
        _count_words([pair[side] for pair in contrasts], columns, weighed) for side in (0, 1)
    )
    values, axes = _compute_singular_vectors(first - second, dimensions + 1)
    kept = _count_without_splitting_ties(values, dimensions)
    if not kept:
        return Space(columns, weighed, np.zeros((len(columns), 1)))
    return Space(columns, weighed, _fix_signs(axes[:, :kept]))


def _count_without_splitting_ties(values: Floats, limit: int) -> int:
    """Return the number of leading values to keep: at most `limit`, without splitting a tie.

    >>> values = np.array([3.0, 2.0, 2.0, 1.0])
    >>> _count_without_splitting_ties(values, 3), _count_without_splitting_ties(values, 2)
    (3, 1)
    >>> equal = np.array([2.0, 2.0, 2.0])
    >>> _count_without_splitting_ties(equal, 2), _count_without_splitting_ties(equal, 3)
    (0, 3)
    """
    following = np.append(values[1:], 0.0)
    apart = np.flatnonzero(following < (1 - NEAR_TIE) * values) + 1
    return int(max(apart[apart <= limit], default=0))


def _compute_singular_vectors(contrast: Matrix, count: int) -> tuple[Floats, Floats]:
    """Return at most `count` nonzero singular values, descending, and right singular vectors."""
    rows, words = contrast.shape
    if not min(rows, words) or not np.any(contrast.data):
        return np.zeros(0), np.zeros((words, 0))
    tall = words <= rows
    if min(rows, words) <= max(DENSE_LIMIT, 4 * count):
        gram = contrast.T @ contrast if tall else contrast @ contrast.T
        squares, vectors = np.linalg.eigh(gram.toarray())
    else:
        squares, vectors = _compute_eigenvectors(contrast if tall else contrast.T.tocsr(), count)
    squares, vectors = squares[::-1][:count], vectors[:, ::-1][:, :count]
    values = np.sqrt(np.maximum(squares, 0))
    known = values > ZERO_FRACTION * values[0]
    values, vectors = values[known], vectors[:, known]
    if not tall:  # these are left singular vectors
        vectors = np.linalg.qr(contrast.T @ vectors)[0] if len(values) else np.zeros((words, 0))
    return values, vectors


def _compute_eigenvectors(matrix: Matrix, count: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of matrixᵀ·matrix, ascending, and their eigenvectors.

    The Lanczos method (ARPACK) starts from one vector and may miss repeated eigenvalues. So the
    largest eigenvalue in the orthogonal complement is computed and added as long as it is among the
    largest. The result does not depend on the random start.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    turned, wide = matrix.T.tocsr(), matrix.shape[1]
    start = np.random.default_rng(0).standard_normal(wide)
    # A shift of all eigenvalues, because ARPACK does not converge if they are zero.
    lift = ROUNDING * float((matrix.data**2).sum())

    def restrict_to_complement(vectors: Floats) -> Any:
        def project_out(vector: Floats) -> Floats:
            left: Floats = vector - vectors @ (vectors.T @ vector)
            return left

        def multiply(vector: Floats) -> Floats:
            vector = vector.ravel()
            lifted: Floats = project_out(turned @ (matrix @ project_out(vector))) + lift * vector
            return lifted

        return LinearOperator((wide, wide), multiply, dtype=float)

    squares, vectors = eigsh(
        restrict_to_complement(np.zeros((wide, 0))), count, ncv=min(wide, 3 * count + 20), v0=start
    )
    while True:
        square, vector = eigsh(restrict_to_complement(vectors), 1, ncv=40, v0=start)
        if square[0] <= squares.min() * (1 + ROUNDING):
            order = np.argsort(squares)
            return squares[order] - lift, vectors[:, order]
        smallest = squares.argmin()
        squares[smallest], vectors[:, smallest] = square[0], vector[:, 0]


def _fix_signs(axes: Floats) -> Floats:
    """Flip axes so that the number with the largest magnitude on each axis is positive.

    Of numbers with almost the same magnitude, the first is used.

    >>> _fix_signs(np.array([[-0.8], [0.6]])).ravel().tolist()
    [0.8, -0.6]
    """
    sizes = np.abs(axes)
    first = np.argmax(sizes >= (1 - NEAR_TIE) * sizes.max(axis=0), axis=0)
    turned: Floats = axes * np.sign(axes[first, np.arange(axes.shape[1])])
    return turned


def _count_words(bags: Sequence[Bag], columns: Mapping[str, int], weights: Floats) -> Matrix:
    """Return a (bags, words) matrix of weighted counts; unknown words are omitted."""
    from scipy.sparse import csr_array

    known = [[columns[word] for word in bag if word in columns] for bag in bags]
    ends = np.cumsum([0, *map(len, known)])
    indices = np.array([column for row in known for column in row], np.int64)
    return csr_array((weights[indices], indices, ends), shape=(len(bags), len(columns)))


TOKENS_BEFORE, TOKENS_AFTER = 4, 2
"""Numbers of tokens before and after an option's mention whose content words become its attributes.
The window stops at a mention of the other option. Words about an option are mostly before it
("praised the captain"). With windows of 3–8 tokens before and 0–4 after, linear models had the same
accuracy on WinoGrande's train_xl, within half a point."""

CUE_WINDOW = 8
"""Number of tokens after the blank that are cues; in most twins, they include the trigger."""

UNITS_PER_TOKEN = 4
"""Number of units per token in text without spaces. A word has about two characters; each is a unit
and begins a bigram, which is another unit."""

FIRST, LONGER = "<first>", "<longer>"
"""Attributes that mark the option mentioned first, and the option with more letters."""

UNSEEN_WEIGHT = 0.2
"""Weight of a cue that occurs in no twin: about the fraction of cues that belong to a trigger."""

FAINT_FRACTION = 1e-2
"""If the projection keeps much less than this fraction of a problem's cues, their vector is near 0
instead of being scaled to length 1, because it is mostly noise."""


@checked_class
@dataclass(frozen=True)
class LightEmbedder:
    """Turns problems into vectors, using the words near each option and after the blank.

    It supports any script: in text without spaces between words, characters and character bigrams
    replace words (`text.split_units`).

    In the difference of two bags of words, the context shared by both filled-in sentences cancels,
    so that a linear model could only use the options' words. But answers are revealed by an
    *agreement* between an attribute of an option and a cue at the blank ("praised Ann …, because _
    was diligent"). So the vector of an option is the outer product of attributes and cues:

    1. Attributes of an option: the content words near its mention, its last word, and whether it is
       mentioned first or longer. An SVD of the *contrast* (option 1 − option 2) reduces the counts
       to a few dimensions, which are scaled so that the problem's contrast has length 1.
    2. Cues: the words after the blank, weighted by how often they are in the trigger of a twin,
       (count in triggers + 0.2) / (count in twins + 1), like IDF for documents. An SVD of the
       contrast between the halves of each twin reduces them to a few dimensions, in which words
       that contrast with the same words are close ("large" and "big", which contrast with "small").
       The reduced cues are scaled to length 1, or less if under about 1 % of them is preserved.

    A linear model on the difference is then a bilinear form of attributes and cues. Answers are not
    used. The words are learned from `corpus`, or from the problems themselves. Without twins there
    is no contrast between halves; cues are then weighted by IDF, and far fewer artifacts can be
    detected.

    The inner products of the vectors (the Gram matrix) depend only on the texts: they agree within
    1e-4 for any order of problems and options, number of threads, machine and library versions.
    This is why `learn_space` does not split ties.

    Attributes:
        dimensions: the maximum width of an option's vector, 2 or more; cues have twice as many
            dimensions as attributes (512 = 16 × 32). If there are only a few problems, or there are
            ties, vectors are narrower.
        combine: "difference" or "concat"; see `Combine`.
        corpus: problems to learn the words from; by default the embedded problems.

    Raises:
        RecipeError: a value is out of range.

    >>> ann = Problem("1", "They praised Ann and blamed Beth, as _ was late.", ("Ann", "Beth"))
    >>> LightEmbedder().embed([ann]).shape
    (1, 1)
    """

    dimensions: TwoOrMore = 512
    combine: Combine = "difference"
    corpus: Sequence[Problem] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the vectors, for signatures and recipes."""
        own = {} if self.corpus is None else {"corpus": Dataset(self.corpus).blind().digest[:12]}
        return {"embedder": "light", "dimensions": self.dimensions, "combine": self.combine, **own}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return (n, d) float32 vectors; d is at most `dimensions`, or twice that for "concat".

        If the options of a problem have the same attributes, its `difference` vector is zero.

        Raises:
            DataError: there are no problems, or one has more than two options.
        """
        if not len(problems):
            raise DataError("there are no problems to embed")
        check_two_options(problems)
        with use_one_thread():
            read = list(map(extract_attributes_and_cues, problems))
            attributes, cues = (
                self._spaces if self.corpus is not None else self._learn_spaces(problems, read)
            )
            placed = [
                attributes.project([side.attributes[option] for side in read]) for option in (0, 1)
            ]
            lengths = _embedder.compute_nonzero_lengths(placed[0] - placed[1])
            after = cues.project([side.cues for side in read])
            whole = cues.measure_lengths([side.cues for side in read])
            after /= _embedder.compute_nonzero_lengths(np.hstack([after, FAINT_FRACTION * whole]))
            outer = ((side / lengths)[:, :, None] * after[:, None, :] for side in placed)
            options = [own.reshape(len(read), -1).astype(np.float32) for own in outer]
            return _embedder.combine_options(np.stack(options, axis=1), self.combine)

    @cached_property
    def _spaces(self) -> tuple[Space, Space]:
        corpus = self.corpus or ()
        check_two_options(corpus)
        if not len(corpus):
            raise DataError("there are no problems to learn words from")
        return self._learn_spaces(corpus, list(map(extract_attributes_and_cues, corpus)))

    def _learn_spaces(
        self, corpus: Sequence[Problem], read: Sequence[ProblemWords]
    ) -> tuple[Space, Space]:
        # Everything is sorted by text, so that the order of problems and options has no effect.
        rows = corpus if isinstance(corpus, Dataset) else Dataset(corpus)
        twins = sorted(sorted((read[a], read[b])) for a, b in rows.twins)
        width = max(1, int((self.dimensions / 2) ** 0.5))
        attributes = learn_space(
            sorted((min(side.attributes), max(side.attributes)) for side in read),
            {word for side in read for option in side.attributes for word in option},
            None,
            width,
        )
        words = {word for side in read for word in side.cues}
        pairs = [(a.cues, b.cues) for a, b in twins] or [(s.cues, ()) for s in sorted(read)]
        if twins:
            weights = _estimate_trigger_rates(twins, words)
        else:  # the inverse document frequency
            frequency = Counter(word for side in read for word in side.cues)
            n = len(read)
            weights = {word: float(np.log((1 + n) / (1 + frequency[word])) + 1) for word in words}
        return attributes, learn_space(pairs, words, weights, self.dimensions // width)


def _estimate_trigger_rates(
    twins: Sequence[Sequence[ProblemWords]], words: Iterable[str]
) -> dict[str, float]:
    """Map each word to the smoothed fraction of its occurrences that are in a trigger.

    Here, a trigger consists of the words that occur more often in one half than in the other,
    because the shortest edit script of `text.find_trigger` is ambiguous in one of 60 twins.
    """
    twin_counts: Counter[str] = Counter()
    in_trigger: Counter[str] = Counter()
    for halves in twins:
        for half, other in (halves, halves[::-1]):
            twin_counts.update(set(half.sentence))
            in_trigger.update(set(Counter(half.sentence) - Counter(other.sentence)))
    return {word: (in_trigger[word] + UNSEEN_WEIGHT) / (twin_counts[word] + 1) for word in words}


@dataclass(frozen=True, slots=True, order=True)
class ProblemWords:
    """The words of a problem that the light embedder uses, as tuples that can be sorted.

    Attributes:
        sentence: all words, for comparison with the other half.
        cues: the distinct words after the blank or, in questions, all distinct words.
        attributes: the distinct attributes of each option.
    """

    sentence: tuple[str, ...]
    cues: tuple[str, ...]
    attributes: tuple[tuple[str, ...], tuple[str, ...]]


def extract_attributes_and_cues(problem: Problem) -> ProblemWords:
    """Return the attributes and cues of a problem with two options.

    >>> read = extract_attributes_and_cues(
    ...     Problem("1", "They praised Ann and blamed Beth, as _ was late.", ("Ann", "Beth"))
    ... )
    >>> read.attributes
    (('<first>', '=ann', 'blamed', 'praised'), ('<longer>', '=beth', 'blamed'))
    >>> read.cues
    ('late', 'was')
    """
    words, blank = split_units_with_blank(problem)
    script = detect_script(problem.sentence)
    scale = UNITS_PER_TOKEN if script == "unspaced" else 1
    options = [
        [option.lower()] if script == "unspaced" else split_units(option)
        for option in problem.options
    ]
    mentions = [_find_mention(words, option, blank, script) for option in options]
    option_words = {word for option in options for word in option}
    attributes = []
    for option, (start, end), (other, _) in zip(options, mentions, mentions[::-1], strict=True):
        found = {f"={option[-1]}"}
        if start < end:
            left, right = (other + 1, len(words)) if other < start else (0, other)
            near = words[max(left, start - TOKENS_BEFORE * scale) : start]
            near += words[end : min(right, end + TOKENS_AFTER * scale)]
            found |= {w for w in near if _is_word(w) and is_content(w) and w not in option_words}
        if start < other:
            found.add(FIRST)
        attributes.append(found)
    lengths = [len(option.strip()) for option in problem.options]
    if lengths[0] != lengths[1]:
        attributes[lengths[1] > lengths[0]].add(LONGER)
    following = words if blank is None else words[blank + 1 : blank + 1 + CUE_WINDOW * scale]
    after = {w for w in following if w not in option_words and _is_word(w)}
    first, second = (tuple(sorted(found)) for found in attributes)
    return ProblemWords(tuple(words), tuple(sorted(after)), (first, second))


def _find_mention(
    words: Sequence[str], option: Sequence[str], blank: int | None, script: Writing
) -> tuple[int, int]:
    """Return the span of an option's first mention or, if it is not mentioned, of its last word.

    In non-Latin scripts, the last word may be inflected, as in Russian and Korean. An option that
    is not mentioned has an empty span at the end.
    """
    for sought in (list(option), [option[-1]]):
        for at in range(len(words) - len(sought) + 1):
            end = at + len(sought)
            if list(words[at:end]) == sought and (blank is None or not at <= blank < end):
                return at, end
    if script == "spaced":
        beginning = get_inflection_prefix(option[-1])
        for at, word in enumerate(words):
            if at != blank and word.startswith(beginning):
                return at, at + 1
    return len(words), len(words)


def _is_word(token: str) -> bool:
    return BLANK not in token and any(map(str.isalnum, token))


@checked_class
@dataclass(frozen=True)
class HashedEmbedder:
    """Turns problems into vectors by feature hashing, to check the problems that a filter kept.

    The features of an option are being mentioned first, having more letters, and each of these
    combined with each word after the blank ("the option mentioned first, because _ was *late*").
    The features are hashed into signed columns (the hashing trick, Weinberger et al. 2009). The
    vector of a problem is that of option 1 minus that of option 2, scaled to length 1. So a vector
    depends only on its own problem, and swapping options flips its sign. Unlike the light embedder,
    this embedder ignores the options' words, and does not merge similar words.

    Attributes:
        dimensions: the width of an option's vector, 2 or more.
        combine: "difference" or "concat"; see `Combine`.

    >>> ann = Problem("1", "They praised Ann and blamed Beth, as _ was late.", ("Ann", "Beth"))
    >>> HashedEmbedder(256).embed([ann]).shape
    (1, 256)
    """

    dimensions: TwoOrMore = 512
    combine: Combine = "difference"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that determine the vectors, for signatures and recipes."""
        return {"embedder": "hashed", "dimensions": self.dimensions, "combine": self.combine}

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        """Return (n, d) float32 vectors; d is `dimensions`, or twice that for "concat".

        Raises:
            DataError: a problem has more than two options.
        """
        check_two_options(problems)
        read = list(map(extract_attributes_and_cues, problems))
        first, second = (
            _embedder.hash_features(
                (_iter_option_features(one, option) for one in read), self.dimensions
            )
            for option in (0, 1)
        )
        options: Vectors = np.stack([first, second], axis=1)
        options /= _embedder.compute_nonzero_lengths(first - second)[:, None]
        return _embedder.combine_options(options, self.combine)


def _iter_option_features(words: ProblemWords, option: int) -> Iterator[str]:
    for mark in (FIRST, LONGER):
        if mark in words.attributes[option]:
            yield mark
            yield from (f"{mark} {cue}" for cue in words.cues)
