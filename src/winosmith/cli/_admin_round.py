"""`winosmith admin round`: rounds of the benchmark on the site."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import site_argument
from winosmith.cli._lazy import LazyGroup

__all__ = ["command"]

COMMANDS = {
    "start": "filter and solve what is public; the server does it, or this terminal",
    "list": "the rounds, and how far each is",
    "show": "one round: how far it is, why it failed, or its figures",
    "cancel": "stop the round that waits or runs",
    "publish": "let everyone see what came of a round",
}
"""The commands in the order in which a round goes, each with its one line."""


@click.command(cls=LazyGroup, lines=COMMANDS, modules="winosmith.cli._admin_round_")
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
