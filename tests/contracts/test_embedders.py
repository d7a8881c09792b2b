"""The contract of every embedder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from winosmith import Dataset, Extra, Problem
from winosmith.embed import (
    ArrayEmbedder,
    Combine,
    Embedder,
    EncoderEmbedder,
    HashedEmbedder,
    LightEmbedder,
    OptionsEmbedder,
    TextEmbedder,
    Vectors,
)
from winosmith.errors import DataError
from winosmith.testing import make_twins

PROBLEMS = make_twins(40, singles=6)

MakeEmbedder = Callable[[Combine], Embedder]


class _LengthEmbedder:
    """An embedder of a user, without our base classes: the lengths of the texts."""

    def __init__(self, combine: Combine):
        self.combine = combine

    def embed(self, problems: Sequence[Problem]) -> Vectors:
        others = [problem.id for problem in problems if len(problem.options) != 2]
        if others:
            raise DataError(f"{others} don't have two options")
        rows = [[[len(p.fill(o)), p.fill(o).count("e")] for o in (0, 1)] for p in problems]
        options = np.array(rows, np.float32)
        if self.combine == "difference":
            return options[:, 0] - options[:, 1]
        return options.reshape(len(options), -1)


MAKERS: dict[str, MakeEmbedder] = {
    "light": partial(LightEmbedder, 128),
    "light with corpus": partial(LightEmbedder, 128, corpus=make_twins(60, seed=5)),
    "hashed": partial(HashedEmbedder, 128),
    "options": partial(OptionsEmbedder, 128),
    "letters": partial(OptionsEmbedder, 128, features="letters"),
    "own": _LengthEmbedder,
}


@pytest.fixture(params=[*MAKERS, "encoder mean", "encoder cls"])
def make_embedder(request: pytest.FixtureRequest) -> MakeEmbedder:
    """Return a factory of each embedder, which takes how to combine the options' vectors."""
    if request.param in MAKERS:
        return lambda combine: MAKERS[request.param](combine=combine)
    folder: Path = request.getfixturevalue("tiny_encoder")
    pooling = request.param.split()[1]
    split_point = "before_option" if pooling == "cls" else None
    return lambda combine: EncoderEmbedder(
        folder, pooling=pooling, split_point=split_point, combine=combine, cache=False
    )


@pytest.fixture(params=["difference", "concat"])
def combine(request: pytest.FixtureRequest) -> Combine:
    return request.param


def test_embedding_is_one_finite_float32_vector_per_problem(make_embedder, combine):
    X = make_embedder(combine).embed(PROBLEMS)
    assert X.ndim == 2
    assert len(X) == len(PROBLEMS)
    assert X.dtype == np.float32
    assert np.isfinite(X).all()


def test_answers_make_no_difference(make_embedder, combine):
    """Neither do ids and `extra`."""
    kept = make_embedder(combine).embed(PROBLEMS)
    flipped = Dataset(replace(p, answer=1 - (p.answer or 0)) for p in PROBLEMS)
    told = Dataset(
        replace(p, id=f"{p.answer}-{row}", extra=Extra({"file.answer": p.answer}))
        for row, p in enumerate(PROBLEMS)
    )
    for other in (flipped, PROBLEMS.blind(), told):
        assert make_embedder(combine).embed(other).tobytes() == kept.tobytes()


def test_same_problems_give_the_same_bytes(make_embedder, combine):
    embedder = make_embedder(combine)
    first = embedder.embed(PROBLEMS)
    assert embedder.embed(PROBLEMS).tobytes() == first.tobytes()
    assert make_embedder(combine).embed(PROBLEMS).tobytes() == first.tobytes()


def test_vectors_do_not_depend_on_the_order_of_problems(make_embedder, combine):
    order = np.random.default_rng(1).permutation(len(PROBLEMS))
    X = make_embedder(combine).embed(PROBLEMS)
    shuffled = make_embedder(combine).embed(PROBLEMS.select(order.tolist()))
    np.testing.assert_allclose(shuffled, X[order], atol=1e-4)


def test_list_and_dataset_give_equal_vectors(make_embedder, combine):
    assert np.array_equal(
        make_embedder(combine).embed(list(PROBLEMS)),
        make_embedder(combine).embed(Dataset(PROBLEMS)),
    )


def test_swapped_options_flip_the_sign_of_the_difference(make_embedder):
    swapped = Dataset(
        replace(p, options=p.options[::-1]) if row % 2 else p for row, p in enumerate(PROBLEMS)
    )
    X = make_embedder("difference").embed(PROBLEMS)
    sign = np.where(np.arange(len(PROBLEMS)) % 2, -1, 1)[:, None]
    np.testing.assert_allclose(make_embedder("difference").embed(swapped), X * sign, atol=1e-5)


def test_swapped_options_swap_the_halves_of_concat(make_embedder):
    swapped = Dataset(replace(p, options=p.options[::-1]) for p in PROBLEMS)
    X = make_embedder("concat").embed(PROBLEMS)
    width = X.shape[1] // 2
    turned = np.hstack([X[:, width:], X[:, :width]])
    np.testing.assert_allclose(make_embedder("concat").embed(swapped), turned, atol=1e-5)


def test_difference_is_first_half_of_concat_minus_second(make_embedder):
    both = make_embedder("concat").embed(PROBLEMS)
    width = both.shape[1] // 2
    difference = make_embedder("difference").embed(PROBLEMS)
    np.testing.assert_allclose(both[:, :width] - both[:, width:], difference, atol=1e-5)


def test_problems_with_three_options_are_refused_with_their_id(make_embedder, combine):
    three = Problem("three-options", "They say the _ stood there.", ("amber", "kettle", "yarn"))
    with pytest.raises(DataError, match="three-options"):
        make_embedder(combine).embed([*PROBLEMS, three])


def test_array_embedder_returns_vectors_by_id():
    X = np.random.default_rng(0).normal(size=(len(PROBLEMS), 5)).astype(np.float32)
    embedder: Embedder = ArrayEmbedder(X, ids=PROBLEMS.ids)
    assert embedder.embed(PROBLEMS).tobytes() == X.tobytes()
    assert embedder.embed(PROBLEMS.blind()).tobytes() == X.tobytes()
    assert embedder.embed(PROBLEMS[::-1]).tobytes() == X[::-1].tobytes()


def test_questions_need_two_options(make_embedder, combine):
    asked = [
        Problem(
            f"{n}", f"Which {word} is kept in the old _lamp_?", ("the cup", "a jug"), blank=None
        )
        for n, word in enumerate(("vessel", "of the heavier vessels", "book"))
    ]
    X = make_embedder(combine).embed(asked)
    assert X.shape[0] == 3
    assert np.isfinite(X).all()
    more = Problem("more", "Which?", ("a", "b", "c"), blank=None)
    with pytest.raises(DataError, match="two options"):
        make_embedder(combine).embed([more])


@pytest.mark.parametrize("kind", ["options", "encoder"])
def test_text_has_the_same_vector_alone_and_as_an_option(kind, request):
    embedder: OptionsEmbedder | EncoderEmbedder
    if kind == "options":
        embedder = OptionsEmbedder(64)
    else:
        folder = request.getfixturevalue("tiny_encoder")
        embedder = EncoderEmbedder(folder, reads="options", cache=False)
    texts = ["both of them", "Ann", "a green jug", "Ann"]
    told: TextEmbedder = embedder
    found = told.embed_texts(texts)
    assert found.dtype == np.float32
    assert np.array_equal(found[1], found[3])
    assert np.allclose(embedder.embed_texts(texts[2:3])[0], found[2], atol=1e-4)
    options = embedder.embed_options([Problem("1", "Who?", tuple(texts[:3]), blank=None)])
    assert np.allclose(options[0, :, : found.shape[1]], found[:3], atol=1e-4)
