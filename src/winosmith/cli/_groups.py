"""Groups of commands: what is misspelt gets a suggestion, and only what is called is loaded."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click


class Group(click.Group):
    """Lists its commands in the order of their definition, and names the nearest to a misspelt."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        # An option in its place is click's to refuse: it knows those that are nearest.
        if not (ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name)):
            known = self.list_commands(ctx)
            near = " or ".join(difflib.get_close_matches(name, known))
            told = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            ctx.fail(f"there is no command {name!r}; {told}")
        return super().resolve_command(ctx, args)


class LazyGroup(Group):
    """Loads a command's module only when that command is called or asked for help.

    Args:
        sections: by its title, the commands of each part of the help, each with its one line.
        places: where in this folder a command is, as "module:name"; one that is not named is
            `command` in the module of its own name.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, str]],
        places: Mapping[str, str] = {},
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        self.sections, self.places = sections, places

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for lines in self.sections.values() for name in lines]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module, _, name = self.places.get(cmd_name, f"{cmd_name}:command").partition(":")
        command: click.Command = getattr(importlib.import_module(f"{__package__}.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))  # the sections' lines begin in one column
        for title, lines in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in lines.items()])
