"""Problems and events as the moderators' pages show them, with where two halves differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from winosmith.lineage import Change, differing
from winosmith.web.moderate.deciding import last_event, may_decide
from winosmith.web.moderate.log import known_as, what_is_done
from winosmith.web.moderate.models import Appeal
from winosmith.web.people.models import pseudonym
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.states import waits_until

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


@dataclass(frozen=True, slots=True)
class Row:
    """A problem in a list.

    Attributes:
        seen: the key of its newest event, 0 for none: what the reader of the page has seen.
        contributor: a pseudonym; "" where nobody of the site wrote it.
        own: the reader wrote it, so others decide.
        appeal: the text of an open appeal.
        root: the id of its family's root; "" for what was not perturbed.
        until: when it is public at the latest, where it waits for the other half of its twin.
    """

    problem: Problem
    pieces: list[Change]
    options: list[tuple[str, bool]]
    seen: int
    contributor: str
    own: bool
    appeal: str
    root: str = ""
    until: datetime | None = None

    @property
    def pick(self) -> str:
        """The value of its box."""
        return f"{self.problem.ref}:{self.seen}"


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in a problem's history."""

    event: Event
    who: str
    what: str


def rows(reader: Person, problems: Sequence[Problem], other: str = "") -> list[Row]:
    """Return problems as rows; where another half's sentence is given, differences are marked."""
    seen = last_event(problems)
    appeals = dict(
        Appeal.objects.filter(problem__in=[p.pk for p in problems], answer=None).values_list(
            "problem", "text"
        )
    )
    perturbed = Version.objects.filter(problem__in=[p.pk for p in problems], parent__isnull=False)
    roots = dict(perturbed.values_list("problem", "root__ref"))
    return [
        Row(
            problem,
            differing(problem.sentence, other or problem.sentence),
            [(option, number == problem.answer) for number, option in enumerate(problem.options)],
            seen.get(problem.pk, 0),
            pseudonym(problem.twin.contributor) if problem.twin.contributor else "",
            not may_decide(reader, problem),
            appeals.get(problem.pk, ""),
            roots.get(problem.pk, ""),
            waits_until(problem),
        )
        for problem in problems
    ]


def entry(event: Event) -> Entry:
    """Return an event as the history shows it; judges' verdicts are the site's."""
    who = _("the site") if event.actor is None else known_as(event.actor)
    if event.actor_id is not None and event.actor_id == event.problem.twin.contributor_id:
        who = _("the contributor")
    return Entry(event, who, what_is_done(event.kind))
