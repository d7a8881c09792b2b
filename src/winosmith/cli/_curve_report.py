"""What `winosmith curve` says, as text and as a page; its page serves the leaderboard too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._printing import percent
from winosmith.metrics import FORMS, Extrapolation, LearningCurve

__all__ = ["curve_page", "curve_tables", "drawings", "not_fitted", "taken"]

Rows = list[list[report.Value]]

CAUTION = (
    "No form is known to be the right one. `without last` is what the form, fitted without the "
    "largest size, says of it; the interval is how well the points fix the form."
)


def curve_tables(curve: LearningCurve) -> Iterator[tuple[str, list[str], Rows]]:
    """Yield title, headings and rows of the tables."""
    runs: Rows = [
        [point.size, len(point.accuracies), percent(point.taken), percent(point.mean),
         None if point.spread is None else f"{100 * point.spread:.1f}"]
        for point in curve.points
    ]  # fmt: skip
    yield "Accuracy by training size", ["size", "runs", curve.take, "mean", "sd"], runs
    last = curve.points[-1].taken
    forms: Rows = [
        [found.form.name, _size(found.reaches), _span(found), f"{100 * found.error:.1f}",
         None if found.last is None
         else f"{100 * found.last:.1f} ({100 * (found.last - last):+.1f})"]
        for found in curve.extrapolations
    ]  # fmt: skip
    yield (
        f"Training problems needed for {percent(curve.human)}",
        ["if the curve goes on as", "problems", "95 %", "residual", "without last"],
        forms,
    )


def not_fitted(curve: LearningCurve) -> str:
    """Return a sentence that names the forms whose fit found no minimum; empty for none."""
    found = {each.form.name for each in curve.extrapolations}
    missing = [form.name for form in FORMS if form.name not in found]
    return f"No fit was found for: {', '.join(missing)}." if missing else ""


def drawings(curve: LearningCurve) -> list[report.Svg]:
    """Return the drawings: the curve with its continuations, and where each meets the level."""
    last = curve.points[-1].size
    ahead = np.geomspace(curve.points[0].size, 250 * last, 160)
    lines = {}
    for found in curve.extrapolations:
        values = found.at(ahead)
        below = values <= 1
        lines[found.form.name] = (ahead[below].tolist(), values[below].tolist())
    runs = [(float(p.size), v) for p in curve.points for v in p.accuracies if len(p.accuracies) > 1]
    return [
        report.learning(
            [(float(point.size), point.taken) for point in curve.points],
            runs=runs,
            lines=lines,
            level=curve.human,
            level_name=f"people, {percent(curve.human)}",
        ),
        report.reaches(
            [report.Reach(e.form.name, e.reaches, *e.interval) for e in curve.extrapolations],
            largest=last,
        ),
    ]


def curve_page(name: str, curve: LearningCurve, signature: report.Signature) -> str:
    """Return the report as one HTML page."""
    (points, *_), (forms, *_) = tables = list(curve_tables(curve))
    caption = (
        "The accuracies, with their continuations by each form, and the training sizes at which "
        "these meet the level of people, with 95 % intervals."
    )
    formulas: Rows = [
        [found.form.name, found.form.formula, ", ".join(f"{p:.4g}" for p in found.parameters)]
        for found in curve.extrapolations
    ]
    return report.page(
        f"{name}: the learning curve",
        [
            report.Section(
                "How far it goes on",
                [
                    report.Drawing(caption, drawings(curve), signature=signature),
                    report.Table(forms, tables[1][1], tables[1][2], note=CAUTION),
                    report.Text([f"{taken(curve)} {not_fitted(curve)}".strip()], "note"),
                ],
            ),
            report.Section(
                "What was measured",
                [
                    report.Table(points, tables[0][1], tables[0][2]),
                    report.Table(
                        "The forms, as fitted", ["form", "formula", "parameters"], formulas
                    ),
                ],
            ),
        ],
        signature=signature,
        footer=f"Made by winosmith {__version__}.",
    )


def taken(curve: LearningCurve) -> str:
    """Return one sentence on which runs the curve goes through."""
    most = max(len(point.accuracies) for point in curve.points)
    if most == 1:
        return "There is one run a size; how far runs differ is not known."
    if curve.take == "best":
        return (
            f"The curve goes through the best of up to {most} runs a size, as WinoGrande's figure "
            "2 does: it is optimistic, and more so where runs differ more."
        )
    return (
        f"The curve goes through the mean of up to {most} runs a size; runs that fell to chance "
        "pull it down."
    )


def _size(size: float | None) -> str:
    if size is None:
        return "never"
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g}"


def _span(found: Extrapolation) -> str:
    low, high = found.interval
    return f"{_size(low)} to {_size(high)}"
