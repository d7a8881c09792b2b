"""Jobs: each runs to its end once, whatever becomes of the worker that is at it."""

import os
import signal
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, transaction
from django.test import TestCase
from django.utils import timezone

from tests.waiting import until
from tests.web.making import fresh
from tests.web.working import work_off
from winosmith.errors import InputError
from winosmith.locks import FileLock
from winosmith.web import jobs, pages
from winosmith.web.jobs import (
    BACKUP,
    DAY,
    LANES,
    MAIL,
    MAX_TRIES,
    MEASURE,
    PROGRAM_FAILED,
    ROUND,
    ROUND_LOCK,
    WORKER_ENDED,
    Child,
    Job,
    get_worker_process_id,
    queue_job,
    run_next_job,
    take_over_jobs,
    wait_for_job,
)
from winosmith.web.people.models import Hits

WORKING = ("--work",)
"""Options of a server with a worker."""

ASKED = """
from winosmith.web.jobs import Job
from winosmith.web.people.models import Person
job = Job(actor=Person.objects.get(name="adam"), kind="import", state="waiting", total={count})
job.asked = {{"file": "cups.csv", "as": "judging", "format": "", "pair_by": ""}}
job.asked |= {{"new_ids": True, "embargo": False}}
job.file.parent.mkdir(exist_ok=True)
job.file.write_text({text!r})
job.save()
result = job.pk
"""

FAR = """
from winosmith.web.jobs import Job
from winosmith.web.problems.models import Event, Problem
job = Job.objects.get(pk={job})
result = [job.state, job.done, Problem.objects.count(), Event.objects.filter(kind="import").count()]
"""


def _file(twins: int) -> str:
    rows = [
        f"The {n:x} cup hit the {n:x} jug and the _ broke because it was {word}.,cup,jug,{answer}"
        for n in range(twins)
        for word, answer in (("thin", 1), ("old", 2))
    ]
    return "\n".join(["sentence,option1,option2,answer", *rows])


@pytest.mark.parametrize(
    "where", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def test_a_job_whose_worker_is_killed_runs_to_its_end_and_nothing_comes_in_twice(
    served: Any, where: str
) -> None:
    """An import that is killed in the middle, twice, brings each problem in once."""
    site, count = served(database=where, options=WORKING), 4000
    site.people(adam="admin")
    job = site.do(ASKED.format(count=count, text=_file(count // 2)))
    killed, left = set(), []
    for _time in range(2):
        before = site.do(FAR.format(job=job))[1]
        until(lambda: site.do(FAR.format(job=job))[1] > before)  # noqa: B023
        process = until(lambda: get_worker_process_id(site.folder))
        os.kill(process, signal.SIGKILL)
        killed.add(process)
        left.append(site.do(FAR.format(job=job)))
        until(lambda: get_worker_process_id(site.folder) not in {None, *killed})
    assert left[0][0] == "running"
    assert left[0][2] < count
    until(lambda: site.do(FAR.format(job=job))[0] != "running")
    assert site.do(FAR.format(job=job)) == ["done", count, count, count]


def test_the_worker_ends_with_its_server(served: Any) -> None:
    """Stopped or killed, a server leaves no worker; the next one has a worker again."""
    site = served(options=WORKING)
    until(lambda: get_worker_process_id(site.folder))
    site.stop()
    assert get_worker_process_id(site.folder) is None
    site.start()
    until(lambda: get_worker_process_id(site.folder))
    site.kill()
    until(lambda: get_worker_process_id(site.folder) is None)


def test_without_work_a_server_has_no_worker(served: Any) -> None:
    """Another machine may have it."""
    site = served()
    assert "--no-work" in site.options
    time.sleep(2)  # about as long as a worker takes to be there
    assert get_worker_process_id(site.folder) is None


@pytest.fixture
def did(db: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was done: works of three kinds do nothing but to be noted there."""
    done: list[str] = []
    for kind in (BACKUP, MEASURE, MAIL):
        monkeypatch.setitem(jobs.runners, kind, lambda job, _: done.append(job.kind))
    return done


def _due(kind: str) -> None:
    Job.objects.create(mark=kind, kind=kind, state="waiting")


class _Killed(BaseException):
    """What no worker catches: its process has ended."""


def _kill(*_: Any) -> None:
    raise _Killed


def test_a_job_that_ends_the_worker_three_times_has_failed(
    did: list[str], adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may fill the memory; the next one in the queue is not blamed, and Retry counts again."""
    job, other = (jobs.create_job(adam, BACKUP, {}, state="waiting") for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setitem(jobs.runners, BACKUP, _kill)
        for _worker in range(MAX_TRIES):
            assert Job.objects.get(pk=job.pk).state != "failed"
            take_over_jobs()
            with pytest.raises(_Killed):
                run_next_job([BACKUP])
    take_over_jobs()
    work_off()
    assert (fresh(job).state, job.error, fresh(other).state) == ("failed", WORKER_ENDED, "done")
    job.retry(adam)
    with pytest.raises(InputError, match="not failed"):
        job.retry(adam)
    take_over_jobs()
    work_off()
    assert (fresh(job).state, job.error, job.tries) == ("done", "", 0)


def test_a_fault_is_no_end_of_the_worker(
    did: list[str], adam: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What fails is logged, and the next job is done."""

    def broken(*_: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setitem(jobs.runners, BACKUP, broken)
    job = jobs.create_job(adam, BACKUP, {}, state="waiting")
    _due(MEASURE)
    work_off()
    assert (fresh(job).state, job.error, did) == ("failed", PROGRAM_FAILED, ["measure"])
    assert "the disk is gone" in caplog.text


def test_a_duty_that_ends_the_worker_is_due_later(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three ends it waits until its next time, as if it had failed."""
    _due(MEASURE)
    with monkeypatch.context() as patch:
        patch.setitem(jobs.runners, MEASURE, _kill)
        for _worker in range(MAX_TRIES):
            with pytest.raises(_Killed):
                run_next_job([MEASURE])
    take_over_jobs()
    row = Job.objects.get(mark=MEASURE)
    assert (row.state, row.error, row.at > timezone.now()) == ("waiting", WORKER_ENDED, True)


def test_a_job_that_the_database_refuses_blocks_no_other(
    did: list[str], adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is put off, and the next one of its lane is done."""

    def locked(*_: Any) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setitem(jobs.runners, BACKUP, locked)
    job = jobs.create_job(adam, BACKUP, {}, state="waiting")
    _due(MEASURE)
    with pytest.raises(jobs.UnavailableError) as caught:
        run_next_job(LANES[-1])
    assert run_next_job(LANES[-1], {caught.value.args[0]: time.monotonic() + 60})
    assert (fresh(job).state, did) == ("running", ["measure"])
    for _ in range(MAX_TRIES):
        with pytest.raises(jobs.UnavailableError):
            run_next_job(LANES[-1], {job.pk: 0.0})
    take_over_jobs()
    assert (fresh(job).state, job.tries) == ("running", 1)


def test_a_lane_does_the_oldest_of_its_own_jobs(did: list[str], adam: Any) -> None:
    """A mail waits for no backup, and a backup for the one before it."""
    backups = [jobs.create_job(adam, BACKUP, {}, state="waiting") for _ in range(2)]
    queue_job(MAIL, email="ann@example.org")
    assert run_next_job(LANES[0])
    assert (did, run_next_job(LANES[0])) == (["mail"], False)
    assert run_next_job(LANES[-1])
    states = [Job.objects.get(pk=job.pk).state for job in backups]
    assert states == ["done", "waiting"]


def test_a_mail_leaves_no_row(did: list[str]) -> None:
    """An address is nobody's to read: sent or not, its row is deleted."""
    queue_job(MAIL, email="ann@example.org")
    work_off()
    assert not Job.objects.filter(kind=MAIL).exists()


def test_a_duty_is_done_at_the_start_and_when_its_time_has_come(db: Any) -> None:
    """What is too old is deleted at once and a day later, not in between."""

    def old() -> None:
        Hits.objects.create(who="x", what="write", hour=timezone.now() - timedelta(days=400))

    old()
    for _start in range(2):
        take_over_jobs()
        work_off()
    assert Hits.objects.count() == 0
    old()
    work_off()
    assert Hits.objects.count() == 1
    rows = Job.objects.filter(mark="tidy")
    assert rows.get().at > timezone.now() + timedelta(seconds=DAY - 600)
    rows.update(at=timezone.now())
    work_off()
    assert Hits.objects.count() == 0


def test_before_each_job_the_worker_takes_up_the_settings(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an admin chose holds for the next job."""

    class EndOfTest(BaseException):
        pass

    def renewed() -> None:
        seen.append("renewed")
        if len(seen) > 1:
            raise EndOfTest

    seen: list[str] = []
    monkeypatch.setattr(jobs, "reload_rules", renewed)
    assert pages.reload_rules is not renewed
    _due(MEASURE)
    with pytest.raises(EndOfTest):
        jobs._run_jobs_forever(LANES[-1])
    assert (seen, did) == (["renewed"] * 2, ["measure"])


def test_a_process_that_ends_at_once_is_started_ever_more_seldom() -> None:
    """The first restart comes after a second; none while the process lives."""

    class Dead:
        def __init__(self, *_: Any, **__: Any) -> None:
            started.append(now[0])

        def poll(self) -> int:
            return 1

    started: list[float] = []
    now = [0.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("winosmith.web.jobs.subprocess.Popen", Dead)
        patch.setattr("winosmith.web.jobs.time.monotonic", lambda: now[0])
        child = Child(["-c", ""], {})
        for second in range(20):
            now[0] = float(second)
            child.restart_if_ended()
    assert started == [0, 1, 3, 7, 15]


@pytest.fixture
def rounds(db: Any, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each call of a round's work continued one that had begun."""
    calls: list[bool] = []
    monkeypatch.setitem(jobs.runners, ROUND, lambda job, _: calls.append(job.tries > 0))
    return calls


def test_a_round_waits_for_the_process_that_is_at_one(
    rounds: list[bool], adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the lock of rounds, a command begins none; then it does."""
    job = jobs.create_job(adam, ROUND, {}, state="waiting")
    lock = FileLock.acquire(settings.SITE.folder / ROUND_LOCK)
    assert lock is not None
    assert not jobs.are_rounds_idle()
    before: list[int] = []

    def release(_seconds: float) -> None:
        before.append(len(rounds))
        lock.close()

    monkeypatch.setattr(time, "sleep", release)
    wait_for_job(job)
    assert (before, rounds, Job.objects.get(pk=job.pk).state) == ([0], [False], "done")
    assert jobs.are_rounds_idle()


def test_a_command_resumes_a_round_whose_process_was_killed(rounds: list[bool], adam: Any) -> None:
    """Its row still says that it runs: the round continues, and counts as another try."""
    job = jobs.create_job(adam, ROUND, {}, state="running", tries=1)
    wait_for_job(job)
    assert (rounds, Job.objects.get(pk=job.pk).state) == ([True], "done")


def test_a_command_waits_for_a_locked_database_and_then_does_its_round(
    rounds: list[bool], adam: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round is put off, not failed, and the attempt does not count as a try."""
    job = jobs.create_job(adam, ROUND, {}, state="waiting")
    tries: list[int] = []

    def work(job: Job, _progress: Any) -> None:
        tries.append(Job.objects.get(pk=job.pk).tries)
        if len(tries) < 3:
            raise OperationalError("database is locked")

    monkeypatch.setitem(jobs.runners, ROUND, work)
    monkeypatch.setattr(jobs, "POSTPONE_SECONDS", 0.0)
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    wait_for_job(job)
    assert (tries, Job.objects.get(pk=job.pk).state) == ([1, 1, 1], "done")


def test_a_file_stays_until_the_drop_of_its_job_is_committed(db: Any, adam: Any) -> None:
    """Undone by a fault, a drop leaves job and file as they were."""
    job = jobs.create_job(adam, BACKUP, {}, state="shown")
    job.file.parent.mkdir(exist_ok=True)
    job.file.touch()
    with suppress(ZeroDivisionError), transaction.atomic():
        job.discard(adam)
        raise ZeroDivisionError
    assert (Job.objects.get(pk=job.pk).state, job.file.exists()) == ("shown", True)
    with TestCase.captureOnCommitCallbacks(execute=True):
        job.discard(adam)
        assert job.file.exists()
    assert not job.file.exists()


def test_an_admin_sees_stops_and_retries_jobs(did: list[str], adam: Any, visit: Any) -> None:
    """One page lists what waits, runs and has failed, with a button for what can be done."""
    waiting = jobs.create_job(adam, BACKUP, {}, state="waiting")
    failed = jobs.create_job(adam, BACKUP, {}, state="failed", error="The disk was full.")
    queue_job(MAIL, email="ann@example.org")
    browser = visit(adam)
    page = browser.get("/admin/jobs/").content.decode()
    assert ("The disk was full." in page, "ann@example.org" in page) == (True, False)
    for job, do in ((waiting, "stop"), (failed, "retry")):
        assert f"/admin/jobs/{job.mark}/confirm/" in page
        form = {"key": os.urandom(16).hex(), "do": do}
        assert browser.post(f"/admin/jobs/{job.mark}/confirm/", form).status_code == 302
    states = [Job.objects.get(pk=job.pk).state for job in (waiting, failed)]
    assert states == ["stopped", "waiting"]
    mail = Job.objects.get(kind=MAIL)
    assert browser.get(f"/admin/jobs/{mail.mark}/").status_code == 404
