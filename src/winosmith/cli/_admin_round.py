"""`winosmith admin round`: the rounds of a site are listed, shown, given up, published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from winosmith.cli._main import Group
from winosmith.cli._options import json_option
from winosmith.cli._printing import print_json, print_table, say
from winosmith.cli.admin import database_option, existing_site, site_argument

if TYPE_CHECKING:
    from winosmith.web.rounds.models import Round


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Look after the rounds of the benchmark on the site of DIR.

    A round moves and deletes none of them: what its filter leaves out is told to the contributors,
    with the score and the reason, once the round is published.

    \b
    Begin one with:  winosmith round --site DIR
    """  # noqa: D301
    context.obj = folder


@command.command("list", short_help="the rounds, and how far each is")
@database_option
@json_option
@click.pass_obj
def list_(folder: str, database: str | None, as_json: bool) -> None:
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
        click.echo("There is no round yet; begin one with: winosmith round --site DIR")
        return
    print_table(
        "Rounds",
        ("round", "state", "collected", "kept", "published"),
        [
            [row["round"], row["state"], row["collected"], row["kept"], row["published"]]
            for row in rows
        ],
    )


@command.command("show", short_help="one round: how far it is, why it failed, or its figures")
@click.argument("name")
@database_option
@json_option
@click.pass_obj
def show(folder: str, name: str, database: str | None, as_json: bool) -> None:
    """Show the round NAME: how far it is, why it failed, or its figures beside the last round's."""
    existing_site(folder, database)
    from winosmith.web.rounds.rules import round_named

    found = round_named(name)
    if as_json:
        print_json({"round": found.name, "state": found.state, "record": found.record})
        return
    click.echo(f"{found.name}: {found.get_state_display()}")
    if found.busy:
        _how_far(folder, found)
    elif found.state == found.State.FAILED:
        click.echo(found.error)
        say(f"Let it go on with: winosmith round --site {folder} --name {name}")
    elif found.state == found.State.DONE:
        _figures(found)


def _how_far(folder: str, found: Round) -> None:
    from winosmith.web.rounds.running import progress_of

    progress = progress_of(found)
    if progress is None or not progress.at_work:
        click.echo(f"no process is at it; it goes on with: winosmith round --site {folder}")
        return
    click.echo(
        f"step {progress.number} of {progress.of}: {progress.step}, {progress.percent} % of all"
    )
    if progress.until is not None:
        click.echo(f"over at about {progress.until:%Y-%m-%d %H:%M} UTC, by the round before")


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


@command.command("cancel", short_help="give up the round that waits or runs")
@click.argument("name")
@database_option
@click.pass_obj
def cancel(folder: str, name: str, database: str | None) -> None:
    """Give the round NAME up. What it has finished is kept, and it can go on from there.

    A process that is at it stops before its next step; Ctrl-C stops it at once.
    """
    existing_site(folder, database)
    from winosmith.web.rounds import rules

    rules.cancel(rules.round_named(name))
    click.echo(f"{name} is cancelled")
    say(f"Let it go on with: winosmith round --site {folder} --name {name}")


@command.command("publish", short_help="let everyone see what came of a round")
@click.argument("name")
@database_option
@click.pass_obj
def publish(folder: str, name: str, database: str | None) -> None:
    """Let everyone see what came of the round NAME.

    Contributors learn what its filter left out of theirs, with the score and the reason; its roots
    are offered to be perturbed; the next round is compared with it. It can't be taken back.
    """
    existing_site(folder, database)
    from winosmith.web.rounds import rules

    rules.publish(None, rules.round_named(name))
    click.echo(f"{name} is published")
    say(f"Everyone sees it at /rounds/round/{name}/ on the site.")
