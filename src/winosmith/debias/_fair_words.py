"""How varied the words of a subset are, by measures that do not grow with its size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.debias._figure import Mask, Measure, share_of
from winosmith.problem import BLANK
from winosmith.text import content_words, tokens


def word_measures(pool: Dataset, smallest: Mask) -> Iterator[Measure]:
    """Yield length, distinct-1 and distinct-2, and how far apart the sentences are.

    Distinct-n (Li et al. 2016, section 5.1) is the share of distinct n-grams among all. It falls as
    texts grow, so it is rarefied: what is expected of as many n-grams as half of those in the
    smallest set compared, drawn without replacement (Hurlbert 1971, equation 10; see `rarefied`).
    The distance of two sentences is 1 − cosine of their TF-IDF vectors, on average over all pairs
    (the dispersion of an embedding, as Lai et al. 2020 measure it, with words for dimensions).

    Args:
        pool: the problems.
        smallest: (n,) the smallest of the sets that are compared.
    """
    sentences = [[t.lower() for t in tokens(p.sentence) if t != BLANK] for p in pool]
    yield share_of("words", "tokens a problem", np.array([len(s) for s in sentences]), ".2f")
    for name, grams in (
        ("distinct-1", sentences),
        ("distinct-2", [list(pairwise(s)) for s in sentences]),
    ):
        counts = _counted(grams)
        size = int((counts @ smallest.astype(np.float64)).sum()) // 2
        yield Measure("words", f"{name}, of {size:,} n-grams", ".4f", _distinct(counts, size))
    yield Measure("words", "distance of two sentences", ".4f", _distance(pool))


def _counted(grams: Sequence[Sequence[Any]]) -> Any:
    """Return how often each n-gram is in each sentence, as a sparse (n-grams, n) matrix."""
    from scipy.sparse import csr_array

    number: dict[Any, int] = {}
    rows = [number.setdefault(gram, len(number)) for sentence in grams for gram in sentence]
    columns = np.repeat(np.arange(len(grams)), [len(sentence) for sentence in grams])
    shape = (len(number), len(grams))
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _distinct(counts: Any, size: int) -> Any:
    def of(mask: Mask) -> float:
        found = counts @ mask.astype(np.float64)
        if not size or found.sum() < size:
            return float("nan")
        return rarefied(found[found > 0].astype(np.int64), size) / size

    return of


def rarefied(counts: NDArray[np.int64], size: int) -> float:
    """Return how many distinct things are expected among so many drawn without replacement.

    E = Σ_i [1 − C(N − n_i, m) / C(N, m)] for N things, n_i of kind i, of which m are drawn
    (Hurlbert 1971, equation 10; Heck et al. 1975).

    Args:
        counts: how often each kind occurs, 1 or more.
        size: how many are drawn, at most all.

    >>> rarefied(np.array([2, 1, 1]), 4), round(rarefied(np.array([2, 1, 1]), 2), 4)
    (3.0, 1.8333)
    """
    from scipy.special import gammaln

    of = np.bincount(counts)
    kinds = np.flatnonzero(of)
    n = int(counts.sum())
    left = n - kinds - size  # of those that are not of the kind, minus those drawn
    can_miss = left >= 0
    missed = np.zeros(len(kinds))
    rest = n - kinds[can_miss]
    missed[can_miss] = np.exp(
        gammaln(rest + 1) - gammaln(left[can_miss] + 1) - gammaln(n + 1) + gammaln(n - size + 1)
    )
    return float(of[kinds] @ (1 - missed))


def _distance(pool: Dataset) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [content_words(problem.sentence.replace(BLANK, " ")) for problem in pool]
    if not any(texts):
        return lambda mask: float("nan")
    unit = TfidfVectorizer(analyzer=lambda words: words).fit_transform(texts)
    told = np.asarray(unit.getnnz(axis=1) > 0)
    across = unit.T.tocsr()

    def of(mask: Mask) -> float:
        n = int((mask & told).sum())
        if n < 2:
            return float("nan")
        whole = across @ mask.astype(np.float64)
        return 1 - (float(whole @ whole) - n) / (n * (n - 1))

    return of
