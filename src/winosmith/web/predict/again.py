"""Another try for what a model was late with or failed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.predict.asking import wake
from winosmith.web.predict.models import Model, Stand

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["retry", "retry_by"]


def retry_by(person: Person, model: Model) -> int:
    """Let a model try again, for a moderator; return how many predictions wait for it then.

    Raises:
        InputError: the person moderates nothing.
    """
    if not person.moderates:
        raise InputError(_("Only moderators let a model try again."))
    return retry(model)


def retry(model: Model) -> int:
    """Let what a model was late with or failed over wait for it again; return how many."""
    with writing():
        transaction.on_commit(wake)
        return model.predictions.filter(stand__in=[Stand.LATE, Stand.FAILED]).update(
            stand=Stand.WAITING,
            urgent=False,
            tries=0,
            error="",
            leased_until=None,
            answered_at=None,
            seconds=None,
            asked_at=timezone.now(),
        )
