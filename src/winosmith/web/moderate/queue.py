"""The moderators' queue, a problem's page, and the audit log.

The queue lists filtered problems in pages, fast even with a million problems.

The queue uses a full-text index of the sentences in all states. The public search has a separate
index (`winosmith.web.problems.search`), so that it reveals nothing about non-public problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db import connections
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Lower
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from winosmith.text import mark_differences
from winosmith.web.judge.models import Contest, Slot, Verdict
from winosmith.web.judge.votes import count_skips, list_votes
from winosmith.web.moderate import decisions
from winosmith.web.moderate.models import Appeal
from winosmith.web.moderate.people import count_problems_by_state, get_keys_on_hold
from winosmith.web.pages import is_number, round_percent
from winosmith.web.people.models import Person, find_person, get_pseudonym
from winosmith.web.people.news import MAX_ITEMS, Item, Work
from winosmith.web.predict.asking import get_current_predictions
from winosmith.web.problems.family import fold_steps, get_path, get_visible_steps
from winosmith.web.problems.lookalikes import find_lookalikes
from winosmith.web.problems.models import Event, Problem, State, Twin, Version
from winosmith.web.problems.records import filter_by_family, filter_by_kind
from winosmith.web.problems.search import FullTextIndex, Page, parse_terms
from winosmith.web.problems.states import LATE, get_public_time

_INDEX = FullTextIndex("moderate_search")

_INDEXES = (
    "CREATE INDEX IF NOT EXISTS moderate_waiting ON problems_problem (state, created, id)",
    "CREATE INDEX IF NOT EXISTS moderate_age ON problems_problem (created, id)",
    "CREATE INDEX IF NOT EXISTS moderate_hinted ON problems_problem (created, id) "
    "WHERE hints <> '[]'",
    "CREATE INDEX IF NOT EXISTS moderate_gold ON problems_problem (created, id) WHERE gold",
    "CREATE INDEX IF NOT EXISTS moderate_embargo ON problems_problem (created, id) WHERE embargo",
    "CREATE INDEX IF NOT EXISTS moderate_domain ON problems_twin (lower(domain))",
)


def create_indexes(alias: str = "default") -> None:
    """Create the queue's missing indexes.

    This runs after every migration, because rebuilding the table of problems drops the indexes.
    """
    _INDEX.create_if_missing(alias)
    with connections[alias].cursor() as cursor:
        for statement in _INDEXES:
            cursor.execute(statement)


def filter_problems_with_hints(query: QuerySet[Problem]) -> QuerySet[Problem]:
    """Return the problems with hints, using the same condition as the index."""
    return query.extra(where=["problems_problem.hints <> '[]'"])


PAGE_SIZE = 25

RARE_LIMIT = 500
"""Number of twins below which a domain's problems are looked up by twin."""

AGES = {
    "day": gettext_lazy("the last day"),
    "week": gettext_lazy("the last week"),
    "month": gettext_lazy("the last 30 days"),
    "over-day": gettext_lazy("more than a day ago"),
    "over-week": gettext_lazy("more than a week ago"),
    "over-month": gettext_lazy("more than 30 days ago"),
}
_AGE_SPANS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}

KINDS = {
    "original": gettext_lazy("originals"),
    "twin": gettext_lazy("halves of twins"),
    "perturbed": gettext_lazy("perturbed"),
}

ONLY_CHOICES = {
    "appeal": gettext_lazy("with an open appeal"),
    "close": gettext_lazy("decided by a narrow majority"),
    "hinted": gettext_lazy("with a hint"),
    "embargo": gettext_lazy("under embargo"),
    "waits": gettext_lazy("waiting for the other half"),
    "gold": gettext_lazy("gold questions"),
    "suspect": gettext_lazy("decided with votes of judges whose votes are now on hold"),
}

TABS = (
    ("state=held&oldest=1", gettext_lazy("Waiting for a moderator")),
    ("only=appeal&oldest=1", gettext_lazy("Appeals")),
    ("only=close", gettext_lazy("Narrow majority")),
    ("state=valid", gettext_lazy("Newest valid")),
    ("state=", gettext_lazy("Everything")),
)
"""The moderators' most used lists, as queries; the first is the default."""


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """Filters of the queue; an empty value does not filter.

    Attributes:
        state: One of `State`.
        only: One of `ONLY_CHOICES`.
        hint: Part of a hint's text.
        by: A contributor's pseudonym.
        kind: One of `KINDS`.
        family: The id of a problem, which selects its root and everything perturbed from the root.
        age: One of `AGES`.
        text: Words and "phrases" in the sentence, and -words that are not in the sentence.
        oldest: "1" to sort the oldest first.
    """

    state: str = ""
    only: str = ""
    hint: str = ""
    domain: str = ""
    by: str = ""
    kind: str = ""
    family: str = ""
    age: str = ""
    text: str = ""
    oldest: str = ""

    @classmethod
    def read(cls, query: str) -> QueueFilters:
        """Return the filters in a query string; unknown values are ignored.

        >>> asked = QueueFilters.read("state=held&hint=copy&age=aeon&foo=1")
        >>> (asked.state, asked.hint, asked.age)
        ('held', 'copy', '')
        """
        asked = QueryDict(query)
        values = {field.name: asked.get(field.name, "").strip()[:200] for field in fields(cls)}
        words = (("state", State.values), ("only", ONLY_CHOICES), ("kind", KINDS), ("age", AGES))
        for name, known in words:
            if values[name] not in known:
                values[name] = ""
        return cls(**values)

    def get_states(self) -> set[Any]:
        """Return the states that the filtered problems can have."""
        if self.state:
            return {State(self.state)}
        decided = {State.VALID, State.REJECTED}
        return {"close": decided, "suspect": decided, "appeal": set(decisions.APPEALABLE)}.get(
            self.only, set(State)
        )

    def make_query(self, **more: str) -> str:
        shown = {key: value for key, value in asdict(self).items() if value or key == "state"}
        return urlencode(shown | more)


def filter_queue(filters: QueueFilters) -> QuerySet[Problem]:
    query = Problem.objects.select_related("twin__contributor")
    if filters.state:
        query = query.filter(state=filters.state)
    if filters.get_states() == {State.VALID} and filters.only != "gold":
        query = query.exclude(gold=True)
    if filters.only:
        query = _apply_only_filter(query, filters.only)
    if filters.hint:
        query = filter_problems_with_hints(query).filter(hints__icontains=filters.hint)
    if filters.domain:
        twins = Twin.objects.alias(lower=Lower("domain")).filter(lower=filters.domain.lower())
        keys = list(twins.values_list("pk", flat=True)[:RARE_LIMIT])
        if len(keys) < RARE_LIMIT:
            query = query.filter(twin__in=keys)
        else:
            query = query.filter(twin__domain__iexact=filters.domain)
    if filters.by:
        contributor = find_person(filters.by)
        query = query.filter(twin__contributor=contributor) if contributor else query.none()
    if filters.kind == "twin":
        other = Problem.objects.filter(twin=OuterRef("twin")).exclude(pk=OuterRef("pk"))
        query = query.filter(Exists(other))
    elif filters.kind:
        query = filter_by_kind(query, filters.kind)
    if filters.family:
        query = filter_by_family(query, filters.family)
    if filters.age:
        since = timezone.now() - _AGE_SPANS[filters.age.removeprefix("over-")]
        older = filters.age.startswith("over-")
        query = query.filter(**{"created__lt" if older else "created__gte": since})
    if filters.text:
        query = _INDEX.filter(query, parse_terms(filters.text))
    return query


def _apply_only_filter(query: QuerySet[Problem], only: str) -> QuerySet[Problem]:
    if only == "appeal":
        open_appeals = Appeal.objects.filter(answer=None).values("problem")
        return query.filter(pk__in=open_appeals)
    if only == "close":
        # The condition is negated, so that SQLite walks an index instead of sorting two states.
        near = [f"{n + 1},{n}" for n in range(1, 50)]  # majorities of one vote: 2:1, 3:2, …
        close = Exists(Verdict.objects.filter(problem=OuterRef("pk"), counts__in=near))
        return query.exclude(state__in=[*set(State) - {State.VALID, State.REJECTED}]).filter(close)
    if only == "hinted":
        return filter_problems_with_hints(query)
    if only == "suspect":
        since = Q(holder__judging__since=None) | Q(answered_at__gt=F("holder__judging__since"))
        votes = Slot.objects.counted().filter(since, holder__judging__held__isnull=False)
        return query.filter(state__in=(State.VALID, State.REJECTED), pk__in=votes.values("problem"))
    if only == "waits":
        query = query.filter(state=State.VALID)
    return query.filter(**{only: True})


def get_page(filters: QueueFilters, cursor: str = "", *, size: int = PAGE_SIZE) -> Page:
    """Return the page after the key in `cursor`, or the page before it if "-" precedes the key."""
    backwards, key = cursor.startswith("-"), cursor.removeprefix("-")
    start = Problem.objects.filter(pk=int(key)).first() if is_number(key) else None
    ascending = bool(filters.oldest) != backwards
    query = filter_queue(filters)
    if start is not None:
        at = start.created
        if ascending:  # the first condition can use an index
            query = query.filter(created__gte=at).exclude(created=at, pk__lte=start.pk)
        else:
            query = query.filter(created__lte=at).exclude(created=at, pk__gte=start.pk)
    order = ("created", "pk") if ascending else ("-created", "-pk")
    rows = list(query.order_by(*order)[: size + 1])
    more, rows = len(rows) > size, rows[:size]
    if backwards:
        rows.reverse()
    earlier, later = (more, True) if backwards else (start is not None, more)
    return Page(
        rows,
        filters.make_query(after=f"-{rows[0].pk}") if rows and earlier else "",
        filters.make_query(after=f"{rows[-1].pk}") if rows and later else "",
    )


def count_pending() -> dict[str, int]:
    """Return the number of pending items of each kind, counted up to 1000."""
    pending: dict[str, QuerySet[Any]] = {
        "held": Problem.objects.filter(state=State.HELD),
        "appeals": Appeal.objects.filter(answer=None),
        "contests": Contest.objects.filter(upheld=None),
        "paused": get_keys_on_hold(),
    }
    return {kind: rows[:1000].count() for kind, rows in pending.items()}


def iter_moderation_news(person: Person, after: datetime) -> Iterator[Item]:
    if not person.can_moderate:
        return
    # Sentences are omitted, because readers of a sentence must not judge the other half.
    appeals = Appeal.objects.filter(answer=None, at__gt=after).exclude(person=person)
    for appeal in appeals.select_related("problem").order_by("-at")[:MAX_ITEMS]:
        to = reverse("moderate:problem", args=[appeal.problem.ref])
        yield Item(appeal.at, _("An appeal is waiting for a moderator"), to)
    contests = Contest.objects.filter(upheld=None, at__gt=after).exclude(slot__holder=person)
    for at in contests.order_by("-at").values_list("at", flat=True)[:MAX_ITEMS]:
        yield Item(at, _("A judge has contested a gold answer"), reverse("moderate:contests"))


def iter_moderation_work(person: Person) -> Iterator[Work]:
    if not person.can_moderate:
        return
    pending, queue = count_pending(), reverse("moderate:queue")
    if n := pending["held"]:
        text = ngettext("%d problem waits for a moderator", "%d problems wait for a moderator", n)
        yield Work(text % n, queue)
    if n := pending["appeals"]:
        text = ngettext("%d appeal is open", "%d appeals are open", n)
        yield Work(text % n, f"{queue}?only=appeal&oldest=1")
    if n := pending["contests"]:
        text = ngettext("%d gold question is contested", "%d gold questions are contested", n)
        yield Work(text % n, reverse("moderate:contests"))
    if n := pending["paused"]:
        text = ngettext("votes of %d judge on hold", "votes of %d judges on hold", n)
        yield Work(text % n, f"{reverse('moderate:people')}?only=held")


def list_problem_rows(
    reader: Person, problems: Sequence[Problem], twin: str = ""
) -> list[dict[str, Any]]:
    """Return the template context for problems whose twins and contributors are loaded.

    Each row contains:

    - `pick`: the value of the row's checkbox, which contains the problem's id and the newest event
      that the reader has seen
    - `contributor`: a pseudonym, or "" for an imported problem
    - `own`: whether the reader may not decide on the problem
    - `appeal`: the text of an open appeal, or ""
    - `root`: the id of the family's root, or "" if the problem was not perturbed
    - `until`: the latest time of publication, if the problem waits for the other half of its twin

    Differences from `twin`, the sentence of the other half, are marked.
    """
    seen, keys = decisions.get_newest_events(problems), [problem.pk for problem in problems]
    open_appeals = Appeal.objects.filter(problem__in=keys, answer=None)
    appeals = dict(open_appeals.values_list("problem", "text"))
    perturbed = Version.objects.filter(problem__in=keys, parent__isnull=False)
    roots = dict(perturbed.values_list("problem", "root__ref"))
    return [
        {
            "problem": problem,
            "pieces": mark_differences(problem.sentence, twin or problem.sentence),
            "options": [(text, at == problem.answer) for at, text in enumerate(problem.options)],
            "pick": f"{problem.ref}:{seen.get(problem.pk, 0)}",
            "contributor": get_pseudonym(problem.twin.contributor)
            if problem.twin.contributor
            else "",
            "own": not decisions.may_decide(reader, problem),
            "appeal": appeals.get(problem.pk, ""),
            "root": roots.get(problem.pk, ""),
            "until": get_public_time(problem),
        }
        for problem in problems
    ]


def make_history_entry(event: Event) -> dict[str, Any]:
    """Return the template context of a history entry; verdicts are attributed to the site."""
    who = _("the site") if event.actor is None else get_name_in_log(event.actor)
    if event.actor_id is not None and event.actor_id == event.problem.twin.contributor_id:
        who = _("the contributor")
    return {"event": event, "who": who, "what": get_kind_label(event.kind)}


def make_family_context(reader: Person, problem: Problem) -> dict[str, Any] | None:
    """Return the template context of a problem's family; None if it has no family."""
    path = get_path(problem)
    root = path[0]
    if not hasattr(root, "version"):
        return None
    contributor = problem.twin.contributor
    return {
        "root": root,
        "path": path,
        **fold_steps(get_visible_steps(path, reader)),
        "predictions": [
            (row, "" if row.choice is None or row.tie else problem.options[row.choice])
            for row in get_current_predictions(problem)
        ],
        "size": Version.objects.filter(root=root).count(),
        "all": _make_queue_link(root),
        "theirs": _make_queue_link(root, by=get_pseudonym(contributor)) if contributor else "",
    }


def _make_queue_link(root: Problem, **query: str) -> str:
    return f"{reverse('moderate:queue')}?{urlencode({'state': '', 'family': root.ref, **query})}"


def make_problem_context(reader: Person, problem: Problem) -> dict[str, Any]:
    family = make_family_context(reader, problem)
    contributor = problem.twin.contributor
    other = problem.twin.problems.exclude(pk=problem.pk).select_related("twin__contributor").first()
    halves = list_problem_rows(reader, [problem], other.sentence if other else "")
    if other:
        halves += list_problem_rows(reader, [other], problem.sentence)
    root = family["root"] if family else None
    near = find_lookalikes([problem], skip_twin=problem.twin_id, family=root, reader=reader)
    events = problem.events.select_related("actor", "problem__twin").order_by("-pk")
    last = decisions.get_undoable_decision(reader, problem)
    return {
        "problem": problem,
        "halves": halves,
        "family": family,
        "near": [(match, round_percent(match.share)) for match in near],
        "votes": list_votes(problem, excluded=True),
        "skips": list(count_skips(problem).items()),
        "events": [make_history_entry(event) for event in events],
        "undoable": last.pk if last else None,
        "record": count_problems_by_state(contributor) if contributor else None,
        "actions": decisions.get_possible_actions(reader, problem),
    }


_EVENT_LABELS = {
    decisions.UNDO: gettext_lazy("undone"),
    "submit": gettext_lazy("submitted"),
    "import": gettext_lazy("imported"),
    "verdict": gettext_lazy("judged"),
    "recount": gettext_lazy("judged again"),
    "appeal": gettext_lazy("appealed"),
    "revise": gettext_lazy("revised"),
    "publish": gettext_lazy("published after its human test"),
    LATE: gettext_lazy("published before the other half"),
    "exclude-vote": gettext_lazy("a vote excluded"),
    "include-vote": gettext_lazy("a vote counted again"),
    "cover": gettext_lazy("covered by its parent’s embargo"),
    "uncover": gettext_lazy("no longer covered by an embargo"),
}
"""Labels of events that are not moderators' decisions."""


LOG_FILTERS = ("who", "what", "ref", "since", "until", "batch")
"""Filters of the log.

- who: "site", a pseudonym or a moderator's name
- what: a kind of event
- ref: a problem's id
- since, until: the first and the last day, such as "2026-11-21"
- batch: the identifier of a batch
"""


def read_log_filters(query: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each filter in a query; an empty value does not filter."""
    return {name: query.get(name, "").strip()[:120] for name in LOG_FILTERS}


def filter_log(filters: Mapping[str, str]) -> QuerySet[Event]:
    query = Event.objects.select_related("problem__twin", "actor").order_by("-pk")
    if (who := filters["who"]) == "site":
        query = query.filter(actor=None)
    elif who:
        named = Person.objects.filter(name=who).first()
        person = named if named is not None and named.can_moderate else find_person(who)
        query = query.filter(actor=person) if person is not None else query.none()
    exact = {"kind": filters["what"], "problem__ref": filters["ref"], "batch": filters["batch"]}
    query = query.filter(**{name: value for name, value in exact.items() if value})
    if start := _parse_day(filters["since"], time.min):
        query = query.filter(at__gte=start)
    if end := _parse_day(filters["until"], time.max):
        query = query.filter(at__lte=end)
    return query


def get_name_in_log(person: Person) -> str:
    return person.name if person.can_moderate else get_pseudonym(person)


def get_kind_label(kind: str) -> str:
    action = decisions.ACTIONS.get(kind)
    return str(action.log_label if action else _EVENT_LABELS.get(kind, kind))


def _parse_day(text: str, time_of_day: time) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime.combine(day, time_of_day, UTC) if day else None
