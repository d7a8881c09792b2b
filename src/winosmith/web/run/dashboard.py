"""How a site goes: what came in and what became of it, votes, agreement, and people, over time.

All of it is counted from what the site keeps anyway: the audit log, votes and verdicts. Each figure
is a row of numbers, one a day or a week; it is drawn, and is in a table as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import Count, F
from django.db.models.functions import TruncDate
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from winosmith.web._kept import Kept, cached
from winosmith.web.judge.models import Slot, Verdict
from winosmith.web.pages import drawn, fixed
from winosmith.web.problems.models import Event, Problem, State, Twin
from winosmith.web.problems.states import DECIDED, OPEN

SPANS = {"days": (1, 30), "weeks": (7, 26)}
"""Of each view: the days of one bar, and how many bars."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is counted of each span of time, the oldest first; all lists are of one length.

    Attributes:
        first: the day on which each begins, UTC.
        came: problems that came in, written or imported; gold questions never count.
        valid, rejected: problems that judges or moderators decided so.
        backlog: problems that waited for a judge or a moderator at the end.
        votes: votes that were given.
        agreed: the share of the votes, 0–1, that chose what most chose, of the verdicts that fell
            then; None without one.
        judged: people who voted.
        wrote: people who wrote and did not vote.
        problems: how many problems the site has, which says for how long figures are kept.
    """

    first: list[date]
    came: list[int]
    valid: list[int]
    rejected: list[int]
    backlog: list[int]
    votes: list[int]
    agreed: list[float | None]
    judged: list[int]
    wrote: list[int]
    problems: int


def counts(view: str) -> Counts:
    """Return what is counted; on a large site it is kept for a while.

    Args:
        view: one of `SPANS`.
    """
    return cached(f"run.dashboard.{view}", lambda: count(view, timezone.now()))


def count(view: str, now: datetime) -> Counts:
    """Count by days, or weeks of seven days, of which the last ends with the day of `now`."""
    days, bars = SPANS[view]
    last = now.astimezone(UTC).date()
    start = last - timedelta(days=days * bars - 1)
    since = datetime(start.year, start.month, start.day, tzinfo=UTC)

    def at(day: date) -> int:
        return (day - start).days // days

    moves = _moves(since, at)
    came = _sums(bars, moves, lambda before, after: before == "")
    valid = _sums(bars, moves, lambda before, after: before in OPEN and after == State.VALID)
    rejected = _sums(bars, moves, lambda before, after: before in OPEN and after == State.REJECTED)
    entered = _sums(bars, moves, lambda before, after: before not in OPEN and after in OPEN)
    left = _sums(bars, moves, lambda before, after: before in OPEN and after not in OPEN)
    problems = Problem.objects.filter(gold=False)
    waiting = problems.filter(state__in=OPEN).count()
    judged, wrote = _people(bars, since, at)
    return Counts(
        [start + timedelta(days=days * bar) for bar in range(bars)],
        came,
        valid,
        rejected,
        [waiting - sum(entered[bar + 1 :]) + sum(left[bar + 1 :]) for bar in range(bars)],
        _votes(bars, since, at),
        _agreed(bars, since, at),
        judged,
        wrote,
        problems.count(),
    )


Moves = Mapping[tuple[int, Any, Any], int]
"""How many problems went from one state to another in a span."""


def _moves(since: datetime, at: Callable[[date], int]) -> Moves:
    rows = Event.objects.filter(at__gte=since, problem__gold=False).exclude(before=F("after"))
    found: Counter[tuple[int, str, str]] = Counter()
    grouped = rows.annotate(day=TruncDate("at")).values_list("day", "before", "after")
    for day, before, after, n in grouped.annotate(n=Count("pk")).order_by():
        found[at(day), before, after] += n
    return found


def _sums(bars: int, moves: Moves, counts: Callable[[Any, Any], bool]) -> list[int]:
    sums = [0] * bars
    for (bar, before, after), n in moves.items():
        if 0 <= bar < bars and counts(before, after):
            sums[bar] += n
    return sums


def _votes(bars: int, since: datetime, at: Callable[[date], int]) -> list[int]:
    sums = [0] * bars
    rows = Slot.objects.votes().filter(answered_at__gte=since)
    days = rows.annotate(day=TruncDate("answered_at")).values_list("day")
    for day, n in days.annotate(n=Count("pk")).order_by():
        if at(day) < bars:
            sums[at(day)] += n
    return sums


def _agreed(bars: int, since: datetime, at: Callable[[date], int]) -> list[float | None]:
    most, all_ = [0] * bars, [0] * bars
    rows = Verdict.objects.filter(at__gte=since, problem__gold=False)
    days = rows.annotate(day=TruncDate("at")).values_list("day", "counts")
    for day, told, n in days.annotate(n=Count("pk")).order_by():
        chosen = [int(one) for one in told.split(",") if one]
        if at(day) < bars and chosen:
            most[at(day)] += n * chosen[0]
            all_[at(day)] += n * sum(chosen)
    return [one / of if of else None for one, of in zip(most, all_, strict=True)]


def _people(bars: int, since: datetime, at: Callable[[date], int]) -> tuple[list[int], list[int]]:
    votes = Slot.objects.votes().filter(answered_at__gte=since)
    pairs = votes.annotate(day=TruncDate("answered_at")).values_list("day", "holder")
    judged = _sets(pairs.distinct().order_by(), at)
    twins = Twin.objects.filter(created__gte=since, contributor__isnull=False)
    pairs = twins.annotate(day=TruncDate("created")).values_list("day", "contributor")
    wrote = _sets(pairs.distinct().order_by(), at)
    return (
        [len(judged[bar]) for bar in range(bars)],
        [len(wrote[bar] - judged[bar]) for bar in range(bars)],
    )


def _sets(pairs: Iterable[tuple[date, int]], at: Callable[[date], int]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for day, person in pairs:
        found[at(day)].add(person)
    return found


LABELS = 6
"""Bars that have their day under them."""


def plots(found: Counts) -> list[dict[str, Any]]:
    """Return the numbers of the page, each drawn, and as a table.

    `parts` says what each number of a row is called; of two, the second is drawn on the first.
    `rows` has a row a span, the newest first: its day, and its numbers in words.
    """
    shares = [None if one is None else 100 * one for one in found.agreed]
    figures: list[tuple[str, str, str, dict[str, Sequence[float | None]]]] = [
        (
            "came",
            _("Submitted"),
            _("Problems that were written, perturbed or imported."),
            {_("came in"): found.came},
        ),
        (
            "decided",
            _("Outcome of problems"),
            _("Problems whose judging ended: valid, and above them, pale, not valid."),
            {_("valid"): found.valid, _("not valid"): found.rejected},
        ),
        (
            "backlog",
            _("What waits"),
            _("Problems that were waiting for a judge or a moderator at the end of the period."),
            {_("waiting"): found.backlog},
        ),
        (
            "votes",
            _("Votes"),
            _("All votes on problems, without answers to gold questions."),
            {_("votes"): found.votes},
        ),
        (
            "agreement",
            _("Agreement"),
            _("Fraction of the votes on decided problems that agree with the majority."),
            {_("agreement"): shares},
        ),
        (
            "people",
            _("Active people"),
            _(
                "People who voted, and above them, pale, people who wrote but did "
                "not vote. Each counts once."
            ),
            {_("voted"): found.judged, _("only wrote"): found.wrote},
        ),
    ]
    return [_plot(found.first, *figure) for figure in figures]


def _plot(
    first: Sequence[date],
    key: str,
    title: str,
    hint: str,
    parts: Mapping[str, Sequence[float | None]],
) -> dict[str, Any]:
    rows = list(zip(first, *parts.values(), strict=True))
    totals = [sum(value or 0 for value in values) for _day, *values in rows]
    unit = " %" if key == "agreement" else ""
    every = max(1, -(-len(first) // LABELS))
    told = ", ".join(
        f"{date_format(day, _('j M Y'))}: {_told(total, unit)}"
        for day, total in zip(first, totals, strict=True)
        if total
    )
    return {
        "key": key,
        "title": title,
        "hint": hint,
        "parts": list(parts),
        "rows": [(day, [_told(one, unit) for one in values]) for day, *values in reversed(rows)],
        "drawing": drawn(
            [
                [(value, part > 0) for part, value in enumerate(values) if value]
                for _day, *values in rows
            ],
            [
                date_format(day, _("j M")) if (len(first) - 1 - at) % every == 0 else ""
                for at, day in enumerate(first)
            ],
            f"{title}: {told or _('nothing yet')}",
            top=100.0 if unit else _round_up(max(totals, default=0)),
            unit=unit,
        ),
    }


def _told(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return fixed(value, 1 if unit else 0) + unit


def _round_up(most: float) -> float:
    """Return an even number, 2, 4, 10, 20, 40, 100 …, that is not below another one."""
    size = 1.0
    while True:
        for step in (2, 4, 10):
            if most <= step * size:
                return step * size
        size *= 10


def funnel(found: Counts) -> list[tuple[str, int, float | None]]:
    """Return the steps from what came in to what is valid: how many, and in percent of the decided.

    What was decided may have come in before, so that it is no fraction of what came.
    """
    came, valid = sum(found.came), sum(found.valid)
    decided = valid + sum(found.rejected)
    rows = [(_("decided"), decided), (_("found valid"), valid)]
    shares = [(name, n, 100 * n / decided if decided else None) for name, n in rows]
    return [(_("came in"), came, None), *shares]


def _waiting() -> Kept[dict[str, int]]:
    """Return what waits, by kind."""
    problems = Problem.objects.filter(gold=False)
    states = Counter(dict(problems.values_list("state").annotate(n=Count("pk")).order_by()))
    by_kind = {
        "held": states[State.HELD],
        "judging": states[State.JUDGING],
        "votes": Slot.objects.filter(open=True, gold=False).count(),
        "waits": problems.filter(waits=True).count(),
        "provisional": Slot.objects.waiting().count(),
        "decided": sum(states[state] for state in DECIDED),
    }
    return Kept(states.total(), by_kind)


def as_context(asked: str) -> dict[str, Any]:
    """Return what the page shows, for the view that an address names, or the usual one."""
    view = asked if asked in SPANS else next(iter(SPANS))
    found = counts(view)
    return {
        "view": view,
        "plots": plots(found),
        "funnel": funnel(found),
        "now": cached("run.dashboard.now", _waiting).value,
        "since": found.first[0],
        "week": view == "weeks",
    }
