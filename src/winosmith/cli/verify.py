"""`winosmith verify`: prove a release."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from winosmith.cli._options import json_option
from winosmith.cli._printing import print_json, progress, say

if TYPE_CHECKING:
    from winosmith.release import Verified

_SHOWN = 10
"""How many faults of one file are listed."""


@click.command()
@click.argument("release", type=click.Path(exists=True, file_okay=False))
@click.option("--private", type=click.Path(exists=True, file_okay=False), metavar="FOLDER",
              help="What must not be published: private/ of the build, or that beside the "
              "release. Nothing of it may be found.")  # fmt: skip
@json_option
@click.pass_context
def command(ctx: click.Context, release: str, private: str | None, as_json: bool) -> None:
    """Prove a RELEASE, or list what is wrong with it; exit code 1 when something is.

    Checked are: every file's SHA-256, the digest and the folder's name; each problem, its labels
    and its Parquet row; that no test answer, embargo, address or withdrawn problem is there; that
    no twin, family or near copy lies on two sides; licences; and that cards, Croissant, tasks and
    credit say what the problems say.

    \b
    Example:
        winosmith verify releases/my-benchmark-1.0.0-0123456789ab --private mine/private
    """  # noqa: D301
    from winosmith.release import verify

    found = verify(release, private=private, step=progress)
    if as_json:
        print_json(found.record())
    else:
        _tell(found)
    if found.faults:
        ctx.exit(1)


def _tell(found: Verified) -> None:
    told: Counter[str] = Counter()
    for fault in found.faults:
        path = fault.where.partition(":")[0]
        told[path] += 1
        if told[path] <= _SHOWN:
            click.echo(str(fault))
    for path, count in told.items():
        if count > _SHOWN:
            click.echo(f"{path}: {count - _SHOWN:,} more")
    for note in found.notes:
        say(f"Not checked: {note}.")
    for line in found.content.copies.sentences() if found.content else ():
        say(line)
    if found.faults:
        count = len(found.faults)
        click.secho(f"{count:,} fault{'s' * (count > 1)} in {found.folder}", fg="red", bold=True)
        return
    problems = len(found.content.dataset) if found.content else 0
    beside = "" if found.private else "; --private FOLDER would compare it with what is private"
    click.secho(f"{found.folder} is sound: {problems:,} problems{beside}", bold=True)
