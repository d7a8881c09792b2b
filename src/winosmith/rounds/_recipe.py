"""The recipe of a round: how to build, whom to ask, what to draw for the next round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith.build import Recipe, recipe_of
from winosmith.errors import RecipeError
from winosmith.records import read_toml
from winosmith.solver_rule import SolverRule

ROOTS = 14
"""EvoGrad's number of roots (section 3.1)."""

OWN = ("solvers", "roots", "redraw")
"""The keys of a round's file; the others are those of a build."""


@dataclass(frozen=True)
class RoundRecipe:
    """Everything that determines a round.

    Attributes:
        build: how the release of this round is built from the pool.
        solvers: the reference solvers, each with a name of its own. One with `learn` is taught
            this round's train_xl; the others are asked as they are.
        roots: how many problems, at most, are drawn for the next round to perturb.
        redraw: draw train, dev and test anew, in place of leaving everything on the side that it
            had in the last round.
        folder: where relative paths of solvers are seen from.
    """

    build: Recipe
    solvers: tuple[SolverRule, ...]
    roots: int = ROOTS
    redraw: bool = False
    folder: Path = field(default=Path(), compare=False)

    def __post_init__(self) -> None:
        if not self.solvers:
            raise RecipeError("a round needs a [[solvers]] to measure with")
        names = [rule.name for rule in self.solvers]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise RecipeError(f"two solvers are named {twice[0]!r}; each needs its own name")
        if self.build.split.dev <= 0:
            raise RecipeError("split.dev is 0; a round measures its solvers on dev")
        if self.roots < 0:
            raise RecipeError(f"roots is {self.roots}; it is a number of problems, 0 or more")


def read_round(path: str | Path) -> RoundRecipe:
    """Read the recipe of a round: that of a build, with `[[solvers]]` and `roots` beside it.

    Files are found from where the recipe lies.

    Raises:
        RecipeError: not TOML, an unknown key, or a value that can't be used; with the file.
    """
    path = Path(path)
    table = read_toml(path)
    try:
        return round_of(table, folder=path.resolve().parent)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from None


def round_of(table: Mapping[str, Any], *, folder: Path | None = None) -> RoundRecipe:
    """Return the recipe of a table, as TOML gives it.

    >>> solvers = [{"name": "pairs", "solver": "association", "learn": True}]
    >>> round_of({"name": "mine", "data": "pool.jsonl", "solvers": solvers}).solvers[0].learn
    True
    """
    solvers, roots = table.get("solvers", []), table.get("roots", ROOTS)
    if not isinstance(solvers, list):
        raise RecipeError("solvers is a list of tables: [[solvers]]")
    if not isinstance(roots, int) or isinstance(roots, bool):
        raise RecipeError(f"roots is {roots!r}; it is a number of problems")
    redraw = table.get("redraw", False)
    if not isinstance(redraw, bool):
        raise RecipeError(f"redraw is {redraw!r}; it is true or false")
    return RoundRecipe(
        recipe_of({key: value for key, value in table.items() if key not in OWN}, folder=folder),
        tuple(SolverRule.of(rule, learns=True) for rule in solvers),
        roots,
        redraw,
        folder or Path(),
    )
