"""The models of a site, as `site.toml` names them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winosmith.errors import RecipeError

__all__ = ["BUILT_IN", "ModelRule"]

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")


@dataclass(frozen=True, slots=True)
class ModelRule:
    """One `[[models]]` of `site.toml`.

    Attributes:
        name: up to 30 small letters, digits and dashes; part of addresses.
        solver: the kind of solver.
        options: what that kind is made of, such as `model`, a folder or a hub id.

    Raises:
        RecipeError: the name can't be used.
    """

    name: str
    solver: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise RecipeError(
                f"a model can't be named {self.name!r}; use up to 30 small letters, digits and "
                "dashes"
            )

    @classmethod
    def of(cls, table: Any) -> ModelRule:
        """Return the rule of one table of the file.

        Raises:
            RecipeError: it is no table, or lacks `name` or `solver`.
        """
        if not isinstance(table, dict) or not {"name", "solver"} <= set(table):
            raise RecipeError('each [[models]] needs name = "…" and solver = "…"')
        options = {key: value for key, value in table.items() if key not in ("name", "solver")}
        return cls(table["name"], table["solver"], options)


BUILT_IN = (ModelRule("association", "association"), ModelRule("hunting", "hunting"))
"""What every site has without a download: word association and knowledge hunting, learnt from what
ships with winosmith. `models = []` in `site.toml` switches them off."""
