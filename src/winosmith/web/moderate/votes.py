"""What moderators need of judging: close votes, what came since, a judge's record, pauses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from winosmith.web.moderate.models import Appointment
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem

__all__ = [
    "Judged",
    "answered_since",
    "close",
    "is_paused",
    "judged_by",
    "pause",
    "paused_people",
    "resume",
]


@dataclass(frozen=True, slots=True)
class Judged:
    """How somebody judges."""

    answers: int = 0
    agreement: int | None = None
    gold: int = 0
    gold_right: int = 0


def answered_since(problem: int, at: datetime) -> bool:
    return False


def close(query: QuerySet[Problem]) -> QuerySet[Problem]:
    return query


def judged_by(person: Person) -> Judged:
    return Judged()


def is_paused(person: Person) -> bool:
    last = person.appointments.filter(kind__in=["pause", "resume"]).order_by("-pk").first()
    return last is not None and last.kind == "pause"


def paused_people() -> QuerySet:
    last = (
        Appointment.objects.filter(person=OuterRef("pk"), kind__in=["pause", "resume"])
        .order_by("-pk")
        .values("kind")[:1]
    )
    return Person.objects.alias(last=Subquery(last)).filter(last="pause").values("pk")


def pause(person, *, by, reason):
    pass


def resume(person, *, by, reason):
    pass
