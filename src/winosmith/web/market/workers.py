"""A worker of a study, from the market's link to the end of their part.

They come with a claim that their browser keeps, become a person for this study, bound to one
browser, and work; how far they are, and for how long they worked, follows from what is stored. They
may see what the site holds about them, and be erased.
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
from winosmith.web.judge.trust import askable, held, stops
from winosmith.web.judge.turns import ahead, current
from winosmith.web.judge.votes import give_back
from winosmith.web.market import models
from winosmith.web.market.models import Identity, Participation, Screen, Study
from winosmith.web.market.providers import Claim, carried, carry, digest_of, own_code, seal, unseal
from winosmith.web.market.studies import may_come
from winosmith.web.people.accounts import close_doors
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, State, Twin

register = template.Library()


@register.filter
def verdict(word: str) -> str:
    """Return what a market's verdict is called."""
    return str(Participation.Verdict(word).label)


COOKIE = f"study-{settings.COOKIE_MARK}"
PATH = "/study/"
SECONDS = 30 * 24 * 3600
"""How long a browser may continue with what it began."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody came by a link of a study.

    Attributes:
        study: its number.
        claim: whom the link named.
        mark: random, this browser's own; with it alone work continues that was begun.
    """

    study: int
    claim: Claim
    mark: str = field(repr=False)

    @property
    def browser(self) -> str:
        """The digest of the mark, as a participation keeps it."""
        return sha256(self.mark.encode()).hexdigest()


def arrival_of(request: HttpRequest) -> Arrival | None:
    """Return what this browser keeps; None if it came by no link."""
    told: Any = carried(request.COOKIES.get(COOKIE, ""), SECONDS)
    try:
        return Arrival(told["study"], Claim(told["worker"], told["submission"]), told["mark"])
    except (TypeError, KeyError):
        return None


def keep(request: HttpRequest, response: HttpResponse, study: Study, claim: Claim) -> None:
    """Let the browser keep a claim, encrypted; its mark is the same for all that it begins."""
    before = arrival_of(request)
    mark = secrets.token_urlsafe(24) if before is None else before.mark
    value = carry(
        {"study": study.pk, "worker": claim.worker, "submission": claim.submission, "mark": mark}
    )
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
"""The longest that counts between two traces of work: who leaves no trace for longer was away.
A problem takes seconds; a twin, which leaves one trace when it is sent, takes many minutes."""


def worked(times: Iterable[datetime], idle: timedelta) -> int:
    """Return the seconds between the first and the last of some times, gaps of `idle` at most.

    >>> from datetime import datetime, timedelta
    >>> at = [datetime(2026, 1, 1, 12, minute) for minute in (0, 1, 31)]
    >>> worked(at, timedelta(minutes=5))
    360
    """
    gaps = (min(later - earlier, idle) for earlier, later in pairwise(sorted(times)))
    return round(sum(gaps, timedelta()).total_seconds())


def seconds_of(part: Participation) -> int:
    """Return how many seconds somebody worked in a study, from when they began."""
    times = [part.began]
    if part.study.kind == models.WRITE:
        rows = Twin.objects.filter(contributor=part.person_id, created__gte=part.began)
        times += rows.values_list("created", flat=True)
    else:
        slots = Slot.objects.filter(holder=part.person_id).exclude(answered_at=None)
        for found in slots.values_list("taken_at", "local_at", "answered_at"):
            times += filter(None, found)
        times += Skip.objects.filter(person=part.person_id).values_list("at", flat=True)
    return worked(times, IDLE[Study.Kind(part.study.kind)])


@dataclass(frozen=True, slots=True)
class Workload:
    """How far somebody is.

    Attributes:
        done, amount: problems or twins that are stored, and that the study asks for.
        holding: a problem waits for their answer.
        left: there is more to do for them now.
        paused: a moderator has to look at their judging first.
        until: when something may come back that others hold; None for nothing.
    """

    done: int
    amount: int
    holding: bool
    left: bool
    paused: bool
    until: datetime | None

    @property
    def complete(self) -> bool:
        """Whether all that the study asks for is stored."""
        return self.done >= self.amount

    @property
    def short(self) -> bool:
        """Whether nothing is left for them before the end."""
        return not (self.complete or self.holding or self.left)


def part_of(person: Person | None) -> Participation | None:
    """Return a person's part in a study; None for who came by no market."""
    if person is None or not getattr(person, "hired", False):
        return None
    return Participation.objects.select_related("study", "person").filter(person=person).first()


def twins_of(part: Participation) -> QuerySet[Twin]:
    """Return what was written since the work began, and not taken back."""
    rows = Twin.objects.filter(
        contributor=part.person_id, revises=None, created__gte=part.began
    ).filter(~Q(problems__state=State.WITHDRAWN))
    return rows.distinct()


def count_done(part: Participation) -> int:
    """Return how much is stored of a part's work."""
    if part.study.kind == models.WRITE:
        # A sentence that is bent a little is a row like a twin, and no twin that is paid for.
        return twins_of(part).filter(problems__version__parent=None).count()
    return Slot.objects.filter(job=part.pk).exclude(answered_at=None).count()


def lacking_told(part: Participation, done: int) -> str:
    """Return why of work that was all stored in the end less is counted now; "" for nothing.

    Studies that ended before perturbed sentences counted as none were ended by these, too.
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
    part = part_of(user)
    if part is None or part.state != models.WORKING:
        return None
    done, amount = count_done(part), part.study.amount
    return {"done": min(done, amount), "amount": amount, "complete": done >= amount}


def is_held(part: Participation) -> bool:
    """Return whether a worker's votes wait for a moderator."""
    return held(part.person) is not None


def training_told(part: Participation) -> str:
    """Return what anyone who pays should know of a worker's training; "" for nothing.

    Its questions are a part of the paid work, and no votes: who answers them wrongly gets others,
    for as long as there are any.
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
    """Return how far somebody is, by what the database holds."""
    done, amount = count_done(part), part.study.amount
    if part.study.kind == models.WRITE:
        return Workload(done, amount, False, done < amount, False, None)
    judge = Judge.objects.get(person=part.person_id)
    holding = current(part.person) is not None
    if holding or done >= amount:
        return Workload(done, amount, holding, False, stops(judge), None)
    found = ahead(part.person, judge)
    until = found["none_left"].until if found["none_left"] else None
    return Workload(done, amount, False, found["left"], found["paused"], until)


def finish(part: Participation) -> None:
    """End a part whose work is all stored, or for which none is left.

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
            raise InputError(_("The work is not complete: %(done)d of %(amount)d answers "
"are stored.")
                             % {"done": now.done, "amount": now.amount})  # fmt: skip


def leave(part: Participation) -> None:
    """Give a part up; what is stored stays, and there is no code for it."""
    with writing():
        part = _locked(part)
        if part.state == models.WORKING:
            end(part, models.LEFT)


def _locked(part: Participation) -> Participation:
    rows = Participation.objects.select_for_update(of=("self",)).select_related("study", "person")
    return rows.get(pk=part.pk)


def end(part: Participation, state: str) -> None:
    """End a part: no more work is given for it, and what is held goes to others."""
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

    Nobody gets one before all is stored, nor whom the market has turned away.
    """
    if part.verdict in models.TURNED_AWAY:
        return ""
    if part.state == models.COMPLETE:
        return part.study.code or own_code(part.pk)
    if part.state == models.SHORT:
        return part.study.short_code
    return ""


LEFT_AFTER = timedelta(hours=24)
"""After so long without a trace, work in another study counts as given up."""


class Over(InputError):  # noqa: N818 - it reads as what happened
    """The study takes nobody new."""


class NotInvited(InputError):  # noqa: N818
    """The worker is not among those who may come."""


class Elsewhere(InputError):  # noqa: N818
    """The id is at work already, and not in this browser."""


def begun(study: Study, arrival: Arrival) -> Participation | None:
    """Return what this browser began in a study by this claim; None if it began nothing.

    Raises:
        Elsewhere: the id began the study in another browser, or under another submission.
    """
    worker = _found(study, models.WORKER, arrival.claim.worker)
    submission = worker
    if arrival.claim.submission:
        submission = _found(study, models.SUBMISSION, arrival.claim.submission)
    if worker is None and submission is None:
        return None
    if worker is not None and hmac.compare_digest(worker.browser, arrival.browser):
        return worker
    raise Elsewhere(
        _(
            "The study was started with your id in another browser; continue there. If you can’t, "
            "return your submission on the market’s site and write to the researchers: your work "
            "is stored."
        )
    )


def _found(study: Study, kind: str, text: str) -> Participation | None:
    rows = Identity.objects.filter(
        study=study, kind=kind, digest=digest_of(study.provider, kind, text)
    )
    row = rows.select_related("participation__person", "participation__study").first()
    return row.participation if row else None


def begin(study: Study, arrival: Arrival) -> Participation:
    """Make somebody of a claim, with a part in the study; the same browser gets the same again.

    What the worker read in earlier studies is known to be read, so that they never judge it
    again, nor its other half, nor what they wrote; so is what was read in the same browser under
    another id, until now: of questions with a known answer only as long as a training is left.

    Raises:
        Elsewhere: the id is at work in another browser, or in another study.
        Over: the study is closed, or all of its places are taken.
        NotInvited: the id is screened out.
    """
    try:
        with writing():
            made = begun(study, arrival) or _begun_now(study, arrival)
            beside = Participation.objects.filter(browser=arrival.browser).exclude(pk=made.pk)
            _knows(made.person, list(beside), spared=_spared(made.person, beside))
            return made
    except (IntegrityError, Elsewhere) as error:  # the same id may have begun at this moment
        found = begun(study, arrival)
        if found is not None:
            return found
        if isinstance(error, Elsewhere):
            raise
        raise Elsewhere(_at_work()) from None


def _begun_now(study: Study, arrival: Arrival) -> Participation:
    open_study = Study.objects.select_for_update().filter(pk=study.pk, closed=None).first()
    if open_study is None:
        raise Over(_("This study is closed to new people."))
    if open_study.participations.count() >= open_study.most:
        raise Over(
            _(
                "All places of this study are taken. Please return your "
                "submission on the market’s site."
            )
        )
    worker = digest_of(study.provider, models.WORKER, arrival.claim.worker)
    if not may_come(study, worker):
        raise NotInvited(
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
                sealed=seal(text),
                at_work=kind == "worker",
            )
    _knows(person, earlier)
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
    """Return what a worker did in other studies; all of it is over.

    Raises:
        Elsewhere: one of these studies continues.
    """
    rows = Participation.objects.select_related("person", "study")
    found = list(rows.filter(identities__digest=worker).order_by("pk"))
    for one in found:
        if one.state == models.WORKING:
            if timezone.now() - _last_act(one) < LEFT_AFTER:
                raise Elsewhere(_at_work())
            end(one, models.LEFT)
        close_doors(one.person)
    return found


def _at_work() -> str:
    return _(
        "Your id is already working in another study on this site. Finish that "
        "study or give it up, in the browser in which you started it."
    )


def _last_act(one: Participation) -> datetime:
    rows = Slot.objects.filter(holder=one.person)
    latest = rows.aggregate(taken=Max("taken_at"), answered=Max("answered_at"))
    written = Twin.objects.filter(contributor=one.person).aggregate(at=Max("created"))["at"]
    return max(filter(None, (one.began, written, *latest.values())))


def _knows(person: Person, earlier: list[Participation], spared: Collection[int] = ()) -> None:
    """Write down that a person knows what was read or written in other participations.

    Args:
        person: who begins.
        earlier: what they did before, or what was done in their browser under other ids.
        spared: twins that they may be asked about all the same.
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


def _spared(person: Person, beside: QuerySet[Participation]) -> list[int]:
    """Return the twins with a known answer that somebody's training needs all the same.

    Who shares a computer finds no training left once others on it have had all of the questions,
    and is no cheat. Where too few are left, those come again of which no half is judged.
    """
    needed = settings.RULES.training_questions
    if not needed or Judge.objects.filter(person=person, qualified__isnull=False).exists():
        return []
    known = Seen.objects.filter(person__in=beside.values("person")).values("twin")
    questions = askable().values_list("twin", flat=True).distinct()
    if questions.exclude(twin__in=known).count() >= needed:
        return []
    judged = Problem.objects.filter(state__in=(State.HELD, State.JUDGING), gold=False)
    return list(questions.exclude(twin__in=judged.values("twin")))


def forget_worker(person: Person, _texts: bool) -> None:
    """Delete the market's ids of an erased person; what they were paid stays, by no name.

    Votes that the market has not confirmed can't be confirmed any more: they don't count, and
    others judge these problems. A worker whose id was screened is no longer on the list.
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
    """Forget the ids of those whose work ended, and was settled, before the site's retention began.

    Their digests stay, so that a worker never reads a problem twice.
    """
    settled = Identity.objects.filter(participation__ended__lt=before)
    settled = settled.exclude(participation__verdict=models.WAITING).exclude(sealed="")
    with writing():
        return settled.update(sealed="")


def _kept(part: Participation) -> Iterable[Identity]:
    return part.identities.exclude(sealed="").order_by("pk")


def studies_of(person: Person) -> list[dict[str, Any]]:
    """Return a person's parts in studies, with the ids by which a market knows them."""
    rows = Participation.objects.filter(person=person).select_related("study")
    return [
        {
            "market": part.study.provider,
            "ids": {row.kind: unseal(row.sealed) for row in _kept(part)},
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
