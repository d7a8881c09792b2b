"""`winosmith admin round DIR show`: one round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import json_option, print_json, say
from winosmith.cli._tables import print_table

if TYPE_CHECKING:
    from winosmith.web.rounds.models import Round

__all__ = ["command"]


@click.command()
@click.argument("name")
@database_option
@json_option
@click.pass_obj
def command(folder: str, name: str, database: str | None, as_json: bool) -> None:
    """Show the round NAME: how far it is, why it failed, or its figures beside the last round's."""
    existing_site(folder, database)
    from winosmith.web.rounds.starting import round_named

    found = round_named(name)
    if as_json:
        print_json({"round": found.name, "state": found.state, "record": found.record})
        return
    click.echo(f"{found.name}: {found.get_state_display()}")
    if found.busy:
        _how_far(found)
    elif found.state == found.State.FAILED:
        click.echo(found.error)
        say(f"Let it go on with: winosmith admin round {folder} start --name {name}")
    elif found.state == found.State.DONE:
        _figures(found)


def _how_far(found: Round) -> None:
    from winosmith.web.rounds.standing import standing

    stands = standing(found)
    if stands is None or not stands.at_work:
        click.echo("no process is at it; the server starts one, or: start --here")
        return
    click.echo(f"step {stands.number} of {stands.of}: {stands.step}, {stands.percent} % of all")
    if stands.until is not None:
        click.echo(f"over at about {stands.until:%Y-%m-%d %H:%M} UTC, by the round before")


def _figures(found: Round) -> None:
    from winosmith.web.rounds.results import changed

    print_table(
        "This round" if found.last is None else f"This round and {found.last.name}",
        ["figure", "last", "now", "change"],
        [
            [what, before or "—", now or "—", told or "—"]
            for what, before, now, told in changed(found)
        ],
    )
    if found.published is None:
        say("It is not published: moderators alone see it.")
