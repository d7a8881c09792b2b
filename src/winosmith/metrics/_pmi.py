"""Words and pairs of words by problem, and their PMI with the answers.

Which option is written first means nothing, so "option 1" can't be what words are counted with. In
its place stands the option that the sentence mentions first: in WinoGrande's train_xl that is
option 1 in 89 % of the problems, so the counts are the paper's except for the others.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.problem import BLANK, Problem
from winosmith.text import shared_beginning, units, writing

if TYPE_CHECKING:
    from scipy.sparse import csr_array


PMI_SMOOTHING = 100.0
"""Added to each count of a word with a class (Gururangan et al. 2018, section 3: "add-100")."""

Floats = NDArray[np.float64]


def first_mentioned(problem: Problem) -> int:
    """Return the index of the option that the sentence mentions first, whatever their order.

    A mention is the whole option as a word or words, otherwise its last word, otherwise its letters
    anywhere, whatever their case; in scripts other than Latin also its last word with another
    ending, as in Russian. An option that is not mentioned comes last, and of options at
    one place the first by the alphabet comes first.

    >>> first_mentioned(Problem("a", "Ann thanked Beth as _ was kind.", ("Beth", "Ann")))
    1
    """
    return _order(problem)[0]


def _order(problem: Problem) -> list[int]:
    """Return the indices of the options, by their mentions."""
    sentence = problem.sentence.casefold()
    at = [_mention(sentence, option.casefold()) for option in problem.options]
    texts = problem.options
    return sorted(range(len(texts)), key=lambda k: (at[k], texts[k].casefold(), texts[k]))


def _mention(sentence: str, option: str) -> int:
    for sought in (option, option.split()[-1]):
        found = re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", sentence)
        if found is not None:
            return found.start()
    at = sentence.find(option)
    if at < 0 and writing(option) == "spaced":
        beginning = re.escape(shared_beginning(option.split()[-1]))
        found = re.search(rf"(?<!\w){beginning}", sentence)
        at = -1 if found is None else found.start()
    return at if at >= 0 else len(sentence)


def first_of_twins(data: Dataset) -> NDArray[np.intp]:
    """Return for each problem which of its two options counts as the first, (n,) of 0 and 1.

    It is the one that is mentioned first. The halves of a twin share it, even where they mention
    their options in different orders: what counts is the half whose sentence is the first by the
    alphabet. Nothing of it depends on the order of options, of problems, or on answers.
    """
    first = np.array([first_mentioned(problem) for problem in data], np.intp)
    for rows in data.twins:
        one, other = sorted(rows, key=lambda row: (data[row].sentence, data.ids[row]))
        options = [text.casefold() for text in data[other].options]
        named = data[one].options[first[one]].casefold()
        same = sorted(options) == sorted(text.casefold() for text in data[one].options)
        if same and len(set(options)) == len(options):
            first[other] = options.index(named)
    return first


def word_counts(data: Dataset) -> tuple[csr_array, list[str]]:
    """Return how often each word occurs in each problem, and the words in alphabetical order.

    Words are lower-cased Penn Treebank tokens, without the blank; without spaces between words,
    they are letters and pairs of letters (`text.units`).

    Returns:
        (n, words) counts, and the words.
    """
    from scipy.sparse import csr_array

    cut = [[unit for unit in units(problem.sentence) if unit != BLANK] for problem in data]
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

    Args:
        features: (n, features) counts.
        labels: (n,) 0 if the first option is right, as `first_of_twins` orders them, else 1.
        smoothing: added to each count.

    Returns:
        (2, features): with the first option and with the second.
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

    >>> pmi_of_counts(np.array([[1, 0], [0, 1]]), 1.0).round(3).tolist()
    [[0.288, -0.405], [-0.405, 0.288]]
    """
    counts = counts + smoothing
    share = counts / counts.sum()
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    return np.asarray(np.log(share) - np.log(expected))
