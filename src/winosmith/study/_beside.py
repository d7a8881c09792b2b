"""The user's own figures beside the printed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winosmith.metrics import Proportion
from winosmith.study._published import PUBLISHED_GENDER, PUBLISHED_STABILITY, published
from winosmith.study._targets import TARGETS
from winosmith.study._transfer import Solved

__all__ = ["GenderLine", "Line", "beside", "beside_gender"]

EVOGRAD_TABLE = 4
"""Of EvoGrad (2024): its models on WinoGrande's dev set. These lines are named for it."""


@dataclass(frozen=True)
class Line:
    """One system on one data set.

    Attributes:
        system: with its marks.
        accuracy: 0–1.
        printed: as printed; empty for the user's own.
        table: where it was printed; None for the user's own.
        own: the user's share with its interval; None for a printed one.
        impossible: whether the printed figure is no share of its questions.
        counts: what numbers of questions it can't be a share of, in words.
    """

    system: str
    accuracy: float
    printed: str = ""
    table: int | None = None
    own: Proportion | None = None
    impossible: bool = False
    counts: str = ""


def beside(
    found: Mapping[str, Sequence[Solved]], tables: Sequence[int] = (0, 3, 6)
) -> dict[str, list[Line]]:
    """Return, for each data set that was solved, all systems by increasing accuracy.

    Args:
        found: the user's systems by name, with what each solved.
        tables: of WinoGrande, whose printed rows are laid beside; with those of EvoGrad's.
    """
    lines: dict[str, list[Line]] = {}
    for name in TARGETS:
        mine = [
            Line(system, solved.beside_printed.value, own=solved.beside_printed)
            for system, own in found.items()
            for solved in own
            if solved.data == name
        ]
        if mine:
            printed = [
                Line(
                    row.name,
                    row.accuracy,
                    row.printed,
                    row.table,
                    impossible=row.impossible,
                    counts=row.counts,
                )
                for row in published(data=name)
                if row.table in tables
            ]
            printed += [
                Line(
                    f"{row.system}, {row.trained} (EvoGrad)",
                    float(row.accuracy) / 100,
                    row.accuracy,
                    EVOGRAD_TABLE,
                    impossible=not row.errors,
                )
                for row in PUBLISHED_STABILITY
                if row.data == name and row.accuracy
            ]
            lines[name] = sorted([*printed, *mine], key=lambda line: line.accuracy)
    return lines


@dataclass(frozen=True)
class GenderLine:
    """One system of table 7, in percent.

    Attributes:
        system: with its source.
        plain: female and male accuracy without the gotcha.
        gotcha: with it.
        gaps: ΔF and ΔM from the counts, with their signs.
        printed: |ΔF| and |ΔM| as printed; empty for the user's own.
    """

    system: str
    plain: tuple[float, float]
    gotcha: tuple[float, float]
    gaps: tuple[float, float]
    printed: tuple[str, ...] = ()


def beside_gender(found: Mapping[str, Sequence[Solved]]) -> list[GenderLine]:
    """Return table 7 with the user's systems as its last rows; nothing without a gap."""
    mine = [
        GenderLine(
            system,
            (100 * gap.female.plain.value, 100 * gap.male.plain.value),
            (100 * gap.female.gotcha.value, 100 * gap.male.gotcha.value),
            (100 * gap.female.value, 100 * gap.male.value),
        )
        for system, own in found.items()
        for gap in (solved.gap for solved in own)
        if gap is not None
    ]
    if not mine:
        return []
    printed = [
        GenderLine(
            row.system,
            (float(row.plain[0]), float(row.plain[1])),
            (float(row.gotcha[0]), float(row.gotcha[1])),
            row.of_counts,
            row.gap,
        )
        for row in PUBLISHED_GENDER
    ]
    return [*printed, *mine]
