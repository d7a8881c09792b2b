"""Answering a problem that one holds: from the local context, then as a whole; or passing it on."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Judge, Skip, Slot
from winosmith.web.judge.seen import note_whole
from winosmith.web.judge.slots import give_back, locked
from winosmith.web.judge.taking import gone_on, judge_of, lease, needs_local
from winosmith.web.judge.trust import origin, trained, weigh
from winosmith.web.judge.votes import settle_votes
from winosmith.web.people.models import Person
from winosmith.web.problems.models import State

LONGEST = 2000
"""Characters of a comment."""

UNDO = timedelta(minutes=1)
"""How long one's last answer can be taken back."""


class Gone(InputError):  # noqa: N818 - it reads as what happened
    """The problem is no longer this judge's to answer."""


def answer_local(person: Person, ref: str, choice: int) -> Slot:
    """Keep what a judge finds from the local context alone; the first answer stays.

    Args:
        person: the judge.
        ref: of the slot that they hold.
        choice: the 0-based index of an option.

    Raises:
        Gone: the problem is not theirs any more.
        InputError: there is no such option.
    """
    with writing():
        judge_of(person)
        slot = _held(person, ref)
        _check_choice(slot, choice)
        if not needs_local(slot):
            return slot
        now = timezone.now()
        slot.local_choice, slot.local_at = choice, now
        slot.local_seconds = _seconds(slot.taken_at, now)
        slot.lease_until = now + lease()
        slot.save(update_fields=["local_choice", "local_at", "local_seconds", "lease_until"])
        note_whole(person, slot)
        return slot


def answer(
    person: Person,
    ref: str,
    choice: int | None,
    *,
    ambiguous: bool = False,
    associative: bool = False,
    comment: str = "",
    address: str = "",
) -> Slot:
    """Keep a judge's answer; with the last one that the problem needs comes its verdict.

    An answer after the lease counts as long as nobody else took the slot.

    Args:
        person: the judge.
        ref: of the slot that they hold.
        choice: the 0-based index of the option that fills the blank; None for neither, which only
            who finds the problem ambiguous may say.
        ambiguous: both options are plausible.
        associative: nearby words give the answer away.
        comment: for the contributor and the moderators; LONGEST characters or fewer.
        address: from which it comes, by `limits.address`; a digest of it is kept for an hour or
            two.

    Raises:
        Gone: the problem is not theirs any more, or is answered.
        InputError: no choice, no such option, a comment too long, or the local context comes first.
    """
    with writing():
        judge = judge_of(person)
        return _answered(judge, ref, choice, ambiguous, associative, comment, address)


def answer_and_go_on(
    person: Person,
    ref: str,
    choice: int | None,
    *,
    ambiguous: bool = False,
    associative: bool = False,
    comment: str = "",
    address: str = "",
) -> tuple[Slot, Slot | None]:
    """Keep a judge's answer as `answer` does, and give them the next problem with it.

    Returns:
        The slot that was answered, and the next one. There is none after a gold question, which
        is talked about first, nor where `go_on` has none.
    """
    with writing():
        judge = judge_of(person)
        slot = _answered(judge, ref, choice, ambiguous, associative, comment, address)
        return slot, None if slot.gold else gone_on(judge)


def _answered(
    judge: Judge,
    ref: str,
    choice: int | None,
    ambiguous: bool,
    associative: bool,
    comment: str,
    address: str,
) -> Slot:
    slot = _held(judge.person, ref)
    if choice is None and not ambiguous:
        raise InputError(_("Choose the option that fits, or mark the problem as ambiguous."))
    if choice is not None:
        _check_choice(slot, choice)
    if len(comment := comment.strip()) > LONGEST:
        raise InputError(_("Shorten the comment to %d characters.") % LONGEST)
    if needs_local(slot):
        raise InputError(_("Answer from the local context first."))
    now = timezone.now()
    slot.choice, slot.ambiguous, slot.associative = choice, ambiguous, associative
    slot.comment, slot.answered_at, slot.open = comment, now, False
    slot.seconds = _seconds(slot.local_at or slot.taken_at, now)
    slot.job, slot.origin = judge.job, origin(address, now)
    slot.provisional = judge.held is not None or (judge.job is not None and judge.provisional)
    if slot.gold:
        slot.right = choice == slot.problem.answer
    slot.save(
        update_fields=[
            "choice",
            "ambiguous",
            "associative",
            "comment",
            "answered_at",
            "open",
            "seconds",
            "right",
            "job",
            "provisional",
            "origin",
        ]
    )
    weigh(judge, slot, address)
    if slot.gold:
        trained(judge)
    else:
        settle_votes(slot.problem)
    return slot


def skip(person: Person, ref: str, reason: str, comment: str = "") -> None:
    """Pass a problem on; others get it first, and this person never again.

    Raises:
        Gone: the problem is not theirs any more.
        InputError: the reason is none of `Skip.Reason`, or the comment is too long.
    """
    with writing():
        _skipped(judge_of(person), ref, reason, comment)


def skip_and_go_on(person: Person, ref: str, reason: str, comment: str = "") -> Slot | None:
    """Pass a problem on as `skip` does, and return the next one, as `go_on` does."""
    with writing():
        judge = judge_of(person)
        _skipped(judge, ref, reason, comment)
        return gone_on(judge)


def _skipped(judge: Judge, ref: str, reason: str, comment: str) -> None:
    person = judge.person
    slot = _held(person, ref)
    if reason not in Skip.Reason.values:
        raise InputError(_("Choose why you pass it on."))
    if len(comment := comment.strip()) > LONGEST:
        raise InputError(_("Shorten the comment to %d characters.") % LONGEST)
    Skip.objects.create(person=person, problem=slot.problem, reason=reason, comment=comment)
    note_whole(person, slot)
    give_back(slot)


def undo(person: Person, ref: str) -> Slot:
    """Take back one's last answer, within a minute and before the problem is decided.

    Raises:
        Gone: it is too late for that.
    """
    with writing():
        judge = judge_of(person)
        slot = undoable(person)
        if slot is None or slot.ref != ref or (judge.job is not None and not judge.quota):
            raise Gone(_("That answer can’t be taken back any more."))
        slot.problem = locked(slot.problem_id)
        if slot.problem.state != State.JUDGING:
            raise Gone(_("The problem has been decided; the answer stays."))
        slot.open, slot.answered_at, slot.seconds = True, None, None
        slot.job, slot.provisional, slot.origin = None, False, ""
        slot.lease_until = timezone.now() + lease()
        changed = ("open", "answered_at", "seconds", "job", "provisional", "origin", "lease_until")
        slot.save(update_fields=changed)
        return slot


def undoable(person: Person) -> Slot | None:
    """Return the slot with a person's last answer where it can still be taken back."""
    return so_far(person)[1]


def so_far(person: Person) -> tuple[int, Slot | None]:
    """Return how many problems a person has judged, and what `undoable` returns."""
    given = Slot.objects.filter(holder=person, answered_at__isnull=False)
    last = given.filter(open=False).select_related("problem").order_by("-answered_at").first()
    if last is None:
        return 0, None
    late = last.answered_at <= timezone.now() - UNDO
    gone = last.gold or last.excluded or last.problem.state != State.JUDGING
    return given.count(), None if late or gone else last


def _held(person: Person, ref: str) -> Slot:
    """Return the open slot that a person holds; its problem is locked first, then the slot."""
    rows = Slot.objects.filter(holder=person, ref=ref)
    rows = rows.select_related("problem__twin__contributor")
    slot = rows.select_for_update(of=("problem", "self"), no_key=True).first()
    if slot is None:
        raise Gone(
            _(
                "This problem is not yours to answer any more: it waited for you longer than "
                "%d minutes, and somebody else took it."
            )
            % settings.RULES.lease_minutes
        )
    if not slot.open:
        raise Gone(
            _("You have answered this problem already.")
            if slot.answered_at
            else _("This problem is not judged any more; a moderator took it back.")
        )
    return slot


def _check_choice(slot: Slot, choice: int) -> None:
    if not 0 <= choice < len(slot.problem.options):
        raise InputError(_("Choose one of the options."))


def _seconds(start: datetime | None, end: datetime) -> float | None:
    """Return how long an answer took; None where the judge was away meanwhile."""
    if start is None or end - start > lease():
        return None
    return round(max(0.0, (end - start).total_seconds()), 1)
