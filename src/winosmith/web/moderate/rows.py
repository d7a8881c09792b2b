"""Problems and events as the moderators' pages show them, with where two halves differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext as _

from winosmith.web.moderate.deciding import last_event, may_decide
from winosmith.web.moderate.log import known_as, what_is_done
from winosmith.web.moderate.models import Appeal
from winosmith.web.people.models import pseudonym
from winosmith.web.problems.models import Event, Problem, Version
from winosmith.web.problems.public import waits_until

if TYPE_CHECKING:
    from winosmith.web.people.models import Person


class Piece(NamedTuple):
    """A run of a sentence.

    Attributes:
        text: as it stands; "_" for the blank.
        differs: the other half has something else here, or nothing.
    """

    text: str
    differs: bool = False

    @property
    def blank(self) -> bool:
        """Whether it is the blank."""
        return self.text == "_"


def pieces(sentence: str, other: str = "") -> list[Piece]:
    """Return a sentence in runs; without another one, nothing differs.

    >>> [(p.text, p.differs) for p in pieces("The _ is big.", "The _ is small.")]
    [('The ', False), ('_', False), (' is ', False), ('big.', True)]
    """
    mine, theirs = sentence.split(" "), (other or sentence).split(" ")
    runs: list[Piece] = []
    for op, start, end, *_rest in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        for word in mine[start:end]:
            _add(runs, word, op != "equal")
            _add(runs, " ", differs=False)
    return runs[:-1] if len(runs) > 1 and runs[-1].text == " " else _trimmed(runs)


def _add(runs: list[Piece], word: str, differs: bool) -> None:
    """Append a word, its blank apart, joined to the run before where that is of its kind."""
    before, blank, after = word.partition("_")
    for text in (before, blank, after):
        if not text:
            continue
        last = runs[-1] if runs else None
        if last and not last.blank and text != "_" and last.differs == differs:
            runs[-1] = Piece(last.text + text, differs)
        else:
            runs.append(Piece(text, differs))


def _trimmed(runs: list[Piece]) -> list[Piece]:
    """Return the runs without the space that was added after the last word."""
    return [*runs[:-1], runs[-1]._replace(text=runs[-1].text.removesuffix(" "))] if runs else []


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
    pieces: list[Piece]
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
            pieces(problem.sentence, other),
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
