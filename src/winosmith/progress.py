"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Advance = Callable[[int, str], None]
"""Is told how much of a step is done, and a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a step of the work, given its title and its total when that is known."""


def silent(title: str, total: int | None) -> AbstractContextManager[Advance]:
    """Show nothing."""
    return nullcontext(lambda done, note: None)
