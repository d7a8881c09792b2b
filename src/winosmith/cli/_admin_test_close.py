"""`winosmith admin test DIR close`: a round is over."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import say

__all__ = ["command"]


@click.command()
@click.argument("name")
@click.option("--drop", is_flag=True, help="Sheets that are still out count as given up.")
@database_option
@click.pass_obj
def command(folder: str, name: str, drop: bool, database: str | None) -> None:
    """Let nobody take the round NAME any more, and find its results.

    Moderators see them on the site from then on.
    """
    existing_site(folder, database)
    from winosmith.web.take.closing import close_round
    from winosmith.web.take.progress import standing

    row = standing(close_round(name, drop=drop))
    figures = row.round.figures or {}
    if figures.get("answers"):
        share = figures["right"] / figures["answers"]
        click.echo(
            f"{100 * share:.1f} % of the answers are the intended ones ({figures['right']:,} of "
            f"{figures['answers']:,}), {figures['subjects']} people"
        )
    click.echo(f"{row.done} sheets handed in, {row.dropped} given up")
    say(f"Moderators see more at /tests/progress/{name}/ on the site.")
