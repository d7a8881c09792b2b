"""Problems and votes, created without a form."""

from typing import Any


def single(
    ref: str,
    sentence: str = "The cup hit the jug and the _ broke.",
    *,
    by: Any = None,
    twin: Any = None,
    **fields: Any,
) -> Any:
    """Create a problem; if no twin is given, it is the only half of its own twin."""
    from winosmith.web.problems.models import Problem, Twin

    row = twin or Twin.objects.create(ref=f"of-{ref}", contributor=by)
    usual = {"options": ["cup", "jug"], "answer": 0, "state": "valid"}
    return Problem.objects.create(ref=ref, twin=row, sentence=sentence, **{**usual, **fields})


def vote(holder: Any, problem: Any, choice: int | None = 0, n: int = 1, **fields: Any) -> Any:
    """Store a person's answer of just now, whatever is next in their queue."""
    from django.utils import timezone

    from winosmith.web.judge.models import Slot

    usual = {"twin": problem.twin, "contributor": problem.twin.contributor, "place": n}
    usual |= dict.fromkeys(("taken_at", "answered_at"), timezone.now())
    given = {**usual, "open": False, "choice": choice, **fields}
    return Slot.objects.create(problem=problem, holder=holder, n=n, **given)


def fresh(row: Any) -> Any:
    """Return a row after reloading it from the database."""
    row.refresh_from_db()
    return row


def has_seen(person: Any, problem: Any) -> bool:
    """Return whether a person has read the whole problem, or a half that reveals it."""
    from django.conf import settings

    from winosmith.web.judge.models import Seen

    rows = Seen.objects.filter(person=person, twin=problem.twin_id, spent=True)
    return (rows.filter(problem=problem) if settings.RULES.both_halves else rows).exists()
