"""Site statistics: submitted and decided problems, votes, agreement, and people over time.

All numbers come from stored data: the audit log, votes and verdicts. Each statistic is a series by
day or week, shown as a chart and as a table.
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
"""For each view: the days per bar, and the number of bars."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The numbers for each period, oldest first; all lists have the same length.

    Attributes:
        first: The first day of each period, in UTC.
        came: Problems that were written or imported; gold questions are never counted.
        valid, rejected: Problems that judges or moderators found valid, or rejected.
        backlog: Problems that waited for a judge or a moderator at the end.
        votes: Votes given.
        agreed: The fraction, 0–1, of votes equal to the majority, over the period's verdicts; None
            without verdicts.
        judged: People who voted.
        wrote: People who wrote and did not vote.
        problems: The site's number of problems, which determines how long the numbers are cached.
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


def load_statistics(view: str) -> Statistics:
    """Return the numbers of a view; a large site caches them for a while.

    Args:
        view: One of `SPANS`.
    """
    return cached(f"run.dashboard.{view}", lambda: compute_statistics(view, timezone.now()))


def compute_statistics(view: str, now: datetime) -> Statistics:
    """Return the numbers by day, or by weeks of seven days, up to the day of `now`."""
    days, bars = SPANS[view]
    last = now.astimezone(UTC).date()
    start = last - timedelta(days=days * bars - 1)
    since = datetime(start.year, start.month, start.day, tzinfo=UTC)

    def at(day: date) -> int:
        return (day - start).days // days

    moves = _count_moves(since, at)
    came = _sum(bars, moves, lambda before, after: before == "")
    valid = _sum(bars, moves, lambda before, after: before in OPEN and after == State.VALID)
    rejected = _sum(bars, moves, lambda before, after: before in OPEN and after == State.REJECTED)
    entered = _sum(bars, moves, lambda before, after: before not in OPEN and after in OPEN)
    left = _sum(bars, moves, lambda before, after: before in OPEN and after not in OPEN)
    problems = Problem.objects.filter(gold=False)
    waiting = problems.filter(state__in=OPEN).count()
    judged, wrote = _people(bars, since, at)
    return Statistics(
        [start + timedelta(days=days * bar) for bar in range(bars)],
        came,
        valid,
        rejected,
        [waiting - sum(entered[bar + 1 :]) + sum(left[bar + 1 :]) for bar in range(bars)],
        _count_votes(bars, since, at),
        _agreed_fractions(bars, since, at),
        judged,
        wrote,
        problems.count(),
    )


Moves = Mapping[tuple[int, Any, Any], int]
"""The number of problems that moved from one state to another in a period."""


def _count_moves(since: datetime, at: Callable[[date], int]) -> Moves:
    rows = Event.objects.filter(at__gte=since, problem__gold=False).exclude(before=F("after"))
    found: Counter[tuple[int, str, str]] = Counter()
    grouped = rows.annotate(day=TruncDate("at")).values_list("day", "before", "after")
    for day, before, after, n in grouped.annotate(n=Count("pk")).order_by():
        found[at(day), before, after] += n
    return found


def _sum(bars: int, moves: Moves, counts: Callable[[Any, Any], bool]) -> list[int]:
    sums = [0] * bars
    for (bar, before, after), n in moves.items():
        if 0 <= bar < bars and counts(before, after):
            sums[bar] += n
    return sums


def _count_votes(bars: int, since: datetime, at: Callable[[date], int]) -> list[int]:
    sums = [0] * bars
    rows = Slot.objects.votes().filter(answered_at__gte=since)
    days = rows.annotate(day=TruncDate("answered_at")).values_list("day")
    for day, n in days.annotate(n=Count("pk")).order_by():
        if at(day) < bars:
            sums[at(day)] += n
    return sums


def _agreed_fractions(bars: int, since: datetime, at: Callable[[date], int]) -> list[float | None]:
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
    judged = _group_people(pairs.distinct().order_by(), at)
    twins = Twin.objects.filter(created__gte=since, contributor__isnull=False)
    pairs = twins.annotate(day=TruncDate("created")).values_list("day", "contributor")
    wrote = _group_people(pairs.distinct().order_by(), at)
    return (
        [len(judged[bar]) for bar in range(bars)],
        [len(wrote[bar] - judged[bar]) for bar in range(bars)],
    )


def _group_people(
    pairs: Iterable[tuple[date, int]], at: Callable[[date], int]
) -> dict[int, set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for day, person in pairs:
        found[at(day)].add(person)
    return found


LABELS = 6
"""Number of bars with a label."""


def draw_plots(found: Statistics) -> list[dict[str, Any]]:
    """Return the charts of the page, each with a table.

    `parts` has the names of the numbers in a row; the second of two is stacked on the first. `rows`
    has a row per period, newest first: its day, and its formatted numbers.
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
            _("Decided problems: valid, and stacked in a pale colour, rejected."),
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
                "People who voted, and stacked in a pale colour, people who wrote but did "
                "not vote. Each person counts once."
            ),
            {_("voted"): found.judged, _("only wrote"): found.wrote},
        ),
    ]
    return [_draw_plot(found.first, *figure) for figure in figures]


def _draw_plot(
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
        f"{date_format(day, _('j M Y'))}: {_format_value(total, unit)}"
        for day, total in zip(first, totals, strict=True)
        if total
    )
    return {
        "key": key,
        "title": title,
        "hint": hint,
        "parts": list(parts),
        "rows": [
            (day, [_format_value(one, unit) for one in values]) for day, *values in reversed(rows)
        ],
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


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return fixed(value, 1 if unit else 0) + unit


def _round_up(most: float) -> float:
    size = 1.0
    while True:
        for step in (2, 4, 10):
            if most <= step * size:
                return step * size
        size *= 10


def funnel_rows(found: Statistics) -> list[tuple[str, int, float | None]]:
    """Return the numbers of submitted, decided and valid problems, with percentages of the decided.

    Decided problems may have been submitted earlier, so they are not a fraction of the submitted
    ones.
    """
    came, valid = sum(found.came), sum(found.valid)
    decided = valid + sum(found.rejected)
    rows = [(_("decided"), decided), (_("found valid"), valid)]
    shares = [(name, n, 100 * n / decided if decided else None) for name, n in rows]
    return [(_("came in"), came, None), *shares]


def _count_waiting() -> Kept[dict[str, int]]:
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


def page_context(asked: str) -> dict[str, Any]:
    """Return the context of the page for a view, or for the default view."""
    view = asked if asked in SPANS else next(iter(SPANS))
    found = load_statistics(view)
    return {
        "view": view,
        "plots": draw_plots(found),
        "funnel": funnel_rows(found),
        "now": cached("run.dashboard.now", _count_waiting).value,
        "since": found.first[0],
        "week": view == "weeks",
    }
