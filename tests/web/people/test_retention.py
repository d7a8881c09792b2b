"""Deletion of rows that are older than the site keeps."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from tests.web.making import fresh
from winosmith.web.jobs import BACKUP, MAIL, Job
from winosmith.web.judge.models import Slot
from winosmith.web.people.accounts import invite
from winosmith.web.people.gates import new_key, process_once, rate_limit
from winosmith.web.people.models import Done, Hits, Invitation, Person, Session
from winosmith.web.people.privacy import delete_old_rows
from winosmith.web.problems.models import Problem
from winosmith.web.write.models import Draft


def test_only_old_rows_are_deleted(db: Any, visit: Any, ann: Any, twin: Any, rules: Any) -> None:
    """Hits are kept for a day, sessions until they end, and other rows for `retention_days`."""
    rules(retention_days=30)
    twin(ann)
    rate_limit(ann, "write", 5)
    process_once(ann, new_key(), "/x/", dict)
    invite("judge", 30)
    Draft.objects.create(person=ann, topic="x")
    visit(ann)
    Person.objects.create_anonymous()
    wrote = Person.objects.create_anonymous()
    twin(wrote)
    slot = Slot.objects.filter(problem__twin__contributor=ann)[0]
    slot.open, slot.answered_at, slot.choice = False, timezone.now(), 0
    slot.seconds = slot.local_seconds = 7.5
    slot.save()
    tables = (Hits, Done, Invitation, Draft, Session)

    def rows() -> list[int]:
        return [model.objects.count() for model in tables]

    now = timezone.now()
    assert sum(delete_old_rows(now).values()) == 0
    assert delete_old_rows(now + timedelta(days=2))["hits"] == 1
    assert rows() == [0, 1, 1, 1, 1]
    delete_old_rows(now + timedelta(days=29))
    assert rows() == [0, 1, 1, 1, 1]
    gone = delete_old_rows(now + timedelta(days=31))
    assert rows() == [0, 0, 0, 0, 1]
    assert {name for name, count in gone.items() if count} == {
        "forms",
        "invitations",
        "timings",
        "people",
        "write",
    }
    assert (fresh(slot).seconds, slot.local_seconds, slot.choice) == (None, None, 0)
    assert set(Person.objects.all()) == {ann, wrote}
    assert Problem.objects.count() == 4
    assert delete_old_rows(now + timedelta(days=61))["sessions"] == 1


def test_refused_mails_are_deleted_after_a_week(db: Any) -> None:
    """Admins see them until then. Other failed jobs are kept."""
    now = timezone.now()
    for kind in (MAIL, BACKUP):
        Job.objects.create(kind=kind, state=Job.State.FAILED, ended=now, asked={})
    assert delete_old_rows(now + timedelta(days=6))["mails"] == 0
    assert delete_old_rows(now + timedelta(days=8))["mails"] == 1
    assert [job.kind for job in Job.objects.all()] == [BACKUP]
