"""A drawing of quantities against a setting, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._palette import GONE, INK, KEPT, NULL, ONE, TWO
from winosmith.report._svg import Svg, draw
from winosmith.report._text import clean, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["Curve", "curves"]

_LOOKS = (
    (KEPT, "o", "solid"),
    (GONE, "s", (0, (5, 2))),
    (ONE, "^", (0, (1.5, 1.5))),
    (TWO, "D", (0, (6, 2, 1.5, 2))),
    (NULL, "v", (0, (3, 3))),
    (INK, "P", "solid"),
)
"""Colour, marker and dash for each curve in turn: any one of them tells it apart."""


@dataclass(frozen=True)
class Curve:
    """Values at the settings of `curves`.

    Attributes:
        values: one a setting.
        low, high: the intervals' ends, one a setting; empty without intervals.
    """

    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def curves(
    settings: Sequence[float],
    lines: Mapping[str, Curve],
    *,
    title: str,
    x: str,
    y: str,
    percent: bool = False,
) -> Svg:
    """Draw up to six curves over the same settings, each with its band.

    Args:
        settings: the x coordinates, such as the strengths of a planted artifact.
        lines: name → curve, in the order of the legend.
        title: the drawing's name.
        x: what the settings are.
        y: what the values are.
        percent: the values are shares (0–1), printed in percent.

    Raises:
        ValueError: more curves than can be told apart.
    """
    if len(lines) > len(_LOOKS):
        raise ValueError(f"{len(lines)} curves can't be told apart; {len(_LOOKS)} can")

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        for (name, line), (colour, marker, dash) in zip(lines.items(), _LOOKS, strict=False):
            if len(line.low) and len(line.high):
                axes.fill_between(settings, line.low, line.high, color=colour, alpha=0.18, lw=0)
            axes.plot(settings, line.values, color=colour, marker=marker, markersize=5,
                      linestyle=dash, linewidth=1.6, label=clean(name))  # fmt: skip
        axes.set(xlabel=clean(x), ylabel=clean(y))
        axes.grid(axis="y")
        if all(setting == round(setting) for setting in settings):
            axes.locator_params(axis="x", integer=True)
        if percent:
            axes.set_ylim(-0.02, 1.02)
            axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        if lines:
            canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)

    form = ".1%" if percent else ""
    told = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{shown(value, form)} at {setting:g}"
            for setting, value in zip(settings, line.values, strict=True)
        )
        for name, line in lines.items()
    )
    return draw(paint, title=title, description=told)
