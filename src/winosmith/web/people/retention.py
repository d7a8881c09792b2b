"""Retention: what is older than the site keeps goes."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from winosmith.web._lock import writing
from winosmith.web.people.models import Hits, Invitation, Person, Session
from winosmith.web.people.signals import tidying
from winosmith.web.problems.models import Done, Event, Twin

HITS = timedelta(days=1)
"""How long hits are of use: the last hour reaches into the one before. Never longer than
`SiteRules.retention_days`, whose least is a day."""

CHUNK = 2000
"""Rows deleted in one transaction, so that others write in between."""


def tidy(now: datetime | None = None) -> dict[str, int]:
    """Delete what is no longer needed; return how many rows of each kind.

    Network digests after a day, those of votes after two hours; sessions when they end; and after
    `SiteRules.retention_days` the notes of forms that were sent, links that let people in, how long
    answers took, people without an account who never wrote anything, and what other areas added to
    `signals.tidying`.
    """
    from winosmith.web.judge.trust import forget_origins
    from winosmith.web.judge.votes import forget_timings

    now = now or timezone.now()
    before = now - timedelta(days=settings.RULES.retention_days)
    gone = {
        "hits": _delete(Hits.objects.filter(hour__lt=now - HITS)),
        "sessions": _delete(Session.objects.filter(expire_date__lt=now)),
        "forms": _delete(Done.objects.filter(at__lt=before)),
        "invitations": _delete(Invitation.objects.filter(expires__lt=before)),
        "timings": forget_timings(before),
        "origins": forget_origins(now),
        "people": _delete(_never_wrote(before)),
    }
    with writing():
        for receiver, count in tidying.send(sender=Person, now=now, before=before):
            area = receiver.__module__.split(".")[-2]
            gone[area] = gone.get(area, 0) + int(count or 0)
    return gone


def _delete(query: QuerySet) -> int:
    deleted = 0
    while keys := list(query.values_list("pk", flat=True)[:CHUNK]):
        with writing():
            query.model.objects.filter(pk__in=keys).delete()
        deleted += len(keys)
    return deleted


def _never_wrote(before: datetime) -> QuerySet[Person]:
    """Return people without an account whose session is over and of whom nothing is left."""
    of_them = {"person": OuterRef("pk")}
    return Person.objects.filter(
        ~Exists(Twin.objects.filter(contributor=OuterRef("pk"))),
        ~Exists(Event.objects.filter(actor=OuterRef("pk"))),
        ~Exists(Session.objects.filter(**of_them)),
        anonymous=True,
        erased=None,
        drafts=None,
        joined__lt=before,
    )
