"""Who may do what on the site: moderators make judges and pause them, admins make moderators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge import exclusion
from winosmith.web.judge.models import Judge
from winosmith.web.moderate.deciding import LONGEST
from winosmith.web.moderate.models import Appointment
from winosmith.web.moderate.votes import judged_by
from winosmith.web.people.models import Person

__all__ = ["SECONDS", "appoint", "carry_out", "may_appoint", "possible", "together", "unfinished"]

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
    judged = judged_by(other)
    kinds.append(Kind.PAUSE if judged.held is None else Kind.RESUME)
    kinds += [Kind.DISCARD] * (judged.held is not None and judged.waiting > 0)
    kinds += [Kind.EXCLUDE] * (judged.answers > judged.excluded)
    kinds += [Kind.INCLUDE] * (judged.excluded > 0)
    if person.is_superuser:
        kinds.append(Kind.NO_MODERATOR if other.is_moderator else Kind.MODERATOR)
    return kinds


def together(other: Person) -> list[Person]:
    """Return who else is held by the same mark: accounts of one address, by their keys."""
    own = Judge.objects.filter(person=other, held__isnull=False).exclude(together="").first()
    if own is None:
        return []
    rows = Person.objects.filter(judging__together=own.together, judging__held__isnull=False)
    return list(rows.exclude(pk=other.pk).order_by("pk"))


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
    """Change somebody's votes as it was decided, until the time is over.

    Each problem is a transaction of its own; call it again for the rest (`unfinished`). Problems
    that lack votes then are judged on. Nothing else of an appointment is left to do, and nothing at
    all of one that a later one overrules.
    """
    kind = Kind(appointment.kind)
    kinds = next((kinds for kinds in (_COUNTED, _WAITING) if kind in kinds), None)
    if kind in _CHANGES and kinds and appointment == _last(appointment.person, kinds):
        _CHANGES[kind][1](
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
    for kinds in (_COUNTED, _WAITING):
        last = _last(other, kinds)
        if last is not None and last.actor is not None and last.kind in _CHANGES:
            name = _CHANGES[Kind(last.kind)][0]
            left = exclusion.votes_to_change(other, last.at, name).count()
            if left:
                return last, left
    return None


_CHANGES: dict[Any, tuple[str, Any]] = {
    Kind.EXCLUDE: ("exclude", exclusion.exclude_votes),
    Kind.INCLUDE: ("include", exclusion.include_votes),
    Kind.RESUME: ("confirm", exclusion.confirm_votes),
    Kind.DISCARD: ("discard", exclusion.discard_votes),
}
"""What changes votes, and how."""

_COUNTED = (Kind.EXCLUDE, Kind.INCLUDE)
_WAITING = (Kind.PAUSE, Kind.RESUME, Kind.DISCARD)
"""Of each of these kinds the last one holds: the first are about all votes, the others about those
that wait."""


def _last(other: Person, kinds: Sequence[Any]) -> Appointment | None:
    rows = Appointment.objects.filter(person=other, kind__in=kinds)
    return rows.select_related("person", "actor").order_by("-pk").first()


def _change(person: Person, other: Person, kind: Appointment.Kind) -> None:
    if kind in (Kind.JUDGE, Kind.NO_JUDGE):
        Person.objects.filter(pk=other.pk).update(is_judge=kind == Kind.JUDGE)
    elif kind in (Kind.MODERATOR, Kind.NO_MODERATOR):
        Person.objects.filter(pk=other.pk).update(is_moderator=kind == Kind.MODERATOR)
    elif kind in (Kind.PAUSE, Kind.DISCARD):
        exclusion.pause(other, person)
    elif kind == Kind.RESUME:
        exclusion.resume(other, person)
