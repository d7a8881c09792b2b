"""`winosmith fairness`: what a filter kept, beside everything and beside random subsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith import report
from winosmith.cli import _printing
from winosmith.cli._options import FILE, PAGE, data_argument, format_option, json_option, read_data
from winosmith.cli._predictions import graded
from winosmith.cli._printing import Result, Rows
from winosmith.errors import DataError, FormatError, InputError
from winosmith.records import parsed
from winosmith.report import percent, probability, shown, span

if TYPE_CHECKING:
    from winosmith.dataset import Dataset
    from winosmith.debias import Correlation, Fairness, Figure, KeptSet, Ranking

KEPT = "kept.jsonl"
"""What `winosmith debias` names what it keeps."""

MOST = 6
"""Kept sets that are compared at once."""


@click.command()
@data_argument("pool")
@click.argument("kept", nargs=-1, required=True, metavar="KEPT...",
                type=click.Path(exists=True))  # fmt: skip
@click.option("--votes", type=FILE, metavar="FILE",
              help="What people said: how far they agree with what is kept.")  # fmt: skip
@click.option("--dynamics", type=FILE, metavar="FILE.jsonl",
              help="A data map of POOL (guid, confidence, variability, correctness a line): signs "
              "of wrong labels.")  # fmt: skip
@click.option("--first-guid", default=0, show_default=True, metavar="NUMBER",
              help="The guid of POOL's first row, where guids are numbers.")  # fmt: skip
@click.option("--planted", type=FILE, metavar="FILE.json",
              help="The ids of problems known to hold an artifact.")  # fmt: skip
@click.option("--predictions", multiple=True, type=FILE,
              metavar="FILE", help="A model's predictions for POOL, as one option each; two or "
              "more: whether models stay in their order.")  # fmt: skip
@click.option("--draws", default=999, show_default=True, help="Random subsets for each kept set.")
@click.option("--seed", default=0, show_default=True, help="Of the random subsets.")
@click.option("--out", type=PAGE, metavar="FILE.html", help="Write the tables and a picture there.")
@format_option
@json_option
def command(**options: Any) -> None:
    """Compare what filters kept of POOL with all of it, and with random subsets.

    Each KEPT is a file of problems, or a folder of `winosmith debias`; problems are found in POOL
    by their ids, or where these are new by sentence and options. A random subset has the same size,
    and as many whole twins, halves of twins and singles. Several KEPT are compared with each other,
    too: filtered by other embedders, do they put models in the same order?

    \b
    Example:
        winosmith fairness pool.jsonl filtered --votes votes.csv --out fairness.html
        winosmith fairness pool.jsonl by-bert by-e5 --predictions a.jsonl --predictions b.jsonl
    """  # noqa: D301
    from winosmith import debias
    from winosmith.validate import read_votes

    if len(options["kept"]) > MOST:
        raise InputError(f"{len(options['kept'])} kept sets; at most {MOST} are compared at once")
    if len(options["predictions"]) == 1:
        raise InputError("one model has no order; give the --predictions of two or more")
    pool = read_data(options["pool"], options["format_name"])
    marks = {"planted": _planted(options["planted"], pool)} if options["planted"] else {}
    dynamics = None
    if options["dynamics"]:
        dynamics = debias.read_dynamics(options["dynamics"], pool, first=options["first_guid"])
    solved = graded(pool, options["predictions"]) if options["predictions"] else {}
    found = debias.fairness(
        pool,
        _kept_rows(options["kept"], pool),
        votes=read_votes(options["votes"]) if options["votes"] else (),
        dynamics=dynamics,
        marks=marks,
        right={name: of.credit for name, of in solved.items()} or None,
        draws=options["draws"],
        seed=options["seed"],
    )
    Result(
        f"{pool.name}: is the filter fair?",
        {"data": pool.name, **found.record()},
        list(_sections(found)),
        subtitle="A figure within the band is what blind choice gives; off it need not be a fault.",
        signature=found.signature,
    ).tell(as_json=options["as_json"], out=options["out"])


def _kept_rows(paths: Sequence[str], pool: Dataset) -> dict[str, list[int]]:
    """Return by name the rows of the pool that each file or folder holds."""
    from winosmith import formats

    found = {}
    content: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for row, problem in enumerate(pool):
        content.setdefault((problem.sentence, problem.options), []).append(row)
    for path, name in zip(map(_file, paths), _names(paths), strict=True):
        part = formats.read(path)
        if all(problem.id in pool for problem in part):  # type: ignore[comparison-overlap]
            found[name] = [_same(pool, problem, path) for problem in part]
            continue
        left = {key: list(rows) for key, rows in content.items()}
        found[name] = [
            _taken(left.get((problem.sentence, problem.options), []), problem.id, path)
            for problem in part
        ]
        _printing.say(f"{path}: its ids are not those of the pool; matched by sentence and options")
    return found


def _file(path: str) -> Path:
    if not Path(path).is_dir():
        return Path(path)
    if not (Path(path) / KEPT).is_file():
        raise InputError(f"{path} is a folder without {KEPT}; name the file of what was kept")
    return Path(path) / KEPT


def _names(paths: Sequence[str]) -> list[str]:
    """Return a name for each path: the shortest end of it that no other has."""
    parts = [Path(path).with_suffix("").parts for path in paths]
    names = []
    for at, mine in enumerate(parts):
        others = [other for place, other in enumerate(parts) if place != at]
        size = next(
            (n for n in range(1, len(mine) + 1) if all(mine[-n:] != o[-n:] for o in others)), None
        )
        if size is None:
            raise InputError(f"{paths[at]} is given twice, or differs in its ending alone")
        names.append("/".join(mine[-size:]))
    return names


def _same(pool: Dataset, problem: Any, path: Path) -> int:
    row = pool.row(problem.id)
    if (pool[row].sentence, pool[row].options) != (problem.sentence, problem.options):
        raise DataError(
            f"{path}: {problem.id!r} is another problem in the pool: {pool[row].sentence!r}"
        )
    return row


def _taken(rows: list[int], problem_id: str, path: Path) -> int:
    if not rows:
        raise DataError(
            f"{path}: {problem_id!r} is not in the pool, neither by its id nor by its sentence and "
            "options; compare a kept set with what the filter was given"
        )
    return rows.pop(0)


def _planted(path: str, pool: Dataset) -> Any:
    import numpy as np

    try:
        planted = parsed(Path(path).read_text("utf-8"))
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", path) from None
    if not isinstance(planted, dict):
        raise FormatError("must map the ids of problems to the kind of their artifact", path)
    return np.array([problem.id in planted for problem in pool], float)


ABOUT = {"people": "people", "labels": "labels", "domain": "what about", "words": "words"}

HOW = (
    "Random: the central 95 % of random subsets of the same size, with as many whole twins, halves "
    "and singles. p: how likely one of them is as far out, for so many figures (Holm)."
)


def _sections(found: Fairness) -> Iterator[report.Section]:
    """Yield what was found, in sections, with a picture of the figures."""
    sets = list(found.sets)
    listed = next(iter(found.sets.values())).figures
    rows = [
        report.Shift(figure.name, [of.figures[at].shift for of in found.sets.values()])
        for at, figure in enumerate(listed)
    ]
    drawing = report.Drawing(
        "How far each figure of what was kept is off the mean of random subsets made up like it.",
        lambda: [report.shifts(rows, sets, title="Kept, beside random subsets")],
        signature=found.signature,
    )
    yield report.Section("In short", [report.Cards(_cards(found))])
    tables = [_figures(name, kept, found) for name, kept in found.sets.items()]
    yield report.Section("What was kept", [drawing, *tables], lead=HOW)
    if found.ranking is not None:
        order = [_accuracies(found.ranking), _orders(found.ranking)]
        yield report.Section("The order of models", order)


def _figures(name: str, kept: KeptSet, found: Fairness) -> report.Table:
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
        f"{name}: {kept.size:,} of {found.pool:,} kept, "
        f"{report.whole_and_single(kept.twins, kept.singles)}"
    )
    heads = ["", "all", "kept", "random", "p"]
    return report.Table(title, heads, rows, _note(kept, found.draws))


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


def _accuracies(found: Ranking) -> report.Table:
    models = sorted(found.accuracies["all"], key=lambda m: -found.accuracies["all"][m].value)
    rows: Rows = [
        [model, *(f"{percent(of[model].value)} ({span(of[model].interval)})"
                  for of in found.accuracies.values())]
        for model in models
    ]  # fmt: skip
    return report.Table("Accuracy of the models", ["model", *found.accuracies], rows)


def _orders(found: Ranking) -> report.Table:
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
    return report.Table(
        "Do the models stay in their order?",
        ["sets", "tau", "95 %", "random", "p", "rho", "reversed"],
        rows,
        "tau: Kendall's tau-b of the accuracies; 95 %: twins and families drawn again. Random: tau "
        "of random subsets made up like the kept set; p: the share of them that shuffle the models "
        "as much. rho: Spearman's. Reversed: pairs of models in opposite orders.",
    )


def _ends(ends: tuple[float, ...] | None) -> str | None:
    return None if ends is None else " to ".join(shown(end, ".2f") for end in ends)


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
