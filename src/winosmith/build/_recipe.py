"""Read the recipe of a build, which has all parameters that determine its result, from TOML.

Each table of the file is a declaration. An omitted key has its default, and `false` turns a setting
off. An unknown key raises an error that suggests the nearest known key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from winosmith.data import is_address, strip_sheet
from winosmith.dataset import Dataset
from winosmith.errors import RecipeError
from winosmith.escape import escape_json, escape_line
from winosmith.formats import Columns
from winosmith.options import (
    EmbedRecipe,
    FilterRecipe,
    MeasureRecipe,
    OrFalse,
    Seed,
    Texts,
    declaration,
    from_table,
)
from winosmith.records import is_file, read_toml
from winosmith.splits import Disjoint
from winosmith.validate import StructureRules, VoteRules

FILE_KEYS = ("data", "votes_file", "planted")
"""The keys of a recipe that name files, except `embed.array`."""

Copies = Literal["once", "keep"]
"""The rule for copies: keep one problem of each group, or keep all."""


def list_paths(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """List the file names in a recipe's value.

    >>> list_paths("twins.jsonl"), list_paths(None)
    (('twins.jsonl',), ())
    """
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def strip_folders(value: str | tuple[str, ...] | None) -> str | list[str] | None:
    """Strip the folders from file names, as in a published recipe; URLs are unchanged.

    >>> strip_folders("pools/twins.jsonl"), strip_folders(("a/one.jsonl", "two.jsonl"))
    ('twins.jsonl', ['one.jsonl', 'two.jsonl'])
    """
    if isinstance(value, str):
        return value if is_address(value) else Path(value).name
    return None if value is None else [str(strip_folders(path)) for path in value]


def _check_name(name: str) -> str:
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ValueError("it must consist of letters, digits, - and _")
    return name


def _check_files(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if not value:
        raise ValueError("it must name a file")
    names = [Path(path).name for path in list_paths(value)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(
            f"two files are named {twice!r}; a published recipe has no folders, so rename one"
        )
    return value


Files = Annotated[str | Texts, AfterValidator(_check_files)]
"""One or more file names."""


def has_many_options(dataset: Dataset) -> bool:
    return any(len(problem.options) > 2 for problem in dataset)


def get_embedder_input(embed_recipe: EmbedRecipe, dataset: Dataset) -> str:
    """Return "sentence" or "options"."""
    if embed_recipe.reads is not None or embed_recipe.array is not None:
        return embed_recipe.reads or "sentence"
    asks = any(problem.blank is None for problem in dataset)
    return "options" if asks or has_many_options(dataset) else "sentence"


@declaration
class SplitRecipe:
    """`[split]`: the fractions of the kept problems that become dev and test.

    The defaults are the paper's: 1,267 and 1,767 of 12,282.
    """

    dev: Annotated[float, Field(ge=0)] = 0.103
    """Approximate fraction of the kept problems in dev; inexact because blocks are never split."""
    test: Annotated[float, Field(ge=0)] = 0.144
    """Fraction of the kept problems in test. Dev and test together must be less than 1; the rest is
    for training."""
    disjoint: Disjoint = "twin"
    """Groups that are never split between train, dev and test: "twin" keeps blocks together (twins,
    families, copies); "contributor" or "source" also keeps all problems of a contributor or source
    together."""

    def __post_init__(self) -> None:
        if self.dev + self.test >= 1:
            raise ValueError(
                f"dev is {self.dev} and test is {self.test}; they must leave problems for training"
            )


@declaration
class FilesRecipe:
    """`[files]`: the format of the published files."""

    format: Literal["winosmith", "winogrande"] = "winosmith"
    """Format of the files: "winosmith" with all fields, or "winogrande" for WinoGrande's tools."""


@declaration
class ColumnsRecipe(Columns):
    """`[columns]`: the columns that contain the questions, for files with unknown column names."""


@declaration
class Recipe:
    """The recipe of a build: all parameters that determine its result."""

    name: Annotated[str, AfterValidator(_check_name)]
    """Name of the benchmark, which is also the prefix of the new ids."""
    data: Files
    """The file of raw twins, or a list of files, relative to the recipe's folder. A problem that
    occurs in two files is included once."""
    format: OrFalse[str] = None
    """Format of the data; false detects the format."""
    pair_by: OrFalse[str] = None
    """An additional column with the same value in both halves of a twin. If another column seems to
    identify twins, the build stops with an error; an empty string ignores the column."""
    votes_file: OrFalse[Files] = None
    """A file, or a list of files, with the judges' votes; false skips validation by votes."""
    planted: OrFalse[str] = None
    """A JSON file that maps the id of each problem with a planted artifact to the kind of artifact,
    as written by `winosmith practice`. The report then states how many of them were removed."""
    seed: Seed = 0
    """Random seed."""
    copies: Copies = "once"
    """Rule for copies: "once" keeps one problem of each group of copies, in whole twins, and
    none if their answers differ; "keep" keeps all copies, to rebuild a published data set."""
    columns: ColumnsRecipe = field(default_factory=ColumnsRecipe)
    structure: StructureRules = field(default_factory=StructureRules)
    votes: VoteRules = field(default_factory=VoteRules)
    embed: EmbedRecipe = field(default_factory=EmbedRecipe)
    filter: FilterRecipe = field(default_factory=FilterRecipe)
    measure: MeasureRecipe = field(default_factory=MeasureRecipe)
    split: SplitRecipe = field(default_factory=SplitRecipe)
    files: FilesRecipe = field(default_factory=FilesRecipe)


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe file, whose paths are relative to its folder.

    Raises:
        RecipeError: the file is not TOML, a key is unknown (the message suggests the nearest known
            key), a value has the wrong type or is out of range, or a file does not exist.
    """
    path = Path(path)
    table = read_toml(path)
    try:
        return parse_recipe(table, folder=path.parent)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def parse_recipe(table: Mapping[str, Any], *, folder: Path | None = None) -> Recipe:
    """Parse a recipe from a table; paths are relative to `folder`, if given.

    >>> parse_recipe({"name": "mine", "data": "pool.jsonl", "filter": {"threshold": 0.8}}).filter.C
    1.0
    """
    if folder is not None:
        files = {key: _resolve(key, table[key], folder) for key in FILE_KEYS if key in table}
        table = {**table, **files}
        embed = table.get("embed")
        if isinstance(embed, Mapping) and "array" in embed:
            table["embed"] = {**embed, "array": _resolve("array", embed["array"], folder)}
    return from_table(Recipe, table)


def _resolve(key: str, named: Any, folder: Path) -> Any:
    """Return the path of each named file, and other values unchanged."""
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        return [_resolve(key, one, folder) for one in named]
    if not isinstance(named, str) or (key == "data" and is_address(named)):
        return named
    path = folder / named
    if not is_file(Path(strip_sheet(str(path)))):
        raise RecipeError(f"{key} is {named!r}, but the file {path} does not exist")
    return str(path)


def tabulate_recipe(recipe: Recipe) -> dict[str, Any]:
    """Convert a recipe to a table with all defaults, and with file names without folders."""
    table = asdict(recipe)
    for key in FILE_KEYS:
        table[key] = strip_folders(table[key])
    table["embed"]["array"] = table["embed"]["array"] and Path(table["embed"]["array"]).name
    return table


def format_recipe(recipe: Recipe) -> str:
    """Format a recipe as TOML with all defaults, and with file names without folders.

    `read_recipe` can read the result if the named files are in the same folder.

    >>> text = format_recipe(Recipe("mine", "pools/twins.jsonl", seed=3))
    >>> [line for line in text.splitlines() if line.startswith(("data", "seed", "votes_file"))]
    ['data = "twins.jsonl"', 'votes_file = false', 'seed = 3']
    """
    table = tabulate_recipe(recipe)
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = _format_assignments({key: value for key, value in table.items() if key not in tables})
    for key, inner in tables.items():
        lines += ["", f"[{key}]", *_format_assignments(inner)]
    return "\n".join(lines) + "\n"


def format_rebuild_recipe(recipe: Recipe, shown: Mapping[str, Any]) -> str:
    names = [Path(path).name for key in FILE_KEYS for path in list_paths(getattr(recipe, key))]
    names += [shown["embed"]["array"]] if shown["embed"]["array"] else []
    last, again = "", "winosmith build recipe.toml --out again"
    if "last" in shown:
        again = "winosmith build recipe.toml --out again --last LAST"
        last = (
            "# LAST is the folder of the previous build, whose checksums.sha256 has the SHA-256\n"
            f"# {shown['last']}.\n"
        )
    return (
        f"# winosmith {shown['version']} built this benchmark from the recipe below.\n"
        "# To repeat the build, put these files next to this file: "
        f"{escape_line(', '.join(names))}\n"
        f"# (the SHA-256 of the problems, without answers, is {shown['problems']}), then run\n"
        f"#     {again}\n{last}\n{format_recipe(recipe)}"
    )


def _format_assignments(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_format_toml(value)}" for key, value in table.items()]


def _format_toml(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_toml, value))}]"
    if isinstance(value, str):  # TOML's escapes are JSON's
        return escape_json(json.dumps(value, ensure_ascii=False))
    return repr(value)
