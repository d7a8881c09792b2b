"""Words and pairs of words by problem, and their PMI with the answers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.problem import BLANK
from winosmith.text import tokens

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PMI_SMOOTHING", "pair_counts", "pmi_of_counts", "pmi_with_answers", "word_counts"]

PMI_SMOOTHING = 100.0
"""Added to each count of a word with a class (Gururangan et al. 2018, section 3: "add-100")."""

Floats = NDArray[np.float64]


def word_counts(data: Dataset) -> tuple[csr_array, list[str]]:
    """Return how often each word occurs in each problem, and the words in alphabetical order.

    Words are lower-cased Penn Treebank tokens, the blank left out.

    Returns:
        (n, words) counts, and the words.
    """
    from scipy.sparse import csr_array

    cut = [[t.lower() for t in tokens(problem.sentence) if t != BLANK] for problem in data]
    vocabulary = sorted({token for sentence in cut for token in sentence})
    column = {token: number for number, token in enumerate(vocabulary)}
    columns = np.array([column[token] for sentence in cut for token in sentence], np.int64)
    rows = np.repeat(np.arange(len(cut)), [len(sentence) for sentence in cut])
    shape = (len(cut), len(vocabulary))
    counts = csr_array((np.ones(len(columns)), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts, vocabulary


def pair_counts(words: csr_array) -> csr_array:
    """Return which unordered pairs of distinct words occur in each problem: (n, pairs), 0 or 1."""
    from scipy.sparse import csr_array

    starts, width = words.indptr, words.shape[1]
    found = []
    for first, last in itertools.pairwise(starts):
        held = np.sort(words.indices[first:last]).astype(np.int64)
        one, other = np.triu_indices(len(held), 1)
        found.append(held[one] * width + held[other])
    rows = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
    known, columns = np.unique(np.concatenate(found), return_inverse=True)
    shape = (len(found), len(known))
    return csr_array((np.ones(len(columns)), (rows, columns)), shape=shape)


def pmi_with_answers(features: csr_array, labels: NDArray[Any], smoothing: float) -> Floats:
    """Return the pointwise mutual information of each answer with each feature, in nats.

    PMI(y; w) = log p(w, y) / (p(w) p(y)), of the numbers of problems that have w and the answer y,
    a problem counted once however often it has w, plus `smoothing`, above 0 (Gururangan et al.
    2018).

    Returns:
        (2, features): with option 1 and with option 2.
    """
    present = features.copy()
    present.data = np.ones_like(present.data)
    counts = np.stack([present[labels == label].sum(axis=0) for label in (0, 1)])
    return pmi_of_counts(counts, smoothing)


def pmi_of_counts(counts: NDArray[Any], smoothing: float) -> Floats:
    """Return the pointwise mutual information of two classes with features, in nats.

    Args:
        counts: (2, features), of how many of each class have each feature.
        smoothing: added to each count, above 0.

    Returns:
        (2, features), as `pmi_with_answers` has it.
    """
    counts = counts + smoothing
    share = counts / counts.sum()
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    return np.asarray(np.log(share) - np.log(expected))
