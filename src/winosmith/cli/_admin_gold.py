"""`winosmith admin gold`: questions with a known answer."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site, site_argument
from winosmith.cli._common import data_argument, format_option, read_data

__all__ = ["command"]


@click.command()
@site_argument
@data_argument("file")
@click.option("--new-ids", is_flag=True, help="Under ids that tell nothing and clash with none.")
@format_option
@database_option
def command(
    folder: str, file: str, new_ids: bool, format_name: str | None, database: str | None
) -> None:
    """Add the problems of FILE as questions that show whether judges read with care.

    Each needs an answer, and `gold.explanation` in its extra: why that answer is right, which the
    judge reads afterwards. `gold.attention` marks a sentence that says itself what to choose.
    They are never part of the data.
    """
    from winosmith.web import hosting

    site = existing_site(folder, database)
    dataset = read_data(file, format_name)
    if new_ids:
        dataset = hosting.with_new_ids(dataset, site.secret)
    made = hosting.import_problems(dataset, "gold")
    click.echo(f"{made.added:,} new, {made.known:,} there already")
