"""Write the pages of reference that come from the code: the commands' help and the recipe's keys.

`python docs/make.py` runs this; `tests/test_docs.py` fails when a page is not what it writes.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import click

from winosmith.build import Recipe
from winosmith.cli._main import group

HERE = Path(__file__).resolve().parent / "reference"

CLI = """\
# Commands

What `winosmith COMMAND --help` prints.

Every command ends with code 0; with 2 when what it was given can't be used (the message says what,
where, and what to do); with 130 after Ctrl-C; `check --strict` with 1 when it dropped something;
`debias`, `build` and `round` with 1 if the vectors do not tell the problems apart, so that nothing
is filtered or measured.
Results go to the standard output, everything else to the standard error. `--json` prints a report
as JSON.
"""

RECIPE = """\
# The recipe

`winosmith build RECIPE.toml` reads one [TOML](https://toml.io) file. Only `name` and `data` are
needed; a key that is left out has its default. File names are relative to the recipe's own folder.
`false` switches off what can be switched off. An unknown key is an error that names the nearest
known one.

Everything that determines the result is in the recipe and the files that it names. It is published
with the benchmark, every default written out, and a build in the same folder with another recipe is
refused.
"""


def cli_page() -> str:
    """Return the page of the commands."""
    with group.make_context("winosmith", [], resilient_parsing=True, terminal_width=80) as top:
        parts = [CLI, _help("winosmith", group, top)]
        parts += [_help(name, command, ctx) for name, command, ctx in _commands(top)]
    return "\n".join(parts)


def _commands(parent: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield the commands below a group, each group before its own."""
    assert isinstance(parent.command, click.Group)  # noqa: S101
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        assert command is not None  # noqa: S101
        ctx = click.Context(command, info_name=name, parent=parent)
        yield ctx.command_path, command, ctx
        if isinstance(command, click.Group):
            yield from _commands(ctx)


def _help(name: str, command: click.Command, ctx: click.Context) -> str:
    text = "\n".join(line.rstrip() for line in command.get_help(ctx).splitlines())
    return f"## `{name}`\n\n```text\n{text}\n```\n"


def recipe_page() -> str:
    """Return the page of the recipe."""
    top = [known for known in fields(Recipe) if not _is_table(known)]
    tables = [known for known in fields(Recipe) if _is_table(known)]
    parts = [RECIPE, f"```toml\n{_example(top, tables)}```\n", _section("The top", Recipe, top)]
    for table in tables:
        kind = typing.get_type_hints(Recipe)[table.name]
        parts.append(_section(f"`[{table.name}]`", kind, list(fields(kind))))
    return "\n".join(parts)


def _is_table(known: Field[Any]) -> bool:
    return is_dataclass(known.default_factory)


def _section(title: str, kind: type, keys: list[Field[Any]]) -> str:
    lead, meanings = _documented(kind)
    hints = typing.get_type_hints(kind)
    rows = [
        f"| `{key.name}` | {_type(hints[key.name])} | {_default(key)} "
        f"| {meanings.get(key.name, 'see above')} |"
        for key in keys
    ]
    head = "| key | type | default | meaning |\n|---|---|---|---|\n"
    return f"## {title}\n\n{lead}\n\n{head}" + "\n".join(rows) + "\n"


def _documented(kind: type) -> tuple[str, dict[str, str]]:
    """Return the first lines of a class's docstring, and what it says of each attribute.

    None is `false` in a recipe.
    """
    text = re.sub(r"\bNone( or False)?\b", "`false`", inspect.cleandoc(kind.__doc__ or ""))
    before, _, after = text.partition("\nAttributes:\n")
    lead = re.sub(r"^`\[\w+\]`: (\w)", lambda found: found[1].upper(), before).strip()
    lead = "\n\n".join(" ".join(part.split()) for part in lead.split("\n\n"))
    meanings: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \S)", "\n" + after.partition("\nRaises:")[0].rstrip())[1:]:
        names, _, meaning = entry.strip().partition(": ")
        for name in names.split(", "):
            meanings[name] = " ".join(meaning.split()).replace("|", "\\|")
    return lead, meanings


def _type(hint: Any) -> str:
    """Return a type in words, as a recipe can hold it."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [_type(kind) for kind in typing.get_args(hint) if kind is not types.NoneType]
        return " or ".join([*kinds, *(["`false`"] if type(None) in typing.get_args(hint) else [])])
    if typing.get_origin(hint) is Literal:
        return " or ".join(f'`"{value}"`' for value in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return "list of texts" if str in typing.get_args(hint) else "two whole numbers"
    return {int: "whole number", float: "number", str: "text", bool: "true or false"}[hint]


def _default(key: Field[Any]) -> str:
    if key.default is MISSING:
        return "needed"
    return "—" if key.default is None else f"`{_toml(key.default)}`"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _example(top: list[Field[Any]], tables: list[Field[Any]]) -> str:
    """Return a recipe with every key that has a default; those without are commented out."""
    lines = ['name = "mine"', 'data = "twins.jsonl"']
    lines += [_assigned(key) for key in top if key.default is not MISSING]
    for table in tables:
        lines += ["", f"[{table.name}]"]
        lines += [_assigned(key) for key in fields(typing.cast("type[Any]", table.default_factory))]
    return "\n".join(lines) + "\n"


def _assigned(key: Field[Any]) -> str:
    return f"# {key.name} =" if key.default is None else f"{key.name} = {_toml(key.default)}"


PAGES = {HERE / "cli.md": cli_page, HERE / "recipe.md": recipe_page}
"""The pages, and what makes each."""


def write() -> None:
    """Write the pages."""
    for page, made in PAGES.items():
        page.write_text(made(), "utf-8")


if __name__ == "__main__":
    write()
