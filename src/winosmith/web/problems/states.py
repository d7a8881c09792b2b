"""The states of a problem, their logged transitions, and who may see a problem.

`Problem.public` states whether everybody may see a problem. A valid problem reveals its answer and
also that of its other half, which may still be judged. Therefore, a twin becomes public as a whole,
and never while one of its halves is a gold question.
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
"""The possible next states of each state. Only an undo restores withdrawn and revised problems."""

REMOVED_STATES = (State.WITHDRAWN, State.REVISED)


def move(
    problem: Problem, state: State, *, actor: Person | None, kind: str, **columns: Any
) -> Event:
    """Move a problem to another state, and log the event; `actor` is None for the site itself.

    The problem is locked and read again first, so that concurrent moves can't both start from the
    same state. `columns` are other fields of `Event`: reason, batch, undoes.
    """
    with writing():
        now = lock_problem(problem.pk)
        before = State(now.state)
        if state not in MOVES[before]:
            raise InputError(
                f"the problem {now.ref} can't become {state.value!r}: its state is {before.value!r}"
            )
        decided = timezone.now() if state in (State.VALID, State.REJECTED) else now.decided
        Problem.objects.filter(pk=now.pk).update(state=state, decided=decided)
        update_waits([now.twin_id], newly_decided=[now.pk])
        problem.sync_fields(state=state, decided=decided)
        return now.events.create(actor=actor, kind=kind, before=before, after=state, **columns)


def lock_problem(problem_id: int) -> Problem:
    rows = Problem.objects.select_related("twin__contributor")
    return rows.select_for_update(of=("self",), no_key=True).get(pk=problem_id)


OPEN = (State.HELD, State.JUDGING)
"""States of an undecided half. The other half waits for it, unless it is a gold question."""

DECIDED = (State.VALID, State.REJECTED)

LATE = "late"
"""Event kind for a half that became public although its other half is undecided."""

CHUNK = 250
"""Number of twins settled per transaction."""


def get_public_problems() -> QuerySet[Problem]:
    """Return the problems that everybody may see, with their twins and contributors.

    All public pages, searches, counts and exports start from this query.
    """
    return Problem.objects.filter(public=True).select_related("twin__contributor")


def get_gold_questions() -> QuerySet[Problem]:
    """Return the gold questions in use; their other halves must stay private to hide the answers.

    Retired, withdrawn and revised gold questions are not in use.
    """
    rows = Problem.objects.filter(gold=True, as_gold__retired=False)
    return rows.exclude(state__in=(State.WITHDRAWN, State.REVISED))


def is_visible_to(person: Person | None, problem: Problem) -> bool:
    """Return whether a person, or a visitor (None), may read a problem outside of judging.

    Everybody sees public problems, contributors see their own, and moderators see all. Contributors
    never learn that a problem is a gold question.
    """
    if problem.public or person is None:
        return bool(problem.public)
    return person.can_moderate or (
        person.is_active and not problem.gold and problem.twin.contributor_id == person.pk
    )


def update_waits(twins: Collection[int], newly_decided: Collection[int] = ()) -> None:
    """Make decided halves wait for their other halves, and end the waits that are over.

    A wait ends when no half is on hold or being judged. A wait also ends `SiteRules.wait_days` days
    after the first decision, and this end is logged. A wait never ends while a half is one of
    `get_gold_questions`. Only the problems in `newly_decided`, which have a new state or whose
    embargo has just ended, start to wait: a public problem stays public. The caller must have
    written the change to these `twins` in the same transaction.
    """
    if connection.features.has_select_for_update:
        # Both halves may get their last votes concurrently: the lock lets the second see the first.
        rows = Twin.objects.select_for_update(no_key=True).filter(pk__in=twins).order_by("pk")
        list(rows.values_list("pk"))
    halves: dict[int, list[Problem]] = defaultdict(list)
    columns = "twin", "state", "gold", "decided", "waits"
    for half in Problem.objects.filter(twin__in=twins).only(*columns):
        halves[half.twin_id].append(half)
    gold = {key for key, both in halves.items() if any(half.gold for half in both)}
    questions = get_gold_questions().filter(twin__in=gold) if gold else Problem.objects.none()
    in_use = set(questions.values_list("twin", flat=True))
    changed: dict[bool, list[int]] = {True: [], False: []}
    for twin, both in halves.items():
        end = _compute_wait_end(both) if any(map(_is_undecided, both)) else None
        is_early = end is not None and timezone.now() < end
        for half in both:
            is_hidden = is_early or (twin in in_use and not half.gold)
            may_wait = half.state in DECIDED and (half.waits or half.pk in newly_decided)
            if half.waits != (is_hidden and may_wait):
                changed[not half.waits].append(half.pk)
    for waits, found in changed.items():
        if found:
            # Another transaction, or `publish_due_halves`, settles the halves that it has locked.
            rows = Problem.objects.select_for_update(skip_locked=True).filter(pk__in=found)
            keys = list(rows.values_list("pk", flat=True))
            Problem.objects.filter(pk__in=keys).update(waits=waits)
            if not waits:
                _log_late_halves(keys, halves.values())


def _log_late_halves(keys: Collection[int], twins: Iterable[list[Problem]]) -> None:
    late = [
        half.pk
        for both in twins
        if any(map(_is_undecided, both))
        for half in both
        if half.pk in keys
    ]
    rows = get_public_problems().filter(pk__in=late).order_by("pk")
    reason = _("its other half was not decided within %d days") % settings.RULES.wait_days
    Event.objects.bulk_create(row.make_event(LATE, reason=reason) for row in rows)


def publish_due_halves() -> int:
    """Publish the halves that have waited long enough; return how many twins they belong to.

    The worker calls this function every hour, so a problem becomes public within an hour after
    `SiteRules.wait_days`, and never earlier.
    """
    twins = set(_get_due_problems().values_list("twin", flat=True))
    for chunk in chunked(twins, CHUNK):
        with writing():
            update_waits(chunk)
    return len(twins)


def _get_due_problems() -> QuerySet[Problem]:
    """Return the problems whose waiting time is over, or whose twin has no undecided half.

    The query has neither ORDER BY nor DISTINCT, because SQLite would then scan all twins.
    """
    other = Problem.objects.filter(twin=OuterRef("twin"), state__in=OPEN, gold=False)
    over = Q(decided__lte=timezone.now() - _get_waiting_time()) | ~Exists(other)
    asked = get_gold_questions().filter(twin=OuterRef("twin"))
    return Problem.objects.filter(over, ~Exists(asked), waits=True)


def get_public_time(problem: Problem) -> datetime | None:
    """Return the time by which a waiting problem becomes public; None if it isn't waiting.

    The result is also None for a problem that does not become public by waiting: one that is not
    valid, is under embargo, or would reveal the answer of a gold question.
    """
    if not problem.waits or problem.state != State.VALID or problem.embargo or problem.gold:
        return None
    if get_gold_questions().filter(twin=problem.twin_id).exists():
        return None
    return _compute_wait_end(Problem.objects.filter(twin=problem.twin_id))


def _is_undecided(half: Problem) -> bool:
    return half.state in OPEN and not half.gold


def _compute_wait_end(halves: Iterable[Problem]) -> datetime | None:
    decided = [half.decided for half in halves if half.decided and half.state in DECIDED]
    return min(decided) + _get_waiting_time() if decided else None


def _get_waiting_time() -> timedelta:
    return timedelta(days=settings.RULES.wait_days)
