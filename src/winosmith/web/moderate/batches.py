"""Bulk actions on problems, which are processed in chunks and can be undone.

Each chunk is one transaction, which also stores the progress: after a crash, a batch resumes where
it stopped, and nothing is done twice. The web request processes the first chunk, so that an action
on a page of the queue is instant; the worker processes the others, as a job. `ActionRequest` is the
request in the queue's forms: the action, the problems, and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.jobs import BATCH, Job, Progress, create_job
from winosmith.web.moderate import decisions
from winosmith.web.moderate.models import Batch
from winosmith.web.moderate.queue import QueueFilters, filter_queue
from winosmith.web.pages import is_number
from winosmith.web.people.gates import new_key
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Event, Problem

CHUNK = 40
"""Number of problems per transaction, which blocks other writers for about 0.1 seconds."""

MAX_LISTED = 200
"""Maximum number of skipped problems that a batch lists; the rest are only counted."""

NewestKeys = tuple[int, int]
"""The primary keys of the newest event and the newest problem at some point in time."""


def get_newest_event_and_problem() -> NewestKeys:
    """Return the newest keys, so that bulk actions skip later changes."""
    event = Event.objects.aggregate(last=Max("pk"))["last"] or 0
    return event, Problem.objects.aggregate(last=Max("pk"))["last"] or 0


def apply_to_selected(
    person: Person, action: str, picks: Sequence[tuple[str, int]], reason: str
) -> Batch:
    """Apply an action to the selected problems; skipped problems are listed in the batch.

    `picks` contains the problems' ids, each with the newest event that the moderator saw.

    Raises:
        ConflictError: Only one problem is selected, and it changed after the moderator saw it.
        InputError: No problem is selected, the reason is empty, or the action is not allowed on
            the only selected problem.
    """
    _check_request(person, reason)
    seen = dict(picks)
    if not seen:
        raise InputError(_("Select at least one problem."))
    newest = get_newest_event_and_problem()[1]
    return _start_batch(
        person, action, reason, picked=list(seen.items()), expected=len(seen), newest=newest
    )


def apply_to_matching(
    person: Person,
    action: str,
    filters: QueueFilters,
    reason: str,
    *,
    newest: NewestKeys,
    expected: int,
) -> Batch:
    """Apply an action to all matching problems; `expected` is the number shown to the moderator.

    `newest` are the newest event and problem when the moderator confirmed. Later problems are not
    included, and problems changed later are skipped and listed.
    """
    _check_request(person, reason)
    columns = {"where": filters.make_query(), "seen": newest[0], "newest": newest[1]}
    return _start_batch(person, action, reason, **columns, expected=expected)


def undo_batch(person: Person, batch: Batch, reason: str) -> Batch:
    _check_request(person, reason)
    with writing():
        now = Batch.objects.select_for_update(of=("self",)).select_related("job").get(pk=batch.pk)
        if now.action == decisions.UNDO or now.is_busy:
            raise InputError(_("Only a finished action can be undone; an undo can’t be undone."))
        _check_not_undone(now)
        newest = Event.objects.filter(batch=now.mark).aggregate(last=Max("pk"))["last"] or 0
        columns = {"undoes": now, "cursor": newest + 1, "expected": now.done}
        return _start_batch(person, decisions.UNDO, reason, **columns)


def undo_decision(person: Person, event: Event, reason: str) -> Batch:
    """Undo one decision, independently of its batch."""
    _check_request(person, reason)
    with writing():
        batch = Batch.objects.create(
            mark=new_key(), actor=person, action=decisions.UNDO, reason=reason.strip(),
            picked=[[event.problem.ref, event.pk]], expected=1, done=1,
        )  # fmt: skip
        decisions.undo(person, event, reason=batch.reason, batch=batch.mark)
        return batch


def _start_batch(person: Person, action: str, reason: str, **columns: Any) -> Batch:
    """Process the first chunk in the caller's transaction, and queue a job for the rest."""
    with writing():
        batch = Batch.objects.create(
            mark=new_key(), actor=person, action=action, reason=reason.strip(), **columns
        )
        if not _process_chunk(batch):
            counts = {"done": batch.processed_count, "total": batch.expected}
            batch.job = create_job(person, BATCH, {}, state=Job.State.WAITING, **counts)
            batch.save()
        return batch


def run_batch_job(job: Job, progress: Progress) -> None:
    """Process the rest of a batch in the worker; another call resumes an interrupted batch."""
    is_done = False
    while not is_done:
        with writing():
            batch = Batch.objects.select_for_update(of=("self",)).get(job=job)
            _check_not_undone(batch)
            is_done = _process_chunk(batch)
            progress(batch.processed_count)


def _check_request(person: Person, reason: str) -> None:
    if not person.can_moderate:
        raise InputError(_("Only moderators can decide on problems."))
    decisions.clean_reason(reason)


def _check_not_undone(batch: Batch) -> None:
    if Batch.objects.filter(undoes=batch).exists():
        raise InputError(_("This action has already been undone."))


def _process_chunk(batch: Batch) -> bool:
    """Process a batch's next chunk in the caller's transaction; return whether it was the last."""
    rows: QuerySet[Any]
    if batch.undoes:
        events = Event.objects.filter(batch=batch.undoes.mark, pk__lt=batch.cursor)
        rows = events.select_related("problem").order_by("-pk")
    else:
        if batch.picked:
            rows = Problem.objects.filter(ref__in=dict(batch.picked))
        else:
            rows = filter_queue(QueueFilters.read(batch.where))
        rows = rows.filter(pk__gt=batch.cursor, pk__lte=batch.newest).order_by("pk")
    chunk, note = list(rows[:CHUNK]), {"reason": batch.reason, "batch": batch.mark}
    for row in chunk:
        batch.cursor = row.pk
        try:
            with transaction.atomic():  # a failed action leaves no changes
                if batch.undoes:
                    decisions.undo(batch.actor, row, **note)
                else:
                    action = decisions.ACTIONS[batch.action]
                    seen = dict(batch.picked).get(row.ref, batch.seen)
                    decisions.decide(batch.actor, action, row, seen=seen, **note)
            batch.done += 1
        except InputError as error:
            ref = getattr(row, "problem", row).ref
            is_late = isinstance(error, decisions.ConflictError)
            if len(batch.picked) == 1:
                raise error if is_late else InputError(f"{ref}: {error}") from None
            why = _("it has changed since") if is_late else str(error)
            batch.left = [*batch.left, [ref, why]][:MAX_LISTED]
            batch.left_count += 1
    batch.save()
    return len(chunk) < CHUNK


MAX_SELECTED = 200
"""Maximum number of problems selected by hand; must exceed the page size."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A moderator's request for an action, with its reason once it is confirmed.

    Attributes:
        picks: The ids of selected problems, each with the newest event that the moderator saw.
        all_matching: Whether to use all matches of `filters` instead of the selected problems.
        return_path: The page to return to.
        preset: The index of one of the action's reasons; -1 for none; None before confirmation.
        text: The reason in the moderator's own words.
        newest: The newest event and problem at the time when the moderator saw `expected`.
        expected: The number of problems that the moderator saw.
    """

    action: decisions.Action
    picks: tuple[tuple[str, int], ...]
    all_matching: bool
    filters: QueueFilters
    return_path: str
    preset: int | None
    text: str
    newest: NewestKeys
    expected: int

    @classmethod
    def read(cls, form: QueryDict) -> ActionRequest:
        """Read a request from a form; raise Http404 if the action is unknown."""
        action = decisions.ACTIONS.get(form.get("action", ""))
        if action is None:
            raise Http404
        parts = [pick.rpartition(":") for pick in form.getlist("pick")[:MAX_SELECTED]]
        event, newest, expected, preset = (
            int(form.get(name, "")) if is_number(form.get(name, "")) else -1
            for name in ("event", "newest", "expected", "preset")
        )
        return cls(
            action,
            tuple((ref, int(seen)) for ref, _colon, seen in parts if is_number(seen)),
            form.get("everything") == "1",
            QueueFilters.read(form.get("where", "")),
            get_return_path(form.get("back", "")),
            preset if {"preset", "text"} & form.keys() else None,
            form.get("text", "").strip(),
            (max(event, 0), newest),
            max(expected, 0),
        )

    def get_selected_problems(self) -> list[Problem]:
        refs = [] if self.all_matching else [ref for ref, _seen in self.picks]
        query = Problem.objects.filter(ref__in=refs).select_related("twin__contributor")
        return list(query.order_by("pk"))

    def count_problems(self, newest: NewestKeys) -> int:
        if not self.all_matching:
            return len(self.picks)
        return filter_queue(self.filters).filter(pk__lte=newest[1]).count()

    def apply(self, person: Person) -> Batch:
        """Apply the action to the selected problems, or to all matches.

        Raises:
            ConflictError: The only problem has changed since the moderator saw it.
            InputError: See `apply_to_selected`; or the number of matches has changed.
        """
        name, reasons = self.action.name, self.action.list_reasons()
        reason = self.text
        if self.preset is not None and 0 <= self.preset < len(reasons):
            preset = decisions.to_site_language(reasons[self.preset])
            reason = f"{preset} {self.text}".strip()
        if not self.all_matching:
            return apply_to_selected(person, name, self.picks, reason)
        count = self.count_problems(self.newest)
        if count != self.expected:
            raise InputError(
                _("%(now)d problems match now instead of %(then)d; check them and confirm.")
                % {"now": count, "then": self.expected}
            )
        return apply_to_matching(
            person, name, self.filters, reason, newest=self.newest, expected=self.expected
        )


def get_return_path(path: str) -> str:
    """Return `path` without "done" if it is a moderation page, otherwise the queue's path."""
    home = reverse("moderate:queue")
    safe = path.startswith(home) and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    if not safe:
        return home
    bare, _mark, query = path.partition("?")
    parameters = QueryDict(query, mutable=True)
    parameters.pop("done", None)
    return f"{bare}?{parameters.urlencode()}" if parameters else bare
