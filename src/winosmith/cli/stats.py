"""`winosmith stats`: count a data set, and find what is wrong with it."""

from __future__ import annotations

import textwrap

import click

from winosmith.cli._common import (
    data_argument,
    format_option,
    json_option,
    print_json,
    read_data,
    unmarked_twins,
)
from winosmith.cli._tables import print_table
from winosmith.metrics import LineageStatistics, Statistics, lineage_statistics, statistics
from winosmith.report import shown

__all__ = ["command"]


@click.command()
@data_argument()
@format_option
@click.option("--seed", default=0, show_default=True, help="Of the search for leaks.")
@json_option
def command(data: str, format_name: str | None, seed: int, as_json: bool) -> None:
    """Count a data set, and find fields that give the answer away.

    The counts are those of WinoGrande's table 5. A field gives the answer away when something of
    it (its last character, its parity, its order in a twin …) predicts answers it was not fitted
    on: in the released WinoGrande, the id does. Of perturbed problems the three depths stand side
    by side, with the problem in which they differ most explained.

    \b
    Example:
        winosmith stats dev.jsonl
    """  # noqa: D301
    dataset = read_data(data, format_name)
    found, families = statistics(dataset, seed), lineage_statistics(dataset)
    pairs, advice = unmarked_twins(dataset)
    if as_json:
        lineages = {"lineages": families.record()} if families else {}
        told = {"unmarked_twins": pairs} if pairs else {}
        print_json({"data": dataset.name, **found.record(), **told, **lineages})
        return
    _print(dataset.name, found)
    if pairs:
        click.echo(textwrap.fill(shown(advice), 80, subsequent_indent="  ") + "\n")
    for line in found.copies.told():
        click.echo(textwrap.fill(shown(line), 80, subsequent_indent="  ") + "\n")
    if families:
        _print_lineages(families)
    _print_leaks(found)
    click.echo(f"Signature: {found.signature}")


def _print(name: str, found: Statistics) -> None:
    answers = [f"option {index + 1}: {count:,}" for index, count in enumerate(found.answers)]
    if found.withheld:
        answers = [*(answers if any(found.answers) else []), f"withheld: {found.withheld:,}"]
    missing = len(found.missing_options)
    marked, labelled = found.associative
    print_table(
        shown(name),
        ("", ""),
        [
            ("problems", f"{found.problems:,}"),
            ("average length", f"{found.average_length:.2f} tokens"),
            ("vocabulary", f"{found.vocabulary:,} tokens"),
            ("twins", f"{found.twins:,}"),
            ("singles", f"{found.singles:,}"),
            ("answers", ", ".join(answers)),
            ("options", ", ".join(f"{n} in {of:,} problems" for n, of in found.options.items())),
            ("copies", f"{sum(map(len, found.copies.groups)):,} problems"),
            (
                "option missing",
                f"{missing:,} problems ({missing / max(1, found.problems) * 100:.1f} %)"
                + (f", as {found.missing_options[0]}" if missing else ""),
            ),
            *(
                [("associative", f"{marked:,} of {labelled:,} ({marked / labelled * 100:.1f} %)")]
                if labelled
                else []
            ),
        ],
    )


def _print_lineages(found: LineageStatistics) -> None:
    """Print the families and their three depths, and why those of one problem differ."""
    families = f"{found.families:,} {'family' if found.families == 1 else 'families'}"
    unvalidated = f", {found.unvalidated:,} of them unvalidated" if found.unvalidated else ""
    print_table(
        f"{found.perturbed:,} perturbed problems in {families}{unvalidated}",
        ("depth", "known", "mean", "greatest", "as edit depth"),
        [(name, of.known, of.mean, of.greatest, of.equal) for name, of in found.depths.items()],
    )
    if found.example is not None:
        click.echo(f"The depths of {shown(found.example)!r} differ most:")
        for line in found.explained.splitlines():
            click.echo(
                textwrap.fill(shown(line), 78, initial_indent="  ", subsequent_indent="    ")
            )
        click.echo()


def _print_leaks(found: Statistics) -> None:
    if found.leaks is None:
        click.echo("Too few answers are known to tell whether a field gives them away.")
    elif not found.leaks:
        click.echo("No field was found that gives the answer away.")
    for leak in found.leaks or ():
        click.secho("LEAK ", nl=False, fg="red", bold=True)
        click.echo(textwrap.fill(shown(str(leak)), 74, subsequent_indent=" " * 5))
