"""Workers of a study, from the market's link to the end of their participation.

The worker's browser stores the ids of the link. When the worker starts, the site creates a person
for this study and browser. Progress and working time are computed from stored rows.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from typing import Any

from cryptography.fernet import InvalidToken
from django import template
from django.conf import settings
from django.db import IntegrityError
from django.db.models import Max, Min, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.exclusion import exclude_paid_votes
from winosmith.web.judge.models import Judge, Seen, Skip, Slot, mark_seen
from winosmith.web.judge.trust import get_askable_questions, get_judge_on_hold, is_stopped
from winosmith.web.judge.turns import get_current_slot, make_idle_judge_context
from winosmith.web.judge.votes import return_slot
from winosmith.web.market import models
from winosmith.web.market.models import ID_PURPOSE, Identity, Participation, Screen, Study
from winosmith.web.market.studies import digest_id, is_admitted, make_individual_code
from winosmith.web.people.accounts import end_access
from winosmith.web.people.models import Person, decrypt, encrypt
from winosmith.web.problems.models import Problem, State, Twin
from winosmith.web.problems.states import REMOVED_STATES

register = template.Library()


@register.filter("verdict")
def get_verdict_label(verdict: str) -> str:
    return str(Participation.Verdict(verdict).label)


COOKIE = f"study-{settings.COOKIE_MARK}"
COOKIE_PATH = "/study/"
MAX_AGE = 30 * 24 * 3600
"""Seconds for which a browser can continue a study."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A visitor who followed a study link.

    Attributes:
        study: The study's primary key.
        worker: The market's id of the person, from the link.
        submission: The market's id of the worker's submission, or "".
        mark: A random identifier of this browser; only this browser can continue the work.
    """

    study: int
    worker: str = field(repr=False)
    submission: str = field(repr=False)
    mark: str = field(repr=False)

    @property
    def digest(self) -> str:
        """Return the digest of `mark`, as stored in `Participation.browser`."""
        return sha256(self.mark.encode()).hexdigest()


def read_arrival(request: HttpRequest) -> Arrival | None:
    try:
        return Arrival(*decrypt(COOKIE, request.COOKIES.get(COOKIE, ""), MAX_AGE))
    except InvalidToken:
        return None


def store_arrival(
    request: HttpRequest, response: HttpResponse, study: Study, worker: str, submission: str
) -> None:
    before = read_arrival(request)
    mark = secrets.token_urlsafe(24) if before is None else before.mark
    value = encrypt(COOKIE, [study.pk, worker, submission, mark])
    response.set_cookie(
        COOKIE,
        value,
        max_age=MAX_AGE,
        path=COOKIE_PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SECURE,
    )


MAX_GAP = {models.JUDGE: timedelta(minutes=5), models.WRITE: timedelta(minutes=30)}
"""Maximum time between two stored actions that is included in the working time; longer gaps are
shortened. A problem takes seconds; a twin, which is a single action, takes many minutes."""


def sum_work_seconds(times: Iterable[datetime], max_gap: timedelta) -> int:
    """Return the seconds from the first to the last time, counting at most `max_gap` of each gap.

    >>> from datetime import datetime, timedelta
    >>> at = [datetime(2026, 1, 1, 12, minute) for minute in (0, 1, 31)]
    >>> sum_work_seconds(at, timedelta(minutes=5))
    360
    """
    gaps = (min(later - earlier, max_gap) for earlier, later in pairwise(sorted(times)))
    return round(sum(gaps, timedelta()).total_seconds())


def count_work_seconds(part: Participation) -> int:
    times = [part.began]
    if part.study.kind == models.WRITE:
        rows = Twin.objects.filter(contributor=part.person_id, created__gte=part.began)
        times += rows.values_list("created", flat=True)
    else:
        slots = Slot.objects.filter(holder=part.person_id).exclude(answered_at=None)
        for found in slots.values_list("taken_at", "local_at", "answered_at"):
            times += filter(None, found)
        times += Skip.objects.filter(person=part.person_id).values_list("at", flat=True)
    return sum_work_seconds(times, MAX_GAP[Study.Kind(part.study.kind)])


@dataclass(frozen=True, slots=True)
class Workload:
    """The work that a study requires of a worker, and the worker's progress.

    Attributes:
        done, amount: The number of stored problems or twins, and the required number.
        has_problem: Whether the worker has an unanswered problem.
        has_more: Whether more work is available now.
        is_paused: Whether the worker's votes are on hold until a moderator checks them.
        available_at: The time when a problem leased by another judge may become available, or None.
    """

    done: int
    amount: int
    has_problem: bool
    has_more: bool
    is_paused: bool
    available_at: datetime | None

    @property
    def is_complete(self) -> bool:
        return self.done >= self.amount

    @property
    def lacks_work(self) -> bool:
        return not (self.is_complete or self.has_problem or self.has_more)


def find_participation(person: Person | None) -> Participation | None:
    """Return a person's participation in a study; None if they did not come from a market."""
    if person is None or not getattr(person, "hired", False):
        return None
    return Participation.objects.select_related("study", "person").filter(person=person).first()


def get_payable_twins(part: Participation) -> QuerySet[Twin]:
    """Return the paid twins: those written since the work started, not withdrawn or revised."""
    rows = Twin.objects.filter(contributor=part.person_id, created__gte=part.began)
    return rows.exclude(problems__state__in=REMOVED_STATES).distinct()


def count_finished_work(part: Participation) -> int:
    if part.study.kind == models.WRITE:
        # A perturbed sentence is stored like a twin, but is not a paid twin.
        return get_payable_twins(part).filter(problems__version__parent=None).count()
    return Slot.objects.filter(job=part.pk).exclude(answered_at=None).count()


def describe_missing_work(part: Participation, done: int) -> str:
    """Return why part of the completed work no longer counts; "" if all of it counts."""
    if part.state != models.COMPLETE or done >= part.study.amount:
        return ""
    return _("all the work was done, but some of it was withdrawn")


@register.simple_tag(name="study_progress")
def get_study_progress(user: Any) -> dict[str, Any] | None:
    """Return the progress of a worker's unfinished study, which every page shows."""
    part = find_participation(user)
    if part is None or part.state != models.WORKING:
        return None
    done, amount = count_finished_work(part), part.study.amount
    return {"done": min(done, amount), "amount": amount, "complete": done >= amount}


def is_on_hold(part: Participation) -> bool:
    return get_judge_on_hold(part.person) is not None


def describe_training(part: Participation) -> str:
    """Return a note for the payer about a worker's training; "" if there is none.

    Answers to training questions are part of the paid work, but are not votes. A worker who answers
    them incorrectly gets more questions, if there are any.
    """
    rows = Slot.objects.filter(job=part.pk).exclude(answered_at=None)
    judge = Judge.objects.filter(person=part.person_id).first()
    passed = judge is not None and judge.qualified is not None
    if passed:
        rows = rows.filter(answered_at__lte=judge.qualified)
    asked, n = settings.RULES.training_questions, rows.count()
    if not asked or n <= asked or rows.filter(gold=False).exists():  # voters have no training
        return ""
    text = _("the training was not passed: none of the %(n)d answers counts as a vote")
    if passed:
        text = _("%(n)d of the answers were training, which was passed late or not at all")
    return text % {"n": n}


def measure_workload(part: Participation) -> Workload:
    done, amount = count_finished_work(part), part.study.amount
    if part.study.kind == models.WRITE:
        return Workload(done, amount, False, done < amount, False, None)
    judge = Judge.objects.get(person=part.person_id)
    has_problem = get_current_slot(part.person) is not None
    if has_problem or done >= amount:
        return Workload(done, amount, has_problem, False, is_stopped(judge), None)
    status = make_idle_judge_context(part.person, judge)
    available_at = (status["none_left"] or {}).get("until")
    return Workload(done, amount, False, status["left"], status["paused"], available_at)


def finish_participation(part: Participation) -> None:
    with writing():
        part = _lock_participation(part)
        if part.state != models.WORKING:
            return
        now = measure_workload(part)
        if now.is_complete:
            end_participation(part, models.COMPLETE)
        elif now.lacks_work and now.done:
            end_participation(part, models.SHORT)
        else:
            fault = _("The work is not complete: %(done)d of %(amount)d answers are stored.")
            raise InputError(fault % {"done": now.done, "amount": now.amount})


def abandon_participation(part: Participation) -> None:
    """End a participation without a completion code; the stored work is kept."""
    with writing():
        part = _lock_participation(part)
        if part.state == models.WORKING:
            end_participation(part, models.LEFT)


def _lock_participation(part: Participation) -> Participation:
    rows = Participation.objects.select_for_update(of=("self",)).select_related("study", "person")
    return rows.get(pk=part.pk)


def end_participation(part: Participation, state: str) -> None:
    with writing():
        Judge.objects.filter(person=part.person_id).update(quota=0)
        held = Slot.objects.filter(holder=part.person_id, answered_at=None, open=True)
        for slot in held:
            return_slot(slot)
        Identity.objects.filter(participation=part).update(at_work=False)
        part.state, part.ended, part.seconds = state, timezone.now(), count_work_seconds(part)
        part.save(update_fields=["state", "ended", "seconds"])


def get_completion_code(part: Participation) -> str:
    """Return a worker's current completion code, or "".

    There is no code until all work is stored, and none for people whom the market rejected.
    """
    if part.verdict in models.UNUSED_VERDICTS:
        return ""
    if part.state == models.COMPLETE:
        return part.study.code or make_individual_code(part.pk)
    if part.state == models.SHORT:
        return part.study.short_code
    return ""


ABANDONED_AFTER = timedelta(hours=24)
"""Time of inactivity after which a worker's other study counts as abandoned."""


class StudyClosedError(InputError):
    """The study is closed to new participants, or all places are taken."""


class NotInvitedError(InputError):
    """The study does not admit the worker."""


class StartedElsewhereError(InputError):
    """The worker has started in another browser, or is active in another study."""


def find_started_participation(study: Study, arrival: Arrival) -> Participation | None:
    """Return the participation that this browser started with these ids.

    Raises:
        StartedElsewhereError: The worker started the study in another browser or submission.
    """
    worker = find_participation_by_id(study, models.WORKER, arrival.worker)
    submission = worker
    if arrival.submission:
        submission = find_participation_by_id(study, models.SUBMISSION, arrival.submission)
    if worker is None and submission is None:
        return None
    if worker is not None and hmac.compare_digest(worker.browser, arrival.digest):
        return worker
    fault = _(
        "The study was started with your id in another browser; continue there. If you can’t, "
        "return your submission on the marketplace’s site and write to the researchers. Your "
        "work is stored."
    )
    raise StartedElsewhereError(fault)


def find_participation_by_id(study: Study, kind: str, text: str) -> Participation | None:
    ids = Identity.objects.select_related("participation__person", "participation__study")
    digest = digest_id(study.provider, kind, text)
    row = ids.filter(study=study, kind=kind, digest=digest).first()
    return row.participation if row else None


def start_participation(study: Study, arrival: Arrival) -> Participation:
    """Return this browser's participation, or create one for a new person.

    Everything that the worker read or wrote in earlier studies counts as read, so that they never
    judge it or its other half. Texts read in the same browser under another id also count as read,
    except gold questions that the training needs.

    Raises:
        StartedElsewhereError: The worker is active in another browser, or in another study.
        StudyClosedError: The study is closed, or all places are taken.
        NotInvitedError: The worker is not admitted.
    """
    try:
        with writing():
            made = find_started_participation(study, arrival)
            made = made or _create_participation(study, arrival)
            others = Participation.objects.filter(browser=arrival.digest).exclude(pk=made.pk)
            _mark_as_read(made.person, list(others), _find_training_twins(made.person, others))
            return made
    except (IntegrityError, StartedElsewhereError) as error:
        # A concurrent request may have the same id.
        found = find_started_participation(study, arrival)
        if found is not None:
            return found
        if isinstance(error, StartedElsewhereError):
            raise
        raise StartedElsewhereError(_explain_id_in_use()) from None


def _create_participation(study: Study, arrival: Arrival) -> Participation:
    open_study = Study.objects.select_for_update().filter(pk=study.pk, closed=None).first()
    if open_study is None:
        raise StudyClosedError(_("This study is closed to new participants."))
    if open_study.participations.count() >= open_study.max_starts:
        fault = _(
            "All places in this study are taken. Please return your "
            "submission on the marketplace’s site."
        )
        raise StudyClosedError(fault)
    worker = digest_id(study.provider, models.WORKER, arrival.worker)
    if not is_admitted(study, worker):
        fault = _(
            "This study is by invitation only, and your id is not on the "
            "list. Please return your submission on the marketplace’s site."
        )
        raise NotInvitedError(fault)
    earlier = _get_earlier_participations(worker)
    judges = study.kind == models.JUDGE
    name = f"worker-{secrets.token_hex(12)}"
    person = Person.objects.create_user(name, hired=True, is_judge=judges)
    made = Participation.objects.create(study=study, person=person, browser=arrival.digest)
    for kind, text in (("worker", arrival.worker), ("submission", arrival.submission)):
        if text:
            Identity.objects.create(
                study=study,
                participation=made,
                kind=kind,
                digest=digest_id(study.provider, kind, text),
                sealed=encrypt(ID_PURPOSE, text),
                at_work=kind == "worker",
            )
    _mark_as_read(person, earlier)
    before = Judge.objects.filter(person__in=[one.person_id for one in earlier])
    Judge.objects.create(
        person=person,
        job=made.pk,
        quota=study.amount if judges else 0,
        provisional=not study.trust,
        qualified=before.aggregate(first=Min("qualified"))["first"],
    )
    return made


def _get_earlier_participations(worker: str) -> list[Participation]:
    """Return a worker's participations in other studies, after ending abandoned ones.

    Raises:
        StartedElsewhereError: The worker is still active in another study.
    """
    rows = Participation.objects.select_related("person", "study")
    found = list(rows.filter(identities__digest=worker).order_by("pk"))
    for one in found:
        if one.state == models.WORKING:
            judged = Slot.objects.filter(holder=one.person)
            written = Twin.objects.filter(contributor=one.person).aggregate(Max("created"))
            times = judged.aggregate(Max("taken_at"), Max("answered_at")) | written
            last = max(filter(None, (one.began, *times.values())))
            if timezone.now() - last < ABANDONED_AFTER:
                raise StartedElsewhereError(_explain_id_in_use())
            end_participation(one, models.LEFT)
        end_access(one.person)
    return found


def _explain_id_in_use() -> str:
    return _(
        "Your id is already in use in another study on this site. Finish or leave that study "
        "in the browser in which you started it."
    )


def _mark_as_read(
    person: Person, earlier: list[Participation], excluded: Collection[int] = ()
) -> None:
    others = [one.person_id for one in earlier]
    read = Seen.objects.filter(person__in=others).exclude(twin__in=excluded).values("problem")
    known = Q(pk__in=read) | Q(twin__contributor__in=others)
    mark_seen(person, Problem.objects.filter(known))


def _find_training_twins(person: Person, others: QuerySet[Participation]) -> list[int]:
    """Return the twins of gold questions that a person may get although `others` have read them.

    On a shared computer, the first worker may have used all gold questions. If too few are left,
    these are the twins of gold questions of which no half is judged.
    """
    needed = settings.RULES.training_questions
    if not needed or Judge.objects.filter(person=person, qualified__isnull=False).exists():
        return []
    known = Seen.objects.filter(person__in=others.values("person")).values("twin")
    questions = get_askable_questions().values_list("twin", flat=True).distinct()
    if questions.exclude(twin__in=known).count() >= needed:
        return []
    judged = Problem.objects.filter(state__in=(State.HELD, State.JUDGING), gold=False)
    return list(questions.exclude(twin__in=judged.values("twin")))


def erase_worker(person: Person, _texts: bool) -> None:
    """Delete an erased person's market ids; their payments are kept without a name.

    Votes that the market has not confirmed can no longer be confirmed, so these votes don't count,
    and other people judge the problems. If a study's list contains the worker's id, the id is
    removed.
    """
    part = Participation.objects.select_related("study", "person").filter(person=person).first()
    if part is None:
        return
    if part.state == models.WORKING:
        end_participation(part, models.LEFT)
    if Slot.objects.filter(job=part.pk, provisional=True, excluded=False).exists():
        exclude_paid_votes(part.pk, "the worker was erased before the market confirmed them")
    ids = Identity.objects.filter(participation=part)
    Screen.objects.filter(digest__in=ids.values("digest")).delete()
    ids.delete()
    Participation.objects.filter(pk=part.pk).update(browser="")


def delete_old_ids(_now: datetime, before: datetime) -> int:
    """Delete the market ids of settled work that is older than the site's retention time.

    The digests of the ids stay, so that a worker never reads a problem twice.
    """
    settled = Identity.objects.filter(participation__ended__lt=before)
    settled = settled.exclude(participation__verdict=models.WAITING).exclude(sealed="")
    with writing():
        return settled.update(sealed="")


def export_studies(person: Person) -> list[dict[str, Any]]:
    rows = Participation.objects.filter(person=person).select_related("study")
    return [
        {
            "market": part.study.provider,
            "ids": {
                row.kind: decrypt(ID_PURPOSE, row.sealed)
                for row in part.identities.exclude(sealed="").order_by("pk")
            },
            "work": part.study.kind,
            "began": part.began,
            "ended": part.ended,
            "state": part.state,
            "market_says": part.verdict,
            "seconds": part.seconds,
            "paid": part.paid,
            "bonus": part.total_bonus,
            "currency": part.study.currency,
        }
        for part in rows
    ]
