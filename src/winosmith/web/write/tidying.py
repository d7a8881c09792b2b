"""What becomes of drafts when the site tidies up, and when somebody is erased."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from winosmith.web.write.models import Draft

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["drop_drafts", "drop_old_drafts"]


def drop_old_drafts(sender: object, *, before: datetime, **_: Any) -> int:
    """Delete the drafts that were last saved before the site's retention began."""
    deleted, _rows = Draft.objects.filter(saved__lt=before).delete()
    return deleted


def drop_drafts(sender: object, *, person: Person, **_: Any) -> int:
    """Delete all drafts of somebody who is erased."""
    deleted, _rows = Draft.objects.filter(person=person).delete()
    return deleted
