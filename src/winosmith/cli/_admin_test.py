"""`winosmith admin test`: human tests on the site, from the sheets to what is published."""

from __future__ import annotations

import click

from winosmith.cli._admin_common import site_argument
from winosmith.cli._lazy import LazyGroup

__all__ = ["command"]

COMMANDS = {
    "open": "a round: problems under embargo, sheets, people may come",
    "list": "the rounds, and how far each is",
    "close": "nobody takes it any more; the results are found",
    "results": "sheets, answers, subjects and ledger, for winosmith humans",
    "publish": "what a closed round asked becomes public, the rest does not",
}
"""The commands in the order in which a round goes, each with its one line."""


@click.command(cls=LazyGroup, lines=COMMANDS, modules="winosmith.cli._admin_test_")
@site_argument
@click.pass_context
def command(context: click.Context, folder: str) -> None:
    """Test problems on the people of the site of DIR.

    Each person gets a sheet with one half of each twin, never both, and none of what they have
    judged, written or been asked before.

    \b
    Start with:  winosmith admin test DIR open schemas.jsonl --name spring
    """  # noqa: D301
    context.obj = folder
