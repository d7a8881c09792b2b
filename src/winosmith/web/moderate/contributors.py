"""Contributors as moderators know them: a pseudonym, and what became of what they wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from winosmith.web._kept import kept_each
from winosmith.web.people.models import Person
from winosmith.web.people.pseudonyms import pseudonym
from winosmith.web.perturb.models import Version
from winosmith.web.problems.models import Problem, State

__all__ = ["Written", "person_of", "written_by", "written_by_each"]

_NAME = re.compile(r"p-[0-9a-f]{12}")
_known: dict[str, int] = {}
"""People by pseudonym, as far as this process has made them; a hit is made again to be sure."""


@dataclass(frozen=True, slots=True)
class Written:
    """How many problems (halves) of a person stand where; `perturbed` tells how many are so."""

    held: int = 0
    judging: int = 0
    valid: int = 0
    rejected: int = 0
    revised: int = 0
    withdrawn: int = 0
    perturbed: int = 0

    @property
    def problems(self) -> int:
        """All of them."""
        return sum(getattr(self, state) for state in State.values)

    @property
    def open(self) -> int:
        """Those that are not decided yet."""
        return self.held + self.judging


def person_of(name: str) -> Person | None:
    """Return whom a pseudonym stands for; None for nobody.

    Pseudonyms are in no table, so that a stolen one tells nobody who is who. This process keeps
    those that it has made; for one that it does not know, or that an erasure has changed, it makes
    all of them anew: 8 µs for each person.
    """
    if not _NAME.fullmatch(name):
        return None
    if (found := _who(name)) is None:
        _make_all()
        found = _who(name)
    return found


def _who(name: str) -> Person | None:
    person = Person.objects.filter(pk=_known.get(name)).first()
    return person if person is not None and pseudonym(person) == name else None


def _make_all() -> None:
    everybody = Person.objects.only("pk", "salt").iterator(chunk_size=5000)
    _known.update({pseudonym(person): person.pk for person in everybody})


def written_by(person: Person) -> Written:
    """Return what became of what a person wrote."""
    return written_by_each([person])[person.pk]


def written_by_each(people: Sequence[Person]) -> dict[int, Written]:
    """Return what became of what each of these people wrote, by their keys.

    Of those who wrote thousands of problems the figures are kept for a while.
    """
    return kept_each("moderate.written", [person.pk for person in people], _written_now)


def _written_now(people: list[int]) -> dict[int, Written]:
    theirs = Problem.objects.filter(twin__contributor__in=people, gold=False)
    states = theirs.values("twin__contributor", "state").annotate(n=Count("pk")).order_by()
    versions = Version.objects.filter(problem__twin__contributor__in=people, parent__isnull=False)
    perturbed = versions.values("problem__twin__contributor").annotate(n=Count("pk")).order_by()
    found: dict[int, dict[str, int]] = {person: {} for person in people}
    for person, state, n in states.values_list("twin__contributor", "state", "n"):
        found[person][state] = n
    for person, n in perturbed.values_list("problem__twin__contributor", "n"):
        found[person]["perturbed"] = n
    return {person: Written(**counts) for person, counts in found.items()}
