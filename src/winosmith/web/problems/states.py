"""The states of a problem: its moves, each in the audit log, and who may see it when.

`Problem.public` says whether everybody may see it. A valid problem reveals its answer, and with it
that of the other half, which may still be judged: so a twin becomes public as a whole, and never
while one of its halves is a gold question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import chunked, writing
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem, State, Twin

MOVES = {
    State.HELD: {State.JUDGING, State.REJECTED, State.WITHDRAWN, State.REVISED},
    State.JUDGING: {State.HELD, State.VALID, State.REJECTED, State.WITHDRAWN, State.REVISED},
    State.VALID: {State.REJECTED, State.WITHDRAWN, State.REVISED, State.JUDGING},
    State.REJECTED: {State.VALID, State.HELD, State.WITHDRAWN, State.REVISED, State.JUDGING},
    State.REVISED: set(State),
    State.WITHDRAWN: set(State),
}
"""The possible states after each state. Withdrawn and revised problems only return by an undo."""

GONE = (State.WITHDRAWN, State.REVISED)


def move(problem: Problem, to: State, *, by: Person | None, kind: str, **columns: Any) -> Event:
    """Move a problem to a state, and log it.

    Args:
        problem: locked and read again first, so that two moves at once can't both start from the
            same state.
        to: the state.
        by: who did it; None for the site.
        kind: of the event ("submit", "verdict", "withdraw", "undo", …).
        columns: others of `Event`: reason, batch, undoes.

    Raises:
        InputError: the problem can't go to that state from its own.
    """
    with writing():
        now = locked(problem.pk)
        before = State(now.state)
        if to not in MOVES[before]:
            raise InputError(f"the problem {now.ref} {before.label}; it can't become {to.value!r}")
        decided = timezone.now() if to in (State.VALID, State.REJECTED) else now.decided
        Problem.objects.filter(pk=now.pk).update(state=to, decided=decided)
        settle([now.twin_id], new=[now.pk])
        problem.became(state=to, decided=decided)
        return now.events.create(actor=by, kind=kind, before=before, after=to, **columns)


def locked(key: int) -> Problem:
    """Return a problem as it is now, with its twin, locked until the transaction ends."""
    rows = Problem.objects.select_related("twin__contributor")
    return rows.select_for_update(of=("self",), no_key=True).get(pk=key)


OPEN = (State.HELD, State.JUDGING)
"""The states of a half that its twin waits for, unless it is a gold question."""

DECIDED = (State.VALID, State.REJECTED)

LATE = "late"
"""The kind of the event that a half became public before the other half, after its waiting time."""

CHUNK = 250
"""Twins that are settled in one transaction."""


def public_problems() -> QuerySet[Problem]:
    """Return the problems that everybody may see, with their twins and contributors.

    All public pages, searches, counts and exports start from this query.
    """
    return Problem.objects.filter(public=True).select_related("twin__contributor")


def questions() -> QuerySet[Problem]:
    """Return the gold questions in use: public problems of their twins would reveal answers.

    Retired, withdrawn and replaced ones are not in use.
    """
    rows = Problem.objects.filter(gold=True, as_gold__retired=False)
    return rows.exclude(state__in=(State.WITHDRAWN, State.REVISED))


def visible_to(person: Person | None, problem: Problem) -> bool:
    """Return whether somebody may read a problem outside of judging.

    Everybody sees public problems, contributors their own, and moderators all. A contributor never
    learns that a problem is a gold question.

    Args:
        person: None for a visitor without a session.
        problem: any problem.
    """
    if problem.public or person is None:
        return bool(problem.public)
    return person.moderates or (
        person.is_active and not problem.gold and problem.twin.contributor_id == person.pk
    )


def settle(twins: Collection[int], new: Collection[int] = ()) -> None:
    """Let decided halves wait for the rest of their twin, and end the waits that are over.

    A wait ends when no half is on hold or judged, or `SiteRules.wait_days` after the first
    decision, which then is logged; next to one of `questions` it does not end. Only problems in
    `new` start to wait: a public problem stays public, whatever happens to the other half.

    The caller is in a transaction and has written the change: `winosmith.web.problems.states`,
    embargoes and imports do.

    Args:
        twins: the keys of the twins of which a half changed.
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
    gold = {key for key, of in halves.items() if any(half.gold for half in of)}
    asked = set(questions().filter(twin__in=gold).values_list("twin", flat=True)) if gold else gold
    for waits in (True, False):
        found = [
            half.pk
            for twin, of in halves.items()
            for half in of
            if half.waits != waits
            and waits
            == (
                ((twin in asked and not half.gold) or _still_waits(of))
                and half.state in DECIDED
                and (half.waits or half.pk in new)
            )
        ]
        if found:
            # Who has locked a half in the meantime settles the twin, too, or `publish_due` does.
            rows = Problem.objects.select_for_update(skip_locked=True).filter(pk__in=found)
            keys = list(rows.values_list("pk", flat=True))
            Problem.objects.filter(pk__in=keys).update(waits=waits)
            if not waits:
                _note_late(keys, halves.values())


def _note_late(keys: Collection[int], twins: Iterable[list[Problem]]) -> None:
    """Log which problems became public although another half of theirs is open."""
    late = [half.pk for of in twins if any(map(_is_open, of)) for half in of if half.pk in keys]
    rows = public_problems().filter(pk__in=late).order_by("pk") if late else ()
    reason = _("its other half was not decided within %d days") % settings.RULES.wait_days
    Event.objects.bulk_create(row.unsaved_note(LATE, reason=reason) for row in rows)


def publish_due() -> int:
    """End the waits that are over; return the number of twins. The worker calls it every hour.

    So a waiting problem becomes public within an hour after `SiteRules.wait_days`, and never
    before.
    """
    twins = set(_due().values_list("twin", flat=True))
    for some in chunked(twins, CHUNK):
        with writing():
            settle(some)
    return len(twins)


def _due() -> QuerySet[Problem]:
    """Return the problems whose waiting time is over, or whose twin has no open half.

    Without an order or DISTINCT, for which SQLite would walk all twins instead of the waiting ones.
    """
    other = Problem.objects.filter(twin=OuterRef("twin"), state__in=OPEN, gold=False)
    over = Q(decided__lte=timezone.now() - _patience()) | ~Exists(other)
    asked = questions().filter(twin=OuterRef("twin"))
    return Problem.objects.filter(over, ~Exists(asked), waits=True)


def waits_until(problem: Problem) -> datetime | None:
    """Return when a problem is public at the latest; None unless it only waits for its twin.

    A problem that is not valid, or is under embargo, does not become public by waiting; nor does
    one that would reveal the answer of a gold question.
    """
    if not problem.waits or problem.state != State.VALID or problem.embargo or problem.gold:
        return None
    if questions().filter(twin=problem.twin_id).exists():
        return None
    return _wait_end(Problem.objects.filter(twin=problem.twin_id))


def _still_waits(halves: Iterable[Problem]) -> bool:
    """Return whether the decided halves of a twin wait for the other halves."""
    halves, over = list(halves), None
    if any(map(_is_open, halves)):
        over = _wait_end(halves)
    return over is not None and timezone.now() < over


def _is_open(half: Problem) -> bool:
    return half.state in OPEN and not half.gold


def _wait_end(halves: Iterable[Problem]) -> datetime | None:
    """Return when the waiting time of a twin ends; None if no half is decided."""
    decided = [half.decided for half in halves if half.decided and half.state in DECIDED]
    return min(decided) + _patience() if decided else None


def _patience() -> timedelta:
    return timedelta(days=settings.RULES.wait_days)
