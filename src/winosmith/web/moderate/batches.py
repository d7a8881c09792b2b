"""Actions on many problems: in chunks that let others write in between, and their undo.

Each chunk is one transaction that also stores the batch's progress: after a crash the batch resumes
where it stopped, and nothing is done twice. This module also reads the forms of the queue: the
action, the problems, and the reason.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.moderate import decisions
from winosmith.web.moderate.models import Batch
from winosmith.web.moderate.queue import Where, found
from winosmith.web.pages import is_number
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem

CHUNK = 40
"""Number of problems per transaction: about a tenth of a second in which others wait to write."""

NAMED = 200
"""Maximum number of skipped problems that a batch lists; further ones are only counted."""

Stand = tuple[int, int]
"""The newest event and the newest problem at some time."""


def stand() -> Stand:
    """Return the newest event and problem; a batch on all matches skips later changes."""
    event = Event.objects.aggregate(last=Max("pk"))["last"] or 0
    return event, Problem.objects.aggregate(last=Max("pk"))["last"] or 0


def picked(person: Person, action: str, picks: Sequence[tuple[str, int]], reason: str) -> Batch:
    """Take an action on selected problems; if a selection is invalid, nothing is done.

    Args:
        person: The moderator.
        action: The name of one of ACTIONS.
        picks: The problems' ids, each with the newest event that the moderator saw.
        reason: The reason for the contributors.

    Returns:
        The finished batch, with the problems that were skipped. If a single problem is selected,
        its error is raised instead.

    Raises:
        ConflictError: The single problem has changed since the moderator saw it.
        InputError: No problem is selected, the reason is empty, or the action fails on the single
            problem.
    """
    _check(person, action, reason)
    seen = dict(picks)
    if not seen:
        raise InputError(_("Select at least one problem."))
    with writing():
        batch = Batch.objects.create(
            mark=new_key(), actor=person, action=action, reason=reason.strip(), finished=True,
            picked=[list(pick) for pick in seen.items()], expected=len(seen),
        )  # fmt: skip
        for problem in Problem.objects.filter(ref__in=seen).order_by("pk"):
            _decide(batch, problem, seen[problem.ref], alone=len(seen) == 1)
        batch.save()
        return batch


def all_matching(
    person: Person, action: str, where: Where, reason: str, *, at: Stand, expected: int
) -> Batch:
    """Start an action on all problems that match a filter; `go_on` performs it.

    Args:
        person: The moderator.
        action: The name of one of ACTIONS.
        where: The filter.
        reason: The reason for the contributors.
        at: The newest event and problem when the moderator confirmed; later problems are not
            included, and problems changed later are skipped and listed.
        expected: The number of problems that the moderator saw.
    """
    _check(person, action, reason)
    with writing():
        return Batch.objects.create(
            mark=new_key(), actor=person, action=action, reason=reason.strip(),
            where=where.query(), seen=at[0], newest=at[1], expected=expected,
        )  # fmt: skip


def take_back(person: Person, batch: Batch, reason: str) -> Batch:
    """Start to undo a whole batch; `go_on` performs it.

    Raises:
        InputError: The batch is unfinished, is an undo, or was already undone.
    """
    _check(person, decisions.UNDO, reason)
    with writing():
        now = Batch.objects.select_for_update().get(pk=batch.pk)
        if now.action == decisions.UNDO or not now.finished:
            raise InputError(_("Only a finished action can be undone, and not an undo."))
        if Batch.objects.filter(undoes=now).exists():
            raise InputError(_("This has already been undone."))
        newest = Event.objects.filter(batch=now.mark).aggregate(last=Max("pk"))["last"] or 0
        return Batch.objects.create(
            mark=new_key(), actor=person, action=decisions.UNDO, reason=reason.strip(), undoes=now,
            cursor=newest + 1, expected=now.done,
        )  # fmt: skip


def undo_one(person: Person, event: Event, reason: str) -> Batch:
    """Undo one decision, independently of its batch.

    Raises:
        InputError: The decision can't be undone; see `decisions.undo`.
    """
    _check(person, decisions.UNDO, reason)
    with writing():
        mark = new_key()
        decisions.undo(person, event, reason=reason.strip(), batch=mark)
        return Batch.objects.create(
            mark=mark, actor=person, action=decisions.UNDO, reason=reason.strip(),
            picked=[[event.problem.ref, event.pk]], expected=1, done=1, finished=True,
        )  # fmt: skip


def go_on(batch: Batch, *, seconds: float = 3.0) -> Batch:
    """Process a batch until it is finished or the time limit; call this again for the rest.

    Concurrent calls for the same batch take turns, one chunk each.
    """
    until = time.monotonic() + seconds
    while True:
        with writing():
            batch = Batch.objects.select_for_update(of=("self",)).get(pk=batch.pk)
            if not batch.finished:
                (_undo_chunk if batch.action == decisions.UNDO else _do_chunk)(batch)
                batch.save()
        if batch.finished or time.monotonic() > until:
            return batch


def _check(person: Person, action: str, reason: str) -> None:
    if not person.moderates:
        raise InputError(_("Only moderators can decide on problems."))
    if action != decisions.UNDO and action not in decisions.ACTIONS:
        raise InputError(_("Choose an action."))
    decisions.checked_reason(reason)


def _do_chunk(batch: Batch) -> None:
    rows = found(Where.read(batch.where)).filter(pk__gt=batch.cursor, pk__lte=batch.newest)
    problems = list(rows.order_by("pk")[:CHUNK])
    for problem in problems:
        _decide(batch, problem, batch.seen)
        batch.cursor = problem.pk
    batch.finished = len(problems) < CHUNK


def _decide(batch: Batch, problem: Problem, seen: int, *, alone: bool = False) -> None:
    action = decisions.ACTIONS[batch.action]
    try:
        with transaction.atomic():  # a failure leaves no partial changes
            decisions.decide(
                batch.actor, action, problem, reason=batch.reason, seen=seen, batch=batch.mark
            )
        batch.done += 1
    except decisions.ConflictError:
        if alone:
            raise
        _leave(batch, problem.ref, _("it has changed since"))
    except InputError as error:
        if alone:
            raise InputError(f"{problem.ref}: {error}") from None
        _leave(batch, problem.ref, str(error))


def _undo_chunk(batch: Batch) -> None:
    undone = batch.undoes.mark if batch.undoes else ""
    rows = Event.objects.filter(batch=undone, pk__lt=batch.cursor)
    events = list(rows.select_related("problem").order_by("-pk")[:CHUNK])
    for event in events:
        try:
            with transaction.atomic():
                decisions.undo(batch.actor, event, reason=batch.reason, batch=batch.mark)
            batch.done += 1
        except InputError as error:
            _leave(batch, event.problem.ref, str(error))
        batch.cursor = event.pk
    batch.finished = len(events) < CHUNK


def _leave(batch: Batch, ref: str, why: str) -> None:
    batch.left_count += 1
    if len(batch.left) < NAMED:
        batch.left = [*batch.left, [ref, why]]


MOST_PICKED = 200
"""Maximum number of problems selected by hand; more than a page has."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A moderator's request, before the reason.

    Attributes:
        action: The action, or None if it is unknown.
        picks: The problems' ids, each with the newest event that the moderator saw.
        everything: Whether the action is for all problems that `where` matches, not for `picks`.
        where: The filter of the list.
        back: The page to return to.
    """

    action: decisions.Action | None
    picks: tuple[tuple[str, int], ...]
    everything: bool
    where: Where
    back: str

    @classmethod
    def read(cls, form: QueryDict) -> Asked:
        """Return the request in a form, without invalid picks."""
        parts = [pick.rpartition(":") for pick in form.getlist("pick")[:MOST_PICKED]]
        picks = tuple((ref, int(seen)) for ref, _colon, seen in parts if is_number(seen))
        return cls(
            decisions.ACTIONS.get(form.get("action", "")),
            picks,
            form.get("everything") == "1",
            Where.read(form.get("where", "")),
            back_to(form.get("back", "")),
        )

    def problems(self) -> list[Problem]:
        """Return the selected problems."""
        refs = [] if self.everything else [ref for ref, _seen in self.picks]
        query = Problem.objects.filter(ref__in=refs).select_related("twin__contributor")
        return list(query.order_by("pk"))

    def count(self, at: Stand) -> int:
        """Return the number of problems concerned."""
        if not self.everything:
            return len(self.picks)
        return found(self.where).filter(pk__lte=at[1]).count()


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The reason, and what the moderator saw before.

    Attributes:
        preset: The index of one of the action's reasons; -1 for none.
        text: The moderator's own words.
        at: The newest event and problem when the count was shown.
        expected: The count.
    """

    preset: int
    text: str
    at: Stand
    expected: int

    @classmethod
    def read(cls, form: QueryDict) -> Confirmed:
        """Return the content of a form."""
        event, newest, expected, preset = (
            int(form.get(name, "")) if is_number(form.get(name, "")) else -1
            for name in ("event", "newest", "expected", "preset")
        )
        return cls(preset, form.get("text", "").strip(), (max(event, 0), newest), max(expected, 0))

    def reason(self, action: decisions.Action) -> str:
        """Return the reason as the log stores it."""
        known = 0 <= self.preset < len(action.reasons)
        return " ".join(
            filter(
                None,
                (
                    decisions.in_site_language(action.reasons[self.preset]) if known else "",
                    self.text,
                ),
            )
        )

    def begin(self, person: Person, action: decisions.Action, asked: Asked) -> Batch:
        """Take the action on the selected problems, or start it on all that match.

        Raises:
            ConflictError: The only problem has changed since.
            InputError: See `picked`; or the number of matches has changed.
        """
        name, reason = action.name, self.reason(action)
        if not asked.everything:
            return picked(person, name, asked.picks, reason)
        count = asked.count(self.at)
        if count != self.expected:
            raise InputError(
                _("%(now)d problems match now instead of %(then)d; check them and confirm.")
                % {"now": count, "then": self.expected}
            )
        return all_matching(person, name, asked.where, reason, at=self.at, expected=self.expected)


def back_to(path: str) -> str:
    """Return the moderators' page to return to; the queue if the path is not one of them."""
    home = reverse("moderate:queue")
    safe = path.startswith(home) and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    if not safe:
        return home
    bare, _mark, query = path.partition("?")
    kept = QueryDict(query, mutable=True)
    kept.pop("done", None)
    return f"{bare}?{kept.urlencode()}" if kept else bare
