"""A worker of a study, from the market's link to the end of their part.

They arrive with a claim that their browser keeps, become a person for this study and this browser,
and work. Their progress and time follow from stored rows. They can see their data and be erased.
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
from winosmith.web.judge.exclusion import refuse
from winosmith.web.judge.models import Judge, Seen, Skip, Slot, block_of
from winosmith.web.judge.trust import askable_questions, held_judge, is_stopped
from winosmith.web.judge.turns import current_slot, judging_status
from winosmith.web.judge.votes import give_back
from winosmith.web.market import models
from winosmith.web.market.models import IDS, Identity, Participation, Screen, Study
from winosmith.web.market.providers import Claim, digest_of, own_code
from winosmith.web.market.studies import may_come
from winosmith.web.people.accounts import end_access
from winosmith.web.people.models import Person, decrypt, encrypt
from winosmith.web.problems.models import Problem, State, Twin

register = template.Library()


@register.filter
def verdict(word: str) -> str:
    """Return the label of a market's verdict."""
    return str(Participation.Verdict(word).label)


COOKIE = f"study-{settings.COOKIE_MARK}"
PATH = "/study/"
SECONDS = 30 * 24 * 3600
"""How long a browser can continue what it started."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A visitor who came by a link of a study.

    Attributes:
        study: its number.
        claim: the ids in the link.
        mark: random, this browser's own; work continues only with it.
    """

    study: int
    claim: Claim
    mark: str = field(repr=False)

    @property
    def browser(self) -> str:
        """The digest of the mark, as a participation stores it."""
        return sha256(self.mark.encode()).hexdigest()


def arrival_of(request: HttpRequest) -> Arrival | None:
    """Return what this browser keeps of a link; None if it came by none."""
    try:
        study, worker, submission, mark = decrypt(COOKIE, request.COOKIES.get(COOKIE, ""), SECONDS)
    except InvalidToken:
        return None
    return Arrival(study, Claim(worker, submission), mark)


def store_claim(request: HttpRequest, response: HttpResponse, study: Study, claim: Claim) -> None:
    """Let the browser keep a claim, encrypted; its mark is the same for all that it starts."""
    before = arrival_of(request)
    mark = secrets.token_urlsafe(24) if before is None else before.mark
    value = encrypt(COOKIE, [study.pk, claim.worker, claim.submission, mark])
    response.set_cookie(
        COOKIE,
        value,
        max_age=SECONDS,
        path=PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SECURE,
    )


IDLE = {models.JUDGE: timedelta(minutes=5), models.WRITE: timedelta(minutes=30)}
"""The longest time that counts between two traces of work; after it, the worker was away. A problem
takes seconds; a twin, which leaves one trace when it is sent, takes many minutes."""


def sum_work_seconds(times: Iterable[datetime], idle: timedelta) -> int:
    """Return the seconds between the first and the last of some times; gaps count `idle` at most.

    >>> from datetime import datetime, timedelta
    >>> at = [datetime(2026, 1, 1, 12, minute) for minute in (0, 1, 31)]
    >>> sum_work_seconds(at, timedelta(minutes=5))
    360
    """
    gaps = (min(later - earlier, idle) for earlier, later in pairwise(sorted(times)))
    return round(sum(gaps, timedelta()).total_seconds())


def seconds_of(part: Participation) -> int:
    """Return how many seconds a person has worked in a study since they started."""
    times = [part.began]
    if part.study.kind == models.WRITE:
        rows = Twin.objects.filter(contributor=part.person_id, created__gte=part.began)
        times += rows.values_list("created", flat=True)
    else:
        slots = Slot.objects.filter(holder=part.person_id).exclude(answered_at=None)
        for found in slots.values_list("taken_at", "local_at", "answered_at"):
            times += filter(None, found)
        times += Skip.objects.filter(person=part.person_id).values_list("at", flat=True)
    return sum_work_seconds(times, IDLE[Study.Kind(part.study.kind)])


@dataclass(frozen=True, slots=True)
class Workload:
    """A worker's progress.

    Attributes:
        done, amount: problems or twins stored, and required.
        holding: a problem waits for their answer.
        left: there is more to do for them now.
        paused: a moderator must check their votes first.
        until: when a problem that others hold may become free; None if none is held.
    """

    done: int
    amount: int
    holding: bool
    left: bool
    paused: bool
    until: datetime | None

    @property
    def complete(self) -> bool:
        """Whether all required work is stored."""
        return self.done >= self.amount

    @property
    def short(self) -> bool:
        """Whether no work is left for them before the end."""
        return not (self.complete or self.holding or self.left)


def participation_of(person: Person | None) -> Participation | None:
    """Return a person's part in a study; None for a person who did not come by a market."""
    if person is None or not getattr(person, "hired", False):
        return None
    return Participation.objects.select_related("study", "person").filter(person=person).first()


def twins_of(part: Participation) -> QuerySet[Twin]:
    """Return the twins written since the work started and not withdrawn."""
    rows = Twin.objects.filter(
        contributor=part.person_id, revises=None, created__gte=part.began
    ).filter(~Q(problems__state=State.WITHDRAWN))
    return rows.distinct()


def count_done(part: Participation) -> int:
    """Return how much of the required work is stored."""
    if part.study.kind == models.WRITE:
        # A sentence that is bent a little is a row like a twin, and no twin that is paid for.
        return twins_of(part).filter(problems__version__parent=None).count()
    return Slot.objects.filter(job=part.pk).exclude(answered_at=None).count()


def describe_missing_work(part: Participation, done: int) -> str:
    """Return why less work counts now than when it was complete; "" if none is missing.

    Perturbed sentences used to count as twins; studies from that time may have them.
    """
    if part.state != models.COMPLETE or done >= part.study.amount:
        return ""
    if part.study.kind == models.WRITE and twins_of(part).count() >= part.study.amount:
        return _(
            "all the work was done, but some of it is perturbed sentences, "
            "which do not count as twins"
        )
    return _("all the work was done, but some of it was withdrawn")


@register.simple_tag
def study_progress(user: Any) -> dict[str, Any] | None:
    """Return how much of a worker's study is stored, for every page; None once it is over."""
    part = participation_of(user)
    if part is None or part.state != models.WORKING:
        return None
    done, amount = count_done(part), part.study.amount
    return {"done": min(done, amount), "amount": amount, "complete": done >= amount}


def is_held(part: Participation) -> bool:
    """Return whether a worker's votes wait for a moderator."""
    return held_judge(part.person) is not None


def describe_training(part: Participation) -> str:
    """Return what the payer should know about a worker's training; "" for nothing.

    Its questions are part of the paid work but not votes. A worker who answers them incorrectly
    gets others, as long as there are any.
    """
    rows = Slot.objects.filter(job=part.pk).exclude(answered_at=None)
    judge = Judge.objects.filter(person=part.person_id).first()
    passed = judge is not None and judge.qualified is not None
    if passed:
        rows = rows.filter(answered_at__lte=judge.qualified)
    asked, n = settings.RULES.training_questions, rows.count()
    if not asked or n <= asked or rows.filter(gold=False).exists():  # who votes is in no training
        return ""
    if passed:
        return _("%(n)d of the answers were training, which was passed late or not at all") % {
            "n": n
        }
    return _("the training was not passed: none of the %(n)d answers is a vote") % {"n": n}


def workload(part: Participation) -> Workload:
    """Return a worker's progress, by what the database has."""
    done, amount = count_done(part), part.study.amount
    if part.study.kind == models.WRITE:
        return Workload(done, amount, False, done < amount, False, None)
    judge = Judge.objects.get(person=part.person_id)
    holding = current_slot(part.person) is not None
    if holding or done >= amount:
        return Workload(done, amount, holding, False, is_stopped(judge), None)
    found = judging_status(part.person, judge)
    until = found["none_left"].until if found["none_left"] else None
    return Workload(done, amount, False, found["left"], found["paused"], until)


def finish(part: Participation) -> None:
    """End a part whose work is complete, or for which no work is left.

    Raises:
        InputError: there is more to do, or nothing was done.
    """
    with writing():
        part = _locked(part)
        if part.state != models.WORKING:
            return
        now = workload(part)
        if now.complete:
            end(part, models.COMPLETE)
        elif now.short and now.done:
            end(part, models.SHORT)
        else:
            fault = _("The work is not complete: %(done)d of %(amount)d answers are stored.")
            raise InputError(fault % {"done": now.done, "amount": now.amount})


def leave(part: Participation) -> None:
    """Give a part up; stored work stays, and there is no code for it."""
    with writing():
        part = _locked(part)
        if part.state == models.WORKING:
            end(part, models.LEFT)


def _locked(part: Participation) -> Participation:
    rows = Participation.objects.select_for_update(of=("self",)).select_related("study", "person")
    return rows.get(pk=part.pk)


def end(part: Participation, state: str) -> None:
    """End a part: it gets no more work, and held problems go to others."""
    with writing():
        Judge.objects.filter(person=part.person_id).update(quota=0)
        held = Slot.objects.filter(holder=part.person_id, answered_at=None, open=True)
        for slot in held:
            give_back(slot)
        Identity.objects.filter(participation=part).update(at_work=False)
        part.state, part.ended, part.seconds = state, timezone.now(), seconds_of(part)
        part.save(update_fields=["state", "ended", "seconds"])


def code_of(part: Participation) -> str:
    """Return the code that a worker gets now; "" for none.

    There is no code before all work is stored, nor for people whom the market rejected.
    """
    if part.verdict in models.TURNED_AWAY:
        return ""
    if part.state == models.COMPLETE:
        return part.study.code or own_code(part.pk)
    if part.state == models.SHORT:
        return part.study.short_code
    return ""


LEFT_AFTER = timedelta(hours=24)
"""The time without a trace after which work in another study counts as given up."""


class StudyClosedError(InputError):
    """The study admits nobody new."""


class NotInvitedError(InputError):
    """The worker is not on the list of those who may come."""


class StartedElsewhereError(InputError):
    """The id is already at work in another browser."""


def find_begun(study: Study, arrival: Arrival) -> Participation | None:
    """Return what this browser started in a study with this claim; None for nothing.

    Raises:
        StartedElsewhereError: the id started the study in another browser or submission.
    """
    worker = _find_identity(study, models.WORKER, arrival.claim.worker)
    submission = worker
    if arrival.claim.submission:
        submission = _find_identity(study, models.SUBMISSION, arrival.claim.submission)
    if worker is None and submission is None:
        return None
    if worker is not None and hmac.compare_digest(worker.browser, arrival.browser):
        return worker
    raise StartedElsewhereError(
        _(
            "The study was started with your id in another browser; continue there. If you can’t, "
            "return your submission on the market’s site and write to the researchers: your work "
            "is stored."
        )
    )


def _find_identity(study: Study, kind: str, text: str) -> Participation | None:
    rows = Identity.objects.filter(
        study=study, kind=kind, digest=digest_of(study.provider, kind, text)
    )
    row = rows.select_related("participation__person", "participation__study").first()
    return row.participation if row else None


def begin(study: Study, arrival: Arrival) -> Participation:
    """Create a person with a part in the study from a claim; the same browser gets the same again.

    What the worker read or wrote in earlier studies counts as read, so that they never judge it or
    its other half. The same holds for what was read in the same browser under another id, except
    for gold questions that a training still needs.

    Raises:
        StartedElsewhereError: the id is at work in another browser, or in another study.
        StudyClosedError: the study is closed, or all places are taken.
        NotInvitedError: the id is screened out.
    """
    try:
        with writing():
            made = find_begun(study, arrival) or _create_participation(study, arrival)
            beside = Participation.objects.filter(browser=arrival.browser).exclude(pk=made.pk)
            _inherit_reading(made.person, list(beside), spared=_spared_twins(made.person, beside))
            return made
    except (
        IntegrityError,
        StartedElsewhereError,
    ) as error:  # the same id may have begun at this moment
        found = find_begun(study, arrival)
        if found is not None:
            return found
        if isinstance(error, StartedElsewhereError):
            raise
        raise StartedElsewhereError(_at_work_elsewhere()) from None


def _create_participation(study: Study, arrival: Arrival) -> Participation:
    open_study = Study.objects.select_for_update().filter(pk=study.pk, closed=None).first()
    if open_study is None:
        raise StudyClosedError(_("This study is closed to new people."))
    if open_study.participations.count() >= open_study.most:
        raise StudyClosedError(
            _(
                "All places of this study are taken. Please return your "
                "submission on the market’s site."
            )
        )
    worker = digest_of(study.provider, models.WORKER, arrival.claim.worker)
    if not may_come(study, worker):
        raise NotInvitedError(
            _(
                "This study is for invited people, and your id is not on the "
                "list. Please return your submission on the market’s site."
            )
        )
    earlier = _earlier(worker)
    judges = study.kind == models.JUDGE
    person = Person.objects.create_user(
        f"worker-{secrets.token_hex(12)}", hired=True, is_judge=judges
    )
    made = Participation.objects.create(study=study, person=person, browser=arrival.browser)
    for kind, text in (("worker", arrival.claim.worker), ("submission", arrival.claim.submission)):
        if text:
            Identity.objects.create(
                study=study,
                participation=made,
                kind=kind,
                digest=digest_of(study.provider, kind, text),
                sealed=encrypt(IDS, text),
                at_work=kind == "worker",
            )
    _inherit_reading(person, earlier)
    Judge.objects.create(
        person=person,
        job=made.pk,
        quota=study.amount if judges else 0,
        provisional=not study.trust,
        qualified=Judge.objects.filter(
            person__in=[one.person_id for one in earlier], qualified__isnull=False
        ).aggregate(first=Min("qualified"))["first"],
    )
    return made


def _earlier(worker: str) -> list[Participation]:
    """Return a worker's parts in other studies; all of them are over.

    Raises:
        StartedElsewhereError: one of them is not over.
    """
    rows = Participation.objects.select_related("person", "study")
    found = list(rows.filter(identities__digest=worker).order_by("pk"))
    for one in found:
        if one.state == models.WORKING:
            if timezone.now() - _last_act(one) < LEFT_AFTER:
                raise StartedElsewhereError(_at_work_elsewhere())
            end(one, models.LEFT)
        end_access(one.person)
    return found


def _at_work_elsewhere() -> str:
    return _(
        "Your id is already working in another study on this site. Finish that "
        "study or give it up, in the browser in which you started it."
    )


def _last_act(one: Participation) -> datetime:
    rows = Slot.objects.filter(holder=one.person)
    latest = rows.aggregate(taken=Max("taken_at"), answered=Max("answered_at"))
    written = Twin.objects.filter(contributor=one.person).aggregate(at=Max("created"))["at"]
    return max(filter(None, (one.began, written, *latest.values())))


def _inherit_reading(
    person: Person, earlier: list[Participation], spared: Collection[int] = ()
) -> None:
    """Record that a person knows what was read or written in other participations.

    Args:
        person: who starts.
        earlier: their earlier parts, or those in their browser under other ids.
        spared: twins that they may get anyway.
    """
    others = [one.person_id for one in earlier]
    if not others:
        return
    rows = [
        Seen(
            person=person,
            block=row.block,
            twin_id=row.twin_id,
            problem_id=row.problem_id,
        )
        for row in Seen.objects.filter(person__in=others).exclude(twin__in=spared)
    ]
    wrote: QuerySet[Problem] = Problem.objects.filter(twin__contributor__in=others)
    rows += [
        Seen(person=person, block=block_of(half), twin_id=half.twin_id, problem_id=half.pk)
        for half in wrote
    ]
    Seen.objects.bulk_create(rows, ignore_conflicts=True)


def _spared_twins(person: Person, beside: QuerySet[Participation]) -> list[int]:
    """Return the twins of gold questions that a person's training needs although they were read.

    On a shared computer the first worker may have used all questions. If too few are left, those
    return of which no half is judged.
    """
    needed = settings.RULES.training_questions
    if not needed or Judge.objects.filter(person=person, qualified__isnull=False).exists():
        return []
    known = Seen.objects.filter(person__in=beside.values("person")).values("twin")
    questions = askable_questions().values_list("twin", flat=True).distinct()
    if questions.exclude(twin__in=known).count() >= needed:
        return []
    judged = Problem.objects.filter(state__in=(State.HELD, State.JUDGING), gold=False)
    return list(questions.exclude(twin__in=judged.values("twin")))


def forget_worker(person: Person, _texts: bool) -> None:
    """Delete the market's ids of an erased person; their pay stays, without a name.

    Votes that the market has not confirmed can no longer be confirmed: they don't count, and others
    judge these problems. A screened id leaves the list.
    """
    part = Participation.objects.select_related("study", "person").filter(person=person).first()
    if part is None:
        return
    if part.state == models.WORKING:
        end(part, models.LEFT)
    if Slot.objects.filter(job=part.pk, provisional=True, excluded=False).exists():
        refuse(part.pk, "the worker was erased before the market confirmed them")
    ids = Identity.objects.filter(participation=part)
    Screen.objects.filter(digest__in=ids.values("digest")).delete()
    ids.delete()
    Participation.objects.filter(pk=part.pk).update(browser="")


def forget_ids(_now: datetime, before: datetime) -> int:
    """Delete the ids of workers whose settled work ended before the site's retention time.

    Their digests stay, so that a worker never reads a problem twice.
    """
    settled = Identity.objects.filter(participation__ended__lt=before)
    settled = settled.exclude(participation__verdict=models.WAITING).exclude(sealed="")
    with writing():
        return settled.update(sealed="")


def _kept_ids(part: Participation) -> Iterable[Identity]:
    return part.identities.exclude(sealed="").order_by("pk")


def studies_of(person: Person) -> list[dict[str, Any]]:
    """Return a person's parts in studies, with the ids by which a market knows them."""
    rows = Participation.objects.filter(person=person).select_related("study")
    return [
        {
            "market": part.study.provider,
            "ids": {row.kind: decrypt(IDS, row.sealed) for row in _kept_ids(part)},
            "work": part.study.kind,
            "began": part.began,
            "ended": part.ended,
            "state": part.state,
            "market_says": part.verdict,
            "seconds": part.seconds,
            "paid": part.paid,
            "bonus": part.bonus,
            "currency": part.study.currency,
        }
        for part in rows
    ]
