"""Bars next to each other, as pages draw them: numbers by day, accuracies by depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT = 480, 190
"""Of a drawing; it shrinks to the screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 6, 10, 36
"""Around the bars, for the axes."""

_WIDEST = 34


def drawn(
    stacks: Sequence[Sequence[tuple[float, bool]]],
    labels: Sequence[str],
    told: str,
    *,
    top: float,
    unit: str = "",
    line: float | None = None,
    axis: str = "",
) -> dict[str, Any]:
    """Return the drawing of bars, which `partials/bars.html` renders.

    Args:
        stacks: the parts of each bar from below: how high, and whether it is pale.
        labels: the text under each bar; "" for nothing.
        told: the drawing in words, for people who do not see it.
        top: the number of the highest line across.
        unit: what follows its number.
        line: the number of a dashed line; None without one.
        axis: the text under the labels.
    """
    scale = (HEIGHT - _TOP - _BOTTOM) / top
    slot = (WIDTH - _LEFT - _RIGHT) / max(1, len(stacks))
    width = round(min(0.74 * slot, _WIDEST), 2)
    middles = [_LEFT + slot * (at + 0.5) for at in range(len(stacks))]
    bars = []
    for middle, stack in zip(middles, stacks, strict=True):
        foot, x = 0.0, round(middle - width / 2, 2)
        for value, pale in stack:
            foot += value
            height = round(value * scale, 2)
            bar = {"x": x, "y": _y(foot * scale), "width": width, "height": height, "pale": pale}
            bars.append(bar)
    return {
        "bars": bars,
        "ticks": [(_y(share * top * scale), f"{share * top:g}{unit}") for share in (0, 0.5, 1)],
        "labels": [(round(x, 2), name) for x, name in zip(middles, labels, strict=True) if name],
        "line": None if line is None else _y(line * scale),
        "told": told,
        "axis": axis,
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "end": WIDTH - _RIGHT,
        "base": HEIGHT - _BOTTOM,
        "middle": (WIDTH - _RIGHT + _LEFT) / 2,
    }


def _y(height: float) -> float:
    return round(HEIGHT - _BOTTOM - height, 2)
