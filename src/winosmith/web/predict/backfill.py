"""Back-fill: what a model has not seen yet waits for it, in the background, a chunk at a time."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from winosmith.web._lock import writing
from winosmith.web.predict.asking import ask_about
from winosmith.web.predict.models import Model, Prediction
from winosmith.web.problems.models import Problem, State

__all__ = ["CHUNK", "fill", "predictable"]

CHUNK = 500
"""Rows that are added at once: some tens of milliseconds of the one who writes."""

FRESH = timedelta(minutes=10)
"""Of a version that came in while a model was not there yet: somebody may still look for it."""


def predictable() -> QuerySet[Problem]:
    """Return what models predict by themselves: all that is public, and every version.

    A version is predicted whether judges have found it valid or not, for its contributor; never
    what is withdrawn, replaced, or under embargo.
    """
    version = Q(version__isnull=False) & ~Q(state__in=[State.WITHDRAWN, State.REVISED])
    return Problem.objects.filter(Q(public=True) | version, embargo=False, gold=False)


def fill(model: Model) -> int:
    """Let a chunk of what a model has not seen wait for it, the newest first; return how many."""
    seen = Prediction.objects.filter(problem=OuterRef("pk"), model=model)
    found = list(
        predictable()
        .filter(~Exists(seen))
        .order_by("-pk")
        .values_list("pk", "created", "version__pk")[:CHUNK]
    )
    if not found:
        return 0
    since = timezone.now() - FRESH
    fresh = [pk for pk, created, version in found if version and created > since]
    others = [pk for pk, *_ in found if pk not in set(fresh)]
    with writing():
        for problems, urgent in ((fresh, True), (others, False)):
            if problems:
                ask_about(problems, [model.pk], urgent=urgent)
    return len(found)
