"""Planted artifacts: balanced in sound twins, seen by linear models, and a filter's recall."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from winosmith import Dataset, Problem
from winosmith.errors import DataError
from winosmith.practice import PracticeCorpus, Ratio, generate_corpus, measure_recall
from winosmith.practice._artifacts import read_fillers
from winosmith.practice._corpus import draw_drafts
from winosmith.text import find_trigger, split_words

Twin = tuple[Problem, Problem]


@pytest.fixture(scope="module")
def made() -> PracticeCorpus:
    """Return a corpus with every kind of artifact."""
    return generate_corpus(4_000, seed=8, strength=0.5)


def twins(made: PracticeCorpus, kind: str | None) -> Iterator[Twin]:
    """Yield the twins with this artifact, or the sound ones."""
    for first, second in made.dataset.twins:
        if made.planted.get(made.dataset.ids[first]) == kind:
            yield made.dataset[first], made.dataset[second]


def right(problem: Problem) -> str:
    """Return the correct option."""
    assert problem.answer is not None
    return problem.options[problem.answer]


def wordings(twin: Twin) -> tuple[str, str]:
    """Return the words of each half that the other half doesn't have."""
    mine, theirs = find_trigger(split_words(twin[0].sentence), split_words(twin[1].sentence))
    return " ".join(mine), " ".join(theirs)


def longer_agrees(twin: Twin) -> bool | None:
    """Return whether the longer half's answer is the longer option; None if lengths are equal."""
    lengths = [len(split_words(half.sentence)) for half in twin]
    letters = [len(option) for option in twin[0].options]
    if lengths[0] == lengths[1] or letters[0] == letters[1]:
        return None
    half = twin[lengths.index(max(lengths))]
    return half.answer == letters.index(max(letters))


def test_longer_half_has_the_longer_answer_in_planted_twins(made):
    for twin in twins(made, "length"):
        assert longer_agrees(twin) is True
        letters = sorted(map(len, twin[0].options))
        assert letters[1] - letters[0] >= 4


def test_longer_half_has_either_answer_in_sound_twins(made):
    agree = [said for twin in twins(made, None) if (said := longer_agrees(twin)) is not None]
    assert len(agree) > 500
    assert sum(agree) / len(agree) == pytest.approx(0.5, abs=0.06)


def test_association_gives_a_trigger_always_the_same_answer(made):
    answers = defaultdict(set)
    for twin in twins(made, "association"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[frozenset(half.options), wording].add(right(half))
    assert len(answers) >= 12
    assert all(len(options) == 1 for options in answers.values())


def test_position_gives_a_trigger_always_the_same_index(made):
    """Options are listed in the order of their mention."""
    answers = defaultdict(set)
    for twin in twins(made, "position"):
        for half, wording in zip(twin, wordings(twin), strict=True):
            place = [half.sentence.index(option) for option in half.options]
            assert place[0] < place[1]
            answers[wording.removeprefix("most ").strip(".")].add(half.answer)
    assert len(answers) >= 12
    assert sum(len(indices) == 1 for indices in answers.values()) / len(answers) > 0.9


def test_polarity_has_no_concessive_sentences(made):
    """Good traits are praised and bad ones blamed, so no sentence needs "although"."""
    sentences = [half.sentence for twin in twins(made, "polarity") for half in twin]
    assert sentences
    assert not [s for s in sentences if "though" in s]
    assert all(" because " in s or " since " in s or " as " in s for s in sentences)


def test_sound_triggers_have_balanced_answers(made):
    answers = defaultdict(list)
    for twin in twins(made, None):
        for half, wording in zip(twin, wordings(twin), strict=True):
            answers[wording].append(half.answer)
    frequent = [indices for indices in answers.values() if len(indices) >= 30]
    assert len(frequent) >= 5
    # 4 standard deviations: one in 16,000 balanced wordings would fall outside
    assert all(abs(sum(i) / len(i) - 0.5) < 4 * 0.5 / len(i) ** 0.5 for i in frequent)


def test_more_habits_give_more_frames():
    one, many = (
        generate_corpus(400, strength=0.5, artifacts=["polarity"], habits=habits)
        for habits in (1, 8)
    )
    variety = [len({last_words(twin) for twin in twins(made, "polarity")}) for made in (one, many)]
    assert variety[0] <= 4  # two domains, two synonyms
    assert variety[1] > 2 * variety[0]


def last_words(twin: Twin) -> frozenset[str]:
    """Return the last word of each half's trigger, which never serves as emphasis."""
    return frozenset(wording.split()[-1] for wording in wordings(twin))


IDS = st.sets(st.integers(0, 50).map(str))


@given(
    ids=IDS,
    planted=st.dictionaries(st.integers(0, 50).map(str), st.sampled_from("abc")),
    data=st.data(),
)
def test_counts_of_recall_add_up(ids, planted, data):
    dropped = data.draw(st.sets(st.sampled_from(sorted(ids))) if ids else st.just(set()))
    result = measure_recall(planted, ids, dropped)
    assert result.recall.total + result.false_removals.total == len(ids)
    assert result.recall.count + result.false_removals.count == len(dropped)
    assert sum(kind.total for kind in result.by_kind.values()) == result.recall.total
    assert sum(kind.count for kind in result.by_kind.values()) == result.recall.count
    assert result.precision == Ratio(result.recall.count, len(dropped))


def test_recall_counts_only_problems_that_the_filter_saw():
    """Without planted problems among them, it is None."""
    result = measure_recall({"a": "length", "b": "position"}, ["a", "b", "c"], ["b", "a"])
    assert (result.recall.value, result.false_removals.value) == (1.0, 0.0)
    assert result.by_kind == {"length": Ratio(1, 1), "position": Ratio(1, 1)}
    assert measure_recall({"a": "length", "b": "length"}, ["a"], ["a"]).recall == Ratio(1, 1)
    assert measure_recall({}, ["a"], []).recall.value is None
    with pytest.raises(DataError, match="'z' was dropped, but is not in the input"):
        measure_recall({}, ["a"], ["z"])


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
def test_sound_problems_are_at_chance(sound, represent):
    y = np.array(sound.answers)
    rows = np.arange(3_000)
    found = accuracy(represent(sound), y, rows[:1_500], rows[1_500:])
    assert found == pytest.approx(0.5, abs=CHANCE)


@pytest.mark.parametrize("represent", [difference, concat, pairs])
def test_sound_problems_of_new_frames_are_at_chance(represent):
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


def test_symmetric_twins_are_at_chance_for_word_pairs(sound):
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


@pytest.mark.parametrize(
    ("represent", "above", "at_chance"),
    [
        (difference, {"association": 0.75, "length": 0.75}, ["polarity", "position", "sound"]),
        (concat, {"position": 0.9}, ["polarity", "sound"]),
        (pairs, {"polarity": 0.9, "position": 0.8}, []),
    ],
)
def test_each_representation_predicts_its_artifacts(planted, represent, above, at_chance):
    """Pairs of words memorise some sound frames."""
    seen = rates(planted, represent)
    for kind, least in above.items():
        assert seen[kind] > least, kind
    for kind in at_chance:
        assert seen[kind] == pytest.approx(0.5, abs=CHANCE if kind == "sound" else 0.1), kind
    assert seen["sound"] < 0.7


def test_ids_do_not_reveal_answers_or_planting(planted):
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
