"""What `winosmith score` says, as text and as a page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._printing import Table, print_table
from winosmith.cli._score_extras import Beside
from winosmith.cli._score_tables import score_tables
from winosmith.metrics import Overlap, Score

__all__ = ["More", "print_scores", "score_page"]

_FIGURE = re.compile(r"\d+\.\d( %)? \(")

LONGEST = 18
"""Names of solvers are cut to so many characters in tables of the terminal; figures are not."""


@dataclass(frozen=True)
class More:
    """What is reported beside the scores.

    Attributes:
        tables: after those of the scores, on the terminal.
        sections: the same, on the page.
        signatures: what each of their figures rests on, by its name.
        seen: what solvers may have seen in training; such a solver's accuracy is not told.
    """

    tables: Sequence[Table] = ()
    sections: Sequence[report.Section] = ()
    signatures: Mapping[str, report.Signature] = field(default_factory=dict)
    seen: Mapping[str, Overlap] = field(default_factory=dict)


def print_scores(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    beside: Beside,
    more: More,
) -> None:
    """Print the tables, and a signature for each solver.

    Args:
        name: of the data set.
        counts: how many problems each solver answered.
        scores: of the solvers whose accuracy is told.
        beside: what was measured beside.
        more: what is reported after that.
    """
    for title, header, rows, note in (
        *score_tables(name, counts, scores, beside, more.seen),
        *more.tables,
    ):
        print_table(title, header, [[_cut(cell) for cell in row] for row in rows])
        if note:
            click.echo(textwrap.fill(note, 80) + "\n")
    for what, signature in _signatures(scores, more).items():
        click.echo(f"Signature of {report.shown(what)}: {signature}")


def score_page(
    name: str,
    counts: Mapping[str, int],
    scores: Mapping[str, Score],
    beside: Beside,
    more: More,
) -> str:
    """Return the report as one HTML page, with a reliability diagram of each solver.

    The arguments are those of `print_scores`.
    """
    tables = [
        report.Table(title, header, rows, note=note)
        for title, header, rows, note in score_tables(name, counts, scores, beside, more.seen)
    ]
    sections = [report.Section("Accuracy", tables), *more.sections]
    panels = [_diagram(solver, found) for solver, found in scores.items() if found.calibration]
    if panels:
        caption = (
            "How often answers of a stated confidence are right, with 95 % intervals, beside the "
            "diagonal of a solver that knows; below, how many problems there are."
        )
        sections.append(report.Section("Confidence", [report.Drawing(caption, panels)]))
    signatures = "\n".join(f"{what}: {s}" for what, s in _signatures(scores, more).items())
    sections.append(
        report.Section("What determines the figures", [report.Code(signatures, "Signatures")])
    )
    return report.page(
        f"{name}: what the predictions are worth",
        sections,
        subtitle="Intervals are 95 %, and know which problems are right or wrong together.",
        footer=f"Made by winosmith {__version__}.",
    )


def _signatures(scores: Mapping[str, Score], more: More) -> dict[str, report.Signature]:
    return {**{solver: found.signature for solver, found in scores.items()}, **more.signatures}


def _cut(cell: report.Value) -> report.Value:
    if isinstance(cell, str) and len(cell) > LONGEST and not _FIGURE.match(cell):
        return cell[: LONGEST - 1] + "…"
    return cell


def _diagram(solver: str, found: Score) -> report.Svg:
    own = found.calibration
    rows = [
        report.Stated(b.confidence, b.accuracy.value, *b.accuracy.interval, b.accuracy.n)
        for b in (own.bins if own else ())
    ]
    note = f"calibration error {own.ece:.3f}, if calibrated {own.null[0]:.3f}" if own else ""
    return report.reliability(rows, name=solver, note=note)
