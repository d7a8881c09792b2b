"""Jobs: each is completed exactly once, whatever happens to its worker."""

import os
import signal
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, transaction
from django.test import TestCase
from django.utils import timezone

from tests.waiting import until
from tests.web.conftest import DATABASES
from tests.web.making import fresh
from tests.web.run.visits import make_file
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
    PROGRAM_FAILED,
    ROUND,
    ROUND_LOCK,
    TIDY,
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


@pytest.mark.parametrize("where", DATABASES)
def test_import_with_killed_workers_adds_each_problem_once(served, where):
    site, count = served(database=where, options=WORKING), 4000
    site.people(adam="admin")
    job = site.do(ASKED.format(count=count, text=make_file(count // 2)))
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


def test_worker_ends_with_its_server(served):
    site = served(options=WORKING)
    until(lambda: get_worker_process_id(site.folder))
    site.stop()
    assert get_worker_process_id(site.folder) is None
    site.start()
    until(lambda: get_worker_process_id(site.folder))
    site.kill()
    until(lambda: get_worker_process_id(site.folder) is None)


def test_server_with_no_work_option_starts_no_worker(served):
    """Another machine may run the worker."""
    site = served(options=("--workers", "1"))
    assert "--no-work" in site.options
    children = Path(f"/proc/{site.process.pid}/task/{site.process.pid}/children")
    if not children.exists():
        pytest.skip("the kernel does not list children")
    os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
    assert site.get("/healthz").status == 200  # of its successor, which starts after any worker
    assert len(children.read_text().split()) == 1


@pytest.fixture
def kinds_run(db: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let jobs of three kinds only add their kind to a list; return this list."""
    done: list[str] = []
    for kind in (BACKUP, TIDY, MAIL):
        monkeypatch.setitem(jobs.runners, kind, lambda job, _: done.append(job.kind))
    return done


def _add_due_job(kind: str) -> None:
    Job.objects.create(mark=kind, kind=kind, state="waiting")


class _Killed(BaseException):
    """Stands for the end of the worker's process; no worker catches it."""


def _kill(*_: Any) -> None:
    raise _Killed


def test_job_that_ends_the_worker_three_times_fails(kinds_run, adam, monkeypatch):
    """It may fill the memory. The next job is not blamed, and Retry resets the count."""
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


def test_failed_job_is_logged_and_the_next_job_runs(kinds_run, adam, monkeypatch, caplog):
    def broken(*_: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setitem(jobs.runners, BACKUP, broken)
    job = jobs.create_job(adam, BACKUP, {}, state="waiting")
    _add_due_job(TIDY)
    work_off()
    assert (fresh(job).state, job.error, kinds_run) == ("failed", PROGRAM_FAILED, ["tidy"])
    assert "the disk is gone" in caplog.text


def test_duty_that_ends_the_worker_three_times_is_postponed(kinds_run, monkeypatch):
    _add_due_job(TIDY)
    with monkeypatch.context() as patch:
        patch.setitem(jobs.runners, TIDY, _kill)
        for _worker in range(MAX_TRIES):
            with pytest.raises(_Killed):
                run_next_job([TIDY])
    take_over_jobs()
    row = Job.objects.get(mark=TIDY)
    assert (row.state, row.error, row.at > timezone.now()) == ("waiting", WORKER_ENDED, True)


def test_job_that_the_database_refuses_is_postponed(kinds_run, adam, monkeypatch):
    """The next job of its lane runs, and such attempts are not counted as tries."""

    def locked(*_: Any) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setitem(jobs.runners, BACKUP, locked)
    job = jobs.create_job(adam, BACKUP, {}, state="waiting")
    _add_due_job(TIDY)
    with pytest.raises(jobs.UnavailableError) as caught:
        run_next_job([BACKUP, TIDY])
    assert run_next_job([BACKUP, TIDY], {caught.value.args[0]: time.monotonic() + 60})
    assert (fresh(job).state, kinds_run) == ("running", ["tidy"])
    for _ in range(MAX_TRIES):
        with pytest.raises(jobs.UnavailableError):
            run_next_job([BACKUP, TIDY], {job.pk: 0.0})
    take_over_jobs()
    assert (fresh(job).state, job.tries) == ("running", 1)


def test_lane_runs_the_oldest_of_its_own_jobs(kinds_run, adam):
    backups = [jobs.create_job(adam, BACKUP, {}, state="waiting") for _ in range(2)]
    queue_job(MAIL, email="ann@example.org")
    assert run_next_job(LANES[0])
    assert (kinds_run, run_next_job(LANES[0])) == (["mail"], False)
    assert run_next_job([BACKUP, TIDY])
    states = [Job.objects.get(pk=job.pk).state for job in backups]
    assert states == ["done", "waiting"]


def test_row_of_a_mail_is_deleted(kinds_run):
    """Nobody may read the address in it."""
    queue_job(MAIL, email="ann@example.org")
    work_off()
    assert not Job.objects.filter(kind=MAIL).exists()


def test_duty_runs_at_the_start_and_when_it_is_due(db):
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


def test_worker_reloads_the_settings_before_each_job(kinds_run, monkeypatch):
    class EndOfTest(BaseException):
        pass

    def renewed() -> None:
        seen.append("renewed")
        if len(seen) > 1:
            raise EndOfTest

    seen: list[str] = []
    monkeypatch.setattr(jobs, "reload_rules", renewed)
    assert pages.reload_rules is not renewed
    _add_due_job(TIDY)
    with pytest.raises(EndOfTest):
        jobs._run_jobs_forever([TIDY])
    assert (seen, kinds_run) == (["renewed"] * 2, ["tidy"])


def test_delay_between_restarts_of_a_failing_process_doubles():
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
    """Replace the work of rounds; return a list of whether each call resumed an earlier one."""
    calls: list[bool] = []
    monkeypatch.setitem(jobs.runners, ROUND, lambda job, _: calls.append(job.tries > 0))
    return calls


def test_round_waits_for_the_process_with_the_lock(rounds, adam, monkeypatch):
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


def test_command_resumes_a_round_whose_process_was_killed(rounds, adam):
    job = jobs.create_job(adam, ROUND, {}, state="running", tries=1)
    wait_for_job(job)
    assert (rounds, Job.objects.get(pk=job.pk).state) == ([True], "done")


def test_command_waits_for_a_locked_database_with_its_round(rounds, adam, monkeypatch):
    """The round is postponed, does not fail, and such attempts are not counted as tries."""
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


def test_file_of_a_discarded_job_is_deleted_on_commit(db, adam):
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


def test_admin_lists_stops_and_retries_jobs(kinds_run, adam, visit):
    """Mails are not shown, because of their addresses."""
    waiting = jobs.create_job(adam, BACKUP, {}, state="waiting")
    failed = jobs.create_job(adam, BACKUP, {}, state="failed", error="The disk was full.")
    queue_job(MAIL, email="ann@example.org")
    browser = visit(adam)
    page = browser.get("/admin/jobs/").text
    assert ("The disk was full." in page, "ann@example.org" in page) == (True, False)
    for job, do in ((waiting, "stop"), (failed, "retry")):
        assert f"/admin/jobs/{job.mark}/confirm/" in page
        form = {"key": os.urandom(16).hex(), "do": do}
        assert browser.post(f"/admin/jobs/{job.mark}/confirm/", form).status_code == 302
    states = [Job.objects.get(pk=job.pk).state for job in (waiting, failed)]
    assert states == ["stopped", "waiting"]
    mail = Job.objects.get(kind=MAIL)
    assert browser.get(f"/admin/jobs/{mail.mark}/").status_code == 404
