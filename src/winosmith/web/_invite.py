"""Links that make accounts: printed in a terminal, they work once and for a while."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

__all__ = ["Role", "first_admin_path", "invite_path"]

Role = Literal["contributor", "judge", "moderator", "admin"]


def first_admin_path(minutes: int) -> str | None:
    """Return the path of a new link for the first admin; None when there is an admin.

    Earlier links of this kind stop working: only the newest start of the server lets somebody in.
    """
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.people.models import Invitation, Person

    if Person.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    with writing():
        Invitation.objects.filter(is_superuser=True, made_by=None, used=None).update(
            used=timezone.now()
        )
        return invite_path("admin", minutes)


def invite_path(role: Role, minutes: int) -> str:
    """Return the path of a new link that makes one account with this role."""
    import secrets
    from hashlib import sha256

    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.people.models import Invitation

    token = secrets.token_urlsafe(24)
    with writing():
        Invitation.objects.create(
            digest=sha256(token.encode()).hexdigest(),
            is_judge=role in ("judge", "moderator", "admin"),
            is_moderator=role in ("moderator", "admin"),
            is_superuser=role == "admin",
            expires=timezone.now() + timedelta(minutes=minutes),
        )
    return f"/people/join/{token}/"
