"""What `winosmith fairness` says, as tables and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from winosmith import report
from winosmith._version import __version__
from winosmith.cli._printing import percent, probability, span
from winosmith.report import shown

if TYPE_CHECKING:
    from winosmith.debias import Correlation, Fairness, Figure, KeptSet, Ranking

__all__ = ["fairness_page", "fairness_tables"]

Rows = list[list[report.Value]]
Table = tuple[str, list[str], Rows, str]

ABOUT = {"people": "people", "labels": "labels", "domain": "what about", "words": "words"}

HOW = (
    "Random: the central 95 % of random subsets of the same size, with as many whole twins, halves "
    "and singles. p: how likely one of them is as far out, for so many figures (Holm)."
)


def fairness_tables(found: Fairness) -> Iterator[Table]:
    """Yield the tables: title, headings, rows and note of each."""
    for name, kept in found.sets.items():
        yield _figures(name, kept, found)
    if found.ranking is not None:
        yield _accuracies(found.ranking)
        yield _orders(found.ranking)


def _figures(name: str, kept: KeptSet, found: Fairness) -> Table:
    rows: Rows = [
        [
            f"{'* ' if _off(figure) else ''}{figure.name}",
            _cell(figure.pool, figure.form),
            _cell(figure.kept, figure.form),
            _between(figure),
            None if figure.adjusted is None else probability(figure.adjusted),
        ]
        for figure in kept.figures
    ]
    title = (
        f"{name}: {kept.size:,} of {found.pool:,} kept, {kept.twins:,} whole twins and "
        f"{kept.singles:,} singles"
    )
    return title, ["", "all", "kept", "random", "p"], rows, _note(kept, found.draws)


def _note(kept: KeptSet, draws: int) -> str:
    """Say how to read the table, and where there are too few draws for what it is to show."""
    least = 2 * len(kept.figures) / (draws + 1)
    few = f" With {draws:,} draws no p is below {least:.2f}; ask for more." if least > 0.05 else ""
    return f"{HOW} *: p is below 0.05.{few}"


def _off(figure: Figure) -> bool:
    return figure.adjusted is not None and figure.adjusted < 0.05


def _cell(value: float | None, form: str) -> str | None:
    return None if value is None else shown(value, form)


def _between(figure: Figure) -> str | None:
    if figure.low is None or figure.high is None:
        return None
    return f"{shown(figure.low, figure.form)} – {shown(figure.high, figure.form)}"


def _accuracies(found: Ranking) -> Table:
    models = sorted(found.accuracies["all"], key=lambda m: -found.accuracies["all"][m].value)
    rows: Rows = [
        [model, *(f"{percent(of[model].value)} ({span(of[model].interval)})"
                  for of in found.accuracies.values())]
        for model in models
    ]  # fmt: skip
    return "Accuracy of the models", ["model", *found.accuracies], rows, ""


def _orders(found: Ranking) -> Table:
    rows: Rows = [
        [
            f"{c.first} – {c.second}",
            _cell(c.tau, ".2f"),
            _ends(c.interval),
            None if c.null is None else _ends(c.null[1:]),
            None if c.p is None else probability(c.p),
            _cell(c.rho, ".2f"),
            f"{c.reversed} of {c.pairs}",
        ]
        for c in found.correlations
    ]
    return (
        "Do the models stay in their order?",
        ["sets", "tau", "95 %", "random", "p", "rho", "reversed"],
        rows,
        "tau: Kendall's tau-b of the accuracies; 95 %: twins and families drawn again. Random: tau "
        "of random subsets made up like the kept set; p: the share of them that shuffle the models "
        "as much. rho: Spearman's. Reversed: pairs of models in opposite orders.",
    )


def _ends(ends: tuple[float, ...] | None) -> str | None:
    return None if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"


def fairness_page(name: str, found: Fairness) -> str:
    """Return the tables as a page, with a picture of the figures."""
    sets = list(found.sets)
    listed = next(iter(found.sets.values())).figures
    rows = [
        report.Shift(figure.name, [of.figures[at].shift for of in found.sets.values()])
        for at, figure in enumerate(listed)
    ]
    tables = [report.Table(title, head, rows, note=n) for title, head, rows, n in
              fairness_tables(found)]  # fmt: skip
    drawing = report.Drawing(
        "How far each figure of what was kept is off the mean of random subsets made up like it.",
        [report.shifts(rows, sets, title="Kept, beside random subsets")],
        signature=found.signature,
    )
    sections = [
        report.Section("In short", [report.Cards(_cards(found))]),
        report.Section("What was kept", [drawing, *tables[: len(sets)]], lead=HOW),
    ]
    if found.ranking is not None:
        sections.append(report.Section("The order of models", tables[len(sets) :]))
    return report.page(
        f"{name}: is the filter fair?",
        sections,
        subtitle="A figure within the band is what blind choice gives; off it need not be a fault.",
        signature=found.signature,
        footer=f"Made by winosmith {__version__}.",
    )


def _cards(found: Fairness) -> list[report.KeyFigure]:
    cards = [
        report.KeyFigure(
            f"figures of {name} are off",
            sum(map(_off, kept.figures)),
            f"of {len(kept.figures)}, where one in twenty sets would have any by chance",
        )
        for name, kept in found.sets.items()
    ]
    if found.ranking is not None:
        beside = [c for c in found.ranking.correlations if c.first == "all"]
        cards += [_order_card(c) for c in beside]
    return cards


def _order_card(found: Correlation) -> report.KeyFigure:
    by_luck = "" if found.null is None else f"; random subsets {_ends(found.null[1:])}"
    return report.KeyFigure(
        f"tau of the models’ order, {found.second}",
        found.tau,
        f"{found.reversed} of {found.pairs} pairs are reversed{by_luck}",
        ".2f",
    )
