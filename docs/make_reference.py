"""Write the pages of reference that come from the code: commands, keys, solvers, formats.

`python docs/make.py` runs this; `tests/test_docs.py` fails when a page is not what it writes.
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
from typing import Any

import click

from winosmith.build import Recipe
from winosmith.cli._main import group
from winosmith.formats import FORMATS, Writer
from winosmith.options import describe_values, schema
from winosmith.problem import Claim, Problem
from winosmith.solver_rule import KINDS, LEARNERS, SolverRule
from winosmith.web._rules import GROUPS, SERVER, Mail, settings_of

HERE = Path(__file__).resolve().parent / "reference"

CLI = """\
# Commands

What `winosmith COMMAND --help` prints.

Every command ends with code 0; with 2 when what it was given can't be used (the message says what,
where, and what to do); with 130 after Ctrl-C; `check --strict` with 1 when it dropped something;
`debias`, `build` and `round` with 1 if the vectors do not tell the problems apart, so that nothing
is filtered or measured.
Results go to the standard output, everything else to the standard error. `--json` prints a report
as [JSON](json.md).
"""

RECIPE = """\
# The recipe

`winosmith build RECIPE.toml` reads one [TOML](https://toml.io) file. Only `name` and `data` are
needed; an omitted key has its default. File names are relative to the recipe's own folder.
`false` switches a value off. An unknown key is an error that names the nearest
known one.

Everything that determines the result is in the recipe and the files that it names. It is published
with the benchmark, every default written out, and a build in the same folder with another recipe is
refused.
"""

SOLVERS = f"""\
# Solvers

A `[[solvers]]` table of a [round](../how-to/rounds.md) and a `[[models]]` table of a
[site](../how-to/live-models.md) name one solver with these keys, and with those of its kind.
[`winosmith solve`](../how-to/solve.md) has the same as options (`--max-tokens` for `max_tokens`),
except for `revision`, `trained_on`, `threads` and `memory_gb`.

Rounds can teach {", ".join(LEARNERS[:-1])} and {LEARNERS[-1]} (`learn = true`).
"""


SETTINGS = """\
# Settings of a site

An admin changes most settings in the browser, under *Settings*. Each is also a key of `site.toml`,
a [TOML](https://toml.io) file in the site's folder, which `winosmith serve` reads when it starts;
a key of the file can't be changed in the browser. An unknown key, or a value out of its range, is
an error that names the file, the key and the nearest known key.
"""

PYTHON = """\
# Python

For people who call winosmith from Python: its public modules and their names. `make site` builds
the documentation with a page for each module, from the docstrings, and with search. In an
interpreter, `help(winosmith.debias.aflite)` shows the same text.
"""

MODELS = """\
## `[[models]]`

The models that predict perturbed sentences, one table each. Without a table, the site has
`association` and `hunting`, which need no download; `models = []` switches them off. A table has
`name`, `solver` and that solver's options: [solvers](solvers.md).
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
    whole = schema(Recipe)
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
    """Return the page of the solvers."""
    kinds = {kind: schema(of) for kind, of in KINDS.items()}
    every = set.intersection(*(set(of["properties"]) for of in kinds.values()))
    keys = {**schema(SolverRule)["properties"], **kinds["random"]["properties"]}
    shared = {name: keys[name] for name in ("name", "solver", "learn", *sorted(every))}
    lead = "Keys that each of these tables may have."
    parts = [SOLVERS, table_section("Every solver", {"description": lead, "properties": shared})]
    for kind, of in kinds.items():
        own = {name: key for name, key in of["properties"].items() if name not in every}
        parts.append(table_section(f"`{kind}`", {**of, "properties": own}))
    return "\n".join(parts)


def table_section(title: str, table: dict[str, Any]) -> str:
    """Return the keys of a declaration's schema as a section."""
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
    """Return the values that a key allows, in words."""
    text = re.sub(r'("[^"]*"|\bfalse$)', r"`\1`", describe_values(key))
    return re.sub(r"\ba (whole|number|list)", r"\1", text).replace(
        "true or `false`", "true or false"
    )


def _meaning(key: dict[str, Any]) -> str:
    text = " ".join(key["description"].split()).replace("|", "\\|")
    return re.sub(r"\bfalse\b", "`false`", text)


def _default(key: dict[str, Any]) -> str:
    if "default" not in key:
        return "needed"
    return "—" if key["default"] is None else f"`{json.dumps(key['default'])}`"


def _example(keys: dict[str, Any], tables: dict[str, Any]) -> str:
    """Return a recipe with every key that has a default; those without are commented out."""
    lines = ['name = "mine"', 'data = "twins.jsonl"']
    lines += [_assigned(name, key) for name, key in keys.items() if "default" in key]
    for table, of in tables.items():
        lines += ["", f"[{table}]", *(_assigned(*item) for item in of["properties"].items())]
    return "\n".join(lines) + "\n"


def _assigned(name: str, key: dict[str, Any]) -> str:
    return f"# {name} =" if key["default"] is None else f"{name} = {json.dumps(key['default'])}"


def formats_page() -> str:
    """Return the page of the formats: its tables and their sections come from the modules."""
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
    """Return the docstrings of the formats' modules, each with the names of its formats."""
    modules: dict[str, list[str]] = {}
    for known in FORMATS:
        modules.setdefault(known.read.__module__, []).append(f"`{known.name}`")
    return _sections({module: ", ".join(names) for module, names in modules.items()})


def _sections(titles: Mapping[str, str]) -> str:
    """Return the docstring of each module below its title, or its first sentence as the title."""
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
"""The modules of containers, in the order of the page; their docstrings have titles."""


def settings_page() -> str:
    """Return the page of a site's settings."""
    parts = [SETTINGS]
    for part in (*GROUPS, SERVER):
        table = {"description": part.lead, "properties": settings_of(part)}
        parts.append(table_section(part.title, table))
    return "\n".join([*parts, MODELS, table_section("`[mail]`", schema(Mail))])


MODULES = """
winosmith answers audit blocks build chat cluster debias embed errors evolve exposure formats humans
lineage metrics models practice release report rounds solve study testing topics validate
"""
"""The modules that users import."""


def modules() -> list[str]:
    """Return the full names of the modules that users import."""
    return [name if name == "winosmith" else f"winosmith.{name}" for name in MODULES.split()]


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a module for users: its `__all__`, or what it defines without `_`."""
    defined = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
    ]
    return sorted(set(getattr(module, "__all__", defined)) - {"__version__"})


def python_page() -> str:
    """Return the list of the public modules and their names."""
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
"""The pages, and what makes each."""


def write() -> None:
    """Write the pages."""
    for page, made in PAGES.items():
        page.write_text(made(), "utf-8")


if __name__ == "__main__":
    write()
