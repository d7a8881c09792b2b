"""`winosmith admin test DIR list`: the rounds, and how far each is."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json
from winosmith.cli._tables import print_table

__all__ = ["command"]


@click.command()
@database_option
@json_option
@click.pass_obj
def command(folder: str, database: str | None, as_json: bool) -> None:
    """Show the rounds of DIR: how many sheets are out, handed in and given up."""
    existing_site(folder, database)
    from winosmith.web.take.models import Round
    from winosmith.web.take.progress import standing

    rows = [standing(round_) for round_ in Round.objects.order_by("pk")]
    if as_json:
        print_json(
            [
                {
                    "round": row.round.name,
                    "state": row.round.state,
                    "published": row.round.published is not None,
                    "problems": row.problems,
                    "given": row.given,
                    "done": row.done,
                    "dropped": row.dropped,
                    "sheets": row.sheets,
                }
                for row in rows
            ]
        )
        return
    if not rows:
        click.echo("There is no round yet; begin one with: winosmith admin test DIR open FILE")
    print_table(
        "Rounds",
        ("round", "state", "problems", "sheets", "being taken", "handed in", "given up"),
        [
            (
                row.round.name,
                "published" if row.round.published else row.round.state,
                row.problems,
                len(row.sheets),
                row.given,
                row.done,
                row.dropped,
            )
            for row in rows
        ],
    )
