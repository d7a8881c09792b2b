"""What a site keeps as files beside its database: its recipes, and what its rounds came to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

RECIPES = "recipes"
"""In the site's folder: what its admins put there."""

ROUNDS = "rounds"
"""In the site's folder: what the rounds keep there, a folder each."""

DONE = Path("results", "round.json")
"""Written when all else of a round is there."""

RECIPE_NAME = re.compile(r"[\w-]{1,60}")
"""Of a recipe's file, before ".toml"."""

_NAME = re.compile(rf"{RECIPES}/{RECIPE_NAME.pattern}\.toml|{ROUNDS}(/\w[\w.-]{{0,99}}){{2,9}}")


def is_beside(name: str) -> bool:
    """Tell whether a name is one that `files_beside` may yield: it leads nowhere else."""
    return _NAME.fullmatch(name) is not None


def files_beside(folder: Path) -> Iterator[str]:
    """Yield the recipes of a site, and the files of its finished rounds, in order.

    A round that is under way is left out: it goes on from its beginning wherever it is restored.

    Args:
        folder: the site's.

    Yields:
        Names relative to the folder, with "/".
    """
    for place in (folder / RECIPES, *_finished(folder / ROUNDS)):
        for path in sorted(place.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and is_beside(name):
                yield name


def _finished(rounds: Path) -> Iterator[Path]:
    for place in sorted(rounds.glob("*")):
        if (place / DONE).is_file():
            yield place
