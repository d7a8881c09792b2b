"""`winosmith admin round DIR start`: a round of the site begins, or goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winosmith.cli._admin_common import database_option, existing_site
from winosmith.cli._common import say
from winosmith.errors import InputError

if TYPE_CHECKING:
    from winosmith.web.rounds.models import Round

__all__ = ["command"]


@click.command()
@click.option("--name", metavar="NAME", help="Of the round; in its address. Without one: round-1, "
              "round-2 and so on; of one that failed or was cancelled: let it go on.")  # fmt: skip
@click.option("--recipe", metavar="FILE", help="A recipe of `winosmith round`, or the name of one "
              "in the folder recipes/ of DIR; its data and votes are the site's.")  # fmt: skip
@click.option("--here", is_flag=True, help="Carry it out in this terminal, to its end. What waits "
              "is taken up.")  # fmt: skip
@database_option
@click.pass_obj
def command(folder: str, /, **options: Any) -> None:
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
    from winosmith.web.rounds import recipes, starting
    from winosmith.web.rounds.models import Round

    name, recipe = options["name"], options["recipe"]
    wanted = {"name": name} if name else {"busy": True} if options["here"] and not recipe else None
    known = Round.objects.filter(**wanted).first() if wanted else None
    if known is not None and recipe:
        raise InputError(f"there is a round {name} already, with its recipe; leave --recipe out")
    if known is not None:
        if not known.busy:
            starting.again(None, known)
        found: Round = Round.objects.select_related("last").get(pk=known.pk)
        return found
    table, base = recipes.read(recipe) if recipe else ({}, "")
    return starting.start(None, name or starting.next_name(), table, base)


def _carry_out(folder: Path, round_: Round) -> None:
    from winosmith.web.rounds.models import Round
    from winosmith.web.rounds.taking import carried_out_here

    if not carried_out_here(folder, round_):
        say(f"The server is at {round_.name} already.")
        return
    now = Round.objects.get(pk=round_.pk)
    if now.state == Round.State.FAILED:
        raise InputError(f"{now.name} failed: {now.error}")
    click.echo(f"{now.name} is {now.get_state_display()}")
    say(f"Its files are in {now.folder / 'results'}; moderators see it at /rounds/.")
