"""The light embedder: attributes and cues, dimensions, invariances, golden inner products."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression

from winosmith import Dataset, Problem, formats, practice
from winosmith.embed import LightEmbedder, _light
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


@pytest.mark.parametrize(
    ("sentence", "options", "attributes"),
    [
        # content words near an option's mention, up to the mention of the other option
        ("The angry coach praised Ann's speed but only blamed old Beth, since _ was late.",
         ("Ann", "Beth"),
         (("<first>", "=ann", "angry", "coach", "praised", "speed"),
          ("<longer>", "=beth", "blamed", "old"))),
        # long options are found whole or by their last word
        ("A cat sat on the red car and a dog on the van, as _ was warm.", ("red car", "van"),
         (("<first>", "<longer>", "=car", "cat", "sat"), None)),
        ("A cat sat on the red car and a dog on the van, as _ was warm.", ("his old car", "van"),
         (("<first>", "<longer>", "=car", "red", "sat"), None)),
        # an unmentioned option has only its own word
        ("The wind blew hard at Ann because _ was out.", ("storm", "Ann"),
         (("<longer>", "=storm"), ("<first>", "=ann", "blew", "hard", "wind"))),
    ],
)  # fmt: skip
def test_attributes_are_the_words_near_each_mention(sentence, options, attributes):
    found = extract_attributes_and_cues(Problem("1", sentence, options)).attributes
    for own, expected in zip(found, attributes, strict=True):
        assert expected in (own, None)


def test_cues_are_the_words_after_the_blank():
    """Up to eight words; options and punctuation are omitted."""
    read = extract_attributes_and_cues(
        Problem(
            "1",
            "Ann called Beth because, at noon, _'s old car, not Beth, was far too slow to win it.",
            ("Ann", "Beth"),
        )
    )
    assert read.cues == ("'s", "car", "not", "old", "was")


def test_vectors_have_unit_length():
    """So no problem has more weight than another."""
    X = LightEmbedder().embed(make_twins(30))
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-3)


def test_cues_outside_the_space_give_zero_vectors():
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


def test_dimensions_are_as_requested_and_fewer_for_few_problems():
    """512 are 16 × 32, and 100 are 7 × 14. Equal singular values are kept or omitted together."""
    data = practice.generate_corpus(300).dataset
    assert LightEmbedder().embed(data).shape == (600, 512)
    assert LightEmbedder(dimensions=100).embed(data).shape == (600, 98)
    assert LightEmbedder(dimensions=100, combine="concat").embed(data).shape == (600, 196)
    assert LightEmbedder().embed(data[:4]).shape[1] < 10
    assert LightEmbedder().embed(practice.generate_corpus(60).dataset).shape == (120, 16 * 31)


def test_vectors_do_not_depend_on_any_order():
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


def test_corpus_makes_vectors_independent_of_the_batch():
    corpus, others = make_twins(40), make_twins(5, seed=1)
    embedder = LightEmbedder(dimensions=64, corpus=corpus)
    together = embedder.embed(others)
    alone = np.concatenate([embedder.embed([problem]) for problem in others])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert np.array_equal(embedder.embed(corpus), LightEmbedder(dimensions=64).embed(corpus))
    assert "corpus" in embedder.parameters


def test_words_with_the_same_opposites_are_close():
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
def test_planted_artifacts_are_linearly_visible(kind):
    made = practice.generate_corpus(700, seed=3, strength=0.4, artifacts=[kind])
    right = held_out(LightEmbedder().embed(made.dataset), made.dataset)
    planted = np.array([name in made.planted for name in made.dataset.ids])
    # standard error of 560 planted problems in twins: about 0.03
    assert right[planted].mean() > 0.65


def test_sound_problems_are_at_chance_for_a_linear_model():
    made = practice.generate_corpus(1500, seed=5, strength=0.0)
    right = held_out(LightEmbedder().embed(made.dataset), made.dataset)
    assert abs(right.mean() - 0.5) < 0.04  # three standard errors


@pytest.mark.long
@pytest.mark.data
def test_only_problems_that_winogrande_removed_show_bias(data_dir):
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
def test_any_text_around_the_blank_gives_finite_vectors(parts):
    sentences = ["_".join(part.replace("_", "") for part in both) for both in parts]
    problems = [Problem(str(n), text, ("a b", "é"), 0, "t") for n, text in enumerate(sentences)]
    for combine in ("difference", "concat"):
        X = LightEmbedder(combine=combine).embed(problems)
        assert np.isfinite(X).all()
        assert X.shape[0] == len(problems)


def test_singles_can_be_embedded_without_twins():
    """Singles have no contrast of halves."""
    X = LightEmbedder(dimensions=32).embed(make_twins(0, singles=40))
    assert X.shape[0] == 40
    assert 4 <= X.shape[1] <= 32
    assert np.isfinite(X).all()


def test_what_can_not_be_embedded_is_refused():
    three = Problem("p3", "A _ b.", ("x", "y", "z"))
    with pytest.raises(DataError, match=r"1 of 1 problems don't have two options \('p3'\)"):
        LightEmbedder().embed([three])
    with pytest.raises(DataError, match="there are no problems to embed"):
        LightEmbedder().embed([])
    with pytest.raises(DataError, match="there are no problems to learn words from"):
        LightEmbedder(corpus=()).embed(make_twins(1))
    with pytest.raises(InputError, match="dimensions is 1; it must be a whole number, 2 or more"):
        LightEmbedder(dimensions=1)
    with pytest.raises(InputError, match='combine is \'sum\'; it must be "difference" or "concat"'):
        LightEmbedder(combine="sum")


def test_vectors_do_not_depend_on_the_number_of_threads():
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
def test_features_are_hashed_as_in_scikit_learn(texts, columns):
    hasher = FeatureHasher(columns, input_type="string", dtype=np.float32)
    theirs = hasher.transform(texts).toarray() if texts else np.empty((0, columns))
    np.testing.assert_array_equal(hash_features(texts, columns), theirs)


GRAMS = {
    "practice": (
        (600, 464), 383.6273, 3359.7053,
        [
            [0.9998],
            [0.0, 0.5165],
            [0.0, 0.0, 0.0],
            [0.0, -0.0001, 0.0, 0.0002],
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.1232, 0.0002, 0.0, 0.0, 0.0, 0.9998],
            [0.0, 0.0017, 0.0, 0.0, 0.0, 0.0, 0.9997],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [-0.0007, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9999],
            [0.0, 0.0001, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9998],
            [-0.3304, -0.0003, 0.0, 0.0, 0.0, -0.8514, 0.0, 0.0, 0.0, 0.0, 0.9998],
            [0.0, 0.6294, 0.0, -0.0001, 0.0, 0.0002, 0.0, 0.0, 0.0, 0.0001, -0.0003, 0.769],
        ],
    ),
    "by hand": (
        (144, 208), 62.8513, 203.0233,
        [
            [0.0],
            [0.0, 0.6104],
            [0.0, 0.02, 0.9998],
            [0.0, 0.0112, 0.0003, 0.9998],
            [0.0, 0.0007, -0.0014, -0.6942, 0.9808],
            [0.0, -0.0001, 0.0003, 0.0, 0.0, 0.9994],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0001, 0.0148, 0.0, 0.0, 0.0, 0.0, 0.0002],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0004, 0.0, 0.0, 0.0, -0.1836, 0.0, 0.0, 0.0, 0.9873],
            [0.0, 0.0, 0.0, 0.0023, -0.0032, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9999],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.9999],
        ],
    ),
}  # fmt: skip
"""X's shape, the sums of X Xᵀ's diagonal and squares, and a part of X Xᵀ.

The part is the lower triangle of every (n/12)-th problem. The same with numpy 1.26, 2.4 and 2.5,
scipy 1.11, 1.17 and 1.18.
"""

Floats = npt.NDArray[np.float64]


@pytest.mark.parametrize("name", GRAMS)
def test_gram_matrix_is_the_same_in_all_versions(name):
    data: Dataset = (
        practice.generate_corpus(300, strength=0.5, seed=7).dataset
        if name == "practice"
        else practice.read_handwritten()
    )
    shape, trace, squares, triangle = GRAMS[name]
    X = LightEmbedder().embed(data).astype(float)
    assert X.shape == shape
    gram = X @ X.T
    np.testing.assert_allclose([np.trace(gram), (gram**2).sum()], [trace, squares], rtol=1e-4)
    rows = range(0, len(data), len(data) // 12)
    for a, line in zip(rows, triangle, strict=False):
        np.testing.assert_allclose(gram[a, list(rows)[: len(line)]], line, atol=1.5e-4)


def levels(values: list[float], seed: int = 0) -> Floats:
    """Return a matrix with these singular values and random singular vectors."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(60, len(values))))[0] for _ in range(2))
    return np.asarray(left @ np.diag(values) @ right.T)


def projector(matrix: Floats, wanted: int) -> Floats:
    """Return the projector on the kept part of a matrix."""
    values, axes = _light._compute_singular_vectors(csr_array(matrix), wanted + 1)
    kept = axes[:, : _light._count_without_splitting_ties(values, wanted)]
    return np.asarray(kept @ kept.T)


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ([5.0, 4, 3, 3, 3, 3, 2, 1], 2),
        ([5.0, 4, 3, 3, 2, 2, 2, 2], 4),
        ([2.0] * 8, 0),
        ([5.0, 4, 3, 2.5, 2, 1.9999, 1], 4),
        ([3.0, 3, 2], 3),
    ],
)
def test_equal_singular_values_are_not_separated(values, kept, small, monkeypatch):
    """By the dense and the sparse method; row order and noise of 1e-10 have no effect."""
    monkeypatch.setattr(_light, "DENSE_LIMIT", 800 if small else 0)
    matrix = levels(values)
    rng = np.random.default_rng(1)
    found = projector(matrix, 5)
    assert np.trace(found) == pytest.approx(kept, abs=1e-9)
    np.testing.assert_allclose(projector(matrix[rng.permutation(60)], 5), found, atol=1e-6)
    noisy = matrix + 1e-10 * rng.normal(size=matrix.shape)
    np.testing.assert_allclose(projector(noisy, 5), found, atol=1e-6)


def test_all_copies_of_a_singular_value_are_found():
    """45 equal blocks have each value 45 times."""
    block = np.random.default_rng(0).normal(size=(30, 20))
    matrix = csr_array(np.kron(np.eye(45), block))
    assert min(matrix.shape) > _light.DENSE_LIMIT
    whole = np.repeat(np.linalg.svd(block, compute_uv=False), 45)[:50]
    np.testing.assert_allclose(_light._compute_singular_vectors(matrix, 50)[0], whole, rtol=1e-9)
