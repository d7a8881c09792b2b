"""`winosmith compare`: is one solver better than another on the same problems?"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._answered import (
    answered,
    graded,
    labels_option,
    partial_option,
    percent,
    predictions_argument,
    probability,
    span,
)
from winosmith.cli._common import data_argument, format_option, json_option, print_json
from winosmith.cli._tables import print_table
from winosmith.errors import InputError
from winosmith.outputs import write_aside

if TYPE_CHECKING:
    from winosmith.metrics import Comparison, Graded

__all__ = ["command"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Rows = list[list[str | int | float | bool | None]]


@click.command()
@data_argument()
@predictions_argument
@format_option
@labels_option
@partial_option
@click.option("--baseline", metavar="NAME", help="Compare the others with this solver only.")
@click.option("--seed", default=0, show_default=True, help="Of the bootstrap.")
@click.option("--out", metavar="FILE.html", help="Write the tables as a report there.")
@json_option
def command(**options: Any) -> None:
    """Compare two solvers or more by their PREDICTIONS for the problems of DATA.

    For each two: the difference of their accuracies with its 95 % interval (bootstrap of twins and
    families), an exact test that keeps twins and families together, corrected for the number of
    tests (Holm), McNemar's exact test beside it, and how often they choose the same.

    \b
    Example:
        winosmith compare dev.jsonl a.jsonl b.jsonl c.lst
    """  # noqa: D301
    from winosmith.metrics import compare

    paths = options["predictions"]
    if not 2 <= len(paths) <= len(LETTERS):
        raise InputError(f"a comparison needs 2 to {len(LETTERS)} files of predictions")
    dataset = answered(options["data"], options["format_name"], options["labels"])
    solvers = graded(dataset, paths, options["partial"])
    if options["partial"]:
        solvers = _in_common(solvers)
    found = compare(solvers, baseline=options["baseline"], seed=options["seed"])
    if options["out"]:
        with write_aside(options["out"]) as file:
            file.write(_page(dataset.name, found))
    if options["as_json"]:
        print_json({"data": dataset.name, **found.record()})
        return
    for title, header, rows, note in _tables(dataset.name, found):
        print_table(title, header, rows)
        if note:
            click.echo(textwrap.fill(note, 80) + "\n")
    click.echo(f"Signature: {found.signature}")
    if options["out"]:
        click.secho(f"The report is {options['out']}", bold=True)


def _in_common(solvers: Mapping[str, Graded]) -> dict[str, Graded]:
    """Return the solvers on the problems that all of them answered."""
    from winosmith.metrics import grade

    first = next(iter(solvers.values())).dataset
    shared = set.intersection(*(set(found.dataset.ids) for found in solvers.values()))
    if not shared:
        raise InputError("there is no problem that all of them answered")
    dataset = first.select(first.row(key) for key in first.ids if key in shared)
    return {
        name: grade(dataset, [p for p in found.predictions if p.problem_id in shared])
        for name, found in solvers.items()
    }


def _tables(name: str, found: Comparison) -> Iterator[tuple[str, list[str], Rows, str]]:
    letters = dict(zip(found.accuracies, LETTERS, strict=False))
    problems = found.signature.n
    clusters = next(iter(found.accuracies.values())).clusters
    accuracies: Rows = [
        [letters[solver], solver, own.right, percent(own.value), span(own.interval)]
        for solver, own in found.accuracies.items()
    ]
    yield (
        f"{name}: {problems:,} problems in {clusters:,} clusters",
        ["", "solver", "right", "accuracy", "95 %"],
        accuracies,
        "",
    )
    pairs = [(f"{letters[pair.first]} − {letters[pair.second]}", pair) for pair in found.pairs]
    differences: Rows = [
        [label, f"{100 * pair.difference:+.1f}",
         f"{100 * pair.interval[0]:+.1f} to {100 * pair.interval[1]:+.1f}",
         pair.only_first, pair.only_second, probability(pair.mcnemar),
         probability(pair.p_value), probability(pair.adjusted)]
        for label, pair in pairs
    ]  # fmt: skip
    yield (
        "Differences of accuracy, in points",
        ["pair", "points", "95 %", "1st", "2nd", "McNemar", "p", "Holm"],
        differences,
        "1st, 2nd: what only the one got right. p keeps twins and families together; "
        "McNemar's takes problems for independent. Holm: p, for so many tests.",
    )
    shared: Rows = [
        [label, percent(pair.agreement.share),
         None if pair.agreement.kappa is None else f"{pair.agreement.kappa:.2f}",
         None if pair.agreement.kappa_interval is None
         else "{:.2f} to {:.2f}".format(*pair.agreement.kappa_interval),
         pair.both, pair.neither, pair.agreement.same_wrong]
        for label, pair in pairs
    ]  # fmt: skip
    yield (
        "How often they choose the same",
        ["pair", "same", "kappa", "95 %", "both right", "both wrong", "alike"],
        shared,
        "Kappa: 0 as by chance, 1 always the same. Alike: of both wrong, the same option.",
    )


def _page(name: str, found: Comparison) -> str:
    from winosmith import report
    from winosmith._version import __version__

    tables = [
        report.Table(title, header, rows, note=note)
        for title, header, rows, note in _tables(name, found)
    ]
    return report.page(
        f"{name}: which solver is better",
        [report.Section("Accuracies and differences", tables)],
        subtitle="Intervals are 95 %; twins and families are kept together.",
        signature=found.signature,
        footer=f"Made by winosmith {__version__}.",
    )
