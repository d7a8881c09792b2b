"""Linear classifiers: at chance on sound problems, above it on each planted artifact."""

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from winosmith import Dataset, Problem
from winosmith.practice import PracticeCorpus, generate_corpus
from winosmith.practice._artifacts import read_fillers
from winosmith.practice._corpus import draw_drafts

Represent = Callable[[Dataset], sparse.csr_matrix]

CHANCE = 0.045
"""Three standard deviations of the accuracy on 1,500 problems at chance, rounded up."""


def tfidf(texts: list[list[str]]) -> list[sparse.csr_matrix]:
    """Return TF-IDF weights of each list of texts, with one vocabulary."""
    vectorizer = TfidfVectorizer(analyzer=str.split, min_df=2)
    vectorizer.fit([text for column in texts for text in column])
    return [vectorizer.transform(column) for column in texts]


def n_grams(text: str, longest: int = 3) -> str:
    """Return the runs of 1 to 3 words, each joined by hyphens."""
    parts = re.findall(r"[\w']+", text.lower())
    return " ".join(
        "-".join(parts[start : start + size])
        for size in range(1, longest + 1)
        for start in range(len(parts) - size + 1)
    )


def difference(data: Dataset) -> sparse.csr_matrix:
    """Return the n-grams of the sentence filled with option 1, minus those with option 2."""
    first, second = tfidf([[n_grams(p.fill(option)) for p in data] for option in (0, 1)])
    return first - second


def reduced_difference(data: Dataset) -> sparse.csr_matrix:
    """Return the difference in 128 dimensions (SVD)."""
    reduced = TruncatedSVD(128, random_state=0).fit_transform(difference(data))
    return sparse.csr_matrix(reduced / np.abs(reduced).std())


def concat(data: Dataset) -> sparse.csr_matrix:
    """Return the n-grams of both filled-in sentences, side by side."""
    return sparse.hstack(tfidf([[n_grams(p.fill(o)) for p in data] for o in (0, 1)])).tocsr()


def pairs(data: Dataset) -> sparse.csr_matrix:
    """Return pairs of a word near an option and one after the blank: option 1 minus option 2."""
    first, second = tfidf([[" ".join(_pairs(p, option)) for p in data] for option in (0, 1)])
    return first - second


def _pairs(problem: Problem, option: int) -> list[str]:
    parts = re.findall(r"\w+", problem.sentence.lower())
    at, blank = parts.index(problem.options[option].lower()), parts.index("_")
    near = parts[max(0, at - 3) : at] + parts[at + 1 : at + 4]
    return [f"{a}~{b}" for a, b in product(near, parts[blank + 1 : blank + 5])]


def accuracy(X: sparse.csr_matrix, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Return the accuracy on the test rows of a logistic regression on the training rows."""
    model = LogisticRegression(C=10, max_iter=1_000).fit(X[train], y[train])
    return float(model.score(X[test], y[test]))


@pytest.fixture(scope="module")
def sound() -> Dataset:
    """Return 3,000 sound problems, each from another twin."""
    return generate_corpus(3_000, seed=21, strength=0).dataset.select(range(0, 6_000, 2))


@pytest.mark.parametrize("represent", [difference, reduced_difference, concat])
def test_sound_problems_are_at_chance(sound: Dataset, represent: Represent):
    y = np.array(sound.answers)
    rows = np.arange(3_000)
    found = accuracy(represent(sound), y, rows[:1_500], rows[1_500:])
    assert found == pytest.approx(0.5, abs=CHANCE)


@pytest.mark.parametrize("represent", [difference, concat, pairs])
def test_sound_problems_of_new_frames_are_at_chance(represent: Represent):
    """The classifier is trained on the other half of the frames.

    Pairs of words can memorise the frames of their training data, but they don't generalise.
    """
    written = list(draw_drafts([None] * 3_000, 0.5, 1, np.random.default_rng(5)))
    data = Dataset(
        Problem(
            str(row),
            draft.make_sentence(row % 2),
            draft.get_listed_options(),
            draft.get_answer(row % 2),
        )
        for row, draft in enumerate(written)
    )
    number = {frame: place for place, frame in enumerate({draft.frame for draft in written})}
    side = np.array([number[draft.frame] % 2 for draft in written])
    y = np.array(data.answers)
    found = accuracy(represent(data), y, np.flatnonzero(side == 0), np.flatnonzero(side == 1))
    assert found == pytest.approx(0.5, abs=CHANCE)


def test_symmetric_twins_are_at_chance_for_word_pairs(sound: Dataset):
    """Without symmetry, pairs of words memorise the sound frames."""
    symmetric = generate_corpus(3_000, seed=21, strength=0, symmetric=True).dataset
    rows = np.arange(3_000)
    by_heart, found = (
        accuracy(pairs(data), np.array(data.answers), rows[:1_500], rows[1_500:])
        for data in (sound, symmetric.select(range(0, 6_000, 2)))
    )
    assert by_heart > 0.5 + CHANCE
    assert found == pytest.approx(0.5, abs=CHANCE)


@pytest.fixture(scope="module")
def planted() -> PracticeCorpus:
    """Return 3,000 twins; 60 % are planted."""
    return generate_corpus(3_000, seed=22, strength=0.6)


def rates(made: PracticeCorpus, represent: Represent) -> dict[str, float]:
    """Return the accuracy by artifact on half of the twins, after training on the others."""
    data = made.dataset
    X, y = represent(data), np.array(data.answers)
    train = np.arange(len(data)) < len(data) // 2
    correct = LogisticRegression(C=10, max_iter=1_000).fit(X[train], y[train]).predict(X) == y
    kind = np.array([made.planted.get(row, "sound") for row in data.ids])
    return {name: float(correct[(kind == name) & ~train].mean()) for name in set(kind)}


def test_difference_predicts_association_and_length(planted: PracticeCorpus):
    seen = rates(planted, difference)
    assert seen["association"] > 0.75
    assert seen["length"] > 0.75
    assert seen["sound"] == pytest.approx(0.5, abs=CHANCE)
    assert seen["polarity"] == pytest.approx(0.5, abs=0.1)
    assert seen["position"] == pytest.approx(0.5, abs=0.1)


def test_concatenated_sentences_predict_position(planted: PracticeCorpus):
    seen = rates(planted, concat)
    assert seen["position"] > 0.9
    assert seen["polarity"] == pytest.approx(0.5, abs=0.1)
    assert seen["sound"] == pytest.approx(0.5, abs=CHANCE)


def test_word_pairs_predict_polarity_and_position(planted: PracticeCorpus):
    seen = rates(planted, pairs)
    assert seen["polarity"] > 0.9
    assert seen["position"] > 0.8
    assert seen["sound"] < 0.7


def test_ids_do_not_reveal_answers_or_planting(planted: PracticeCorpus):
    data = planted.dataset
    digits = [
        [int(digit, 16) for digit in (problem.id + (problem.twin_id or ""))] for problem in data
    ]
    first = [data[row].id < data[row ^ 1].id for row in range(len(data))]
    codes = sparse.csr_matrix(
        np.column_stack([np.eye(16)[np.array(digits)].reshape(len(data), -1), first])
    )
    half = len(data) // 2
    rows = np.arange(len(data))
    for labels in (np.array(data.answers), np.array([row in planted.planted for row in data.ids])):
        largest = max(labels.mean(), 1 - labels.mean())
        found = accuracy(codes, labels, rows[:half], rows[half:])
        assert found <= largest + CHANCE


def test_fillers_occur_in_both_roles():
    """Every name and object is mentioned first in some problems, and second in others."""
    written = list(draw_drafts([None] * 4_000, 0.5, 1, np.random.default_rng(6)))
    firsts = {draft.options[0] for draft in written}
    seconds = {draft.options[1] for draft in written}
    everything = {word for pool in read_fillers().pools.values() for own in pool for word in own}
    assert firsts == seconds == everything
