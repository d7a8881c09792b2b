"""Information on problems for moderators: rows of lists, a problem's page, and the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.text import mark_differences
from winosmith.web.judge.votes import count_skips, list_votes
from winosmith.web.moderate import decisions
from winosmith.web.moderate.models import Appeal
from winosmith.web.moderate.people import count_problems_by_state
from winosmith.web.pages import round_percent
from winosmith.web.people.models import Person, find_person, get_pseudonym
from winosmith.web.predict import asking
from winosmith.web.problems.family import fold_steps, get_path, get_visible_steps
from winosmith.web.problems.lookalikes import find_lookalikes
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.states import LATE, get_public_time


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
            for row in asking.get_current_predictions(problem)
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


COLUMNS = ("event", "at", "who", "what", "problem", "before", "after", "reason", "batch", "undoes")

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


def get_name_in_log(person: Person | None) -> str:
    if person is None:
        return "site"
    return person.name if person.can_moderate else get_pseudonym(person)


def iter_log_rows(filters: Mapping[str, str]) -> Iterator[Iterable[object]]:
    yield COLUMNS
    for event in filter_log(filters).iterator(chunk_size=1000):
        who, at = get_name_in_log(event.actor), event.at.isoformat(timespec="seconds")
        names = ("before", "after", "reason", "batch", "undoes_id")
        rest = [getattr(event, name) for name in names]
        yield [event.pk, at, who, event.kind, event.problem.ref, *rest]


def get_kind_label(kind: str) -> str:
    action = decisions.ACTIONS.get(kind)
    return str(action.log_label if action else _EVENT_LABELS.get(kind, kind))


def _parse_day(text: str, time_of_day: time) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime.combine(day, time_of_day, UTC) if day else None
