"""`winosmith humans`: tests of the materials on people, from the sheets to the reliable subset."""

from __future__ import annotations

import click

from winosmith.cli._groups import LazyGroup

__all__ = ["command"]

COMMANDS = {
    "sheets": "print test sheets, as PDF and as forms for a browser",
    "assign": "give subjects their sheets, so that nobody sees both halves",
    "enter": "type answers from paper, or read those of forms",
    "results": "tables by subject and by item, agreement, and a report",
    "select": "the reliable subset, and how well new people will agree with it",
    "publish": "what is released after a round, and what stays under embargo",
}
"""The commands in the order in which a test goes, each with its one line."""


@click.command(
    cls=LazyGroup, lines=COMMANDS, places={name: f"_humans_{name}:command" for name in COMMANDS}
)
def command() -> None:
    """Test the materials on people, and choose what they agree on.

    \b
    Start with:  winosmith humans sheets DATA --out DIR
    Then:        winosmith humans results DATA ANSWERS
    """  # noqa: D301
