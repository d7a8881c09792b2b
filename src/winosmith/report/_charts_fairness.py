"""A drawing of how far kept sets are off what random subsets give, figure by figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winosmith.report._palette import GONE, INK, KEPT, MUTED, NULL, ONE, TWO
from winosmith.report._svg import Svg, draw
from winosmith.report._text import clean, cut, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["Shift", "shifts"]

_LOOKS = ((KEPT, "D"), (GONE, "s"), (ONE, "^"), (TWO, "o"), (INK, "P"), (MUTED, "v"))
"""Colour and marker of each set in turn: either tells it apart."""

LINEAR = 3
"""Standard deviations up to which the axis is linear; beyond, it is logarithmic."""


@dataclass(frozen=True)
class Shift:
    """One row of `shifts`.

    Attributes:
        name: of the figure.
        values: by set, how many standard deviations of random subsets it is off their mean; None
            where it is not known.
    """

    name: str
    values: Sequence[float | None]


def shifts(rows: Sequence[Shift], sets: Sequence[str], *, title: str) -> Svg:
    """Draw one marker a set and row, over the band that holds 95 % of random subsets.

    Args:
        rows: one a figure.
        sets: the names of up to six sets, as long as each row's values.
        title: the drawing's name.

    Raises:
        ValueError: more sets than can be told apart.
    """
    if len(sets) > len(_LOOKS):
        raise ValueError(f"{len(sets)} sets can't be told apart; {len(_LOOKS)} can")

    def paint(canvas: Canvas) -> None:
        axes = canvas.add_subplot()
        axes.set_xscale("symlog", linthresh=LINEAR, linscale=1.2)
        axes.axvspan(-1.96, 1.96, color=NULL, alpha=0.3, linewidth=0, label="95 % of random")
        axes.axvline(0, color=MUTED, linewidth=0.8)
        for at, (name, (colour, marker)) in enumerate(zip(sets, _LOOKS, strict=False)):
            known = [(row.values[at], place) for place, row in enumerate(rows)]
            there = [(value, place) for value, place in known if value is not None]
            if there:
                axes.plot(*zip(*there, strict=True), color=colour, marker=marker, linestyle="",
                          markersize=6, label=clean(name))  # fmt: skip
        reach = max([LINEAR, *(abs(v) for row in rows for v in row.values if v is not None)])
        steps = (LINEAR, 30, 300) if reach >= 20 else (LINEAR, 10)
        ticks = [tick for tick in steps if tick <= 1.5 * reach]
        wanted = [-tick for tick in ticks[::-1]] + [0] + ticks
        axes.set_xlim(-1.6 * reach, 1.6 * reach)
        axes.set_xticks(wanted, [f"{tick:+d}" if tick else "0" for tick in wanted])
        axes.minorticks_off()
        axes.set_yticks(range(len(rows)), [cut(row.name, 28) for row in rows], color=INK)
        axes.set(ylim=(len(rows) - 0.4, -0.7), xlabel="standard deviations")
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
        canvas.legend(loc="outside upper left", ncols=2, handlelength=1.2)

    told = "; ".join(f"{row.name}: {_in_words(row, sets)}" for row in rows)
    return draw(paint, title=title, description=told, width=420, height=110 + 26 * len(rows))


def _in_words(row: Shift, sets: Sequence[str]) -> str:
    parts = [f"{name} {shown(value, '+.1f')}" for name, value in zip(sets, row.values, strict=True)]
    return ", ".join(parts)
