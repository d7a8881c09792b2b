"""What `winosmith score` says, as text and as a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

import click

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._answered import percent, probability, span
from winosmith.cli._score_extras import Beside
from winosmith.cli._tables import print_table
from winosmith.metrics import Graded, Proportion, Score

__all__ = ["print_scores", "score_page"]

Rows = list[list[report.Value]]
Table = tuple[str, list[str], Rows, str]
"""A table: its title, its headings, its rows, and a note."""

LONGEST = 18
"""Names of solvers are cut to so many characters in tables of the terminal."""


def print_scores(
    name: str, solvers: Mapping[str, Graded], scores: Mapping[str, Score], beside: Beside
) -> None:
    """Print the tables, and a signature for each solver."""
    counts = {solver: len(found.dataset) for solver, found in solvers.items()}
    for title, header, rows, note in _tables(name, counts, scores, beside):
        print_table(title, header, [[_cut(cell) for cell in row] for row in rows])
        if note:
            click.echo(textwrap.fill(note, 80) + "\n")
    for solver, found in scores.items():
        click.echo(f"Signature of {report.shown(solver)}: {found.signature}")


def score_page(name: str, scores: Mapping[str, Score], beside: Beside) -> str:
    """Return the report as one HTML page, with a reliability diagram of each solver."""
    counts = {solver: found.accuracy.n for solver, found in scores.items()}
    tables = [
        report.Table(title, header, rows, note=note)
        for title, header, rows, note in _tables(name, counts, scores, beside)
    ]
    sections = [report.Section("Accuracy", tables)]
    panels = [_diagram(solver, found) for solver, found in scores.items() if found.calibration]
    if panels:
        caption = (
            "How often answers of a stated confidence are right, with 95 % intervals, beside the "
            "diagonal of a solver that knows; below, how many problems there are."
        )
        sections.append(report.Section("Confidence", [report.Drawing(caption, panels)]))
    signatures = "\n".join(f"{solver}: {found.signature}" for solver, found in scores.items())
    sections.append(
        report.Section("What determines the figures", [report.Code(signatures, "Signatures")])
    )
    return report.page(
        f"{name}: what the predictions are worth",
        sections,
        subtitle="Intervals are 95 %, and know which problems are right or wrong together.",
        footer=f"Made by winosmith {__version__}.",
    )


def _tables(
    name: str, counts: Mapping[str, int], scores: Mapping[str, Score], beside: Beside
) -> Iterator[Table]:
    yield _main(name, counts, scores, beside)
    if any(found.comparisons for found in scores.values()):
        yield _comparisons(scores)
    yield from _groups(scores)
    if any(found.calibration for found in scores.values()):
        yield _calibration(scores)
    if beside.consistency:
        yield _switched(beside)
    yield from _gaps(beside)


def _main(
    name: str, counts: Mapping[str, int], scores: Mapping[str, Score], beside: Beside
) -> Table:
    first = next(iter(scores.values()))
    twins = any(found.twins for found in scores.values())
    header = ["solver", "accuracy", "95 %", "p(guess)"]
    rows: Rows = []
    for solver, found in scores.items():
        row: list[report.Value] = [solver, *_share(found.accuracy), probability(found.p_value)]
        rows.append([*row, *(_share(found.twins) if twins else ())])
    empty: list[report.Value] = [None, None] if twins else []
    if beside.majority:
        people = beside.majority
        rows.append(
            ["people, majority", percent(people.accuracy), span(people.interval), None, *empty]
        )
    if beside.person:
        rows.append(["a single person", *_share(beside.person.accuracy), None, *empty])
    problems = counts[next(iter(scores))]
    title = f"{report.shown(name)}: {problems:,} problems"
    note = f"Guessing gives {percent(first.accuracy.chance or 0)}"
    if first.twins:
        title += f", {first.twins.n:,} twins"
        note += f", and {percent(first.twins.chance or 0)} of twins with both halves right"
    if len(set(counts.values())) > 1:
        title = report.shown(name)
        header.insert(1, "problems")
        for row in rows:
            row.insert(1, counts.get(str(row[0])))
    return title, [*header, *(["both halves", "95 %"] if twins else [])], rows, f"{note}."


def _comparisons(scores: Mapping[str, Score]) -> Table:
    rows: Rows = [
        [solver, found.comparisons.n, *_share(found.comparisons)]
        for solver, found in scores.items()
        if found.comparisons
    ]
    return (
        "Two-way comparisons: the right option with each wrong one",
        ["solver", "comparisons", "won", "95 %"],
        rows,
        "Guessing wins half.",
    )


def _groups(scores: Mapping[str, Score]) -> Iterator[Table]:
    for field in dict.fromkeys(name for found in scores.values() for name in found.groups):
        several = len(scores) > 1
        rows: Rows = [
            [value, *([solver] if several else []), of.n, *_share(of), percent(of.chance or 0)]
            for solver, found in scores.items()
            for value, of in found.groups.get(field, {}).items()
        ]
        if several:
            rows.sort(key=lambda row: list(_values(scores, field)).index(str(row[0])))
        header = [field, *(["solver"] if several else []), "problems", "accuracy", "95 %", "chance"]
        yield f"By {field}", header, rows, ""


def _values(scores: Mapping[str, Score], field: str) -> dict[str, None]:
    return dict.fromkeys(v for found in scores.values() for v in found.groups.get(field, ()))


def _calibration(scores: Mapping[str, Score]) -> Table:
    rows: Rows = []
    for solver, found in scores.items():
        if found.calibration and found.margins:
            own, margins = found.calibration, found.margins
            rows.append(
                [solver, percent(own.confidence), f"{own.ece:.3f}", f"{own.null[2]:.3f}",
                 f"{own.brier:.3f}", f"{own.log_loss:.2f}",
                 None if margins.ranking is None else f"{margins.ranking:.2f}", margins.ties]
            )  # fmt: skip
    return (
        "Calibration of the softmax of the scores",
        ["solver", "stated", "ECE", "null", "Brier", "log loss", "ranking", "ties"],
        rows,
        "ECE: calibration error; null: what 97.5 % of perfectly calibrated solvers stay "
        "below. Ranking: how often a right answer leads by more than a wrong one.",
    )


def _switched(beside: Beside) -> Table:
    rows: Rows = [
        [solver, found.consistent.n, *_share(found.consistent), percent(found.original.value),
         percent(found.switched.value), percent(found.both.value)]
        for solver, found in beside.consistency.items()
    ]  # fmt: skip
    return (
        "The options switched in the sentence",
        ["solver", "problems", "consistent", "95 %", "before", "switched", "both right"],
        rows,
        "",
    )


def _gaps(beside: Beside) -> Iterator[Table]:
    for what in dict.fromkeys(what for of in beside.gaps.values() for what in of):
        rows: Rows = []
        sizes = ""
        for solver, of in beside.gaps.items():
            female, male = of[what].female, of[what].male
            sizes = f"{female.plain.n}, {male.plain.n} / {female.gotcha.n}, {male.gotcha.n}"
            rows.append([solver, "no", _points(female.plain.value), _points(male.plain.value),
                         f"{100 * female.value:+.1f}", f"{100 * male.value:+.1f}"])  # fmt: skip
            rows.append(["", "yes", _points(female.gotcha.value), _points(male.gotcha.value),
                         _signed_span(female.interval), _signed_span(male.interval)])  # fmt: skip
            rows.append(["", "rounded", "", "",
                         f"{female.of_rounded:+.1f}", f"{male.of_rounded:+.1f}"])  # fmt: skip
        yield (
            f"Gender gap on Winogender, with the majority of {what}",
            ["solver", "gotcha", "female", "male", "ΔF", "ΔM"],
            rows,
            f"In percent, of {sizes} sentences. Under ΔF and ΔM: their 95 % intervals, and "
            "the differences of the rounded cells, as table 7 of WinoGrande prints them.",
        )


def _share(found: Proportion | None) -> list[report.Value]:
    return [None, None] if found is None else [percent(found.value), span(found.interval)]


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _signed_span(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:+.1f} to {100 * interval[1]:+.1f}"


def _cut(cell: report.Value) -> report.Value:
    if isinstance(cell, str) and len(cell) > LONGEST:
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
