"""Who reads a public half whose other half is still being judged won't be asked about that one."""

from __future__ import annotations

from collections.abc import Iterable

from winosmith.web._lock import writing
from winosmith.web.judge.seen import has_seen, lock_reader, note_seen
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State

__all__ = ["note_read"]


def note_read(person: Person | None, shown: Iterable[Problem]) -> None:
    """Write down what somebody with an account reads of twins that still have a half to judge.

    Anonymous people never judge, so nothing is kept about them.
    """
    if person is None or person.anonymous:
        return
    halves = {half.twin_id: half for half in shown}
    # Asked for the states as well, SQLite would walk everything that is being judged.
    states = Problem.objects.filter(twin__in=halves).values_list("twin", "state")
    for twin in {twin for twin, state in states if state in (State.JUDGING, State.HELD)}:
        if not has_seen(person, halves[twin]):
            with writing():
                lock_reader(person)
                note_seen(person, halves[twin])
