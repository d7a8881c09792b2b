"""What a subset is about: domains as they are known, topics as they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.debias._figure import Mask, Measure, share_of
from winosmith.problem import BLANK, Problem
from winosmith.text import content_words
from winosmith.threads import one_thread

TOPICS, COMPONENTS = 20, 50
"""Clusters of sentences, and dimensions that they are found in."""

MOST = 6
"""Domains that have a figure of their own; the mixture counts all."""


def domain_measures(pool: Dataset, seed: int) -> Iterator[Measure]:
    """Yield shares of domains, how many topics there are in effect, and how far the mixture moved.

    A domain is `Origin.domain`. Where no problem has one, WinoGrande's two are told apart as its
    authors were asked to write them (section 2): about two people, whose options are names, or
    about two objects. Topics are clusters of sentences by k-means over TF-IDF reduced by SVD, found
    in the pool without a look at answers. Their number in effect is exp of Shannon's entropy (Hill
    1973, order 1); a mixture is compared with that of the pool by half the sum of absolute
    differences (total variation).
    """
    names = [problem.origin.domain if problem.origin else None for problem in pool]
    if any(names):
        labels = [name or "unknown" for name in names]
    else:
        labels = ["people (options are names)" if _named(p) else "objects" for p in pool]
    common = [name for name, _ in Counter(labels).most_common(MOST)]
    for name in common[: 1 if len(set(labels)) <= 2 else MOST]:  # of two, one says all
        yield share_of("domain", name, np.array([label == name for label in labels]))
    topics = _topics(pool, seed)
    yield Measure("domain", "topics in effect", ".2f", _in_effect(topics))
    yield Measure("domain", "topics moved from those of all", ".2%", _moved(topics))


def _named(problem: Problem) -> bool:
    """Tell whether the options are names: single words with a capital, within the sentence."""
    return all(
        option.isalpha() and option[0].isupper() and not option.isupper()
        for option in problem.options
    )


def _topics(pool: Dataset, seed: int) -> NDArray[np.intp]:
    """Return the cluster of each problem."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    texts = [content_words(problem.sentence.replace(BLANK, " ")) for problem in pool]
    if not any(texts):
        return np.zeros(len(pool), np.intp)
    with one_thread():
        X = TfidfVectorizer(analyzer=lambda words: words).fit_transform(texts)
        width = min(COMPONENTS, *X.shape)
        if width > 1:
            X = normalize(TruncatedSVD(width - 1, random_state=seed).fit_transform(X))
        else:
            X = X.toarray()
        count = min(TOPICS, len(np.unique(X, axis=0)))
        labels: NDArray[np.intp] = KMeans(count, n_init=1, random_state=seed).fit(X).labels_
    return labels.astype(np.intp)


def _mixture(topics: NDArray[np.intp], mask: Mask) -> NDArray[np.float64]:
    counts = np.bincount(topics[mask], minlength=int(topics.max(initial=0)) + 1)
    shares: NDArray[np.float64] = counts / max(1, counts.sum())
    return shares


def _in_effect(topics: NDArray[np.intp]) -> Any:
    def of(mask: Mask) -> float:
        shares = _mixture(topics, mask)
        there = shares[shares > 0]
        return float(np.exp(-(there * np.log(there)).sum())) if there.size else float("nan")

    return of


def _moved(topics: NDArray[np.intp]) -> Any:
    everything = _mixture(topics, np.ones(len(topics), np.bool_))

    def of(mask: Mask) -> float:
        if not mask.any():
            return float("nan")
        return float(np.abs(_mixture(topics, mask) - everything).sum() / 2)

    return of
