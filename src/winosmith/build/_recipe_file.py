"""A recipe as a TOML file that can be built again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from winosmith.build._pool import names_of
from winosmith.build._recipe import Recipe
from winosmith.build._recipe_consensus import ARRAYS


def recipe_table(recipe: Recipe) -> dict[str, Any]:
    """Return the recipe as a table, every default written out, files by their names alone.

    A vote of one embedder without a floor is none, and has no table.
    """
    vote = recipe.consensus
    named = [Path(text).name if text.endswith(ARRAYS) else text for text in vote.embedders]
    table = asdict(replace(recipe, consensus=replace(vote, embedders=tuple(named))))
    for key in ("data", "votes_file", "planted"):
        table[key] = names_of(table[key])
    table["embed"]["array"] = table["embed"]["array"] and Path(table["embed"]["array"]).name
    if not vote:
        del table["consensus"]
    return table


def recipe_toml(recipe: Recipe) -> str:
    """Return the TOML of a recipe, every default written out, files by their names alone.

    `read_recipe` reads it, once the files that it names lie beside it.

    >>> text = recipe_toml(Recipe("mine", "pools/twins.jsonl", seed=3))
    >>> [line for line in text.splitlines() if line.startswith(("data", "seed", "votes_file"))]
    ['data = "twins.jsonl"', 'votes_file = false', 'seed = 3']
    """
    table = recipe_table(recipe)
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = _assigned({key: value for key, value in table.items() if key not in tables})
    for key, inner in tables.items():
        lines += ["", f"[{key}]", *_assigned(inner)]
    return "\n".join(lines) + "\n"


def _assigned(table: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    """Return a value as TOML; what is switched off is `false`."""
    if value is None or isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # TOML's escapes are JSON's, but for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
