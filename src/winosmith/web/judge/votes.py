"""Votes on a problem, and the verdict that they come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith import Dataset, Response
from winosmith.lineage import UNVALIDATED
from winosmith.validate import VoteRules, votes
from winosmith.web._lock import chunked, writing
from winosmith.web.judge.models import Skip, Slot, Verdict
from winosmith.web.judge.slots import add_slots, tally
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move

CHUNK = 500
"""Problems whose votes are read at once, and answers whose timings are forgotten at once."""


def settle_votes(problem: Problem) -> None:
    """Decide a problem when nobody's answer is awaited any more; the caller holds its lock.

    Where votes are missing (a moderator excluded some, or the site asks for more judges than when
    the problem was opened), slots are added instead.
    """
    awaited, voted = tally(problem)
    if awaited:
        return
    missing = settings.RULES.judges - voted
    if missing > 0:
        add_slots(problem, missing)
    else:
        decide(problem)


def decide(problem: Problem, *, by: Person | None = None, kind: str = "verdict") -> bool:
    """Find a problem valid or not, by the votes that it has; return which.

    The reasons are kept with the problem, in the words of `winosmith.validate`.

    Args:
        problem: in any state that leads to a verdict.
        by: the moderator whose act brought it about; None for the last vote.
        kind: of the event that is written down.
    """
    with writing():
        datum, cast = as_problem(problem), list(responses([problem]))
        dropped = votes(Dataset([datum]), cast, vote_rules()).dropped
        reasons = dropped[0].reason.split(" | ") if dropped else []
        to = State("rejected" if dropped else "valid")
        if problem.state != to:
            move(problem, to, by=by, kind=kind, reason="; ".join(reasons))
        problem.reasons = reasons
        problem.save(update_fields=["reasons"])
        _validated(problem, not dropped)
        chosen = Counter(response.choice for response in cast if response.purpose == "validate")
        counts = ",".join(map(str, sorted(chosen.values(), reverse=True)))
        Verdict.objects.update_or_create(
            problem=problem,
            defaults={"counts": counts, "valid": not dropped, "at": timezone.now()},
        )
        return not dropped


def _validated(problem: Problem, valid: bool) -> None:
    """Note on a generated problem whether people found it valid; see `as_problem`."""
    if UNVALIDATED not in (problem.record.get("extra") or {}):
        return
    problem.record = {**problem.record, "validated": valid}
    Problem.objects.filter(pk=problem.pk).update(record=problem.record)


def vote_rules() -> VoteRules:
    """Return the rules of `winosmith.validate` that this site decides by.

    `winosmith check` on a download, with the same numbers, comes to the same result.
    """
    rules = settings.RULES
    return VoteRules(
        judges=rules.judges, local_before=rules.local_before, both_halves=rules.both_halves
    )


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
    rows = Slot.objects.filter(problem=problem).votes().order_by("n")
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
        rows = Slot.objects.filter(problem__in=list(refs)).counting()
        for slot in rows.select_related("holder").order_by("answered_at", "pk"):
            yield from _responses(slot, refs[slot.problem_id])


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
