"""What moderators need of judging: close votes, what came since, how somebody judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from winosmith.web._lock import writing
from winosmith.web.judge.gold import record
from winosmith.web.judge.models import Judge, Seen, Slot, Verdict
from winosmith.web.judge.seen import block_of, lock_reader, note_all
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State

__all__ = [
    "LAST",
    "Judged",
    "answered_since",
    "close",
    "is_paused",
    "judged_by",
    "note_read",
    "paused_people",
]

LAST = 200
"""Answers that a judge's agreement is taken over: the newest on decided problems."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How somebody judges.

    Attributes:
        answers: how many votes they gave; `excluded` of them are out of the count.
        agreement: in percent, how many of the last LAST are what most judges chose; None without.
        gold, gold_right: gold questions that count, and how many of them are right.
    """

    answers: int = 0
    excluded: int = 0
    agreement: int | None = None
    gold: int = 0
    gold_right: int = 0


def answered_since(problem: int, at: datetime) -> bool:
    """Return whether a judge has voted on a problem since a moment."""
    rows = Slot.objects.filter(problem=problem, gold=False, open=False)
    return bool(rows.filter(answered_at__gte=at).exists())


def close(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return those of problems whose votes were one apart: 2:1, 3:2, …"""
    near = [f"{n + 1},{n}" for n in range(1, 50)]
    return query.filter(Exists(Verdict.objects.filter(problem=OuterRef("pk"), counts__in=near)))


def judged_by(person: Person) -> Judged:
    """Return how somebody judges."""
    rows = _votes().filter(holder=person)
    counts = rows.aggregate(n=Count("pk"), out=Count("pk", filter=Q(excluded=True)))
    right, gold = record(person)
    return Judged(counts["n"], counts["out"], _agreement(rows), gold, right)


def is_paused(person: Person) -> bool:
    """Return whether somebody's judging waits for a moderator."""
    return bool(Judge.objects.filter(person=person).exclude(paused=None).exists())


def paused_people() -> QuerySet[Judge]:
    """Return the keys of the people whose judging waits for a moderator."""
    return Judge.objects.exclude(paused=None).values("person")


def note_read(person: Person, problems: Sequence[Problem]) -> None:
    """Write down that a moderator has read problems with their answers: they don't judge them."""
    unread = [p for p in problems if p.gold or p.state in (State.HELD, State.JUDGING)]
    if not may_judge(person) or not unread:
        return
    blocks = {block_of(problem): problem for problem in unread}
    known = Seen.objects.filter(person=person, block__in=blocks, spent=True)
    new = blocks.keys() - set(known.values_list("block", flat=True))
    if new:
        with writing():
            lock_reader(person)
            note_all(person, [blocks[block] for block in new])


def _votes() -> QuerySet[Slot]:
    return Slot.objects.filter(gold=False, open=False).exclude(answered_at=None)


def _agreement(rows: QuerySet[Slot]) -> int | None:
    """Return the percentage of the newest votes that are what most judges chose."""
    decided = rows.filter(problem__state__in=[State.VALID, State.REJECTED], excluded=False)
    mine = dict(decided.order_by("-answered_at").values_list("problem", "choice")[:LAST])
    most = _majorities(mine)
    compared = [choice == most[key] for key, choice in mine.items() if key in most]
    return round(100 * sum(compared) / len(compared)) if compared else None


def _majorities(problems: Iterable[int]) -> dict[int, int | None]:
    """Return what more than half of the judges of each problem chose, where that is so."""
    chosen: dict[int, Counter[int | None]] = defaultdict(Counter)
    rows = _votes().filter(problem__in=list(problems), excluded=False, provisional=False)
    for key, choice in rows.values_list("problem", "choice"):
        chosen[key][choice] += 1
    tops = {key: counts.most_common(1)[0] for key, counts in chosen.items()}
    return {key: top for key, (top, n) in tops.items() if 2 * n > chosen[key].total()}
