"""Draw curves with bands over one setting, such as the strength of planted artifacts."""

from __future__ import annotations

from winosmith.report._svg import GONE, KEPT, ONE, draw_chart
from winosmith.report._text import format_percent_tick, format_value

LOOKS = ((KEPT, "o", "solid"), (GONE, "s", (0, (5, 2))), (ONE, "^", (0, (1.5, 1.5))))
"""Colour, marker and dash of each curve in turn."""


def draw_curves(settings, lines, *, title, x, y):
    """Return up to three curves as SVG.

    Args:
        settings: the x coordinates.
        lines: name → (mean, minimum, maximum) of a fraction (0–1) at each setting.
        title: title of the figure.
        x: label of the x axis.
        y: label of the y axis.
    """

    def paint(canvas):
        axes = canvas.add_subplot()
        for (name, points), (colour, marker, dash) in zip(lines.items(), LOOKS, strict=False):
            values, low, high = zip(*points, strict=True)
            axes.fill_between(settings, low, high, color=colour, alpha=0.18, lw=0)
            axes.plot(settings, values, color=colour, marker=marker, markersize=5,
                      linestyle=dash, linewidth=1.6, label=name)  # fmt: skip
        axes.set(xlabel=x, ylabel=y, ylim=(-0.02, 1.02))
        axes.grid(axis="y")
        axes.locator_params(axis="x", integer=all(one == round(one) for one in settings))
        axes.yaxis.set_major_formatter(format_percent_tick)
        canvas.legend(loc="outside upper left", ncols=2, handlelength=2.6)

    description = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{format_value(points[0], '.1%')} at {setting:g}"
            for setting, points in zip(settings, along, strict=True)
        )
        for name, along in lines.items()
    )
    return draw_chart(paint, title=title, description=description)
