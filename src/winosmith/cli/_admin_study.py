"""`winosmith admin study`: paid work by study links, from the link to the pay."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import site_argument
from winosmith.cli._lazy import LazyGroup

__all__ = ["command"]

COMMANDS = {
    "create": "a study, and the secret link that the market needs",
    "list": "the studies, and how far each is",
    "show": "one study; a new link in place of one that is lost, or other places",
    "reconcile": "what the market's export says: votes count from then on, or don't",
    "pay": "the ledger, what is due, and what was paid",
    "close": "nobody new may come",
}
"""The commands in the order in which a study goes, each with its one line."""


@click.command(cls=LazyGroup, lines=COMMANDS, modules="winosmith.cli._admin_study_")
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Let people of a crowd market judge or write on the site of DIR, for pay.

    \b
    Start with:  winosmith admin study DIR create pilot --on prolific --judge 20 \\
                     --reward 2.50 --currency GBP --minutes 12 --places 50 --code C1A2B3C4
    """  # noqa: D301
    context.obj = folder
