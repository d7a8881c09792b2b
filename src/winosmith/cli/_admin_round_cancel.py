"""`winosmith admin round DIR cancel`: a round is stopped."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import say

__all__ = ["command"]


@click.command()
@click.argument("name")
@database_option
@click.pass_obj
def command(folder: str, name: str, database: str | None) -> None:
    """Stop the round NAME. What it has finished is kept, and it can go on from there."""
    existing_site(folder, database)
    from winosmith.web.rounds.starting import cancel, round_named

    cancel(None, round_named(name))
    click.echo(f"{name} is cancelled")
    say(f"Let it go on with: winosmith admin round {folder} start --name {name}")
