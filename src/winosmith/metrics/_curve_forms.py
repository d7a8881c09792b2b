"""The forms that can continue a learning curve; none of them is known to be the right one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FORMS", "Form"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Form:
    """One way to continue a learning curve.

    Attributes:
        name: of the form.
        formula: how the accuracy A, 0–1, depends on N training problems.
        curve: (log2 N, parameters) → A.
        start: (log2 N, A) → parameters to start the fit from.
        parameters: how many there are.
    """

    name: str
    formula: str
    curve: Callable[..., Floats]
    start: Callable[[Floats, Floats], list[float]]
    parameters: int


def _line(x: Floats, y: Floats) -> list[float]:
    slope, intercept = np.polyfit(x, y, 1)
    return [float(intercept), float(slope)]


def _fourth_root(x: Floats, a: float, b: float) -> Floats:
    values: Floats = a + b * np.exp2(x / 4)
    return values


def _logarithm(x: Floats, a: float, b: float) -> Floats:
    values: Floats = a + b * x
    return values


def _logistic(x: Floats, a: float, b: float) -> Floats:
    from scipy.special import expit

    values: Floats = 0.5 + 0.5 * expit(a + b * x)
    return values


def _logistic_start(x: Floats, y: Floats) -> list[float]:
    from scipy.special import logit

    return _line(x, logit(np.clip(2 * y - 1, 0.01, 0.99)))


def _power(x: Floats, a: float, b: float) -> Floats:
    values: Floats = 1 - np.exp2(a - b * x)
    return values


def _power_start(x: Floats, y: Floats) -> list[float]:
    intercept, slope = _line(x, np.log2(np.clip(1 - y, 1e-3, 1)))
    return [intercept, -slope]


def _asymptote(x: Floats, a: float, b: float, c: float) -> Floats:
    values: Floats = 1 - c - np.exp2(a - b * x)
    return values


def _asymptote_start(x: Floats, y: Floats) -> list[float]:
    floor = max(0.0, (1 - float(y.max())) / 2)
    return [*_power_start(x, y + floor), floor]


FORMS = (
    Form("fourth root", "A = a + b·N^(1/4)", _fourth_root,
         lambda x, y: _line(np.exp2(x / 4), y), 2),
    Form("logarithm", "A = a + b·log2 N", _logarithm, _line, 2),
    Form("logistic", "A = 1/2 + 1/2 · logistic(a + b·log2 N)", _logistic, _logistic_start, 2),
    Form("power law", "A = 1 − a·N^(−b)", _power, _power_start, 2),
    Form("power law, asymptote", "A = 1 − c − a·N^(−b), 0 ≤ c", _asymptote, _asymptote_start, 3),
)  # fmt: skip
"""In the order of reports. The first two pass 100 % at some size; the last may stay far below it.
Fitted to WinoGrande's table 4 (dev, 40,398), the first alone gives the paper's "over 118K" for the
human 94.1; the paper does not say how its figure was found."""
