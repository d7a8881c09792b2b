"""Forms that the lists of pages and routes send."""

from collections.abc import Callable
from typing import Any

KEY = "{:032x}"
"""Key of a form that is sent once; formatted with a number."""


def form(**data: Any) -> Callable[[Any], dict[str, Any]]:
    """Return a function that fills a form with a new key; callable values receive the world."""

    def made(world: Any) -> dict[str, Any]:
        from winosmith.web.people.gates import new_key

        filled = {name: value(world) if callable(value) else value for name, value in data.items()}
        return {"key": new_key(), **filled}

    return made


def none(_: Any) -> dict[str, Any]:
    """Return a form without fields."""
    return {}


def ref(name: str) -> Callable[[Any], Any]:
    """Return a function that looks a name up in the `refs` of the world."""
    return lambda world: world.refs[name]
