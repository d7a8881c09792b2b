"""Problems for moderators: a row of a list, the page of a problem, and the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _, gettext_lazy

from winosmith.outputs import guard_cell
from winosmith.text import differing
from winosmith.web.judge.votes import skips_of, votes_of
from winosmith.web.moderate import decisions
from winosmith.web.moderate.models import Appeal
from winosmith.web.moderate.people import written_by
from winosmith.web.pages import whole_percent
from winosmith.web.people.models import Person, person_of, pseudonym
from winosmith.web.predict import asking
from winosmith.web.predict.models import Prediction
from winosmith.web.problems.family import folded, path_to, steps
from winosmith.web.problems.lookalikes import lookalikes
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.states import LATE, waits_until


def rows(reader: Person, problems: Sequence[Problem], other: str = "") -> list[dict[str, Any]]:
    """Return problems as rows of a list.

    `pick` is the value of a row's box: the problem with its newest event, which the reader of the
    page has seen. `contributor` is a pseudonym, "" if nobody of the site wrote it; `own` says that
    the reader wrote it, so that others decide; `appeal` is the text of an open one; `root` the id
    of its family's root, "" if it was not perturbed; `until` when it is public at the latest, if it
    waits for the other half of its twin.

    Args:
        reader: a moderator.
        problems: with their twins and contributors.
        other: another half's sentence; differences from it are marked.
    """
    seen = decisions.last_event(problems)
    appeals = dict(
        Appeal.objects.filter(problem__in=[p.pk for p in problems], answer=None).values_list(
            "problem", "text"
        )
    )
    perturbed = Version.objects.filter(problem__in=[p.pk for p in problems], parent__isnull=False)
    roots = dict(perturbed.values_list("problem", "root__ref"))
    return [
        {
            "problem": problem,
            "pieces": differing(problem.sentence, other or problem.sentence),
            "options": [(text, at == problem.answer) for at, text in enumerate(problem.options)],
            "pick": f"{problem.ref}:{seen.get(problem.pk, 0)}",
            "contributor": pseudonym(problem.twin.contributor) if problem.twin.contributor else "",
            "own": not decisions.may_decide(reader, problem),
            "appeal": appeals.get(problem.pk, ""),
            "root": roots.get(problem.pk, ""),
            "until": waits_until(problem),
        }
        for problem in problems
    ]


def entry(event: Event) -> dict[str, Any]:
    """Return an event for the history; verdicts are the site's."""
    who = _("the site") if event.actor is None else known_as(event.actor)
    if event.actor_id is not None and event.actor_id == event.problem.twin.contributor_id:
        who = _("the contributor")
    return {"event": event, "who": who, "what": what_is_done(event.kind)}


def family_of(reader: Person, problem: Problem) -> dict[str, Any] | None:
    """Return the family of a problem for its page; None if it has none.

    It has the root, the steps from there to the problem, the models' predictions, and links to the
    family in the queue and to the contributor's part of it.
    """
    path = path_to(problem)
    root = path[0]
    if not hasattr(root, "version"):
        return None
    contributor = problem.twin.contributor
    return {
        "root": root,
        "path": path,
        **folded(steps(path, reader)),
        "predictions": [_prediction_row(problem, one) for one in asking.of(problem)],
        "size": Version.objects.filter(root=root).count(),
        "all": _queue(root),
        "theirs": _queue(root, by=pseudonym(contributor)) if contributor else "",
    }


def _prediction_row(problem: Problem, one: Prediction) -> dict[str, Any]:
    known = one.choice is not None and not one.tie
    chose = problem.options[one.choice] if known else ""
    return {"prediction": one, "chose": chose, "stand": one.get_stand_display()}


def _queue(root: Problem, **more: str) -> str:
    return f"{reverse('moderate:queue')}?{urlencode({'state': '', 'family': root.ref, **more})}"


def dossier(reader: Person, problem: Problem) -> dict[str, Any]:
    """Return the context of the page of a problem.

    Both halves with their differences, the path from the family's root, hints, near-duplicates
    outside the family, the votes without names, the history, the contributor's record, and the
    reader's actions.
    """
    family = family_of(reader, problem)
    contributor = problem.twin.contributor
    events = problem.events.select_related("actor", "problem__twin").order_by("-pk")
    last = decisions.undoable(reader, problem)
    return {
        "problem": problem,
        "halves": _halves(reader, problem),
        "family": family,
        "near": [
            (one, whole_percent(one.share))
            for one in lookalikes(
                [problem],
                without=problem.twin_id,
                family=family["root"] if family else None,
                reader=reader,
            )
        ],
        "votes": votes_of(problem, excluded=True),
        "skips": list(skips_of(problem).items()),
        "events": [entry(event) for event in events],
        "undoable": last.pk if last else None,
        "record": written_by(contributor) if contributor else None,
        "actions": decisions.actions_for(reader, problem),
    }


def _halves(reader: Person, problem: Problem) -> list[dict[str, Any]]:
    """Return the rows of the problem and of its other half."""
    others = list(
        problem.twin.problems.exclude(pk=problem.pk).select_related("twin__contributor")[:1]
    )
    if not others:
        return rows(reader, [problem])
    mine = rows(reader, [problem], others[0].sentence)
    return mine + rows(reader, others, problem.sentence)


COLUMNS = ("event", "at", "who", "what", "problem", "before", "after", "reason", "batch", "undoes")

_PAST = {
    decisions.UNDO: gettext_lazy("undone"),
    "submit": gettext_lazy("submitted"),
    "verdict": gettext_lazy("judged"),
    "recount": gettext_lazy("judged again"),
    "appeal": gettext_lazy("appealed"),
    "revise": gettext_lazy("revised"),
    "publish": gettext_lazy("published after its human test"),
    LATE: gettext_lazy("published ahead of the other half"),
    "exclude-vote": gettext_lazy("a vote excluded"),
    "include-vote": gettext_lazy("a vote counted again"),
    "cover": gettext_lazy("covered by the embargo of its parent"),
    "uncover": gettext_lazy("no longer covered by an embargo"),
}
"""Events of others than moderators, in words."""


@dataclass(frozen=True, slots=True)
class LogFilters:
    """The filters of the log; empty texts don't filter.

    Attributes:
        who: "site", a pseudonym, or a moderator's name.
        what: a kind of event.
        ref: a problem.
        since: a day, "2026-11-21".
        until: the last day.
        batch: a batch's mark.
    """

    who: str = ""
    what: str = ""
    ref: str = ""
    since: str = ""
    until: str = ""
    batch: str = ""

    @classmethod
    def read(cls, query: QueryDict) -> LogFilters:
        """Return the filters of a query."""
        return cls(**{f.name: query.get(f.name, "").strip()[:120] for f in fields(cls)})


def logged(asked: LogFilters) -> QuerySet[Event]:
    """Return the filtered entries, the newest first."""
    query = Event.objects.select_related("problem__twin", "actor").order_by("-pk")
    if asked.who == "site":
        query = query.filter(actor=None)
    elif asked.who:
        query = query.filter(actor__in=_person_keys(asked.who))
    for name, value in (("kind", asked.what), ("problem__ref", asked.ref), ("batch", asked.batch)):
        if value:
            query = query.filter(**{name: value})
    if start := _moment_of(asked.since, time.min):
        query = query.filter(at__gte=start)
    if end := _moment_of(asked.until, time.max):
        query = query.filter(at__lte=end)
    return query


def known_as(person: Person | None) -> str:
    """Return the name of a person in the log: a moderator's name, or a pseudonym."""
    if person is None:
        return "site"
    return person.name if person.moderates else pseudonym(person)


def log_rows(asked: LogFilters) -> Iterator[Iterable[str]]:
    """Yield the columns and rows of the log's CSV file; no cell is a formula in a spreadsheet."""
    yield COLUMNS
    for event in logged(asked).iterator(chunk_size=1000):
        row = (
            event.pk,
            event.at.isoformat(timespec="seconds"),
            known_as(event.actor),
            event.kind,
            event.problem.ref,
            event.before,
            event.after,
            event.reason,
            event.batch,
            event.undoes_id or "",
        )
        yield [guard_cell(str(cell)) for cell in row]


def what_is_done(kind: str) -> str:
    """Return a kind of event in words."""
    return str(decisions.ACTIONS[kind].past if kind in decisions.ACTIONS else _PAST.get(kind, kind))


def _person_keys(who: str) -> list[int]:
    """Return the people of a name or pseudonym in the log."""
    named = Person.objects.filter(name=who).first()
    if named is not None and named.moderates:
        return [named.pk]
    person = person_of(who)
    return [person.pk] if person is not None else []


def _moment_of(text: str, when: time) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime.combine(day, when, UTC) if day else None
