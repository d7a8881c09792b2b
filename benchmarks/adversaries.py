"""Embedders of different surface features: words, word pairs, letters."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction import FeatureHasher

from winosmith import embed
from winosmith.parallel import use_one_thread
from winosmith.text import find_content_words, tokenize

NEAR, WIDTH = 4, 128


def _iter_word_pairs(problem):
    """Yield each word near an option with each word after the blank, signed by the option."""
    words = [token.lower() for token in tokenize(problem.sentence)]
    blank = next(at for at, word in enumerate(words) if "_" in word)
    after = [w for w in words[blank + 1 :] if any(map(str.isalnum, w))]
    for option, sign in zip(problem.options, (1, -1), strict=True):
        last = tokenize(option)[-1].lower()
        at = next((n for n, word in enumerate(words) if word == last), None)
        near = [] if at is None else find_content_words(" ".join(words[max(0, at - NEAR) : at + 2]))
        for word in {last, *near}:
            yield from ((f"{word}~{cue}", sign) for cue in after)


def _iter_letters(problem):
    """Yield letters after the blank, signed by which option comes first or is longer."""
    text = problem.sentence.lower()
    after = f" {text.partition('_')[2].strip()} "
    places = [text.find(option.lower()) for option in problem.options]
    lengths = [len(option) for option in problem.options]
    for name, (one, two) in (("first", places), ("longer", lengths[::-1])):
        sign = (one < two) - (two < one)
        yield name, sign
        yield from ((f"{name}~{after[n : n + 3]}", sign) for n in range(len(after) - 2))


def _reduce_features(features, problems, seed):
    """Return hashed features of all problems, reduced by SVD, as rows of length 1."""
    hashed = FeatureHasher(1 << 16, input_type="pair").transform(map(features, problems))
    with use_one_thread():
        X = TruncatedSVD(WIDTH, random_state=seed).fit_transform(hashed)
    return (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def make_vectors(problems, seed):
    """Return the vectors of three embedders: the light embedder, word pairs, letters."""
    return {
        "light": embed.LightEmbedder().embed(problems),
        "pairs": _reduce_features(_iter_word_pairs, problems, seed),
        "letters": _reduce_features(_iter_letters, problems, seed),
    }


def concatenate_vectors(Xs):
    """Concatenate the vectors of all embedders, each scaled to a mean length of 1."""
    parts = [X / np.linalg.norm(X, axis=1).mean() for X in Xs.values()]
    return np.concatenate(parts, axis=1)
