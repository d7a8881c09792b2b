"""What moderators need of judging: close votes, what came since, how somebody judges."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from winosmith.web._lock import writing
from winosmith.web.judge.gold import records
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
    "judged_by_each",
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
    return judged_by_each([person])[person.pk]


def judged_by_each(people: Sequence[Person]) -> dict[int, Judged]:
    """Return how each of these people judges, by their keys."""
    counted = _votes().filter(holder__in=people).values("holder").order_by()
    counted = counted.annotate(n=Count("pk"), out=Count("pk", filter=Q(excluded=True)))
    votes = {key: (n, out) for key, n, out in counted.values_list("holder", "n", "out")}
    agreeing, gold = _agreements(votes), records(people)
    return {
        person.pk: Judged(
            *votes.get(person.pk, (0, 0)), agreeing.get(person.pk), *reversed(gold[person.pk])
        )
        for person in people
    }


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


def _agreements(judges: Iterable[int]) -> dict[int, int]:
    """Return the percentage of each one's newest votes that are what most judges chose."""
    decided = _votes().filter(problem__state__in=[State.VALID, State.REJECTED], excluded=False)
    decided = decided.order_by("-answered_at").values_list("problem", "choice")
    newest = {judge: dict(decided.filter(holder=judge)[:LAST]) for judge in judges}
    most = _majorities({problem for mine in newest.values() for problem in mine})
    found = {}
    for judge, mine in newest.items():
        if compared := [choice == most[key] for key, choice in mine.items() if key in most]:
            found[judge] = round(100 * sum(compared) / len(compared))
    return found


def _majorities(problems: Iterable[int]) -> dict[int, int | None]:
    """Return what more than half of the judges of each problem chose, where that is so."""
    chosen: dict[int, Counter[int | None]] = defaultdict(Counter)
    rows = _votes().filter(problem__in=list(problems), excluded=False, provisional=False)
    for key, choice in rows.values_list("problem", "choice"):
        chosen[key][choice] += 1
    tops = {key: counts.most_common(1)[0] for key, counts in chosen.items()}
    return {key: top for key, (top, n) in tops.items() if 2 * n > chosen[key].total()}
