"""Links that let one person in: a new account with roles, or a new password for an old one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta
from hashlib import sha256
from typing import Literal

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.people.models import Invitation, Person

Role = Literal["contributor", "judge", "moderator", "admin"]

FIELDS: dict[str, tuple[str, ...]] = {
    "contributor": (),
    "judge": ("is_judge",),
    "moderator": ("is_judge", "is_moderator"),
    "admin": ("is_judge", "is_moderator", "is_superuser"),
}
"""What each role brings with it."""


def invite(roles: Iterable[Role], minutes: int, *, by: Person | None = None) -> str:
    """Return the path of a new link that makes one account with these roles.

    Only a digest is stored: whoever reads the database, or a backup, can't use it.

    Raises:
        InputError: `by` may not give one of the roles, or a role is none.
    """
    given: dict[str, bool] = {}
    for role in roles:
        if role not in FIELDS:
            raise InputError(f"{role!r} is no role; the roles are {', '.join(FIELDS)}")
        if by is not None and not may_invite(by, role):
            raise InputError(_("You may not give this role; ask an admin."))
        given |= dict.fromkeys(FIELDS[role], True)
    return _made(minutes, made_by=by, **given)


def reset(person: Person, minutes: int, *, by: Person | None = None) -> str:
    """Return the path of a new link with which somebody sets a new password.

    Raises:
        InputError: there is no such account any more, or `by` is no admin.
    """
    if not person.is_active or person.anonymous:
        raise InputError(_("There is no account with this name."))
    if by is not None and not (by.is_active and by.is_superuser):
        raise InputError(_("Only admins let somebody back in."))
    with writing():
        ways_back(person).update(used=timezone.now())
        return _made(minutes, made_by=by, person=person)


def may_invite(by: Person, role: str) -> bool:
    """Tell whether somebody may give a role: moderators make judges, admins make anybody."""
    return by.is_active and (by.is_superuser or (by.moderates and role in ("contributor", "judge")))


def find(token: str) -> Invitation | None:
    """Return the link of a token while it works; None for every other text."""
    return _open().filter(digest=_digest(token)).select_related("person").first()


def over(token: str) -> Invitation | None:
    """Return the link of a token that works no more; None for a text that never was one.

    A link that was over for long is forgotten, too (`SiteRules.retention_days`).
    """
    return Invitation.objects.filter(digest=_digest(token)).first()


def ways_back(person: Person) -> QuerySet[Invitation]:
    """Return the links that work and set a new password for somebody."""
    return _open().filter(person=person)


def use(invitation: Invitation, person: Person) -> None:
    """Note that a link was used; of many that use it at once, one gets through.

    Raises:
        InputError: it was used, taken back or ran out meanwhile.
    """
    with writing():
        now = timezone.now()
        if not _open().filter(pk=invitation.pk).update(used=now, used_by=person):
            raise InputError(_("This link was used already, or has run out; ask for a new one."))


def take_back(invitation: Invitation) -> None:
    """Let a link work no more."""
    with writing():
        _open().filter(pk=invitation.pk).update(used=timezone.now())


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(used=None, expires__gt=timezone.now())


def _made(minutes: int, **fields: object) -> str:
    token = secrets.token_urlsafe(24)
    with writing():
        Invitation.objects.create(
            digest=_digest(token),
            expires=timezone.now() + timedelta(minutes=minutes),
            **fields,
        )
    return f"/people/join/{token}/"


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
