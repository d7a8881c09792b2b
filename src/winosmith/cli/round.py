"""`winosmith round`: a pool in; a release, its difficulty, and the next round's roots out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from winosmith.cli._options import json_option
from winosmith.cli._printing import print_json, print_table, progress, say
from winosmith.errors import OutputError

if TYPE_CHECKING:
    from winosmith.rounds import Change, Round


@click.command()
@click.argument("recipe", type=click.Path(exists=True, dir_okay=False))
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if need be.")
@click.option("--last", metavar="DIR", type=click.Path(exists=True, file_okay=False),
              help="The folder of the last round, to be compared with. What it had in train, dev "
              "or test stays there, and only what is new is drawn.")  # fmt: skip
@click.option("--redraw", is_flag=True, help="Draw all sides anew, as if there were no last round; "
              "answers that it published may then be in test.")  # fmt: skip
@click.option("--stored", metavar="DIR", type=click.Path(exists=True, file_okay=False),
              help="A finished folder of the same round: take its vectors and predictions, ask no "
              "model, and say whether every file has the same bytes.")  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the results of another recipe.")
@json_option
def command(
    recipe: str,
    out: str,
    last: str | None,
    redraw: bool,
    stored: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run a round of the benchmark, as RECIPE says.

    RECIPE is the TOML file of `winosmith build`, with a `[[solvers]]` for each reference solver.
    The steps: build a release of the pool, solve its dev and test, draw the roots for the next
    round (what every solver gets right) beside what people found and models failed, and report
    what changed against the last round. Stop it at any time; the same command goes on where it
    was.

    \b
    Example recipe, beside twins.jsonl and votes.csv:
        name = "mine-2"
        data = "twins.jsonl"
        votes_file = "votes.csv"
        roots = 14
        [[solvers]]
        name = "words"
        solver = "association"
        learn = true
        [[solvers]]
        name = "roberta"
        solver = "encoder"
        model = "models/roberta-winogrande"

    \b
    Example:
        winosmith round mine.toml --out rounds/2 --last rounds/1
    """  # noqa: D301
    from winosmith import rounds

    read = rounds.read_round(recipe)
    read = replace(read, redraw=read.redraw or redraw)
    found = rounds.run_round(read, out, last=last, stored=stored, force=force, step=progress)
    if as_json:
        print_json(found.record)
    else:
        _tell(found)
    if stored is not None:
        _same(stored, found.folder)


def _tell(found: Round) -> None:
    from winosmith.build import sides_told
    from winosmith.rounds import told_of_halves, told_of_training

    print_table(
        "This round" if all(change.before is None for change in found.changes) else
        "This round and the last",
        ["figure", "last", "now", "change"],
        [[c.what, *_cells(c)] for c in found.changes],
    )  # fmt: skip
    if halves := told_of_halves(found.record):
        click.echo(halves)
    for line in told_of_training(found.record):
        click.secho(f"{line}.", fg="yellow")
    for line in sides_told(found.record.get("sides")):
        click.echo(line)
    roots, fooling = found.record["roots"], found.record["fooling"]
    asked = "" if roots["drawn"] == roots["asked"] else f" ({roots['asked']} were asked for)"
    click.echo(f"{roots['drawn']} roots for the next round, which every solver gets right{asked};")
    click.echo(f"{len(fooling)} perturbed problems that fool a solver")
    click.secho(f"The report is {found.report.resolve()}", bold=True)
    say(f"signature {found.record['build']['signature']}")


def _cells(change: Change) -> Sequence[str]:
    from winosmith.report import shown

    def cell(value: float | None) -> str:
        return "—" if value is None else shown(value, change.form)

    return cell(change.before), cell(change.now), change.told or "—"


def _same(stored: str, folder: Path) -> None:
    from winosmith import rounds

    names = rounds.differing(stored, folder)
    if names:
        raise OutputError(
            f"{len(names)} files differ from {stored}: {', '.join(names[:5])}"
            + (", …" if len(names) > 5 else "")
        )
    say(f"every file has the same bytes as in {stored}")
