"""A group of commands of which only the one that is called is loaded."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

__all__ = ["LazyGroup"]


class LazyGroup(click.Group):
    """Loads a command's module only when that command is called or asked for help.

    Args:
        lines: the commands in the order of the help, each with its one line.
        modules: what the name of a command's module begins with; the command's own name follows.
    """

    def __init__(self, *args: Any, lines: Mapping[str, str], modules: str, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.lines, self.modules = lines, modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lines:
            return None
        command: click.Command = importlib.import_module(self.modules + cmd_name).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))
