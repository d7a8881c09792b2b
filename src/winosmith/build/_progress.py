"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winosmith.debias import Phase

Advance = Callable[[int, str], None]
"""Is told how much of a step is done, and a note."""

Step = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a step of the work, given its title and its total when that is known."""


def silent(title: str, total: int | None) -> AbstractContextManager[Advance]:
    """Show nothing."""
    return nullcontext(lambda done, note: None)


def watched(advance: Advance, problems: int) -> dict[str, Callable[..., Any]]:
    """Return what `run_filter` is to call, so that each phase and each draw of a null is shown."""
    gone = 0

    def on_phase(phase: Phase) -> None:
        nonlocal gone
        gone = problems - phase.size + phase.removed
        advance(gone, f"phase {phase.number + 1}")

    def on_draw(phase: int, done: int) -> None:
        advance(gone, f"phase {phase + 1}, draw {done} of its null")

    return {"on_phase": on_phase, "on_draw": on_draw}
