"""`winosmith admin round DIR publish`: everyone sees what came of a round."""

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
    """Let everyone see what came of the round NAME.

    Contributors learn what its filter left out of theirs, with the score and the reason; its roots
    are offered to be perturbed; the next round is compared with it. It can't be taken back.
    """
    existing_site(folder, database)
    from winosmith.web.rounds.starting import publish, round_named

    publish(None, round_named(name))
    click.echo(f"{name} is published")
    say(f"Everyone sees it at /rounds/round/{name}/ on the site.")
