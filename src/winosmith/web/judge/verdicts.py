"""The verdict of a problem's judges, at once with the last vote."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from winosmith import Dataset
from winosmith.lineage import UNVALIDATED
from winosmith.validate import VoteRules, votes
from winosmith.web._lock import writing
from winosmith.web.judge.models import Verdict
from winosmith.web.judge.rows import add_slots, standing
from winosmith.web.judge.votes import responses
from winosmith.web.problems.models import Problem, State
from winosmith.web.problems.records import as_problem
from winosmith.web.problems.states import move

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


def vote_rules() -> VoteRules:
    """Return the rules of `winosmith.validate` that this site decides by.

    `winosmith check` on a download, with the same numbers, comes to the same result.
    """
    rules = settings.RULES
    return VoteRules(
        judges=rules.judges, local_before=rules.local_before, both_halves=rules.both_halves
    )


def settle_votes(problem: Problem) -> None:
    """Decide a problem when nobody's answer is awaited any more; the caller holds its lock.

    Where votes are missing (a moderator excluded some, or the site asks for more judges than when
    the problem was opened), slots are added instead.
    """
    awaited, voted = standing(problem)
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
