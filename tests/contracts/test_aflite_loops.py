"""One test over every kernel of AFLite: the same sums, the same votes, the same rows removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from winosmith import debias
from winosmith.debias._basis import aligned
from winosmith.debias._family import CLOSE, FAMILIES, curvature, loss, outputs_of, residual
from winosmith.debias._loops import Loops, bound
from winosmith.errors import InputError

Floats = NDArray[np.float64]

KERNELS = ["numba", pytest.param("torch:cpu", marks=pytest.mark.models)]
CASES = [(family, classes) for family in FAMILIES for classes in (2, 3, 5)]


def problem(classes: int) -> tuple[NDArray[np.float32], NDArray[np.float32], Any, Any]:
    """Return a basis, labels, the rows left, and partitions of every size."""
    rng = np.random.default_rng(classes)
    X = aligned(rng.normal(size=(700, 32)))
    y = rng.integers(classes, size=700).astype(np.float32)
    rows = np.sort(rng.choice(700, 611, replace=False)).astype(np.int32)
    sizes = (611, 300, 129, 7, 1)
    parts = [np.sort(rng.choice(611, n, replace=False)).astype(np.int32) for n in sizes]
    return X, y, rows, parts


def weights(classifiers: int, classes: int) -> Floats:
    """Return weights that leave sigmoids unsaturated."""
    rng = np.random.default_rng(classifiers)
    return rng.normal(size=(classifiers, outputs_of(classes), 32)) / 6


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> str:
    """Return each kernel that runs here."""
    name: str = request.param
    if name != "numba":
        pytest.importorskip("torch")
    return name


@pytest.mark.parametrize(("family", "classes"), CASES)
def test_gradients_are_those_of_the_formula(kernel: str, family: str, classes: int) -> None:
    """Summed gradients agree with float64, over all families, classes and sizes of partitions."""
    X, y, rows, parts = problem(classes)
    W, code = weights(5, classes), FAMILIES[family]
    gradient = bound(kernel, X, y).training(code, rows, parts)
    G, some = gradient(W, np.arange(5)), gradient(W[[3, 1]], np.array([3, 1]))
    for j, part in enumerate(parts):
        x = X[rows[part]].astype(np.float64)
        wanted = residual(code, x @ W[j].T, y[rows[part]].astype(np.float64)).T @ x
        np.testing.assert_allclose(G[j], wanted, rtol=2e-5, atol=5e-4)
    np.testing.assert_allclose(some, G[[3, 1]], rtol=2e-5, atol=5e-4)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_votes_are_those_of_the_decision_values(kernel: str, classes: int) -> None:
    """A held-out row goes to the class with the largest value; close calls are counted."""
    X, y, rows, parts = problem(classes)
    W = weights(5, classes)
    W[4] = 0.0  # every vote of this one is close
    correct, total, close = bound(kernel, X, y).votes(rows, parts, W)
    Z = np.einsum("nd,ckd->nck", X[rows].astype(np.float64), W)
    if classes == 2:
        choice, margin = Z[:, :, 0] > 0, np.abs(Z[:, :, 0])
    else:
        ranked = np.sort(Z, axis=2)
        choice, margin = Z.argmax(axis=2), ranked[:, :, -1] - ranked[:, :, -2]
    held = np.ones(choice.shape, bool)
    for j, part in enumerate(parts):
        held[part, j] = False
    assert total.tolist() == held.sum(axis=1).tolist()
    assert correct.tolist() == (held & (choice == y[rows, None])).sum(axis=1).tolist()
    assert close == (held & (margin < CLOSE)).sum() >= 610


@pytest.mark.parametrize(("family", "classes"), CASES)
def test_curvatures_are_those_of_the_formula(kernel: str, family: str, classes: int) -> None:
    """The Hessian's diagonal and its product with the weights agree with float64."""
    X, y, rows, _ = problem(classes)
    w, code = weights(1, classes)[0], FAMILIES[family]
    loops: Loops = bound(kernel, X, y)
    diagonal, product = loops.curvature(code, rows, w, 0.5)
    x, labels = X[rows].astype(np.float64), y[rows].astype(np.float64)
    C = curvature(code, x @ w.T, labels)
    np.testing.assert_allclose(diagonal, 0.5 * np.einsum("nkk,nd->kd", C, x * x), rtol=1e-5)
    wanted = 0.5 * np.einsum("nkl,nl,nd->kd", C, x @ w.T, x)
    np.testing.assert_allclose(product, wanted, rtol=1e-4, atol=1e-3)
    highest = max((x * x / row).sum(axis=1).max() for row in diagonal)
    assert loops.leverage(rows, diagonal) == pytest.approx(highest, rel=1e-5)


@pytest.mark.parametrize(("family", "classes"), CASES)
def test_the_formulas_are_derivatives_of_one_another(family: str, classes: int) -> None:
    """Residuals are the slopes of the loss, and curvatures the slopes of the residuals."""
    rng, code, step = np.random.default_rng(0), FAMILIES[family], 1e-6
    z, y = rng.normal(size=(1, outputs_of(classes))), np.array([1.0])
    for o in range(z.shape[1]):
        up, down = z.copy(), z.copy()
        up[0, o] += step
        down[0, o] -= step
        slope = (loss(code, up, y) - loss(code, down, y)) / (2 * step)
        assert residual(code, z, y)[0, o] == pytest.approx(slope, abs=1e-6)
        bend = (residual(code, up, y) - residual(code, down, y))[0] / (2 * step)
        np.testing.assert_allclose(curvature(code, z, y)[0, o], bend, atol=1e-6)


def made(classes: int, rows: int = 1200) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows of which half can be guessed."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(rows, 24)).astype(np.float32)
    likely = X @ rng.normal(size=(24, classes)) + rng.gumbel(size=(rows, classes))
    guessable = rng.random(rows) < 0.5
    y = np.where(guessable, likely.argmax(axis=1), rng.integers(classes, size=rows))
    return X, y


@pytest.mark.parametrize(("family", "classes"), CASES)
def test_every_kernel_removes_the_same_rows(kernel: str, family: str, classes: int) -> None:
    """What is kept does not depend on the kernel, and no score is undefined."""
    X, y = made(classes)
    sizes = {"train_size": 300, "cutoff": 40, "ensemble_size": 12}

    def run(name: str) -> debias.AfliteResult:
        return debias.aflite(X, y, classifier=family, kernel=name, seed=3, **sizes)

    result, usual = run(kernel), run("numba")
    assert np.array_equal(result.removed_in, usual.removed_in)
    assert np.array_equal(result.scores, usual.scores)
    assert np.isfinite(result.scores).all()
    assert len(result.removed[0]) == 40


@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_that_a_training_set_lacks_is_not_predicted(kernel: str, family: str) -> None:
    """A rare class is absent from many training sets; scores are defined all the same."""
    X, y = made(3, 400)
    y[y == 2] = 0
    y[:3] = 2
    result = debias.aflite(
        X, y, classifier=family, kernel=kernel, train_size=40, cutoff=20, ensemble_size=8
    )
    assert np.isfinite(result.scores).all()
    assert len(result.kept) + sum(map(len, result.removed)) == 400


@pytest.mark.parametrize("name", ["cuda", "numba:cpu", "torch:", "torch:nowhere", ""])
def test_a_kernel_that_is_not_there_is_refused(name: str) -> None:
    """The error names the kernels, or what torch says of the device."""
    X, y = made(2, 100)
    with pytest.raises(InputError, match=r"kernel is|can't be used"):
        debias.aflite(X, y, train_size=30, cutoff=5, kernel=name)
