"""The link that lets the first admin in: printed in the terminal, it works once and for a while."""

from __future__ import annotations


def first_admin_path(minutes: int) -> str | None:
    """Return the path of a new link for the first admin; None when there is an admin.

    Earlier links from a terminal that would make an admin stop working: only the newest start of
    the server lets somebody in.
    """
    from django.utils import timezone

    from winosmith.web._lock import writing
    from winosmith.web.people.invitations import invite
    from winosmith.web.people.models import Invitation, Person

    if Person.objects.filter(is_superuser=True, is_active=True).exists():
        return None
    with writing():
        earlier = Invitation.objects.filter(is_superuser=True, made_by=None, person=None, used=None)
        earlier.update(used=timezone.now())
        return invite(["admin"], minutes)
