"""`winosmith admin import`: problems of a file into a site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.cli._common import data_argument, format_option, progress, read_data

if TYPE_CHECKING:
    from winosmith import Dataset
    from winosmith.web.hosting import Imported

__all__ = ["command"]


@click.command()
@site_argument
@data_argument("file")
@click.option(
    "--as",
    "as_",
    required=True,
    type=click.Choice(["judging", "valid", "published"]),
    help="To be judged; part of the set; or only compared with what people write.",
)
@click.option("--source", metavar="NAME", help="Of published sentences; the file's name else.")
@click.option("--embargo", is_flag=True, help="Keep them out of everything public.")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@database_option
def command(
    folder: str,
    file: str,
    as_: str,
    source: str | None,
    embargo: bool,
    new_ids: bool,
    format_name: str | None,
    database: str | None,
) -> None:
    """Put the problems of FILE, in any known format, into the site of DIR.

    People may work meanwhile. What is there already stays as it is; after an interrupt, the same
    command goes on.
    """
    site = existing_site(folder, database)
    dataset = read_data(file, format_name)
    if as_ == "published":
        added = _published(dataset, source or dataset.name)
    else:
        from winosmith.web import hosting

        if new_ids:
            dataset = hosting.with_new_ids(dataset, site.secret)
        with progress("Importing", len(dataset)) as advance:
            made = hosting.import_problems(
                dataset,
                "judging" if as_ == "judging" else "valid",
                embargo=embargo,
                on_progress=lambda done: advance(done, ""),
            )
        added = made.added
        _tell_of_families(made)
    click.echo(f"{added:,} new, {len(dataset) - added:,} there already")


def _tell_of_families(made: Imported) -> None:
    if made.versions:
        click.echo(f"{made.versions:,} perturbed problems have their place in a family")
    if made.apart:
        click.echo(
            f"{made.apart:,} perturbed problems stand alone: the site lacks their root, or a "
            "problem on the way to it; import those, then this file again"
        )


def _published(dataset: Dataset, source: str) -> int:
    from winosmith.web.problems.lookalikes import remember_published

    with progress("Remembering", len(dataset)) as advance:
        return remember_published(dataset, source, on_progress=lambda done: advance(done, ""))
