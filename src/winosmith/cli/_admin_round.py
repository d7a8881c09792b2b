"""`winosmith admin round`: rounds of the benchmark on the site, from the start to the public."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._groups import Group
from winosmith.cli._options import json_option
from winosmith.cli._printing import print_json, print_table, say
from winosmith.cli.admin import database_option, existing_site, site_argument
from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.web.rounds.models import Round


@click.group(cls=Group)
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Run rounds of the benchmark on the public problems of the site of DIR.

    A round moves and deletes none of them: what its filter leaves out is told to the contributors,
    with the score and the reason, once the round is published.

    \b
    Start with:  winosmith admin round DIR start
    """  # noqa: D301
    context.obj = folder


@command.command(
    "start", short_help="filter and solve what is public; the server does it, or this terminal"
)
@click.option("--name", metavar="NAME", help="Of the round; in its address. Without one: round-1, "
              "round-2 and so on; of one that failed or was cancelled: let it go on.")  # fmt: skip
@click.option("--recipe", metavar="FILE", help="A recipe of `winosmith round`, or the name of one "
              "in the folder recipes/ of DIR; its data and votes are the site's.")  # fmt: skip
@click.option("--here", is_flag=True, help="Carry it out in this terminal, to its end. What waits "
              "is taken up.")  # fmt: skip
@database_option
@click.pass_obj
def start(folder: str, /, **options: Any) -> None:
    """Start a round of the public problems of DIR.

    The server carries it out, in a process of its own, and takes it up again after a crash or a
    new start; /rounds/ shows how far it is. Without a recipe it is AFLite on light embeddings,
    solved by the site's models, and compared with the round that was published last.

    \b
    Example:
        winosmith admin round DIR start --recipe round.toml
    """  # noqa: D301
    site = existing_site(folder, options["database"])
    round_ = _started(options)
    if options["here"]:
        _carry_out(site.folder, round_)
        return
    click.echo(f"{round_.name} waits for the server; look at it with:")
    click.echo(f"  winosmith admin round {folder} show {round_.name}")
    say("Where the site is not served, add --here.")


def _started(options: dict[str, Any]) -> Round:
    """Return the round that is to be carried out: a new one, or one that goes on."""
    from winosmith.web.rounds import recipes, rules
    from winosmith.web.rounds.models import Round

    name, recipe = options["name"], options["recipe"]
    wanted = {"name": name} if name else {"busy": True} if options["here"] and not recipe else None
    known = Round.objects.filter(**wanted).first() if wanted else None
    if known is not None and recipe:
        raise InputError(f"there is a round {name} already, with its recipe; leave --recipe out")
    if known is not None:
        if not known.busy:
            rules.again(None, known)
        found: Round = Round.objects.select_related("last").get(pk=known.pk)
        return found
    table, base = recipes.read(recipe) if recipe else ({}, "")
    return rules.start(None, name or rules.next_name(), table, base)


def _carry_out(folder: Path, round_: Round) -> None:
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.running import carried_out_here

    if not carried_out_here(folder, round_):
        say(f"The server is at {round_.name} already.")
        return
    now = Round.objects.get(pk=round_.pk)
    if now.state == Round.State.FAILED:
        raise InputError(f"{now.name} failed: {now.error}")
    click.echo(f"{now.name} is {now.get_state_display()}")
    say(f"Its files are in {now.folder / 'results'}; moderators see it at /rounds/.")


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
        _how_far(found)
    elif found.state == found.State.FAILED:
        click.echo(found.error)
        say(f"Let it go on with: winosmith admin round {folder} start --name {name}")
    elif found.state == found.State.DONE:
        _figures(found)


def _how_far(found: Round) -> None:
    from winosmith.web.rounds.progress import standing

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


@command.command("cancel", short_help="stop the round that waits or runs")
@click.argument("name")
@database_option
@click.pass_obj
def cancel(folder: str, name: str, database: str | None) -> None:
    """Stop the round NAME. What it has finished is kept, and it can go on from there."""
    existing_site(folder, database)
    from winosmith.web.rounds import rules

    rules.cancel(None, rules.round_named(name))
    click.echo(f"{name} is cancelled")
    say(f"Let it go on with: winosmith admin round {folder} start --name {name}")


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
