"""Votes: for people to read without names, and as responses of the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from winosmith import Response
from winosmith.web._chunked import chunked
from winosmith.web._lock import writing
from winosmith.web.judge.models import Skip, Slot
from winosmith.web.people.models import pseudonym

if TYPE_CHECKING:
    from winosmith.web.people.models import Person
    from winosmith.web.problems.models import Problem

CHUNK = 500
"""Problems whose votes are read at once, and answers whose timings are forgotten at once."""


@dataclass(frozen=True, slots=True)
class Vote:
    """What one judge said of a problem, without saying who it was.

    Attributes:
        judge: "Judge 1", "Judge 2", … in the reader's language: by their slots, the same at each
            look, and of this problem alone: nobody can be followed from one to the next.
        choice, local_choice: 0-based indices of options; None for neither, or not asked.
        right: whether the choice is the problem's answer; None where the answer is withheld.
        excluded: it was taken out of the count.
        provisional: it is no vote before a market confirms who gave it.
    """

    judge: str
    choice: int | None
    ambiguous: bool
    associative: bool
    local_choice: int | None
    comment: str
    right: bool | None
    excluded: bool = False
    provisional: bool = False


def votes_of(problem: Problem, *, excluded: bool = False) -> list[Vote]:
    """Return the votes on a problem, without names.

    Args:
        problem: any; a gold question has none.
        excluded: those that are out of the count, or not yet in it, too.
    """
    rows = _votes([problem.pk]).order_by("n")
    return [
        Vote(
            _("Judge %d") % slot.n,
            slot.choice,
            slot.ambiguous,
            slot.associative,
            slot.local_choice,
            slot.comment,
            None if problem.answer is None else slot.choice == problem.answer,
            slot.excluded,
            slot.provisional,
        )
        for slot in rows
        if excluded or not (slot.excluded or slot.provisional)
    ]


def responses(problems: Iterable[Problem]) -> Iterator[Response]:
    """Yield the votes that count on problems, in the order in which people answered.

    Each is a response from the local context, where it was asked for, and one to the whole, by a
    pseudonym. Chunks of problems follow each other, in the order given, each ordered by time: a
    twin whose halves stand beside each other is whole in a chunk or ordered across two, which
    makes no difference where nobody judges both halves.
    """
    for chunk in chunked(problems, CHUNK):
        refs = {problem.pk: problem.ref for problem in chunk}
        rows = _votes(list(refs)).filter(excluded=False, provisional=False)
        for slot in rows.select_related("holder").order_by("answered_at", "pk"):
            yield from _responses(slot, refs[slot.problem_id])


def _votes(keys: list[int]) -> QuerySet[Slot]:
    rows = Slot.objects.filter(problem__in=keys, gold=False, open=False)
    return rows.exclude(answered_at=None)


def _responses(slot: Slot, ref: str) -> Iterator[Response]:
    who, shown = pseudonym(cast("Person", slot.holder)), tuple(slot.shown)
    if slot.local_choice is not None:
        yield Response(
            ref, who, "local", slot.local_choice, shown=shown, seconds=slot.local_seconds
        )
    yield Response(
        ref,
        who,
        "validate",
        slot.choice,
        ambiguous=slot.ambiguous,
        associative=slot.associative,
        shown=shown,
        seconds=slot.seconds,
    )


def skips_of(problem: Problem) -> dict[str, int]:
    """Return how many judges passed a problem on, by their reason in words."""
    rows: Any = Skip.objects.filter(problem=problem).values("reason")
    counts = rows.annotate(n=Count("pk")).values_list("reason", "n")
    return {str(Skip.Reason(reason).label): n for reason, n in counts}


def forget_timings(before: datetime) -> int:
    """Forget how long answers took, and when they were begun, that were given before a time.

    Returns how many there were.

    In transactions of a few, so that others write in between.
    """
    gone = dict.fromkeys(("seconds", "local_seconds", "taken_at", "local_at"))
    timed = Slot.objects.filter(answered_at__lt=before).exclude(**gone)
    changed = 0
    while keys := list(timed.values_list("pk", flat=True)[:CHUNK]):
        with writing():
            Slot.objects.filter(pk__in=keys).update(**gone)
        changed += len(keys)
    return changed
