"""Problems and votes that no form has made."""

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


def vote(holder: Any, problem: Any, choice: int | None = 0, n: int = 1, **fields: Any) -> Any:
    """Let a person have answered a problem a moment ago, whatever their queue begins with."""
    from django.utils import timezone

    from winosmith.web.judge.models import Slot

    usual = {"twin": problem.twin, "contributor": problem.twin.contributor, "place": n}
    usual |= dict.fromkeys(("taken_at", "answered_at"), timezone.now())
    given = {**usual, "open": False, "choice": choice, **fields}
    return Slot.objects.create(problem=problem, holder=holder, n=n, **given)


def fresh(row: Any) -> Any:
    """Return a row, read again from the database."""
    row.refresh_from_db()
    return row
