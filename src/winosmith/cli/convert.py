"""`winosmith convert`: read one published format and write another."""

from __future__ import annotations

from typing import Any

import click

from winosmith import formats
from winosmith.cli._conversion import (
    WRITABLE,
    Made,
    check_paths,
    counted,
    made_of,
    noun,
    target_format,
)
from winosmith.cli._harness import HARNESSES, export
from winosmith.cli._options import json_option
from winosmith.cli._printing import print_json, say
from winosmith.errors import FormatError, OutputError
from winosmith.formats import Contents, Format, Losses

__all__ = ["command"]

_REASONS = 5
"""How many of the reasons are told, the most frequent first."""

_HINT = "; add --skip-bad FILE to set such records aside and go on"


@click.command()
@click.argument("source", metavar="IN", type=click.Path(exists=True, dir_okay=False))
@click.argument("target", metavar="OUT", type=click.Path())
@click.option(
    "--from",
    "format_name",
    type=click.Choice([known.name for known in formats.FORMATS]),
    metavar="FORMAT",
    help="Format of IN; found from its content when left out.",
)
@click.option(
    "--pair-by",
    metavar="COLUMN",
    help="A further column of IN that both halves of a twin share; left out, twins are found by "
    "their ids, or else by their texts.",
)
@click.option(
    "--to",
    "to_name",
    type=click.Choice([*(known.name for known in WRITABLE), *HARNESSES]),
    metavar="FORMAT",
    help="Format of OUT, or a harness (lm-eval, inspect-ai); found from its ending when left out.",
)
@click.option(
    "--recast",
    "kind",
    type=click.Choice(["problems", "claims"]),
    help="Turn true-or-false claims into problems, or problems into claims.",
)
@click.option(
    "--skip-bad",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Set what can't be read, grouped or written aside in this file, and go on.",
)
@click.option(
    "--with-embargo",
    is_flag=True,
    help="Keep problems under embargo, in a format that keeps the mark (winosmith, csv).",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@json_option
def command(
    source: str,
    target: str,
    format_name: str | None,
    pair_by: str | None,
    to_name: str | None,
    kind: str | None,
    skip_bad: str | None,
    with_embargo: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Read IN in any known format and write OUT in another.

    An OUT that ends in .jsonl is winosmith's own format, one record a line,
    which loses nothing; .csv is a plain table, .txt is DPR's. For any other
    format, say --to. After writing, OUT is read again, and what its format
    could not hold is told. Problems under embargo are left out, and counted.

    \b
      winosmith convert WSCollection.xml wsc.jsonl
      winosmith convert val.jsonl problems.jsonl --recast problems
      winosmith convert twins.jsonl twins.xml --to wsc-xml

    For the harnesses lm-eval and inspect-ai, OUT is a folder: a task that they
    run as it is, with the answers.

    \b
      winosmith convert twins.jsonl twins-task --to lm-eval

    """  # noqa: D301
    if to_name in HARNESSES:
        if kind or skip_bad or with_embargo or force or pair_by:
            raise OutputError(
                "a harness takes neither --recast nor --skip-bad nor --with-embargo nor --force "
                "nor --pair-by"
            )
        export(source, target, format_name, to_name, as_json)
        return
    into = target_format(target, to_name)
    check_paths(source, target, skip_bad, force)
    contents = formats.scan(source, format_name, pair_by=pair_by)
    if contents.bad and skip_bad is None:
        raise _hinted(contents.first_error(source))
    made = _written(made_of(contents, kind, with_embargo), target, into, skip_bad)
    if made.aside and skip_bad is not None:
        formats.set_aside(made.aside, skip_bad)
    lost = formats.losses(made.items, formats.scan(target, into.name).items)
    if as_json:
        print_json(_report(contents, made, into, lost))
    else:
        _tell(source, target, contents, made, into, lost, skip_bad)


_LIST = "\n".join(f"  {known.name:<20}  {known.title}" for known in formats.FORMATS)
command.epilog = f"\b\nFormats:\n{_LIST}"


def _hinted(error: FormatError) -> FormatError:
    return FormatError(error.reason + _HINT, error.path, error.line)


def _written(made: Made, target: str, into: Format, skip_bad: str | None) -> Made:
    """Write what there is; what does not fit ends the command or, with --skip-bad, is left over."""
    try:
        _write(made, target, into)
    except FormatError as error:
        if not (made.items and all(isinstance(item, into.holds) for item in made.items)):
            raise
        if skip_bad is None:
            raise _hinted(error) from error
        made = made.fitting(into)
        _write(made, target, into)
    return made


def _write(made: Made, target: str, into: Format) -> None:
    if not made.items:
        reasons = "; ".join(f"{count} x {reason}" for reason, count in made.reasons()[:_REASONS])
        raise FormatError(f"no record is left to write ({reasons or 'the file holds none'})")
    formats.write(made.items, target, into.name)


def _tell(
    source: str,
    target: str,
    contents: Contents,
    made: Made,
    into: Format,
    lost: Losses,
    skip_bad: str | None,
) -> None:
    what = noun(made.items)
    say(f"read: {source} ({contents.format.name}), {counted(contents.items)}")
    for note in contents.notes:
        say(f"note: {note}")
    if made.embargoed:
        say(f"left out: {made.embargoed} under embargo")
    if made.aside:
        say(f"left over: {len(made.aside)} records{f', in {skip_bad}' if skip_bad else ''}")
    for reason, count in made.reasons()[:_REASONS]:
        say(f"  {count} x {reason}")
    if len(made.reasons()) > _REASONS:
        say(f"  and {len(made.reasons()) - _REASONS} more reasons")
    say(f"wrote: {target} ({into.name}), {counted(made.items)}")
    told = [*made.lost.told(noun(contents.items)), *lost.told(what)]
    for line in told or ["lost: nothing"]:
        say(line)


def _report(contents: Contents, made: Made, into: Format, lost: Losses) -> dict[str, Any]:
    return {
        "from": contents.format.name,
        "to": into.name,
        "read": len(contents.items),
        "notes": list(contents.notes),
        "left_over": dict(made.reasons()),
        "embargoed": made.embargoed,
        "written": len(made.items),
        "lost": dict(sorted((lost.lost | made.lost.lost).items())),
        "changed": dict(sorted(lost.changed.items())),
        "added": dict(sorted(lost.added.items())),
    }
