"""Recipes of the site's rounds: its own settings, or a file of `winosmith round` in `recipes/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from winosmith.records import read_toml
from winosmith.rounds import RoundRecipe, round_of
from winosmith.web._site import RECIPE_NAME, RECIPES
from winosmith.web.judge.votes import vote_rules
from winosmith.web.rounds.models import Round

PROBLEMS, VOTES = "problems.jsonl", "votes.jsonl"
"""The files of a pool; the votes are empty where there are none."""

OWN = ("name", "data", "format", "votes_file")
"""Keys of a recipe that the site fills in itself."""

LEARNER = {"name": "taught-words", "solver": "association", "learn": True}
"""A solver beside the site's models: word association, taught each round's train_xl anew."""


def solvers() -> list[tuple[dict[str, Any], bool]]:
    """Return the tables of the solvers that a round may ask, each with whether it does unasked.

    The models of the site, and `LEARNER`. A chat server may cost money: it is asked when an admin
    says so.
    """
    models = [
        ({"name": rule.name, "solver": rule.solver, **rule.options}, rule.solver != "chat")
        for rule in settings.RULES.models
    ]
    if any(table["name"] == LEARNER["name"] for table, _ in models):
        return models
    return [*models, (dict(LEARNER), True)]


def named() -> list[str]:
    """Return the names of the recipes in the site's folder, in order."""
    folder = Path(settings.SITE.folder, RECIPES)
    return sorted(path.stem for path in folder.glob("*.toml") if RECIPE_NAME.fullmatch(path.stem))


def read(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the table of a file, or of a name out of `named`, and where its paths are seen from.

    Raises:
        RecipeError: there is none, or it is no TOML.
    """
    path = Path(settings.SITE.folder, RECIPES, f"{path}.toml") if path in named() else Path(path)
    return read_toml(path), str(path.resolve().parent)


def complete(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a table with the round's name and what a site takes for granted.

    What the site found valid is valid, by its own judges and moderators: the votes are handed over
    for what they tell of agreement, and drop nothing, unless the recipe has rules of its own.
    """
    filled = {key: value for key, value in table.items() if key not in OWN}
    rules = vote_rules()
    off = dict.fromkeys(("correct", "unambiguous", "unassociated", "local"), "off")
    filled.setdefault(
        "votes",
        {"judges": rules.judges, "both_halves": rules.both_halves, "undecided": "keep", **off},
    )
    filled.setdefault("solvers", [own for own, unasked in solvers() if unasked])
    return {"name": name, **filled}


def checked(table: Mapping[str, Any]) -> RoundRecipe:
    """Return the recipe of a complete table, before there is a pool.

    Raises:
        RecipeError: a key or a value that can't be used.
    """
    return round_of({**table, "data": PROBLEMS, "votes_file": VOTES})


def recipe_for(round_: Round, pool: Path) -> RoundRecipe:
    """Return the recipe of a round whose pool is there.

    Raises:
        RecipeError: a file that the recipe names is gone.
    """
    files = {"data": str(pool / PROBLEMS)}
    if (pool / VOTES).stat().st_size:
        files["votes_file"] = str(pool / VOTES)
    return round_of({**round_.recipe, **files}, folder=base_of(round_))


def base_of(round_: Round) -> Path:
    """Return from where the relative paths of a round's recipe are seen."""
    return Path(round_.base or settings.SITE.folder)
