"""Inner products of the light embedder: equal with all versions of numpy and scipy."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array

from winosmith import Dataset, practice
from winosmith.embed import LightEmbedder, _light

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
def test_gram_matrix_is_the_same_in_all_versions(name: str) -> None:
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
def test_equal_singular_values_are_not_separated(
    values: list[float], kept: int, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the dense and the sparse method; row order and noise of 1e-10 have no effect."""
    monkeypatch.setattr(_light, "DENSE_LIMIT", 800 if small else 0)
    matrix = levels(values)
    rng = np.random.default_rng(1)
    found = projector(matrix, 5)
    assert np.trace(found) == pytest.approx(kept, abs=1e-9)
    np.testing.assert_allclose(projector(matrix[rng.permutation(60)], 5), found, atol=1e-6)
    noisy = matrix + 1e-10 * rng.normal(size=matrix.shape)
    np.testing.assert_allclose(projector(noisy, 5), found, atol=1e-6)


def test_all_copies_of_a_singular_value_are_found() -> None:
    """45 equal blocks have each value 45 times."""
    block = np.random.default_rng(0).normal(size=(30, 20))
    matrix = csr_array(np.kron(np.eye(45), block))
    assert min(matrix.shape) > _light.DENSE_LIMIT
    whole = np.repeat(np.linalg.svd(block, compute_uv=False), 45)[:50]
    np.testing.assert_allclose(_light._compute_singular_vectors(matrix, 50)[0], whole, rtol=1e-9)
