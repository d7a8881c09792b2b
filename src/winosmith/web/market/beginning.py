"""Beginning a study: a person for one worker and one study, bound to one browser."""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timedelta

from django.db import IntegrityError
from django.db.models import Max, Min, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from winosmith.errors import InputError
from winosmith.web._lock import writing
from winosmith.web.judge.models import Judge, Seen, Slot
from winosmith.web.judge.seen import block_of
from winosmith.web.market.arriving import Arrival
from winosmith.web.market.keys import digest_of, seal
from winosmith.web.market.models import (
    JUDGE,
    LEFT,
    SUBMISSION,
    WORKER,
    WORKING,
    Identity,
    Participation,
    Study,
)
from winosmith.web.market.screening import may_come
from winosmith.web.market.working import end
from winosmith.web.people.accounts import close_doors
from winosmith.web.people.models import Person
from winosmith.web.problems.models import Problem, Twin

__all__ = ["Elsewhere", "NotInvited", "Over", "begin", "begun"]

IDLE = timedelta(hours=24)
"""After so long without a trace, work in another study counts as given up."""


class Over(InputError):  # noqa: N818 - it reads as what happened
    """The study takes nobody new."""


class NotInvited(InputError):  # noqa: N818
    """The worker is not among those who may come."""


class Elsewhere(InputError):  # noqa: N818
    """The id is at work already, and not in this browser."""


def begun(study: Study, arrival: Arrival) -> Participation | None:
    """Return what this browser began in a study by this claim; None where it began nothing.

    Raises:
        Elsewhere: the id began the study in another browser, or under another submission.
    """
    worker = _found(study, WORKER, arrival.claim.worker)
    submission = worker
    if arrival.claim.submission:
        submission = _found(study, SUBMISSION, arrival.claim.submission)
    if worker is None and submission is None:
        return None
    if worker is not None and hmac.compare_digest(worker.browser, arrival.browser):
        return worker
    raise Elsewhere(
        _(
            "The study was begun with your id in another browser, and goes on there alone. If you "
            "can’t go on there, return your submission at the market and write to whoever runs "
            "the study: what you did is stored."
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
    again, nor its other half, nor what they wrote.

    Raises:
        Elsewhere: the id is at work in another browser, or in another study.
        Over: the study is closed, or all of its places are taken.
        NotInvited: the id is screened out.
    """
    try:
        with writing():
            return begun(study, arrival) or _begun_now(study, arrival)
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
        raise Over(_("This study is over; it takes nobody new."))
    most = open_study.most
    if most is not None and open_study.participations.count() >= most:
        raise Over(
            _(
                "All places of this study are taken, and those kept for people who return theirs. "
                "Please return your submission at the market."
            )
        )
    worker = digest_of(study.provider, WORKER, arrival.claim.worker)
    if not may_come(study, worker):
        raise NotInvited(
            _(
                "This study is for people who were chosen beforehand, and your id is not among "
                "them. Please return your submission at the market."
            )
        )
    earlier = _earlier(worker)
    judges = study.kind == JUDGE
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
        Elsewhere: one of these studies goes on.
    """
    rows = Participation.objects.select_related("person", "study")
    found = list(rows.filter(identities__digest=worker).order_by("pk"))
    for one in found:
        if one.state == WORKING:
            if timezone.now() - _last_act(one) < IDLE:
                raise Elsewhere(_at_work())
            end(one, LEFT)
        close_doors(one.person)
    return found


def _at_work() -> str:
    return _(
        "Your id is at work in another study here. Finish that one, or give it up, in the browser "
        "in which you began it."
    )


def _last_act(one: Participation) -> datetime:
    rows = Slot.objects.filter(holder=one.person)
    latest = rows.aggregate(taken=Max("taken_at"), answered=Max("answered_at"))
    written = Twin.objects.filter(contributor=one.person).aggregate(at=Max("created"))["at"]
    return max(filter(None, (one.began, written, *latest.values())))


def _knows(person: Person, earlier: list[Participation]) -> None:
    """Write down that a person knows what the same worker read or wrote as somebody else."""
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
        for row in Seen.objects.filter(person__in=others)
    ]
    wrote: QuerySet[Problem] = Problem.objects.filter(twin__contributor__in=others)
    rows += [
        Seen(person=person, block=block_of(half), twin_id=half.twin_id, problem_id=half.pk)
        for half in wrote
    ]
    Seen.objects.bulk_create(rows, ignore_conflicts=True)
