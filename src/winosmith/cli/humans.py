"""`winosmith humans`: tests of the materials on people, from the sheets to the reliable subset."""

from __future__ import annotations

import importlib

import click

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


class _Commands(click.Group):
    """Loads a command's module only when that command is called or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"winosmith.cli._humans_{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Commands)
def command() -> None:
    """Test the materials on people, and choose what they agree on.

    \b
    Start with:  winosmith humans sheets DATA --out DIR
    Then:        winosmith humans results DATA ANSWERS
    """  # noqa: D301
