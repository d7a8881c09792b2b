"""Who may see a problem, and from when on.

Whether everyone may is `Problem.public`. A problem that was found valid tells its answer, and with
it that of the other half, which judges may hold: so a twin becomes public as a whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from winosmith.web._chunked import chunked
from winosmith.web._lock import writing
from winosmith.web.problems.models import Problem, State, Twin

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from winosmith.web.people.models import Person

__all__ = ["public_problems", "publish_due", "settle", "visible_to", "waits_until"]

OPEN = (State.HELD, State.JUDGING)
"""Where a half stands that its twin waits for; one that is an attention question stalls nothing."""

DECIDED = (State.VALID, State.REJECTED)

CHUNK = 250
"""Twins that are settled in one transaction."""


def public_problems() -> QuerySet[Problem]:
    """Return the problems that everyone may see, with their twins and contributors.

    Pages for everyone, search, counts and exports start here, and from nothing else.
    """
    return Problem.objects.filter(public=True).select_related("twin__contributor")


def visible_to(person: Person | None, problem: Problem) -> bool:
    """Tell whether somebody may read a problem outside of judging.

    Everyone sees what is public, contributors what they wrote, moderators all. A contributor
    never learns that a problem is an attention question.

    Args:
        person: who asks; None for a visitor without a session.
        problem: the problem.
    """
    if problem.public or person is None:
        return bool(problem.public)
    return person.moderates or (
        person.is_active and not problem.gold and problem.twin.contributor_id == person.pk
    )


def settle(twins: Collection[int], new: Collection[int] = ()) -> None:
    """Let what was decided wait for the rest of its twin, and end the waits that are over.

    A wait ends when no half is held or judged any more, or `SiteRules.wait_days` after the first
    decision that stands. What is not among `new` never begins to wait: what everyone could see
    already stays, whatever becomes of the other half.

    The caller is in a transaction and has written what changed: `winosmith.web.problems.states`,
    embargoes and imports do.

    Args:
        twins: the keys of those of which a half changed.
        new: the keys of the problems whose state, or the end of whose embargo, is new.
    """
    if connection.features.has_select_for_update:
        # The last votes on both halves may come at once: the second sees what the first decided.
        rows = Twin.objects.select_for_update(no_key=True).filter(pk__in=twins).order_by("pk")
        list(rows.values_list("pk"))
    halves: dict[int, list[Problem]] = defaultdict(list)
    columns = "twin", "state", "gold", "decided", "waits"
    for half in Problem.objects.filter(twin__in=twins).only(*columns):
        halves[half.twin_id].append(half)
    for waits in (True, False):
        keys = [
            half.pk
            for of in halves.values()
            for half in of
            if half.waits != waits
            and waits == (_stalls(of) and half.state in DECIDED and (half.waits or half.pk in new))
        ]
        if keys:
            # Who has locked a half meanwhile settles the twin, too, or `publish_due` does.
            rows = Problem.objects.select_for_update(skip_locked=True).filter(pk__in=keys)
            Problem.objects.filter(pk__in=list(rows.values_list("pk", flat=True))).update(
                waits=waits
            )


def publish_due() -> int:
    """End the waits that are over; return of how many twins. Each worker does so every hour.

    So what waits becomes public within an hour after `SiteRules.wait_days`, and never before.
    """
    twins = set(_due().values_list("twin", flat=True))
    for some in chunked(twins, CHUNK):
        with writing():
            settle(some)
    return len(twins)


def _due() -> QuerySet[Problem]:
    """Return what waits although its days are over, or nothing of its twin is open any more.

    Said without an order or DISTINCT, for which SQLite would walk all twins instead of what waits.
    """
    other = Problem.objects.filter(twin=OuterRef("twin"), state__in=OPEN, gold=False)
    over = Q(decided__lte=timezone.now() - _patience()) | ~Exists(other)
    return Problem.objects.filter(over, waits=True)


def waits_until(problem: Problem) -> datetime | None:
    """Return when a problem is public at the latest; None if it waits not for its other half alone.

    What was not found valid, or is under embargo, does not become public by waiting.
    """
    if not problem.waits or problem.state != State.VALID or problem.embargo or problem.gold:
        return None
    return _over(Problem.objects.filter(twin=problem.twin_id))


def _stalls(halves: Iterable[Problem]) -> bool:
    """Tell whether what was decided of a twin waits for its other halves."""
    halves, over = list(halves), None
    if any(half.state in OPEN and not half.gold for half in halves):
        over = _over(halves)
    return over is not None and timezone.now() < over


def _over(halves: Iterable[Problem]) -> datetime | None:
    """Return when the patience with a twin ends; None where nothing of it is decided."""
    decided = [half.decided for half in halves if half.decided and half.state in DECIDED]
    return min(decided) + _patience() if decided else None


def _patience() -> timedelta:
    return timedelta(days=settings.RULES.wait_days)
