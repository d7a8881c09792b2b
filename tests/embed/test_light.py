"""The light embedder: attributes and cues, dimensions, invariances and visible artifacts."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from winosmith import Dataset, Problem, formats, practice
from winosmith.embed import LightEmbedder
from winosmith.embed._embedder import hash_features
from winosmith.embed._light import extract_attributes_and_cues
from winosmith.errors import DataError, InputError
from winosmith.testing import make_twins


def held_out(X: npt.NDArray[np.float32], dataset: Dataset) -> npt.NDArray[np.bool_]:
    """Return the problems solved by linear models that saw neither half of their twin."""
    answers = np.array(dataset.answers, np.int64)
    fold = np.empty(len(dataset), np.int64)
    order = np.random.default_rng(0).permutation(len(dataset.groups))
    for place, group in enumerate(order):
        fold[list(dataset.groups[group])] = place % 5
    right = np.zeros(len(dataset), np.bool_)
    for part in range(5):
        inside = fold != part
        model = LogisticRegression(max_iter=500).fit(X[inside], answers[inside])
        right[~inside] = model.predict(X[~inside]) == answers[~inside]
    return right


def test_attributes_are_the_words_near_each_mention() -> None:
    """Content words near an option's mention count, up to the mention of the other option."""
    read = extract_attributes_and_cues(
        Problem(
            "1",
            "The angry coach praised Ann's speed but only blamed old Beth, since _ was late.",
            ("Ann", "Beth"),
        )
    )
    assert read.attributes == (
        ("<first>", "=ann", "angry", "coach", "praised", "speed"),
        ("<longer>", "=beth", "blamed", "old"),
    )


def test_cues_are_the_words_after_the_blank() -> None:
    """Up to eight words; options and punctuation are omitted."""
    read = extract_attributes_and_cues(
        Problem(
            "1",
            "Ann called Beth because, at noon, _'s old car, not Beth, was far too slow to win it.",
            ("Ann", "Beth"),
        )
    )
    assert read.cues == ("'s", "car", "not", "old", "was")


def test_long_options_are_found_whole_or_by_their_last_word() -> None:
    sentence = "A cat sat on the red car and a dog on the van, as _ was warm."
    whole = extract_attributes_and_cues(Problem("1", sentence, ("red car", "van"))).attributes[0]
    assert whole == ("<first>", "<longer>", "=car", "cat", "sat")
    by_last = extract_attributes_and_cues(
        Problem("1", sentence, ("his old car", "van"))
    ).attributes[0]
    assert by_last == ("<first>", "<longer>", "=car", "red", "sat")


def test_unmentioned_option_has_only_its_own_word() -> None:
    read = extract_attributes_and_cues(
        Problem("1", "The wind blew hard at Ann because _ was out.", ("storm", "Ann"))
    )
    assert read.attributes == (
        ("<longer>", "=storm"),
        ("<first>", "=ann", "blew", "hard", "wind"),
    )


def test_vectors_have_unit_length() -> None:
    """So no problem has more weight than another."""
    X = LightEmbedder().embed(make_twins(30))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-3)


def test_cues_outside_the_space_give_zero_vectors() -> None:
    """Otherwise, rounding errors would be scaled to length 1."""
    data = practice.read_handwritten()
    embedder = LightEmbedder(corpus=data)
    cues, read = (
        embedder._spaces[1],
        [extract_attributes_and_cues(problem).cues for problem in data],
    )
    held = np.linalg.norm(cues.project(read), axis=1)
    rounding = held < 1e-10 * cues.measure_lengths(read).ravel()
    assert (held[rounding] > 0).any()
    assert np.abs(embedder.embed(data)[rounding]).max() < 1e-6


def test_dimensions_are_as_requested_and_fewer_for_few_problems() -> None:
    """512 are 16 × 32, and 100 are 7 × 14. Equal singular values are kept or omitted together."""
    data = practice.generate_corpus(300).dataset
    assert LightEmbedder().embed(data).shape == (600, 512)
    assert LightEmbedder(dimensions=100).embed(data).shape == (600, 98)
    assert LightEmbedder(dimensions=100, combine="concat").embed(data).shape == (600, 196)
    assert LightEmbedder().embed(data[:4]).shape[1] < 10
    assert LightEmbedder().embed(practice.generate_corpus(60).dataset).shape == (120, 16 * 31)


def test_vectors_do_not_depend_on_any_order() -> None:
    """Reversing the options reverses the sign."""
    data = make_twins(40, singles=5)
    X = LightEmbedder(dimensions=64).embed(data)
    order = np.random.default_rng(0).permutation(len(data))
    shuffled = LightEmbedder(dimensions=64).embed(data.select(order.tolist()))
    assert shuffled.tobytes() == X[order].tobytes()
    half_turned = Dataset(
        replace(p, options=p.options[::-1]) if row % 3 == 0 else p for row, p in enumerate(data)
    )
    sign = np.where(np.arange(len(data)) % 3 == 0, -1, 1)[:, None]
    assert np.array_equal(LightEmbedder(dimensions=64).embed(half_turned), X * sign)


def test_corpus_makes_vectors_independent_of_the_batch() -> None:
    corpus, others = make_twins(40), make_twins(5, seed=1)
    embedder = LightEmbedder(dimensions=64, corpus=corpus)
    together = embedder.embed(others)
    alone = np.concatenate([embedder.embed([problem]) for problem in others])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.array_equal(embedder.embed(corpus), LightEmbedder(dimensions=64).embed(corpus))
    assert "corpus" in embedder.parameters


def test_words_with_the_same_opposites_are_close() -> None:
    """Both "big" and "large" are opposed to "small" in twins."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(60):
        one, other = ("big", "small") if rng.random() < 0.5 else ("large", "small")
        for half, word in enumerate((one, other)):
            sentence = f"The cup {number} stood by the jug since the _ was {word}."
            made.append(Problem(f"{number}-{half}", sentence, ("cup", "jug"), half, str(number)))
    cues = LightEmbedder(8, corpus=made)._spaces[1]
    big, large, small = (cues.axes[cues.columns[word], 0] for word in ("big", "large", "small"))
    assert big * large > 0 > big * small


@pytest.mark.parametrize("kind", practice.ARTIFACTS)
def test_planted_artifacts_are_linearly_visible(kind: practice.Artifact) -> None:
    made = practice.generate_corpus(700, seed=3, strength=0.4, artifacts=[kind])
    right = held_out(LightEmbedder().embed(made.dataset), made.dataset)
    planted = np.array([name in made.planted for name in made.dataset.ids])
    # standard error of 560 planted problems in twins: about 0.03
    assert right[planted].mean() > 0.65


def test_sound_problems_are_at_chance_for_a_linear_model() -> None:
    made = practice.generate_corpus(1500, seed=5, strength=0.0)
    right = held_out(LightEmbedder().embed(made.dataset), made.dataset)
    assert abs(right.mean() - 0.5) < 0.04  # three standard errors


@pytest.mark.long
@pytest.mark.data
def test_only_problems_that_winogrande_removed_show_bias(data_dir: Path) -> None:
    """WinoGrande's AFLite kept problems that linear models on RoBERTa could not guess (section 3).

    Of these 20,000 problems of train_xl it kept 6,281. A linear model on the light vectors
    answers 50.9 % of them correctly, and 56.6 % of the others; one standard error is about 0.6
    and 0.4 points.
    """
    data = formats.read(data_dir / "winogrande" / "train_xl.jsonl")[:20_000]
    kept = {p.sentence for p in formats.read(data_dir / "winogrande" / "train_debiased.jsonl")}
    was_kept = np.array([problem.sentence in kept for problem in data])
    right = held_out(LightEmbedder().embed(data), data)
    assert right[~was_kept].mean() > 0.53
    assert abs(right[was_kept].mean() - 0.5) < 0.02


@given(st.lists(st.tuples(*[st.text("ab_ .'é", max_size=9)] * 2), min_size=1, max_size=6))
def test_any_text_around_the_blank_gives_finite_vectors(parts: list[tuple[str, str]]) -> None:
    sentences = ["_".join(part.replace("_", "") for part in both) for both in parts]
    problems = [Problem(str(n), text, ("a b", "é"), 0, "t") for n, text in enumerate(sentences)]
    for combine in ("difference", "concat"):
        X = LightEmbedder(combine=combine).embed(problems)
        assert np.isfinite(X).all()
        assert X.shape[0] == len(problems)


def test_singles_can_be_embedded_without_twins() -> None:
    """Singles have no contrast of halves."""
    X = LightEmbedder(dimensions=32).embed(make_twins(0, singles=40))
    assert X.shape[0] == 40
    assert 4 <= X.shape[1] <= 32
    assert np.isfinite(X).all()


def test_what_can_not_be_embedded_is_refused() -> None:
    three = Problem("p3", "A _ b.", ("x", "y", "z"))
    with pytest.raises(DataError, match=r"1 of 1 problems don't have two options \('p3'\)"):
        LightEmbedder().embed([three])
    with pytest.raises(DataError, match="there are no problems to embed"):
        LightEmbedder().embed([])
    with pytest.raises(DataError, match="there are no problems to learn words from"):
        LightEmbedder(corpus=()).embed(make_twins(1))
    with pytest.raises(InputError, match="dimensions is 1; it must be a whole number, 2 or more"):
        LightEmbedder(dimensions=1).embed(make_twins(1))
    with pytest.raises(InputError, match='combine is \'sum\'; it must be "difference" or "concat"'):
        LightEmbedder(combine="sum").embed(make_twins(1))


def test_vectors_do_not_depend_on_the_number_of_threads() -> None:
    program = (
        "import hashlib; from winosmith import embed, practice; "
        "X = embed.LightEmbedder().embed(practice.generate_corpus(300).dataset); "
        "print(hashlib.sha256(X.tobytes()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(digests) == 1


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=9)),
    st.integers(2, 40),
)
def test_features_are_hashed_as_in_scikit_learn(texts: list[list[str]], columns: int) -> None:
    hasher = FeatureHasher(columns, input_type="string", dtype=np.float32)
    theirs = hasher.transform(texts).toarray() if texts else np.empty((0, columns))
    np.testing.assert_array_equal(hash_features(texts, columns), theirs)
