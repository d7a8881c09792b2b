"""Learning curves, and the training sizes at which fitted curves reach the human level."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from winosmith import report
from winosmith.errors import DataError
from winosmith.report import Svg, abbreviate_size, percent, to_fixed
from winosmith.results import HIDDEN, Result, computed, shown

Floats = npt.NDArray[np.float64]
Take = Literal["best", "mean"]


@dataclass(frozen=True, slots=True)
class CurvePoint(Result):
    """The training runs on a given number of training problems.

    Attributes:
        size: The number of training problems.
        accuracies: The accuracy of each run, 0–1, in the order given.
        taken: The accuracy used for the fit: the best or the mean accuracy of the runs.
    """

    size: int = field(metadata=shown("size"))
    accuracies: tuple[float, ...] = field(metadata=shown("runs", len))
    taken: float = field(metadata=shown("used", percent))

    @property
    @computed(**shown("mean", percent))
    def mean(self) -> float:
        """The mean accuracy of the runs, 0–1."""
        return float(np.mean(self.accuracies))

    @property
    @computed(**shown("sd", lambda spread: to_fixed(100 * spread)))
    def spread(self) -> float | None:
        """The standard deviation of the runs' accuracies (n − 1); None for a single run."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else None


@dataclass(frozen=True)
class LearningCurve(Result):
    """A learning curve and its extrapolations.

    Attributes:
        points: The points, sorted by size.
        human: The human accuracy that models should reach, 0–1.
        take: How the runs of each size were reduced to one accuracy: "best" or "mean".
        area: The area under the curve; see `area_under_curve`.
        extrapolations: One extrapolation for each form with fewer parameters than there are sizes.
    """

    points: tuple[CurvePoint, ...] = field(metadata={"rows": True})
    human: float
    take: Take
    area: float
    extrapolations: tuple[Extrapolation, ...]

    def charts(self) -> list[Svg]:
        """Return a chart of the learning curve with its extrapolations."""
        sizes = np.geomspace(self.points[0].size, 250 * self.points[-1].size, 160)
        lines = {}
        for found in self.extrapolations:
            values = found.predict(sizes)
            below = values <= 1
            lines[found.form.name] = (sizes[below].tolist(), values[below].tolist())
        several = [point for point in self.points if len(point.accuracies) > 1]
        runs = [(float(point.size), value) for point in several for value in point.accuracies]
        return [
            report.draw_learning_curve(
                [(float(point.size), point.taken) for point in self.points],
                runs=runs,
                lines=lines,
                level=self.human,
                level_name=f"people, {percent(self.human)}",
            )
        ]


def fit_learning_curve(
    runs: Mapping[int, Sequence[float]], *, human: float = 0.94, take: Take = "best"
) -> LearningCurve:
    """Fit a learning curve of each form, and find the size at which it reaches the human level.

    Each form is fitted by least squares to one accuracy per size. The 95 % band of the fitted curve
    comes from the delta method, with Student's t because of the few degrees of freedom. The
    interval of the size ends where the band crosses the human level (inverse regression; for a
    straight line this is Fieller's interval). It shows how well the points determine the
    parameters, not whether the form is correct. To judge a form, compare it with the others, and
    check how well it predicts the accuracy at the largest size (`last`).

    Args:
        runs: The accuracies of the runs, 0–1, by training size, for at least three sizes.
        human: The human accuracy, 0–1; 0.94 on WinoGrande (section 4.1).
        take: The accuracy to use for each size: "best" of its runs, like the best of ten seeds in
            the paper's figure 2, or their "mean". The best run gives an optimistic curve,
            especially if the runs differ a lot, whereas runs that ended at chance lower the mean.

    Raises:
        DataError: There are fewer than three sizes, a size has no run, or an accuracy is not 0–1.

    >>> table4 = {160: [0.515], 640: [0.586], 2558: [0.669], 10234: [0.758], 40398: [0.793]}
    >>> curve = fit_learning_curve(table4, human=0.941)
    >>> [(e.form.name, e.reaches and round(e.reaches, -3)) for e in curve.extrapolations][:2]
    [('fourth root', 118000.0), ('logarithm', 491000.0)]
    """
    if len(runs) < 3:
        count = "is 1 training size" if len(runs) == 1 else f"are {len(runs)} training sizes"
        raise DataError(f"there {count}; a learning curve needs three or more")
    if min(runs) < 1 or not all(runs.values()):
        raise DataError("every training size must be 1 or more and have at least one run")
    values = [human, *(value for own in runs.values() for value in own)]
    invalid = next((value for value in values if not 0 <= value <= 1), None)
    if invalid is not None:
        raise DataError(f"an accuracy must be between 0 and 1, not {invalid}")
    points = []
    for size, own in sorted(runs.items()):
        taken = float(max(own) if take == "best" else np.mean(own))
        points.append(CurvePoint(size, tuple(map(float, own)), taken))
    x = np.log2([float(point.size) for point in points])
    y = np.array([point.taken for point in points])
    with np.errstate(over="ignore", invalid="ignore"):  # a bad fit may overflow
        fitted = [extrapolate(form, x, y, human) for form in FORMS]
    area = area_under_curve(y.tolist(), [point.size for point in points])
    found = tuple(one for one in fitted if one is not None)
    return LearningCurve(tuple(points), human, take, area, found)


MAX_LOG2_SIZE = 40.0
"""Base-2 logarithm of the largest training size that is considered, about 10^12 problems. If a
curve reaches the human level only beyond it, reports print "never"."""


def format_size(size: float | None) -> str:
    """Return a training size as a string, or "never" for None."""
    return "never" if size is None else abbreviate_size(size)


@dataclass(frozen=True, slots=True)
class Extrapolation(Result):
    """An extrapolation of a learning curve, fitted with one functional form.

    Attributes:
        form: The form; see `FORMS`.
        parameters: The parameters, fitted by least squares.
        error: The root mean squared residual, adjusted for degrees of freedom, 0–1.
        reaches: The size at which the curve reaches the human level; None if it is above 10^12.
        interval: The sizes at which the upper and the lower limit of the curve's 95 % band reach
            the human level; None if a limit stays below it. See `fit_learning_curve`. None if the
            curve passes through all points, and they are only one more than the parameters.
        last: The accuracy predicted for the largest size by a fit without that size; None if that
            fit failed.
    """

    form: Form
    parameters: tuple[float, ...] = field(
        metadata=shown("parameters", lambda fitted: ", ".join(f"{one:.4g}" for one in fitted))
    )
    error: float = field(metadata=shown("residual", lambda error: to_fixed(100 * error)))
    reaches: float | None
    interval: tuple[float | None, float | None] | None = field(
        metadata=shown("95 %", lambda ends: ends and " to ".join(map(format_size, ends)))
    )
    last: float | None

    def predict(self, sizes: npt.ArrayLike) -> Floats:
        """Return the fitted accuracies at given sizes; some forms give values outside 0–1."""
        return self.form.curve(np.log2(np.asarray(sizes, dtype=np.float64)), *self.parameters)


def extrapolate(form: Form, x: Floats, y: Floats, human_level: float) -> Extrapolation | None:
    """Fit a form to the accuracies `y` at the log2 sizes `x`.

    Returns None if the fit fails, or if there are only as many points as parameters.
    """
    from scipy.stats import t

    free = len(x) - form.parameters
    fitted = _fit_form(form, x, y) if free else None  # a curve through all points has no band
    if fitted is None:
        return None
    parameters, covariance = fitted
    residuals = y - form.curve(x, *parameters)
    sizes = np.linspace(x[0], MAX_LOG2_SIZE, 20_001)
    middle = form.curve(sizes, *parameters)
    columns = []
    for at, value in enumerate(parameters):
        step = 1e-6 * max(1e-3, abs(value))
        up, down = parameters.copy(), parameters.copy()
        up[at] += step
        down[at] -= step
        columns.append((form.curve(sizes, *up) - form.curve(sizes, *down)) / (2 * step))
    slopes = np.stack(columns, axis=1)
    reach = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", slopes, covariance, slopes), 0))
    reach *= float(t.ppf(0.975, free))
    without_last = _fit_form(form, x[:-1], y[:-1])
    last = None if without_last is None else float(form.curve(x[-1:], *without_last[0])[0])
    error = float(np.sqrt(residuals @ residuals / free))
    curves = (middle, middle + reach, middle - reach)
    size, low, high = (_find_first_size(sizes, curve, human_level) for curve in curves)
    interval = (low, high) if error > 1e-9 or free > 1 else None
    return Extrapolation(form, tuple(map(float, parameters)), error, size, interval, last)


def _fit_form(form: Form, x: Floats, y: Floats) -> tuple[Floats, Floats] | None:
    """Return the parameters and their covariance, or None if the fit does not converge.

    If there are only as many points as parameters, the covariance is not estimated.
    """
    from scipy.optimize import OptimizeWarning, curve_fit

    start = form.start(x, y)
    low = [-np.inf, -np.inf, 0.0][: form.parameters]
    with warnings.catch_warnings():
        action: Literal["error", "ignore"] = "error" if len(x) > form.parameters else "ignore"
        warnings.simplefilter(action, OptimizeWarning)  # the covariance could not be estimated
        warnings.simplefilter("ignore", RuntimeWarning)  # overflows far from the solution
        try:
            parameters, covariance = curve_fit(
                form.curve, x, y, start, bounds=(low, np.inf), method="trf", x_scale="jac",
                max_nfev=5_000, ftol=1e-12, xtol=1e-12, gtol=1e-12,
            )  # fmt: skip
        except (RuntimeError, ValueError, OptimizeWarning):
            return None
    return parameters, covariance


def _find_first_size(log_sizes: Floats, values: Floats, level: float) -> float | None:
    above = np.flatnonzero(values >= level)
    if not len(above):
        return None
    at = int(above[0])
    if at == 0 or not np.isfinite(values[at - 1]):
        return float(np.exp2(log_sizes[at]).round(6))  # the smallest size is a whole number
    share = (level - values[at - 1]) / (values[at] - values[at - 1])
    return float(np.exp2(log_sizes[at - 1] + share * (log_sizes[at] - log_sizes[at - 1])))


@dataclass(frozen=True, slots=True)
class Form(Result):
    """A form of curve that can be fitted to learning curves.

    Attributes:
        name: The name of the form.
        formula: The formula of the accuracy A, 0–1, for N training problems.
        curve: The function (log2 N, parameters) → A.
        start: The function (log2 N, A) → initial parameters of the fit.
        parameters: The number of parameters.
    """

    name: str = field(metadata=shown("form"))
    formula: str = field(metadata=shown("formula"))
    curve: Callable[..., Floats] = field(metadata=HIDDEN)
    start: Callable[[Floats, Floats], list[float]] = field(metadata=HIDDEN)
    parameters: int = field(metadata=HIDDEN)


def _fit_line(x: Floats, y: Floats) -> list[float]:
    slope, intercept = np.polyfit(x, y, 1)
    return [float(intercept), float(slope)]


def _logistic_curve(x: Floats, a: float, b: float) -> Floats:
    from scipy.special import expit

    return np.asarray(0.5 + 0.5 * expit(a + b * x))


def _init_logistic(x: Floats, y: Floats) -> list[float]:
    from scipy.special import logit

    return _fit_line(x, logit(np.clip(2 * y - 1, 0.01, 0.99)))


def _init_power(x: Floats, y: Floats) -> list[float]:
    intercept, slope = _fit_line(x, np.log2(np.clip(1 - y, 1e-3, 1)))
    return [intercept, -slope]


def _init_limit(x: Floats, y: Floats) -> list[float]:
    floor = max(0.0, (1 - float(y.max())) / 2)
    return [*_init_power(x, y + floor), floor]


FORMS = (
    Form("fourth root", "A = a + b·N^(1/4)", lambda x, a, b: a + b * np.exp2(x / 4),
         lambda x, y: _fit_line(np.exp2(x / 4), y), 2),
    Form("logarithm", "A = a + b·log2 N", lambda x, a, b: a + b * x, _fit_line, 2),
    Form("logistic", "A = 1/2 + 1/2 · logistic(a + b·log2 N)", _logistic_curve, _init_logistic, 2),
    Form("power law", "A = 1 − a·N^(−b)", lambda x, a, b: 1 - np.exp2(a - b * x), _init_power, 2),
    Form("power law, asymptote", "A = 1 − c − a·N^(−b), 0 ≤ c",
         lambda x, a, b, c: 1 - c - np.exp2(a - b * x), _init_limit, 3),
)  # fmt: skip
"""Curve forms in the order in which reports list them. The first two exceed 100 % at some size. The
last may never approach 100 %. Fitted to WinoGrande's table 4 (dev, up to 40,398 problems), only the
first reproduces the paper's "over 118K" for the human accuracy of 94.1. The paper does not state
how it computed this number."""


LEADERBOARD_SIZES = (160, 640, 2558, 10234, 40398)
"""Numbers of problems in the released training sets xs to xl. For xl, table 4 prints 40,938, but
the released file and the leaderboard's evaluation have 40,398."""


def area_under_curve(
    accuracies: Sequence[float], sizes: Sequence[float] = LEADERBOARD_SIZES
) -> float:
    """Return the area under a learning curve: the mean accuracy over the log size.

    The area is computed by the trapezoid rule over log2(size) and divided by the range of
    log2(size), like the "AUC" of WinoGrande's leaderboard. Its unit is that of the accuracies.

    Args:
        accuracies: The accuracy for each size.
        sizes: The training sizes, positive and ascending; by default those of the leaderboard.

    Raises:
        DataError: There are fewer than two sizes, or the sizes don't increase.

    >>> round(area_under_curve([0.515, 0.586, 0.669, 0.758, 0.793]), 4)  # table 4, dev
    0.6665
    """
    from scipy.integrate import trapezoid

    if len(sizes) != len(accuracies) or len(sizes) < 2:
        raise DataError(
            f"there are {len(accuracies)} accuracies for {len(sizes)} sizes; the area under the "
            "curve needs one accuracy per size, and at least two sizes"
        )
    if min(sizes) <= 0 or not (np.diff(sizes) > 0).all():
        raise DataError(f"the sizes must be positive and increasing: {', '.join(map(str, sizes))}")
    places = np.log2(np.asarray(sizes, dtype=np.float64))
    return float(trapezoid(accuracies, places) / (places[-1] - places[0]))
