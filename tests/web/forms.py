"""The forms that the lists of every page and route send."""

from collections.abc import Callable
from typing import Any

KEY = "{:032x}"
"""A key of a form that is sent once, by its number."""


def form(**data: Any) -> Callable[[Any], dict[str, Any]]:
    """Return a form with a new key; values that are callable are asked for by the world."""

    def made(world: Any) -> dict[str, Any]:
        from winosmith.web.people.gates import new_key

        filled = {name: value(world) if callable(value) else value for name, value in data.items()}
        return {"key": new_key(), **filled}

    return made


def none(_: Any) -> dict[str, Any]:
    """Return a form without fields."""
    return {}


def ref(name: str) -> Callable[[Any], Any]:
    """Return what an address names, asked for by the world."""
    return lambda world: world.refs[name]
