"""`winosmith curve`: a learning curve, its area, and where it would reach people's level."""

from __future__ import annotations

import csv
import hashlib
import textwrap
from pathlib import Path
from typing import Any

import click

from winosmith.cli._options import json_option
from winosmith.cli._printing import percent, print_json, print_table, probability
from winosmith.errors import FormatError
from winosmith.outputs import write_aside

__all__ = ["command"]

ALPHA = 0.05
"""A run that guessing reaches with more than this probability is named."""

Run = tuple[int, int, float]
"""Line, training size, accuracy."""


@click.command()
@click.argument("file", metavar="FILE.csv", type=click.Path(exists=True, dir_okay=False))
@click.option("--human", default=94.0, show_default=True, type=click.FloatRange(0, 100),
              help="The level to reach, in percent; 94.1 on WinoGrande's dev.")  # fmt: skip
@click.option("--take", type=click.Choice(["best", "mean"]), default="best", show_default=True,
              help="Which accuracy stands for the runs of one size.")  # fmt: skip
@click.option("--problems", type=click.IntRange(min=1), metavar="N", help="How many problems the "
              "accuracies were measured on: runs at chance are named.")  # fmt: skip
@click.option("--out", metavar="FILE.html", help="Write a report with figures there.")
@json_option
def command(
    file: str, human: float, take: Any, problems: int | None, out: str | None, as_json: bool
) -> None:
    """Fit a learning curve, and say where each way to continue it reaches people's level.

    FILE.csv has a row for each run with the columns size and accuracy, and seed if you like.
    Accuracies are shares of 0–1, or percentages when one of them is above 1. The area is that of
    WinoGrande's leaderboard: over log2(size), divided by its range.

    \b
    Example:
        winosmith curve runs.csv --human 94.1 --problems 1267 --out curve.html
    """  # noqa: D301
    from winosmith.metrics import learning_curve
    from winosmith.report import Signature

    runs = _read(Path(file))
    by_size: dict[int, list[float]] = {}
    for _, size, accuracy in runs:
        by_size.setdefault(size, []).append(accuracy)
    curve = learning_curve(by_size, human=human / 100, take=take)
    digest = hashlib.sha256(repr([run[1:] for run in runs]).encode()).hexdigest()
    signature = Signature(digest, len(runs), {"human": human, "take": take})
    guesses = _at_chance(runs, problems) if problems else []
    if out:
        from winosmith.cli._curve_report import curve_page

        with write_aside(out) as page:
            page.write(curve_page(Path(file).stem, curve, signature))
    if as_json:
        at_chance = [{"line": line, "size": s, "accuracy": a, "p": p} for line, s, a, p in guesses]
        told = {"at_chance": at_chance} if problems else {}
        print_json({"file": file, **curve.record(), **told, "signature": str(signature)})
        return
    _print(file, curve, guesses)
    click.echo(f"Signature: {signature}")
    if out:
        click.secho(f"The report is {out}", bold=True)


def _print(file: str, curve: Any, guesses: list[tuple[int, int, float, float]]) -> None:
    from winosmith.cli._curve_report import CAUTION, curve_tables, not_fitted, taken

    for title, header, rows in curve_tables(curve):
        print_table(title, header, rows)
    click.echo(f"Area under the curve: {curve.area:.4f}")
    click.echo(textwrap.fill(f"{taken(curve)} {not_fitted(curve)}".strip(), 80))
    click.echo(textwrap.fill(CAUTION, 80))
    for line, size, accuracy, p_value in guesses:
        click.secho("AT CHANCE ", nl=False, fg="yellow", bold=True)
        click.echo(
            f"{file}:{line}: {percent(accuracy)} with {size:,} training problems, "
            f"p = {probability(p_value)}"
        )


def _read(path: Path) -> list[Run]:
    """Return the runs of a table.

    Raises:
        FormatError: no such columns, or a value that is not a size or an accuracy.
    """
    from winosmith.formats import Source

    table = csv.reader(Source(path).text.splitlines())
    header = [cell.strip().lower() for cell in next(table)]
    if not {"size", "accuracy"} <= set(header):
        raise FormatError(
            f"the table needs the columns size and accuracy; it has {', '.join(header)}", path, 1
        )
    runs: list[Run] = []
    for row in table:
        if not any(cell.strip() for cell in row):
            continue
        cells = dict(zip(header, row, strict=False))
        try:
            size = int(cells["size"].replace("_", ""))
            accuracy = float(cells["accuracy"].strip().removesuffix("%"))
        except (KeyError, ValueError):
            raise FormatError(
                f"{','.join(row)!r} has no size and accuracy, such as 160,51.5",
                path,
                table.line_num,
            ) from None
        if size < 1 or not 0 <= accuracy <= 100:
            raise FormatError(
                f"the size {size} must be 1 or more, and the accuracy {accuracy:g} a share of "
                "0–1 or a percentage",
                path,
                table.line_num,
            )
        runs.append((table.line_num, size, accuracy))
    if any(accuracy > 1 for _, _, accuracy in runs):
        runs = [(line, size, accuracy / 100) for line, size, accuracy in runs]
    return runs


def _at_chance(runs: list[Run], problems: int) -> list[tuple[int, int, float, float]]:
    """Return the runs that guessing between two options does as well as, with p above 5 %.

    Problems are taken for independent; which are twins is not known here.
    """
    from scipy.stats import binom

    found = [
        (line, size, accuracy, float(binom.sf(round(accuracy * problems) - 1, problems, 0.5)))
        for line, size, accuracy in runs
    ]
    return [run for run in found if run[3] > ALPHA]
