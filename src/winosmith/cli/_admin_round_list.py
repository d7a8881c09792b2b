"""`winosmith admin round DIR list`: the rounds, and how far each is."""

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
    """Show the rounds of DIR: their states, and how many problems they kept."""
    existing_site(folder, database)
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.results import sizes

    rows = [
        {
            "round": row.name,
            "state": row.state,
            "published": row.published and f"{row.published:%Y-%m-%d}",
            **sizes(row),
        }
        for row in Round.objects.order_by("pk")
    ]
    if as_json:
        print_json(rows)
        return
    if not rows:
        click.echo("There is no round yet; begin one with: winosmith admin round DIR start")
        return
    print_table(
        "Rounds",
        ("round", "state", "collected", "kept", "published"),
        [
            [row["round"], row["state"], row["collected"], row["kept"], row["published"]]
            for row in rows
        ],
    )
