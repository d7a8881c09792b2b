"""Problems that no form has made."""

from __future__ import annotations

from typing import Any


def single(
    ref: str,
    sentence: str = "The cup hit the jug and the _ broke.",
    *,
    by: Any = None,
    twin: Any = None,
    **fields: Any,
) -> Any:
    """Make a problem; if no twin is given, it is the only half of its own."""
    from winosmith.web.problems.models import Problem, Twin

    row = twin or Twin.objects.create(ref=f"of-{ref}", contributor=by)
    usual = {"options": ["cup", "jug"], "answer": 0, "state": "valid"}
    return Problem.objects.create(ref=ref, twin=row, sentence=sentence, **{**usual, **fields})
