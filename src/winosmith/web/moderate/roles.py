"""Who may do what on the site: moderators make judges and pause them, admins make moderators."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge import exclusion
from winosmith.web.moderate.deciding import LONGEST
from winosmith.web.moderate.models import Appointment
from winosmith.web.moderate.votes import is_paused, judged_by
from winosmith.web.people.models import Person

__all__ = ["SECONDS", "appoint", "carry_out", "may_appoint", "possible", "unfinished"]

Kind = Appointment.Kind

SECONDS = 5.0
"""How long one request works on somebody's votes."""


def may_appoint(person: Person, other: Person) -> bool:
    """Return whether a person may change what another one may do.

    Moderators change judges, never admins nor themselves; nobody has a role without an account.
    """
    apart = other.pk != person.pk and other.is_active and not other.anonymous
    return person.moderates and apart and not other.is_superuser


def possible(person: Person, other: Person) -> list[Any]:
    """Return what the person can change about another one now."""
    if not may_appoint(person, other):
        return []
    kinds: list[Any] = [Kind.NO_JUDGE if other.is_judge else Kind.JUDGE]
    kinds.append(Kind.RESUME if is_paused(other) else Kind.PAUSE)
    judged = judged_by(other)
    kinds += [Kind.EXCLUDE] * (judged.answers > judged.excluded)
    kinds += [Kind.INCLUDE] * (judged.excluded > 0)
    if person.is_superuser:
        kinds.append(Kind.NO_MODERATOR if other.is_moderator else Kind.MODERATOR)
    return kinds


def appoint(person: Person, other: Person, kind: str, reason: str) -> Appointment:
    """Change what somebody may do, and write down who did so and why.

    Args:
        person: a moderator; for making moderators, an admin.
        other: read again first.
        kind: one of `Appointment.Kind`.
        reason: 1 to LONGEST characters.

    Returns:
        What was written down; `carry_out` does what takes longer than a moment.

    Raises:
        InputError: the person may not, or it is so already.
    """
    reason = reason.strip()
    if not 1 <= len(reason) <= LONGEST:
        raise InputError(_("Give a reason of 1 to %d characters.") % LONGEST)
    with writing():
        now = Person.objects.select_for_update().get(pk=other.pk)
        if kind not in possible(person, now):
            raise InputError(_("You can't do that to this person, or somebody else just did."))
        _change(person, now, Kind(kind))
        return Appointment.objects.create(person=now, actor=person, kind=kind, reason=reason)


def carry_out(appointment: Appointment, *, seconds: float = SECONDS) -> None:
    """Take somebody's votes out of the count, or count them again, until the time is over.

    Each problem is a transaction of its own; call it again for the rest (`unfinished`). Problems
    that lack votes then are judged on. Nothing else of an appointment is left to do, and nothing at
    all of one that a later one overrules.
    """
    change = {Kind.EXCLUDE: exclusion.exclude_votes, Kind.INCLUDE: exclusion.include_votes}
    if appointment == _last_of_votes(appointment.person) and appointment.actor:
        change[Kind(appointment.kind)](
            appointment.person,
            appointment.actor,
            appointment.reason,
            until=appointment.at,
            seconds=seconds,
        )


def unfinished(other: Person) -> tuple[Appointment, int] | None:
    """Return what was decided about somebody's votes and is not carried out yet, and on how many.

    None where nothing is left to do.
    """
    last = _last_of_votes(other)
    if last is None or last.actor is None:
        return None
    excluded = last.kind == Kind.EXCLUDE
    left = exclusion.votes_to_change(other, last.at, excluded=excluded).count()
    return (last, left) if left else None


def _last_of_votes(other: Person) -> Appointment | None:
    rows = Appointment.objects.filter(person=other, kind__in=(Kind.EXCLUDE, Kind.INCLUDE))
    return rows.select_related("person", "actor").order_by("-pk").first()


def _change(person: Person, other: Person, kind: Appointment.Kind) -> None:
    if kind in (Kind.JUDGE, Kind.NO_JUDGE):
        Person.objects.filter(pk=other.pk).update(is_judge=kind == Kind.JUDGE)
    elif kind in (Kind.MODERATOR, Kind.NO_MODERATOR):
        Person.objects.filter(pk=other.pk).update(is_moderator=kind == Kind.MODERATOR)
    elif kind == Kind.PAUSE:
        exclusion.pause(other, person)
    elif kind == Kind.RESUME:
        exclusion.resume(other, person)
