"""Where a problem stands: its moves, each of them in the audit log; who may see it, and when.

Whether everyone may is `Problem.public`. A problem that was found valid tells its answer, and with
it that of the other half, which judges may hold: so a twin becomes public as a whole, and never
while one of its halves is asked as an attention question.
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
"""From where a problem may go where. What was withdrawn or revised comes back by an undo alone."""

GONE = (State.WITHDRAWN, State.REVISED)


def move(problem: Problem, to: State, *, by: Person | None, kind: str, **columns: Any) -> Event:
    """Move a problem to a state and write down that it was.

    Args:
        problem: locked and read again first, so that two moves at once can't both start from
            the same state.
        to: the state.
        by: who did it; None for the site itself.
        kind: what was done, in a word ("submit", "verdict", "withdraw", "undo", …).
        columns: others of `Event`: reason, batch, undoes.

    Raises:
        InputError: the problem is not in a state from which it can go there.
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
"""Where a half stands that its twin waits for, unless it is an attention question."""

DECIDED = (State.VALID, State.REJECTED)

LATE = "late"
"""The kind of the event that a half became public ahead of the other, after its days."""

CHUNK = 250
"""Twins that are settled in one transaction."""


def public_problems() -> QuerySet[Problem]:
    """Return the problems that everyone may see, with their twins and contributors.

    Pages for everyone, search, counts and exports start here, and from nothing else.
    """
    return Problem.objects.filter(public=True).select_related("twin__contributor")


def questions() -> QuerySet[Problem]:
    """Return the attention questions that are asked: what is public of their twins tells answers.

    One that was retired, withdrawn or replaced is asked no more.
    """
    rows = Problem.objects.filter(gold=True, as_gold__retired=False)
    return rows.exclude(state__in=(State.WITHDRAWN, State.REVISED))


def visible_to(person: Person | None, problem: Problem) -> bool:
    """Return whether somebody may read a problem outside of judging.

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
    decision that stands, which then is written down; next to one of `questions` it does not end.
    What is not among `new` never begins to wait: what everyone could see already stays, whatever
    becomes of the other half.

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
                ((twin in asked and not half.gold) or _stalls(of))
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
    """Write down which problems became public although another half of theirs is open."""
    late = [half.pk for of in twins if any(map(_is_open, of)) for half in of if half.pk in keys]
    rows = public_problems().filter(pk__in=late).order_by("pk") if late else ()
    reason = _("its other half was not decided within %d days") % settings.RULES.wait_days
    Event.objects.bulk_create(row.unsaved_note(LATE, reason=reason) for row in rows)


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
    asked = questions().filter(twin=OuterRef("twin"))
    return Problem.objects.filter(over, ~Exists(asked), waits=True)


def waits_until(problem: Problem) -> datetime | None:
    """Return when a problem is public at the latest; None if it waits not for its other half alone.

    What was not found valid, or is under embargo, does not become public by waiting; nor what tells
    the answer of an attention question.
    """
    if not problem.waits or problem.state != State.VALID or problem.embargo or problem.gold:
        return None
    if questions().filter(twin=problem.twin_id).exists():
        return None
    return _over(Problem.objects.filter(twin=problem.twin_id))


def _stalls(halves: Iterable[Problem]) -> bool:
    """Return whether what was decided of a twin waits for its other halves."""
    halves, over = list(halves), None
    if any(map(_is_open, halves)):
        over = _over(halves)
    return over is not None and timezone.now() < over


def _is_open(half: Problem) -> bool:
    return half.state in OPEN and not half.gold


def _over(halves: Iterable[Problem]) -> datetime | None:
    """Return when the patience with a twin ends; None if nothing of it is decided."""
    decided = [half.decided for half in halves if half.decided and half.state in DECIDED]
    return min(decided) + _patience() if decided else None


def _patience() -> timedelta:
    return timedelta(days=settings.RULES.wait_days)
