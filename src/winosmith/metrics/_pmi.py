"""Count words and word pairs in problems, and compute their PMI with the answers.

The order of the options has no meaning, so words are not counted with "option 1". Instead, words
are counted with the option that the sentence mentions first. In WinoGrande's train_xl this is
option 1 in 89 % of the problems, so only the counts of the other 11 % differ from the paper's.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.problem import BLANK, Problem
from winosmith.text import detect_script, get_inflection_prefix, split_units

if TYPE_CHECKING:
    from scipy.sparse import csr_array


PMI_SMOOTHING = 100.0
"""Number added to each count of a word with an answer. See Gururangan et al. (2018), "add-100"."""

Floats = NDArray[np.float64]


def find_first_mentioned(problem: Problem) -> int:
    """Return the index of the option that the sentence mentions first.

    The search is for the whole option first, then for its last word, then for its letters anywhere,
    ignoring case. In non-Latin scripts, the last word may have a different ending, as in Russian.
    An option that is not mentioned comes last, and options at the same position are in alphabetical
    order, so that the order of the options has no effect.

    >>> find_first_mentioned(Problem("a", "Ann thanked Beth as _ was kind.", ("Beth", "Ann")))
    1
    """
    sentence, texts = problem.sentence.casefold(), problem.options
    at = [_find_mention(sentence, option.casefold()) for option in texts]
    return min(range(len(texts)), key=lambda k: (at[k], texts[k].casefold(), texts[k]))


def _find_mention(sentence: str, option: str) -> int:
    for sought in (option, option.split()[-1]):
        found = re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", sentence)
        if found is not None:
            return found.start()
    at = sentence.find(option)
    if at < 0 and detect_script(option) == "spaced":
        beginning = re.escape(get_inflection_prefix(option.split()[-1]))
        found = re.search(rf"(?<!\w){beginning}", sentence)
        at = -1 if found is None else found.start()
    return at if at >= 0 else len(sentence)


def find_first_mentioned_options(data: Dataset) -> NDArray[np.intp]:
    """Return the index of each problem's first-mentioned option, which is the same for both halves.

    If the halves of a twin mention their options in different orders, the alphabetically first
    sentence decides. The result does not depend on answers, or on the order of options or problems.
    """
    first = np.array([find_first_mentioned(problem) for problem in data], np.intp)
    for rows in data.twins:
        one, other = sorted(rows, key=lambda row: (data[row].sentence, data.ids[row]))
        options = [text.casefold() for text in data[other].options]
        named = data[one].options[first[one]].casefold()
        same = sorted(options) == sorted(text.casefold() for text in data[one].options)
        if same and len(set(options)) == len(options):
            first[other] = options.index(named)
    return first


def count_words(data: Dataset) -> tuple[csr_array, list[str]]:
    """Count each word in each problem.

    Words are lower-cased Penn Treebank tokens, without the blank. In scripts without spaces between
    words, characters and character bigrams are counted instead (`text.split_units`).

    Returns:
        The counts, shape (n, words), and the words in alphabetical order.
    """
    from scipy.sparse import csr_array

    cut = [[unit for unit in split_units(problem.sentence) if unit != BLANK] for problem in data]
    vocabulary = sorted({token for sentence in cut for token in sentence})
    column = {token: number for number, token in enumerate(vocabulary)}
    columns = np.array([column[token] for sentence in cut for token in sentence], np.int64)
    rows = np.repeat(np.arange(len(cut)), [len(sentence) for sentence in cut])
    shape = (len(cut), len(vocabulary))
    counts = csr_array((np.ones(len(columns)), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts, vocabulary


def make_word_pair_matrix(counts: csr_array) -> csr_array:
    """Return a binary (n, pairs) matrix of the word pairs that each problem contains."""
    from scipy.sparse import csr_array

    starts, width = counts.indptr, counts.shape[1]
    found = []
    for first, last in itertools.pairwise(starts):
        present = np.sort(counts.indices[first:last]).astype(np.int64)
        one, other = np.triu_indices(len(present), 1)
        found.append(present[one] * width + present[other])
    rows = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
    distinct, columns = np.unique(np.concatenate(found), return_inverse=True)
    shape = (len(found), len(distinct))
    return csr_array((np.ones(len(columns)), (rows, columns)), shape=shape)


def compute_pmi_with_answers(features: csr_array, labels: NDArray[Any], smoothing: float) -> Floats:
    """Return the pointwise mutual information of each answer with each feature, in nats.

    PMI(y; w) = log p(w, y) / (p(w) p(y)). The probabilities come from the numbers of problems with
    the feature w (once or more) and the answer y, each plus `smoothing`. See Gururangan et al.
    (2018).

    Args:
        features: Shape (n, features). Counts.
        labels: Shape (n,). 0 if the first option is correct, in the order of
            `find_first_mentioned_options`, otherwise 1.
        smoothing: The number added to each count, above 0.

    Returns:
        (2, features) values: for the first option, and for the second.
    """
    present = features.copy()
    present.data = np.ones_like(present.data)
    counts = np.stack([present[labels == label].sum(axis=0) for label in (0, 1)])
    return compute_pmi(counts, smoothing)


def compute_pmi(counts: NDArray[Any], smoothing: float) -> Floats:
    """Return the pointwise mutual information, in nats, between two classes and each feature.

    Args:
        counts: Shape (2, features). The number of members of each class with each feature.
        smoothing: The number added to each count, above 0.

    Returns:
        (2, features) values, as from `compute_pmi_with_answers`.

    >>> compute_pmi(np.array([[1, 0], [0, 1]]), 1.0).round(3).tolist()
    [[0.288, -0.405], [-0.405, 0.288]]
    """
    counts = counts + smoothing
    share = counts / counts.sum()
    expected = share.sum(axis=1, keepdims=True) * share.sum(axis=0, keepdims=True)
    return np.asarray(np.log(share) - np.log(expected))
