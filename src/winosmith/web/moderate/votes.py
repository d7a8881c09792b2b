"""What moderators need of judging: close votes, what came since, how somebody judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from winosmith.metrics import Proportion, proportion
from winosmith.web._lock import writing
from winosmith.web.judge.agreement import Agreed, with_others
from winosmith.web.judge.models import Judge, Seen, Slot, Verdict
from winosmith.web.judge.seen import block_of, lock_reader, note_all
from winosmith.web.judge.trust import ADDRESS, GOLD, PACE, Pace, pace, records
from winosmith.web.pages import fixed, percent
from winosmith.web.people.gates import may_judge
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State


@dataclass(frozen=True, slots=True)
class Judged:
    """How somebody judges.

    Attributes:
        answers: how many votes they gave; `excluded` of them are out of the count, and `waiting`
            wait for a moderator or for a market.
        pace: the median seconds of a problem, over their last answers.
        agreement: with the other judges; None where there is nothing to compare.
        gold: gold questions that count, right or not, with the interval; None without any.
        held: their row where their votes wait for a moderator; None where they don't.
    """

    answers: int = 0
    excluded: int = 0
    waiting: int = 0
    pace: Pace = field(default_factory=Pace)
    agreement: Agreed | None = None
    gold: Proportion | None = None
    held: Judge | None = None

    @property
    def pace_told(self) -> str:
        """The pace as a page shows it."""
        if self.pace.seconds is None:
            return "–"
        return _("%(seconds)s s (%(over)d)") % {
            "seconds": fixed(self.pace.seconds, 1),
            "over": self.pace.over,
        }

    @property
    def agreement_told(self) -> str:
        """The agreement as a page shows it."""
        found = self.agreement
        return "–" if found is None else _of(found.share, found.interval, found.same, found.of)

    @property
    def gold_told(self) -> str:
        """The gold questions as a page shows them."""
        found = self.gold
        return "–" if found is None else _of(found.value, found.interval, int(found.right), found.n)

    @property
    def chance_told(self) -> str:
        """What agreement chance would give, and the ties."""
        if self.agreement is None:
            return ""
        told = {"chance": percent(self.agreement.chance, 0), "ties": self.agreement.ties}
        return _("By chance: %(chance)s. Ties among the others, not counted: %(ties)d.") % told

    @property
    def because(self) -> str:
        """Why their votes wait, with the figures; "" where they don't."""
        if self.held is None:
            return ""
        told, cause = self.held.measured, str(self.held.get_cause_display())
        if self.held.cause == PACE:
            figures = _("%(seconds)s s a problem, the median over %(over)d")
        elif self.held.cause == GOLD:
            figures = _("%(right)d right of the last %(over)d")
        elif self.held.cause == ADDRESS:
            figures = _("%(accounts)d accounts within an hour")
        else:
            return cause
        return f"{cause}: {figures % told}" if told else cause


def _of(share: float, interval: tuple[float, float], n: int, of: int) -> str:
    low, high = (fixed(100 * end, 0) for end in interval)
    return f"{percent(share, 0)} ({low}–{high}), {n} / {of}"


def answered_since(problem: int, at: datetime) -> bool:
    """Return whether a judge has voted on a problem since a moment."""
    return bool(Slot.objects.filter(problem=problem, answered_at__gte=at).votes().exists())


def close(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return those of problems whose votes were one apart: 2:1, 3:2, …"""
    near = [f"{n + 1},{n}" for n in range(1, 50)]
    return query.filter(Exists(Verdict.objects.filter(problem=OuterRef("pk"), counts__in=near)))


def suspect(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return those of problems that were decided with a vote of a judge whose votes wait now."""
    since = Q(holder__judging__since=None) | Q(answered_at__gt=F("holder__judging__since"))
    votes = Slot.objects.counting().filter(since, holder__judging__held__isnull=False)
    return query.filter(state__in=(State.VALID, State.REJECTED), pk__in=votes.values("problem"))


def judged_by(person: Person) -> Judged:
    """Return how somebody judges."""
    return judged_by_each([person])[person.pk]


def judged_by_each(people: Sequence[Person]) -> dict[int, Judged]:
    """Return how each of these people judges, by their keys."""
    counted = Slot.objects.votes().filter(holder__in=people).values("holder").order_by()
    counted = counted.annotate(
        n=Count("pk"),
        out=Count("pk", filter=Q(excluded=True)),
        waits=Count("pk", filter=Q(excluded=False, provisional=True)),
    )
    votes = {
        key: {"answers": n, "excluded": out, "waiting": waits}
        for key, n, out, waits in counted.values_list("holder", "n", "out", "waits")
    }
    held = {one.pk: one for one in Judge.objects.filter(person__in=people, held__isnull=False)}
    agreeing, gold = with_others(votes), records(people)
    return {
        person.pk: Judged(
            **votes.get(person.pk, {}),
            pace=pace(person.pk) if person.pk in votes or gold[person.pk][1] else Pace(),
            agreement=agreeing.get(person.pk),
            gold=_share(*gold[person.pk]),
            held=held.get(person.pk),
        )
        for person in people
    }


def _share(right: int, n: int) -> Proportion | None:
    return proportion([True] * right + [False] * (n - right)) if n else None


def paused_people() -> QuerySet[Judge]:
    """Return the keys of the people whose votes wait for a moderator."""
    return Judge.objects.exclude(held=None).values("person")


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
