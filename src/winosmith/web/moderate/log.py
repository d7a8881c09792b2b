"""The audit log: what was done to problems and to roles, by whom, when and why."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time, timedelta

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _

from winosmith.outputs import guarded
from winosmith.web.moderate.decisions import ACTIONS, UNDO
from winosmith.web.moderate.people import person_of
from winosmith.web.people.models import Person, pseudonym
from winosmith.web.problems.models import Event
from winosmith.web.problems.states import LATE

COLUMNS = ("event", "at", "who", "what", "problem", "before", "after", "reason", "batch", "undoes")

_PAST = {
    UNDO: _("undone"),
    "submit": _("submitted"),
    "verdict": _("judged"),
    "recount": _("judged again"),
    "appeal": _("appealed"),
    "revise": _("revised"),
    "publish": _("published after its human test"),
    LATE: _("published ahead of the other half"),
    "exclude-vote": _("a vote taken out of the count"),
    "include-vote": _("a vote counted again"),
    "cover": _("covered by the embargo of what it was made of"),
    "uncover": _("no longer covered by an embargo"),
}
"""What others than moderators did, in words."""


@dataclass(frozen=True, slots=True)
class LogFilters:
    """Which entries somebody asks for; empty texts ask for nothing in particular.

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
        """Return what the query asks for."""
        return cls(**{f.name: query.get(f.name, "").strip()[:120] for f in fields(cls)})


def logged(asked: LogFilters) -> QuerySet[Event]:
    """Return the entries asked for, the newest first."""
    query = Event.objects.select_related("problem__twin", "actor").order_by("-pk")
    if asked.who == "site":
        query = query.filter(actor=None)
    elif asked.who:
        query = query.filter(actor__in=_people(asked.who))
    for name, value in (("kind", asked.what), ("problem__ref", asked.ref), ("batch", asked.batch)):
        if value:
            query = query.filter(**{name: value})
    if start := _midnight(asked.since):
        query = query.filter(at__gte=start)
    if end := _midnight(asked.until):
        query = query.filter(at__lt=end + timedelta(days=1))
    return query


def known_as(person: Person | None) -> str:
    """Return how the log names somebody: moderators by name, all others by pseudonym."""
    if person is None:
        return "site"
    return person.name if person.moderates else pseudonym(person)


def lines(asked: LogFilters) -> Iterator[str]:
    """Yield the log as CSV, line by line; no cell is a formula to a spreadsheet."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
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
        yield writer.writerow([guarded(str(cell)) for cell in row])


def what_is_done(kind: str) -> str:
    """Return the words for a kind of event."""
    return str(ACTIONS[kind].past if kind in ACTIONS else _PAST.get(kind, kind))


def _people(who: str) -> list[int]:
    """Return whom a name or a pseudonym in the log means."""
    named = Person.objects.filter(name=who).first()
    if named is not None and named.moderates:
        return [named.pk]
    person = person_of(who)
    return [person.pk] if person is not None else []


def _midnight(text: str) -> datetime | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return datetime.combine(day, time(), UTC) if day else None


class _Echo:
    """A file that hands every line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line
