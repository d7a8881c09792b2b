"""Fit one form to a learning curve, with the band of the fit, and find where it meets a level."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.metrics._curve_forms import Form

__all__ = ["Extrapolation", "extrapolated"]

FARTHEST = 40.0
"""log2 of the largest size that is looked at: 10^12 problems. Beyond it is "never"."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """How one form continues the curve.

    Attributes:
        form: which; see `FORMS`.
        parameters: fitted by least squares.
        error: the root of the mean squared residual (degrees of freedom taken off), 0–1.
        reaches: the size at which the fitted curve reaches the human level; None for never, up to
            10^12 problems.
        interval: the sizes at which the upper and the lower end of the curve's 95 % band reach it;
            None for never, on either side. See `learning_curve`.
        last: what the form, fitted without the largest size, says for it; None when there are too
            few sizes to fit it without.
    """

    form: Form
    parameters: tuple[float, ...]
    error: float
    reaches: float | None
    interval: tuple[float | None, float | None]
    last: float | None

    def at(self, sizes: npt.ArrayLike) -> Floats:
        """Return the fitted accuracy at these sizes; some forms leave 0–1."""
        return self.form.curve(np.log2(np.asarray(sizes, dtype=np.float64)), *self.parameters)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "form": self.form.name,
            "formula": self.form.formula,
            "parameters": list(self.parameters),
            "error": self.error,
            "reaches": self.reaches,
            "interval": list(self.interval),
            "last": self.last,
        }


def extrapolated(form: Form, x: Floats, y: Floats, human: float) -> Extrapolation | None:
    """Return the form fitted to accuracies y at log2 sizes x; None when no minimum is found."""
    from scipy.stats import t

    fitted = _fit(form, x, y)
    if fitted is None:
        return None
    parameters, covariance = fitted
    free = len(x) - form.parameters
    rest = y - form.curve(x, *parameters)
    ahead = np.linspace(x[0], FARTHEST, 20_001)
    middle = form.curve(ahead, *parameters)
    slopes = _slopes(form, ahead, parameters)
    wide = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0))
    wide = wide * float(t.ppf(0.975, free)) if free else np.full(len(ahead), np.inf)
    before = _fit(form, x[:-1], y[:-1]) if len(x) - 1 >= form.parameters else None
    return Extrapolation(
        form,
        tuple(map(float, parameters)),
        float(np.sqrt(rest @ rest / free)) if free else 0.0,
        _first_size(ahead, middle, human),
        (_first_size(ahead, middle + wide, human), _first_size(ahead, middle - wide, human)),
        None if before is None else float(form.curve(x[-1:], *before[0])[0]),
    )


def _fit(form: Form, x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """Return the parameters and their covariance, or None when the fit does not settle."""
    from scipy.optimize import OptimizeWarning, curve_fit

    if len(x) < form.parameters:
        return None
    start = form.start(x, y)
    low = [-np.inf, -np.inf, 0.0][: form.parameters]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptimizeWarning)  # the covariance could not be told
        warnings.simplefilter("ignore", RuntimeWarning)  # an overflow far from the solution
        try:
            parameters, covariance = curve_fit(
                form.curve, x, y, start, bounds=(low, np.inf), method="trf", x_scale="jac",
                max_nfev=5_000, ftol=1e-12, xtol=1e-12, gtol=1e-12,
            )  # fmt: skip
        except (RuntimeError, ValueError, OptimizeWarning):
            return None
    return parameters, covariance


def _slopes(form: Form, x: Floats, parameters: Floats) -> Floats:
    """Return the derivative of the curve by each parameter, (len(x), parameters)."""
    columns = []
    for at, value in enumerate(parameters):
        step = 1e-6 * max(1e-3, abs(value))
        up, down = parameters.copy(), parameters.copy()
        up[at] += step
        down[at] -= step
        columns.append((form.curve(x, *up) - form.curve(x, *down)) / (2 * step))
    return np.stack(columns, axis=1)


def _first_size(x: Floats, values: Floats, level: float) -> float | None:
    """Return the first size at which the values reach the level; None for never."""
    above = np.flatnonzero(values >= level)
    if not len(above):
        return None
    at = int(above[0])
    if at == 0 or not np.isfinite(values[at - 1]):
        return float(np.exp2(x[at]))
    share = (level - values[at - 1]) / (values[at] - values[at - 1])
    return float(np.exp2(x[at - 1] + share * (x[at] - x[at - 1])))
