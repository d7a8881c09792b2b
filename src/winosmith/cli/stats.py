"""`winosmith stats`: count a data set, and find what is wrong with it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from winosmith import formats
from winosmith.cli._options import format_option, json_option, pairing_column, unmarked_twins
from winosmith.cli._printing import print_json, print_table, say
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.metrics import (
    ClaimStatistics,
    LineageStatistics,
    Statistics,
    claim_statistics,
    lineage_statistics,
    statistics,
)
from winosmith.problem import Claim, Problem
from winosmith.report import shown

_HINT = "; add --skip-bad FILE to set such records aside and go on"


@click.command()
@click.argument(
    "data", nargs=-1, required=True, metavar="DATA...", type=click.Path(exists=True, dir_okay=False)
)
@format_option
@click.option(
    "--skip-bad",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Set records that can't be read aside in FILE, and go on.",
)
@click.option("--seed", default=0, show_default=True, help="Of the search for leaks.")
@json_option
def command(
    data: tuple[str, ...],
    format_name: str | None,
    skip_bad: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Count a data set, or several files as one, and find fields that give the answer away.

    Lengths and vocabularies are of Penn Treebank tokens. A set that WinoGrande's table 5 counts is
    counted as it does, beside what it prints. A field gives the answer away when something of it
    (its last character, its parity, its order in a twin …) predicts answers it was not fitted on:
    in the released WinoGrande, the id does. Of perturbed problems the three depths stand side by
    side, with the problem in which they differ most explained.

    \b
    Example:
        winosmith stats dev.jsonl
        winosmith stats train.c.txt test.c.txt
    """  # noqa: D301
    asked = _read(data, format_name, skip_bad)
    if not isinstance(asked, Dataset):
        _tell_claims(" + ".join(Path(path).stem for path in data), claim_statistics(asked), as_json)
        return
    found, families = statistics(asked, seed), lineage_statistics(asked)
    pairs, advice = unmarked_twins(asked)
    if as_json:
        lineages = {"lineages": families.record()} if families else {}
        told = {"unmarked_twins": pairs} if pairs else {}
        print_json({"data": asked.name, **found.record(), **told, **lineages})
        return
    _print(asked.name, found)
    _print_table5(found)
    if pairs:
        click.echo(textwrap.fill(shown(advice), 80, subsequent_indent="  ") + "\n")
    for line in found.copies.told():
        click.echo(textwrap.fill(shown(line), 80, subsequent_indent="  ") + "\n")
    if families:
        _print_lineages(families)
        if found.uncounted:
            click.echo(
                f"Depths count tokens: of the {found.uncounted:,} problems without spaces between "
                "words\nthey tell nothing.\n"
            )
    _print_leaks(found)
    click.echo(f"Signature: {found.signature}")


def _read(
    paths: Sequence[str], format_name: str | None, skip_bad: str | None
) -> Dataset | tuple[Claim, ...]:
    """Return the problems or claims of all files, in order."""
    parts: list[Dataset | tuple[Claim, ...]] = []
    bad: list[formats.Entry] = []
    for path in paths:
        contents = formats.scan(path, format_name, pair_by=pairing_column())
        contents.tell(path)
        if contents.bad and skip_bad is None:
            error = contents.first_error(path)
            raise FormatError(error.reason + _HINT, error.path, error.line)
        if not contents.items:
            raise FormatError("the file holds no record that can be read", path)
        bad += contents.bad
        claims = tuple(item for item in contents.items if isinstance(item, Claim))
        problems = [item for item in contents.items if isinstance(item, Problem)]
        if claims and problems:
            raise FormatError("the file holds both problems and true-or-false claims", path)
        parts.append(claims or Dataset(problems, Path(path).stem))
    if bad and skip_bad is not None:
        formats.set_aside(bad, skip_bad)
        say(f"Left out: {len(bad):,} records that can't be read, in {skip_bad}.")
    if len(parts) == 1:
        return parts[0]
    from winosmith.study import joined

    return joined(parts, " + ".join(Path(path).stem for path in paths))


def _counts(found: Statistics | ClaimStatistics) -> list[tuple[str, str]]:
    """Return what is told of tokens, or that there are none to count."""
    if found.average_length is None or found.vocabulary is None:
        none = "not counted: no spaces between words"
        return [("average length", none), ("vocabulary", none)]
    but = f", without {found.uncounted:,} unspaced problems" if found.uncounted else ""
    return [
        ("average length", f"{found.average_length:.2f} tokens{but}"),
        ("vocabulary", f"{found.vocabulary:,} tokens{but}"),
    ]


def _print_table5(found: Statistics | ClaimStatistics) -> None:
    if found.table5 is not None:
        click.echo(textwrap.fill(str(found.table5), 80) + "\n")


def _tell_claims(name: str, found: ClaimStatistics, as_json: bool) -> None:
    if as_json:
        print_json({"data": name, **found.record()})
        return
    words = ("true", "false", "withheld")
    told = [f"{word}: {n:,}" for word, n in zip(words, found.holds, strict=True) if n]
    rows = [("claims", f"{found.claims:,}"), *_counts(found), ("they hold", ", ".join(told))]
    print_table(shown(name), ("", ""), rows)
    _print_table5(found)


def _print(name: str, found: Statistics) -> None:
    answers = [f"option {index + 1}: {count:,}" for index, count in enumerate(found.answers)]
    if found.withheld:
        answers = [*(answers if any(found.answers) else []), f"withheld: {found.withheld:,}"]
    missing = len(found.missing_options)
    more = f", {found.comparisons:,} comparisons" if found.comparisons > found.problems else ""
    marked, labelled = found.associative
    print_table(
        shown(name),
        ("", ""),
        [
            ("problems", f"{found.problems:,}{more}"),
            *_counts(found),
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
