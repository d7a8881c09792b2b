"""What becomes of a worker's part in a study when they are erased."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from winosmith.web.judge.confirming import refuse
from winosmith.web.judge.models import Slot
from winosmith.web.market.models import LEFT, WAITING, WORKING, Identity, Participation, Screen
from winosmith.web.market.working import end

if TYPE_CHECKING:
    from winosmith.web.people.models import Person

__all__ = ["forget_ids", "forget_worker"]


def forget_worker(sender: object, *, person: Person, **_: Any) -> None:
    """Delete the market's ids of an erased person; what they were paid stays, by no name.

    Votes that the market has not confirmed can't be confirmed any more: they don't count, and
    others judge these problems. A worker whose id was screened is no longer on the list.
    """
    part = Participation.objects.select_related("study", "person").filter(person=person).first()
    if part is None:
        return
    if part.state == WORKING:
        end(part, LEFT)
    if Slot.objects.filter(job=part.pk, provisional=True, excluded=False).exists():
        refuse(part.pk, "the worker was erased before the market confirmed them")
    ids = Identity.objects.filter(participation=part)
    Screen.objects.filter(digest__in=ids.values("digest")).delete()
    ids.delete()
    Participation.objects.filter(pk=part.pk).update(browser="")


def forget_ids(sender: object, *, before: datetime, **_: Any) -> int:
    """Forget the ids of those whose work ended, and was settled, before the site's retention began.

    Their digests stay, so that a worker never reads a problem twice.
    """
    settled = Identity.objects.filter(participation__ended__lt=before)
    settled = settled.exclude(participation__verdict=WAITING).exclude(sealed="")
    return settled.update(sealed="")
