"""Answers given for pay: a market confirms who gave them, or does not."""

from __future__ import annotations

from django.db.models import QuerySet

from winosmith.web._lock import writing
from winosmith.web.judge.exclusion import count_again
from winosmith.web.judge.models import Judge, Slot
from winosmith.web.judge.rows import locked


def confirm(job: int, reason: str, *, refused: bool = False) -> int:
    """Let the answers of a job be votes; problems that waited for them alone are decided.

    What a moderator took out of the count stays out, and what waits for a moderator waits on.

    Args:
        job: `Slot.job`.
        reason: for the audit log.
        refused: they were refused before, and that was wrong.

    Returns:
        How many votes count from now on that did not.
    """
    with writing():
        Judge.objects.filter(job=job).update(provisional=False)
        if Judge.objects.filter(job=job, held__isnull=False).exists():
            return 0
        Slot.objects.filter(job=job, gold=True).update(provisional=False)
    changed = 0
    for key, rows in _problems(Slot.objects.filter(job=job, provisional=True)):
        with writing():  # one transaction a problem, so that others write in between
            problem = locked(key)
            counts = rows.all() if refused else rows.filter(excluded=False)
            n = counts.update(provisional=False, excluded=False)
            rows.update(provisional=False)
            if n:
                count_again(problem, None, reason, "include")
                changed += n
    return changed


def refuse(job: int, reason: str) -> int:
    """Take the answers of a job out of the count; others judge the problems that lack votes then.

    Returns:
        How many answers counted, or were to be confirmed, and are out now.
    """
    with writing():
        Judge.objects.filter(job=job).update(provisional=True)
        Slot.objects.filter(job=job, gold=True).update(provisional=True)
    changed = 0
    for key, rows in _problems(Slot.objects.filter(job=job, excluded=False)):
        with writing():
            problem = locked(key)
            n = rows.update(provisional=True, excluded=True)
            if n:
                count_again(problem, None, reason, "exclude")
                changed += n
    return changed


def _problems(rows: QuerySet[Slot]) -> list[tuple[int, QuerySet[Slot]]]:
    """Return the problems of answered slots, each with its slots among them."""
    rows = rows.filter(gold=False, open=False).exclude(answered_at=None)
    keys = rows.order_by("problem_id").values_list("problem_id", flat=True)
    return [(key, rows.filter(problem_id=key)) for key in list(keys)]
