"""`winosmith admin study DIR reconcile`: what the market says of the submissions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json, say
from winosmith.cli._tables import print_table

if TYPE_CHECKING:
    from winosmith.web.market.reconciling import Plan

__all__ = ["command"]


@click.command()
@click.argument("name")
@click.argument("export", type=click.Path(exists=True, dir_okay=False))
@click.option("--final", is_flag=True, help="EXPORT holds all submissions there will be: whoever "
              "is not in it did not come from the market.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@database_option
@json_option
@click.pass_obj
def command(
    folder: str,
    name: str,
    export: str,
    final: bool,
    dry_run: bool,
    database: str | None,
    as_json: bool,
) -> None:
    """Read the market's table of submissions of the study NAME from the file EXPORT (CSV).

    Votes of approved submissions count from then on, and problems that waited for them are
    decided. Votes of rejected and returned ones don't, and other people judge these problems;
    twins that they wrote are withdrawn. Read again, the same file changes nothing.
    """
    existing_site(folder, database)
    from winosmith.web.market.exports import read_export
    from winosmith.web.market.reconciling import apply, plan
    from winosmith.web.market.studies import study_named

    study = study_named(name)
    found = plan(study, read_export(Path(export), study.provider), final=final)
    votes = 0 if dry_run else apply(found.changes)
    if as_json:
        print_json({"dry_run": dry_run, **found.record(), "votes": votes})
        return
    _tell(found, export, final)
    if dry_run:
        say("Nothing was changed.")
    else:
        say(f"{votes:,} votes came to count, or count no more.")


def _tell(found: Plan, export: str, final: bool) -> None:
    rows = [
        (entry["worker"], entry["before"], entry["verdict"], entry["said"], entry["paid"],
         entry["votes"])
        for entry in found.record()["changes"]
    ]  # fmt: skip
    print_table("Changes", ("worker", "before", "after", "market's word", "paid", "votes"), rows)
    click.echo(f"{found.same} as they were")
    _list(export, [(line, "never began here") for line in found.unknown])
    _list(export, found.doubts)
    _list(export, found.notes)
    if found.missing:
        what = "rejected where it was not confirmed" if final else "left as it is; see --final"
        click.echo(f"{len(found.missing)} began here and are not in the file: {what}")


def _list(export: str, told: Sequence[tuple[int, str]]) -> None:
    for line, what in told:
        click.echo(f"{export}:{line}: {what}")
