"""What a linear classifier minimises: its loss, in float64, and how many outputs it has.

``1/(2C) |w|² + sum over the training rows of the loss``, the intercepts free. The losses of one
row, t being +1 for the rows of an output's class and -1 for the others:

===========  ========================  =============================  =======================
family       two classes, one output   K classes, K outputs           scikit-learn's name
===========  ========================  =============================  =======================
"logistic"   log(1 + e^(-t z))         log sum e^(z_k) - z_label      LogisticRegression(C=C)
"ridge"      (t - z)² / 2              its sum, one against the rest  RidgeClassifier(1/C)
"svm"        max(0, 1 - t z)²          its sum, one against the rest  LinearSVC(C=C)
===========  ========================  =============================  =======================

(`LinearSVC` penalises its intercept too, unless its `intercept_scaling` is large.) A vote goes to
class 1 when the one output is above 0, and to the class of the largest of several.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOGISTIC, RIDGE, SVM = 0, 1, 2
"""The families' codes, which compiled loops can branch on."""

CLOSE = np.float32(1e-4)
"""Votes with a decision value, or a lead over the next class, below this are counted as close."""

FAMILIES = {"logistic": LOGISTIC, "ridge": RIDGE, "svm": SVM}


def outputs_of(classes: int) -> int:
    """Return how many outputs tell so many classes apart: one tells two."""
    return 1 if classes <= 2 else classes


def present_classes(labels: NDArray[np.float32], outputs: int) -> NDArray[np.bool_]:
    """Return which classes occur among the labels of rows that so many outputs tell apart."""
    return np.bincount(labels.astype(np.intp), minlength=max(2, outputs)) > 0


def _targets(y: Floats, outputs: int) -> Floats:
    """Return +1 or -1 for each row and output, (m, K)."""
    mine = y[:, None] > 0 if outputs == 1 else y[:, None] == np.arange(outputs)
    return np.where(mine, 1.0, -1.0)


def loss(family: int, z: Floats, y: Floats) -> float:
    """Return the sum of the losses of rows with the decision values z, (m, K), and labels y."""
    from scipy.special import logsumexp

    t = _targets(y, z.shape[1])
    if family == RIDGE:
        return float(((t - z) ** 2).sum() / 2)
    if family == SVM:
        return float((np.maximum(0.0, 1 - t * z) ** 2).sum())
    if z.shape[1] == 1:
        return float(np.logaddexp(0.0, -t * z).sum())
    return float((logsumexp(z, axis=1) - z[np.arange(len(y)), y.astype(int)]).sum())


def residual(family: int, z: Floats, y: Floats) -> Floats:
    """Return the derivative of each row's loss by each output, (m, K)."""
    from scipy.special import expit, softmax

    t = _targets(y, z.shape[1])
    if family == RIDGE:
        return z - t
    if family == SVM:
        return np.asarray(-2 * t * np.maximum(0.0, 1 - t * z))
    p = expit(z) if z.shape[1] == 1 else softmax(z, axis=1)
    return np.asarray(p - (t > 0))


def curvature(family: int, z: Floats, y: Floats) -> Floats:
    """Return the second derivatives of each row's loss, (m, K, K)."""
    from scipy.special import expit, softmax

    outputs = z.shape[1]
    if family == RIDGE:
        return np.tile(np.eye(outputs), (len(z), 1, 1))
    if family == SVM:
        return 2.0 * (_targets(y, outputs) * z < 1)[:, :, None] * np.eye(outputs)
    if outputs == 1:
        p = expit(z)
        return np.asarray(p * (1 - p))[:, :, None]
    p = softmax(z, axis=1)
    return np.asarray(p[:, :, None] * np.eye(outputs) - p[:, :, None] * p[:, None, :])
