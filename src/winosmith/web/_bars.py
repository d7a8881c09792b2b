"""Bars beside each other, as pages draw them: numbers by day, accuracies by depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 480, 190
"""Of a drawing; it shrinks to the screen."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 6, 10, 36
"""Around the bars, for the axes."""

_WIDEST = 34


class Bar(NamedTuple):
    """A bar, or a part of one that stands on another."""

    x: float
    y: float
    width: float
    height: float
    pale: bool


@dataclass(frozen=True, slots=True)
class Bars:
    """A drawing; `partials/bars.html` renders it.

    Attributes:
        bars: from the start of the axis on, the parts of each from below.
        ticks: (height, number) of the lines across.
        labels: (middle, name) under the bars.
        line: the height of a dashed line; None without one.
        told: the drawing in words.
        axis: what stands under the labels.
    """

    bars: Sequence[Bar]
    ticks: Sequence[tuple[float, str]]
    labels: Sequence[tuple[float, str]]
    line: float | None
    told: str
    axis: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    end: int = WIDTH - _RIGHT
    base: int = HEIGHT - _BOTTOM
    middle: float = (WIDTH - _RIGHT + _LEFT) / 2


def drawn(
    stacks: Sequence[Sequence[tuple[float, bool]]],
    labels: Sequence[str],
    told: str,
    *,
    top: float,
    unit: str = "",
    line: float | None = None,
    axis: str = "",
) -> Bars:
    """Return the drawing of bars.

    Args:
        stacks: the parts of each bar from below: how high, and whether it is pale.
        labels: what stands under each bar; "" for nothing.
        told: the drawing in words, for who does not see it.
        top: what the highest line across stands for.
        unit: what follows its number.
        line: of how much a dashed line tells; None without one.
        axis: what stands under the labels.
    """
    scale = (HEIGHT - _TOP - _BOTTOM) / top
    slot = (WIDTH - _LEFT - _RIGHT) / max(1, len(stacks))
    width = round(min(0.74 * slot, _WIDEST), 2)
    middles = [_LEFT + slot * (at + 0.5) for at in range(len(stacks))]
    bars = []
    for middle, stack in zip(middles, stacks, strict=True):
        foot = 0.0
        for value, pale in stack:
            foot += value
            x = round(middle - width / 2, 2)
            bars.append(Bar(x, _y(foot * scale), width, round(value * scale, 2), pale))
    return Bars(
        bars,
        [(_y(share * top * scale), f"{share * top:g}{unit}") for share in (0, 0.5, 1)],
        [(round(x, 2), name) for x, name in zip(middles, labels, strict=True) if name],
        None if line is None else _y(line * scale),
        told,
        axis,
    )


def _y(height: float) -> float:
    return round(HEIGHT - _BOTTOM - height, 2)
