"""`winosmith admin test DIR publish`: what a round asked becomes public."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json

__all__ = ["command"]


@click.command()
@click.argument("name")
@database_option
@json_option
@click.pass_obj
def command(folder: str, name: str, database: str | None, as_json: bool) -> None:
    """Make public what the closed round NAME asked, with the other halves.

    The rest of its problems stays under embargo, for a later round. All of them carry a canary
    string from then on. It can't be taken back: what is public has been read.
    """
    existing_site(folder, database)
    from dataclasses import asdict

    from winosmith.web.take.closing import publish_round

    released = publish_round(name)
    if as_json:
        print_json(asdict(released))
        return
    click.echo(
        f"{released.used + released.alternates} problems are released ({released.used} used, "
        f"{released.alternates} alternates); {released.withheld} stay under embargo"
    )
    click.echo(released.canary)
