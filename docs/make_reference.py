"""Write the generated reference pages: commands, recipe keys, solvers, formats and settings.

`python docs/make.py` runs this script; `tests/test_docs.py` fails if a page is out of date.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import Any, TypeVar

import click

from winosmith.build import Recipe
from winosmith.cli._main import group
from winosmith.formats import FORMATS, Writer
from winosmith.options import build_schema, describe_values
from winosmith.problem import Claim, Problem
from winosmith.solver_rule import KINDS, LEARNERS, SolverRule
from winosmith.web._rules import GROUPS, SERVER, Mail, get_settings

HERE = Path(__file__).resolve().parent / "reference"

CLI = """\
# Commands

For everyone who runs winosmith in a terminal: the help text of each command.

A command that succeeds ends with exit code 0. The code is 2 if the input is invalid (the message
gives the fault, its location and the remedy), and 130 after Ctrl-C. `check --strict` ends with 1 if
it dropped a problem; `debias`, `build` and `round` end with 1 if the vectors do not distinguish the
problems, so that nothing is filtered or measured. Results are printed to stdout, other messages to
stderr. `--json` prints a report as [JSON](json.md).
"""

RECIPE = """\
# The recipe

For people who configure a build. `winosmith build RECIPE.toml` reads one [TOML](https://toml.io)
file. Only `name` and `data` are required; an omitted key has its default. File names are relative
to the recipe's folder. `false` disables a setting. If a key is unknown, the error suggests the
nearest known key.

The recipe and the files that it names determine the result. The recipe is published with the
benchmark, with all defaults written out. A build with another recipe in the same folder is refused.
"""

SOLVERS = f"""\
# Solvers

For people who configure solvers. A `[[solvers]]` table of a [round](../how-to/rounds.md) or a
`[[models]]` table of a [site](../how-to/live-models.md) configures one solver, with these keys and
the keys of its kind. [`winosmith solve`](../how-to/solve.md) has options with the same names
(`--max-tokens` for `max_tokens`), except for `revision`, `trained_on`, `threads` and `memory_gb`.

Rounds can train {", ".join(LEARNERS[:-1])} and {LEARNERS[-1]} (`learn = true`).
"""


SETTINGS = """\
# Settings of a site

For people who run a site. An admin changes most settings in the browser, under *Settings*. Each
setting is also a key of `site.toml`, a [TOML](https://toml.io) file in the site's folder that
`winosmith serve` reads when it starts. A setting in this file can't be changed in the browser. If a
key is unknown or a value is out of range, the error names the file, the key and the nearest known
key.
"""

PYTHON = """\
# Python

For people who call winosmith from Python: the public modules and their names. `make site` builds
the documentation with search and a page for each module, from the docstrings. In an interpreter,
`help(winosmith.debias.aflite)` shows the same text.
"""

MODELS = """\
## `[[models]]`

The models that answer perturbed sentences, one table per model. Without a table, the site has
`association` and `hunting`, which need no download; `models = []` disables them. A table has
`name`, `solver` and that solver's options: [solvers](solvers.md).
"""


def cli_page() -> str:
    """Return the reference page of the commands."""
    with group.make_context("winosmith", [], resilient_parsing=True, terminal_width=80) as top:
        parts = [CLI, _help("winosmith", group, top)]
        parts += [_help(name, command, ctx) for name, command, ctx in _commands(top)]
    return "\n".join(parts)


def _commands(parent: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield all commands of a group, recursively; each group precedes its commands."""
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
    """Return the reference page of the recipe."""
    whole = build_schema(Recipe)
    tables = {
        name: whole["$defs"][key["$ref"].rpartition("/")[2]]
        for name, key in whole["properties"].items()
        if "$ref" in key
    }
    keys = {name: key for name, key in whole["properties"].items() if name not in tables}
    parts = [RECIPE, f"```toml\n{_example(keys, tables)}```\n"]
    parts += [table_section("The top", {**whole, "properties": keys})]
    parts += [table_section(f"`[{name}]`", table) for name, table in tables.items()]
    return "\n".join(parts)


def solvers_page() -> str:
    """Return the reference page of the solvers."""
    kinds = {kind: build_schema(of) for kind, of in KINDS.items()}
    every = set.intersection(*(set(of["properties"]) for of in kinds.values()))
    keys = {**build_schema(SolverRule)["properties"], **kinds["random"]["properties"]}
    shared = {name: keys[name] for name in ("name", "solver", "learn", *sorted(every))}
    lead = "Keys that every solver accepts."
    parts = [SOLVERS, table_section("Every solver", {"description": lead, "properties": shared})]
    for kind, of in kinds.items():
        own = {name: key for name, key in of["properties"].items() if name not in every}
        parts.append(table_section(f"`{kind}`", {**of, "properties": own}))
    return "\n".join(parts)


def table_section(title: str, table: dict[str, Any]) -> str:
    """Return a section with a table of the keys in a declaration's schema."""
    lead = re.sub(r"^`\[\w+\]`: (\w)", lambda found: found[1].upper(), table["description"])
    lead = "\n\n".join(" ".join(part.split()) for part in lead.split("\n\n"))
    rows = [
        f"| `{name}` | {_values(key)} | {_default(key)} | {_meaning(key)} |"
        for name, key in table["properties"].items()
    ]
    head = "| key | value | default | meaning |\n|---|---|---|---|\n"
    body = "\n" + head + "\n".join(rows) + "\n" if rows else ""
    return f"## {title}\n\n{lead}\n{body}"


def _values(key: dict[str, Any]) -> str:
    """Describe the values that a key accepts."""
    text = re.sub(r'("[^"]*"|\bfalse$)', r"`\1`", describe_values(key))
    return re.sub(r"\ba (whole|number|list)", r"\1", text).replace(
        "true or `false`", "true or false"
    )


def _meaning(key: dict[str, Any]) -> str:
    text = " ".join(key["description"].split()).replace("|", "\\|")
    return re.sub(r"\bfalse\b", "`false`", text)


def _default(key: dict[str, Any]) -> str:
    if "default" not in key:
        return "required"
    return "—" if key["default"] is None else f"`{json.dumps(key['default'])}`"


def _example(keys: dict[str, Any], tables: dict[str, Any]) -> str:
    """Return a recipe with all optional keys; keys whose default is None are commented out."""
    lines = ['name = "mine"', 'data = "twins.jsonl"']
    lines += [_assigned(name, key) for name, key in keys.items() if "default" in key]
    for table, of in tables.items():
        lines += ["", f"[{table}]", *(_assigned(*item) for item in of["properties"].items())]
    return "\n".join(lines) + "\n"


def _assigned(name: str, key: dict[str, Any]) -> str:
    return f"# {name} =" if key["default"] is None else f"{name} = {json.dumps(key['default'])}"


def formats_page() -> str:
    """Return the page of the formats with its generated parts updated from the modules."""
    text = (HERE / "formats.md").read_text("utf-8")
    parts = {"formats": _formats(), "containers": _sections(CONTAINERS), "sections": _of_formats()}
    for name, made in parts.items():
        begin, end = f"<!-- {name}: generated -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return text


def _formats() -> str:
    head = "| format | content | recognised by | if written, keeps |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{known.name}` | {known.title} | {_listed(known.needs) or 'other signs'} | "
        f"{_kept(known.writer) if known.writer else 'only read'} |\n"
        for known in FORMATS
    )


def _kept(writer: Writer) -> str:
    known = {field.name for kind in (Problem, Claim) for field in fields(kind)}
    return "everything" if writer.kept_fields == known else _listed(writer.kept_fields)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _of_formats() -> str:
    """Return a section for each module of formats: the formats' names and the docstring."""
    modules: dict[str, list[str]] = {}
    for known in FORMATS:
        modules.setdefault(known.read.__module__, []).append(f"`{known.name}`")
    return _sections({module: ", ".join(names) for module, names in modules.items()})


def _sections(titles: Mapping[str, str]) -> str:
    """Return the docstring of each module as a section; its first line replaces an empty title."""
    parts = []
    for module, title in titles.items():
        lead, _, text = cleandoc(import_module(module).__doc__ or "").partition("\n\n")
        body = f"{lead}\n\n{text}" if title else text
        parts.append(f"### {title or lead.removesuffix('.')}\n\n{body.rstrip()}\n")
    return "\n".join(parts)


CONTAINERS = dict.fromkeys(
    f"winosmith.data.{name}"
    for name in "_json _yaml _delimited _workbook _tables _hub _harness _xml _bytes _source".split()
)
"""Modules of the containers, in the order of the page; their docstrings start with the title."""


def settings_page() -> str:
    """Return the reference page of a site's settings."""
    parts = [SETTINGS]
    for part in (*GROUPS, SERVER):
        table = {"description": part.lead, "properties": get_settings(part)}
        parts.append(table_section(part.title, table))
    return "\n".join([*parts, MODELS, table_section("`[mail]`", build_schema(Mail))])


MODULES = """
winosmith answers audit blocks build chat cluster debias embed errors evolve exposure formats humans
lineage metrics models practice release report rounds solve splits study testing topics validate
"""
"""The modules that users import."""


def modules() -> list[str]:
    """Return the full names of the modules that users import."""
    return [name if name == "winosmith" else f"winosmith.{name}" for name in MODULES.split()]


def public_names(module: ModuleType) -> list[str]:
    """Return a module's public names: `__all__`, or the names defined in it without `_`."""
    defined = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not (name.startswith("_") or isinstance(value, TypeVar))
    ]
    return sorted(set(getattr(module, "__all__", defined)) - {"__version__"})


def python_page() -> str:
    """Return the reference page of the public modules and their names."""
    parts = [PYTHON]
    for name in modules():
        module = import_module(name)
        summary = " ".join(cleandoc(module.__doc__ or "").partition("\n\n")[0].split())
        parts.append(f"## `{name}`\n\n{summary}\n\n{_code(public_names(module))}\n")
    return "\n".join(parts)


def _code(names: Iterable[str]) -> str:
    return fill(", ".join(f"`{name}`" for name in names), 100, break_on_hyphens=False)


PAGES = {
    HERE / "python.md": python_page,
    HERE / "cli.md": cli_page,
    HERE / "recipe.md": recipe_page,
    HERE / "solvers.md": solvers_page,
    HERE / "formats.md": formats_page,
    HERE / "settings.md": settings_page,
}
"""Functions that generate each page."""


def write() -> None:
    """Write all generated pages."""
    for page, made in PAGES.items():
        page.write_text(made(), "utf-8")


if __name__ == "__main__":
    write()
