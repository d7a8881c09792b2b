"""The state of a site for admins: the steps that set it up, its faults, and its statistics.

Each step has a state and a page. Statistics are submitted and decided problems, votes, agreement,
and people over time. All numbers come from stored data: the audit log, votes and verdicts. Each
statistic is a series by day, shown as a chart and as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import Count, F, QuerySet
from django.db.models.functions import TruncDate
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from winosmith.web._cache import get_cached_stats
from winosmith.web._rules import GROUPS, SiteRules, get_editable, get_settings
from winosmith.web.jobs import BACKUP, SETTINGS, Job
from winosmith.web.judge.models import Slot, Verdict
from winosmith.web.judge.trust import count_address_judges, get_askable_questions
from winosmith.web.market.models import Study
from winosmith.web.pages import make_bar_chart, to_fixed
from winosmith.web.people import addresses
from winosmith.web.people.accounts import get_active_links
from winosmith.web.people.models import Person, get_pseudonym
from winosmith.web.people.privacy import find_people_to_erase_again
from winosmith.web.predict.asking import check_model, get_current_models
from winosmith.web.problems.models import Event, Problem, State, Twin
from winosmith.web.problems.states import OPEN
from winosmith.web.run.choices import get_setting_label
from winosmith.web.take.models import Round

MAX_BACKUP_AGE = timedelta(days=7)
"""Maximum age of a backup that counts as recent."""


@dataclass(frozen=True, slots=True)
class Step:
    """A setup step.

    Attributes:
        purpose: The purpose, in a sentence or two.
        is_required: Whether every site needs the step.
        url: The URL of the page for the step.
        link_text: The label of the link.
    """

    title: str
    purpose: str
    is_done: bool
    is_required: bool
    url: str
    link_text: str


def list_setup_steps() -> list[Step]:
    rules, site_settings = settings.RULES, reverse("run:settings")
    accounts = Person.objects.filter(anonymous=False, hired=False, erased=None).count()
    backups = Job.objects.filter(kind=BACKUP, state=Job.State.DONE)
    gold = get_askable_questions().values("twin").distinct().count()
    models = get_current_models()
    other_settings = get_editable().keys() - get_settings(GROUPS[0]).keys()
    return [
        Step(
            _("Enter a name and a contact for the site"),
            _("The name is at the top of each page, the contact at the bottom."),
            rules.title != SiteRules().title and bool(rules.contact),
            True,
            f"{site_settings}#name",
            _("Name and contact"),
        ),
        Step(
            _("Check the rules"),
            _("Who may take part, how many people judge a problem, and which votes are checked."),
            bool(settings.SITE.fixed & other_settings)
            or Job.objects.filter(kind=SETTINGS).exists(),
            True,
            f"{site_settings}#people",
            _("Rules"),
        ),
        Step(
            _("Import problems"),
            _(
                "Import a file, to be judged or as valid problems. People can also write all "
                "problems on the site."
            ),
            Problem.objects.filter(gold=False).exists(),
            False,
            reverse("run:import"),
            _("Import problems"),
        ),
        Step(
            _("Add questions with a known answer"),
            _(
                "Gold questions train judges and show who reads carefully. They are never in the "
                "data. The training needs %(wanted)d; the site has %(count)d."
            )
            % {"wanted": rules.training_questions, "count": gold},
            gold >= max(1, rules.training_questions),
            True,
            f"{reverse('run:import')}?as=gold",
            _("Import gold questions"),
        ),
        Step(
            _("Make a backup"),
            _("A backup contains the whole site with its key, and stays on the server."),
            backups.filter(at__gt=timezone.now() - MAX_BACKUP_AGE).exists(),
            True,
            reverse("run:backups"),
            _("Backups"),
        ),
        Step(
            _("Invite people"),
            _("Create links for contributors, judges and moderators. Two moderators are best."),
            accounts > 1 or get_active_links().filter(person=None).exists(),
            True,
            reverse("people:invitations"),
            _("Invitations"),
        ),
        Step(
            _("Check that the models work"),
            _("Models show which problems are easy to guess. Add other models in site.toml."),
            bool(models) and all(check_model(model)[0] for model in models),
            False,
            reverse("predict:models"),
            _("Models"),
        ),
        Step(
            _("Test problems on people"),
            _("A human test measures how well people solve problems that nobody has seen."),
            Round.objects.exists(),
            False,
            reverse("run:tests"),
            _("Human tests"),
        ),
        Step(
            _("Pay people from a crowd market"),
            _(
                "People judge or write here through a study link, and the study’s page shows "
                "their pay."
            ),
            Study.objects.exists(),
            False,
            reverse("run:studies"),
            _("Studies"),
        ),
    ]


def count_incomplete(steps: list[Step]) -> int:
    return sum(step.is_required and not step.is_done for step in steps)


def list_site_faults() -> list[str]:
    """List the site's faults that an admin must repair, as sentences."""
    found = addresses.list_address_faults()
    if judges := count_address_judges():
        fault = _(
            "All %(n)d judges within an hour had the same address, so their votes can’t decide "
            "problems. If they are in different places, add the missing proxy to `proxies` in "
            "site.toml; otherwise, change “%(setting)s” under Settings to 0 for that time."
        )
        found.append(fault % {"n": judges, "setting": get_setting_label("hold_accounts")})
    if people := find_people_to_erase_again():
        fault = _(
            "This site was restored from a backup. People erased since then: %(names)s. Run on "
            "the server: winosmith admin erase-again %(folder)s"
        )
        names = ", ".join(get_pseudonym(person) for person, _texts in people)
        found.append(fault % {"names": names, "folder": settings.SITE.folder})
    return found


DAYS = 30
"""Number of days that the statistics cover."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics by day, oldest first; all lists have `DAYS` elements.

    Attributes:
        days: The days, in UTC.
        submitted: The number of problems that were written or imported, except gold questions.
        backlog: The number of problems that waited for a judge or moderator at the day's end.
        agreement: The fraction, 0–1, of votes for the majority's answer, in the day's verdicts;
            None if there are no verdicts.
        judge_counts: The number of people who voted.
        writer_counts: The number of people who wrote and did not vote.
    """

    days: list[date]
    submitted: list[int]
    valid: list[int]
    rejected: list[int]
    backlog: list[int]
    votes: list[int]
    agreement: list[float | None]
    judge_counts: list[int]
    writer_counts: list[int]


def compute_statistics(now: datetime) -> Statistics:
    """Compute the statistics up to the day of `now`."""
    start = now.astimezone(UTC).date() - timedelta(days=DAYS - 1)

    def count(rows: QuerySet[Any], time: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Count rows by the day of `time` and by columns; yield day number, columns and count."""
        since = datetime(start.year, start.month, start.day, tzinfo=UTC)
        rows = rows.filter(**{f"{time}__gte": since}).annotate(day=TruncDate(time))
        for day, *rest in rows.values_list("day", *columns).annotate(n=Count("pk")).order_by():
            if (number := (day - start).days) < DAYS:
                yield number, *rest

    def sum_by_day(pairs: Iterable[tuple[int, int]]) -> list[int]:
        sums = [0] * DAYS
        for day, n in pairs:
            sums[day] += n
        return sums

    events = Event.objects.filter(problem__gold=False).exclude(before=F("after"))
    moves = list(count(events, "at", "before", "after"))

    def count_transitions(matches: Callable[[Any, Any], bool]) -> list[int]:
        return sum_by_day((day, n) for day, before, after, n in moves if matches(before, after))

    entered = count_transitions(lambda before, after: before not in OPEN and after in OPEN)
    left = count_transitions(lambda before, after: before in OPEN and after not in OPEN)
    waiting = Problem.objects.filter(gold=False, state__in=OPEN).count()
    rows = count(Verdict.objects.filter(problem__gold=False), "at", "counts")
    verdicts = [(day, n, [int(one) for one in counts.split(",") if one]) for day, counts, n in rows]
    majority = sum_by_day((day, n * chosen[0]) for day, n, chosen in verdicts if chosen)
    votes = sum_by_day((day, n * sum(chosen)) for day, n, chosen in verdicts)
    judges, writers = ([set[int]() for _day in range(DAYS)] for _ in range(2))
    cast = list(count(Slot.objects.votes(), "answered_at", "holder"))
    for day, person, _n in cast:
        judges[day].add(person)
    twins = Twin.objects.filter(contributor__isnull=False)
    for day, person, _n in count(twins, "created", "contributor"):
        writers[day].add(person)
    return Statistics(
        [start + timedelta(days=day) for day in range(DAYS)],
        count_transitions(lambda before, after: before == ""),
        count_transitions(lambda before, after: before in OPEN and after == State.VALID),
        count_transitions(lambda before, after: before in OPEN and after == State.REJECTED),
        [waiting - sum(entered[day + 1 :]) + sum(left[day + 1 :]) for day in range(DAYS)],
        sum_by_day((day, n) for day, _person, n in cast),
        [part / of if of else None for part, of in zip(majority, votes, strict=True)],
        list(map(len, judges)),
        [len(wrote - judged) for wrote, judged in zip(writers, judges, strict=True)],
    )


LABELLED_DAYS = 5
"""Number of days from one label below a chart to the next."""


def draw_plots(statistics: Statistics) -> list[dict[str, Any]]:
    """Draw the charts of the dashboard, each with a table.

    `parts` contains the names of the numbers in a row; if there are two, the second is stacked on
    the first. `rows` has a row per day, newest first, with its day and its formatted numbers.
    """
    shares = [None if one is None else 100 * one for one in statistics.agreement]
    draw = partial(_draw_plot, statistics.days)
    return [
        draw(
            "submitted",
            _("Submitted"),
            _("Problems that were written, perturbed or imported."),
            {_("submitted"): statistics.submitted},
        ),
        draw(
            "decided",
            _("Outcome of problems"),
            _("Decided problems: valid (solid) and rejected (pale)."),
            {_("valid"): statistics.valid, _("rejected"): statistics.rejected},
        ),
        draw(
            "backlog",
            _("Backlog"),
            _("Problems that waited for a judge or a moderator at the end of each day."),
            {_("waiting"): statistics.backlog},
        ),
        draw(
            "votes",
            _("Votes"),
            _("All votes on problems, except answers to gold questions."),
            {_("votes"): statistics.votes},
        ),
        draw(
            "agreement",
            _("Agreement"),
            _("Fraction of the votes on decided problems that agree with the majority."),
            {_("agreement"): shares},
        ),
        draw(
            "people",
            _("Active people"),
            _("People who voted (solid) and people who wrote but did not vote (pale)."),
            {_("voted"): statistics.judge_counts, _("only wrote"): statistics.writer_counts},
        ),
    ]


def _draw_plot(
    days: Sequence[date],
    key: str,
    title: str,
    hint: str,
    series: Mapping[str, Sequence[float | None]],
) -> dict[str, Any]:
    rows = list(zip(days, *series.values(), strict=True))
    totals = [sum(value or 0 for value in values) for _day, *values in rows]
    unit = " %" if key == "agreement" else ""
    # An axis ends at the first of 2, 4, 10, 20, 40, 100, … that is not below the maximum.
    tops = (step * 10.0**power for power in range(20) for step in (2, 4, 10))
    values_by_day = ", ".join(
        f"{date_format(day, _('j M Y'))}: {_format_value(total, unit)}"
        for day, total in zip(days, totals, strict=True)
        if total
    )
    description = values_by_day or _("nothing yet")
    return {
        "key": key,
        "title": title,
        "hint": hint,
        "parts": list(series),
        "rows": [
            (day, [_format_value(one, unit) for one in values]) for day, *values in reversed(rows)
        ],
        "drawing": make_bar_chart(
            [
                [(value, part > 0) for part, value in enumerate(values) if value]
                for _day, *values in rows
            ],
            [
                date_format(day, _("j M")) if (DAYS - 1 - at) % LABELLED_DAYS == 0 else ""
                for at, day in enumerate(days)
            ],
            f"{title}: {description}",
            top=100.0 if unit else next(top for top in tops if max(totals, default=0) <= top),
            unit=unit,
        ),
    }


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return to_fixed(value, 1 if unit else 0) + unit


def make_funnel_rows(statistics: Statistics) -> list[tuple[str, int, float | None]]:
    """Return the numbers of submitted, decided and valid problems, with percentages.

    Decided problems may have been submitted earlier. Percentages are therefore fractions of the
    decided problems, not of the submitted ones.
    """
    came, valid = sum(statistics.submitted), sum(statistics.valid)
    decided = valid + sum(statistics.rejected)
    rows = [(_("decided by judges or moderators"), decided), (_("valid, public or not"), valid)]
    shares = [(name, n, 100 * n / decided if decided else None) for name, n in rows]
    return [(_("submitted"), came, None), *shares]


def _count_problems_and_votes() -> dict[str, int]:
    problems = Problem.objects.filter(gold=False)
    return {
        "held": problems.filter(state=State.HELD).count(),
        "judging": problems.filter(state=State.JUDGING).count(),
        "votes": Slot.objects.filter(open=True, gold=False).count(),
        "waits": problems.filter(waits=True, state=State.VALID).count(),
        "provisional": Slot.objects.pending().count(),
    }


def make_dashboard_context() -> dict[str, Any]:
    found, now = get_cached_stats(
        "run.dashboard",
        lambda: (
            Problem.objects.count(),
            (compute_statistics(timezone.now()), _count_problems_and_votes()),
        ),
    )
    return {
        "plots": draw_plots(found),
        "funnel": make_funnel_rows(found),
        "now": now,
        "since": found.days[0],
    }
