"""Background jobs: each has a database row, and one process, `winosmith work`, runs them.

The row is written in the transaction that requests the work, so that neither exists without the
other, not even in a backup. Only one worker at a time holds the site's lock. A new worker claims
every unfinished job, even if the last worker was killed during the job, so each job must be safe to
run twice. A job fails if the worker ended three times during it, for example for lack of memory.

Each lane is a thread that runs its jobs one after the other, so an email never waits for an import.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import DatabaseError, OperationalError, connection, models, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from winosmith.errors import InputError, WinosmithError
from winosmith.locks import FileLock, read_lock
from winosmith.web import _lock
from winosmith.web._lock import writing
from winosmith.web.pages import reload_rules

if TYPE_CHECKING:
    from winosmith.web._site import Site


def make_job_id() -> str:
    return secrets.token_hex(16)


class Job(models.Model):
    """A job that an admin, a moderator or the site itself requested.

    The rows of jobs that people requested are never deleted, because they are the admins' log. A
    periodic job keeps its row.

    Attributes:
        mark: The identifier in the URL of the job's page; for a periodic job, the kind.
        actor: The person who requested the job; None for the site itself.
        decided: The person who confirmed, discarded, stopped or retried the job.
        asked: The values of the form's fields, by field name; secrets are never included.
        tries: The number of times that a worker has started the job since the job last ended.
        done, total: The numbers of finished problems and of all problems; 0 if not counted.
        came: The preview or the result.
        error: The reason for the last failure, for admins.
        at: The time of the request; for a periodic job, the time of the next run.
        ended: The time when the job, or the last run of a periodic job, ended.
    """

    class Kind(models.TextChoices):
        SETTINGS = "settings", gettext_lazy("settings")
        IMPORT = "import", gettext_lazy("import")
        TEST = "test", gettext_lazy("opening of a human test")
        TEST_CLOSE = "test-close", gettext_lazy("results of a closed human test")
        TEST_PUBLISH = "test-publish", gettext_lazy("publication of a human test")
        STUDY = "study", gettext_lazy("new study")
        STUDY_LINK = "study-link", gettext_lazy("new link of a study")
        STUDY_CLOSE = "study-close", gettext_lazy("closing of a study")
        STUDY_PLACES = "study-places", gettext_lazy("change of a study’s places")
        STUDY_LIST = "study-list", gettext_lazy("participant list of a study")
        STUDY_PAID = "study-paid", gettext_lazy("market’s decisions on a study")
        STUDY_BONUS = "study-bonus", gettext_lazy("paid bonuses of a study")
        BACKUP = "backup", gettext_lazy("backup")
        MAIL = "mail", gettext_lazy("mail")
        PUBLISH = "publish", gettext_lazy("publication of halves whose wait is over")
        ORIGINS = "origins", gettext_lazy("deletion of judges’ network digests")
        TIDY = "tidy", gettext_lazy("deletion of old data")
        ROUND = "round", gettext_lazy("round")
        BATCH = "batch", gettext_lazy("action on many problems")
        VOTES = "votes", gettext_lazy("change of a judge’s votes")

    class State(models.TextChoices):
        READING = "reading", gettext_lazy("reading the file")
        SHOWN = "shown", gettext_lazy("to be confirmed")
        WAITING = "waiting", gettext_lazy("waiting")
        RUNNING = "running", gettext_lazy("running")
        DONE = "done", gettext_lazy("done")
        FAILED = "failed", gettext_lazy("failed")
        DROPPED = "dropped", gettext_lazy("discarded")
        STOPPED = "stopped", gettext_lazy("stopped")

    mark = models.CharField(max_length=32, unique=True, default=make_job_id)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="jobs"
    )
    decided = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )
    kind = models.CharField(max_length=12, choices=Kind)
    asked = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State, default=State.DONE)
    tries = models.SmallIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    came = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    ended = models.DateTimeField(null=True)

    class Meta:
        app_label = "run"
        indexes: ClassVar = [
            models.Index(
                fields=["kind", "id"],
                condition=models.Q(state__in=["reading", "waiting", "running"]),
                name="job_unfinished",
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.get_state_display()}, {self.at:%Y-%m-%d %H:%M}"

    @property
    def is_busy(self) -> bool:
        return self.state in BUSY_STATES

    @property
    def is_stoppable(self) -> bool:
        by_a_person = self.state in PENDING_STATES and self.actor_id is not None
        return by_a_person or (self.is_busy and self.kind in STOPPABLE_KINDS)

    @property
    def is_retryable(self) -> bool:
        """Whether the job failed or was stopped, and can be run again.

        The job's input must still exist: email addresses and files of stopped imports are deleted.
        """
        is_stopped = self.state == State.STOPPED and self.kind in RESUMABLE_KINDS
        return is_stopped or (self.state == State.FAILED and self.kind != MAIL)

    @property
    def file(self) -> Path:
        """Path of the job's file, which may no longer exist."""
        return Path(settings.SITE.folder, UPLOADS, self.mark)

    @property
    def is_shown(self) -> bool:
        return self.state == State.SHOWN

    def confirm(self, person: Any) -> None:
        self._change_state("is_shown", ALREADY_DECIDED, State.WAITING, decided=person)

    def discard(self, person: Any = None) -> None:
        """Discard a job after its preview; `person` is None if nobody confirmed it in time."""
        self._change_state("is_shown", ALREADY_DECIDED, State.DROPPED, decided=person)

    def stop(self, person: Any) -> None:
        """Stop a job that has not changed anything yet, or one that keeps its finished parts."""
        refusal = gettext_noop("This job can no longer be stopped.")
        with writing():
            self._change_state("is_stoppable", refusal, State.STOPPED, decided=person)
            if self.kind in stop_hooks:
                stop_hooks[self.kind](self)

    def retry(self, person: Any) -> None:
        """Run a failed or stopped job again, without repeating its finished parts."""
        unread = self.kind in file_readers and self.decided_id is None
        state = State.WAITING
        if unread:
            state = State.READING
        elif self.kind in STOPPABLE_KINDS or self.error == WORKER_ENDED:
            state = State.RUNNING  # some parts may be finished
        columns = {} if unread else {"decided": person}
        why = gettext_noop("This job has not failed, or can’t be retried.")
        self._change_state("is_retryable", why, state, tries=0, error="", **columns)

    def _change_state(self, condition: str, refusal: str, state: Any, **columns: Any) -> None:
        """Change the job's row, or raise InputError(`refusal`) if a property is false by now."""
        is_over = state in (State.DROPPED, State.STOPPED)
        ended = timezone.now() if is_over else None
        with writing():
            if not getattr(Job.objects.select_for_update(no_key=True).get(pk=self.pk), condition):
                raise InputError(_(refusal))
            Job.objects.filter(pk=self.pk).update(state=state, ended=ended, **columns)
            if is_over:
                transaction.on_commit(partial(_delete_file, self))


State = Job.State

(
    SETTINGS, IMPORT, TEST, TEST_CLOSE, TEST_PUBLISH, STUDY, STUDY_LINK, STUDY_CLOSE, STUDY_PLACES,
    STUDY_LIST, STUDY_PAID, STUDY_BONUS, BACKUP, MAIL, PUBLISH, ORIGINS, TIDY, ROUND, BATCH, VOTES,
) = Job.Kind.values  # fmt: skip

MODERATOR_KINDS = (BATCH, VOTES)
"""Kinds of jobs that moderators request, stop and continue."""

RESUMABLE_KINDS = (ROUND, *MODERATOR_KINDS)
"""Kinds of jobs that can continue after a stop. Imports can't, because their file is deleted."""

STOPPABLE_KINDS = (IMPORT, *RESUMABLE_KINDS)
"""Kinds of jobs that can be stopped while they run."""

PENDING_STATES = (State.READING, State.WAITING)
"""States before a job has changed anything: it waits, or the worker is reading its file."""

BUSY_STATES = (*PENDING_STATES, State.RUNNING)

STARTED_STATES = (State.READING, State.RUNNING)
"""States in which the worker may be running the job."""

UPLOADS = "uploads"
"""Folder in the site's folder for the files of unfinished jobs; backups omit this folder."""

ALREADY_DECIDED = gettext_noop("This job was already confirmed or discarded; open the page again.")
PROGRAM_FAILED = gettext_noop("The program failed; the site’s log contains the error.")
WORKER_ENDED = gettext_noop(
    "The worker ended three times during this job; it may need more memory than the server has."
)

Progress = Callable[[int], object]
"""Function that a job calls with its number of finished problems or votes, possibly within the
transaction that finishes them. It raises `JobStopped` if a user has stopped the job."""

runners: dict[str, Callable[[Job, Progress], dict[str, Any] | None]] = {}
"""For each kind, the function that runs a job and returns its result; a rerun resumes the job."""

Reading = Callable[[float], object]
"""Function that is called with the fraction, 0–1, of a file that has been read."""

file_readers: dict[str, Callable[[Job, Reading], None]] = {}
"""For each kind, the function that reads a job's file and stores a preview in the job's row."""

HOUR, DAY = 3600.0, 24 * 3600.0

crash_hooks: dict[str, Callable[[Job], object]] = {}
"""For each kind, the function that is called if a job fails because the worker ended during it."""

stop_hooks: dict[str, Callable[[Job], object]] = {}
"""For each kind, the function that is called in the transaction that stops a job."""

periods: dict[str, float] = {}
"""For each kind of periodic job, the number of seconds between its runs."""

_SEPARATE_LANES = (
    (MAIL,),
    (PUBLISH, ORIGINS, TIDY),
    (ROUND,),
    (*MODERATOR_KINDS, TEST_CLOSE),
)

LANES = (*_SEPARATE_LANES, tuple(sorted(set(Job.Kind.values).difference(*_SEPARATE_LANES))))
"""Groups of kinds: only jobs of the same group wait for each other, so that a moderator's action
never waits for an import."""

thread_functions: list[Callable[[], object]] = []
"""Functions that the worker runs in separate threads, in addition to the jobs, until it ends."""


class UnavailableError(Exception):
    """The database or the mail server is unavailable; raised with the postponed job's key."""


class JobStopped(Exception):  # noqa: N818 - a request, not an error
    """A user stopped the job while it was running."""


def create_job(actor: Any, kind: str, asked: dict[str, Any], **columns: Any) -> Job:
    """Create a job, or a log entry for a finished action, in the caller's transaction."""
    state = columns.pop("state", State.DONE)
    ended = timezone.now() if state == State.DONE else None
    return Job.objects.create(
        actor=actor, kind=kind, asked=asked, state=state, ended=ended, **columns
    )


def queue_job(kind: str, **asked: Any) -> None:
    """Queue a job that the site itself requests."""
    with writing():
        Job.objects.create(kind=kind, asked=asked, state=State.WAITING)


def register_periodic_task(kind: str, seconds: float, work: Callable[[], object]) -> None:
    def run(_job: Job, _progress: Progress) -> None:
        work()

    periods[kind], runners[kind] = seconds, run


def run_next_job(
    kinds: Iterable[str], postponed: Mapping[int, float] = MappingProxyType({})
) -> bool:
    """Run the oldest due job of the given kinds, and return whether there was one.

    `postponed` maps each postponed job's key to the time (`time.monotonic`) until which the job
    waits. The next run of a postponed job does not count as another try.

    Raises:
        UnavailableError: The database or mail server did not answer; other jobs may still run.
    """
    waits = [key for key, until in postponed.items() if until > time.monotonic()]
    due = Job.objects.filter(state__in=BUSY_STATES, kind__in=kinds, at__lte=timezone.now())
    job = due.exclude(pk__in=waits).order_by("pk").first()
    if job is None:
        return False
    try:
        with suppress(JobStopped):
            _run_job(job, job.tries + (job.pk not in postponed))
    except OperationalError as error:
        raise UnavailableError(job.pk) from error
    return True


def _run_job(job: Job, tries: int) -> None:
    try:
        if job.state == State.READING:
            _update_row(job, tries=tries)
            file_readers[job.kind](job, _make_reading_reporter(job))
            return _update_row(job, state=State.SHOWN, tries=0, total=job.total, came=job.came)
        _update_row(job, state=State.RUNNING, tries=tries)
        came = runners[job.kind](job, lambda done: _store_progress(job, done))
    except (JobStopped, OperationalError, UnavailableError):
        raise  # the worker tries the job again later
    except WinosmithError as error:
        _finish_job(job, State.FAILED, error=str(error))
        if job.state == State.READING:  # other jobs keep their file for a day, for a retry
            _delete_file(job)
    except Exception:
        logging.getLogger(__name__).exception("%s of %s failed", job.kind, job.at)
        _finish_job(job, State.FAILED, error=PROGRAM_FAILED)
    else:
        _finish_job(job, State.DONE, came=came or {}, error="")
        _delete_file(job)


def _finish_job(job: Job, state: Any, **columns: Any) -> None:
    """Store a job's outcome, reschedule a periodic job, and delete the address of an email job."""
    if job.kind == MAIL:
        if state == State.DONE:
            with writing():
                job.delete()
            return
        columns["asked"] = {}
    now = timezone.now()
    if job.mark in periods:
        state, columns["at"] = State.WAITING, now + timedelta(seconds=periods[job.mark])
    _update_row(job, state=state, tries=0, ended=now, **columns)


def _delete_file(job: Job) -> None:
    with suppress(OSError):
        job.file.unlink(missing_ok=True)


REPORT_SECONDS = 1.0
"""Seconds between progress reports while a file is read."""


def _make_reading_reporter(job: Job) -> Reading:
    """Return a function that stores the progress of reading a file, or raises `JobStopped`."""
    last = time.monotonic()

    def report_progress(fraction: float) -> None:
        nonlocal last
        if time.monotonic() >= last + REPORT_SECONDS:
            last = time.monotonic()
            with suppress(OperationalError):  # the next report may succeed
                _update_row(job, came={"read": int(100 * fraction)})

    return report_progress


def _store_progress(job: Job, done: int) -> None:
    """Store the progress of a job; then raise JobStopped if the job was stopped."""
    row = Job.objects.filter(pk=job.pk)
    with writing():
        row.update(done=done)
        continues = row.filter(state__in=BUSY_STATES).exists()
    if not continues:
        raise JobStopped


def _update_row(job: Job, **columns: Any) -> None:
    with writing():
        if not Job.objects.filter(pk=job.pk, state__in=BUSY_STATES).update(**columns):
            raise JobStopped


LOCK = "worker.lock"
"""Lock file in the site's folder, which the worker holds and which contains its process id."""

ONE_WORKER = 0x776F726B
"""Key ("work") of the worker's PostgreSQL advisory lock, for servers that share only a database."""

POLL_SECONDS, ERROR_SECONDS, POSTPONE_SECONDS = 0.5, 5.0, 30.0
"""Polling intervals in seconds: normally, after an error, and for a postponed job."""

ROUND_LOCK, ROUND_KEY = "rounds.lock", ONE_WORKER + 1
"""Lock file and key of the process that runs rounds: the worker or, without a worker, a command."""

MAX_TRIES = 3

SERVER = "WINOSMITH_SERVER"
"""Environment variable with the server's process id; the worker ends when that process ends."""


def run_worker() -> None:
    """Run the site's jobs until a signal arrives or the server that started this worker ends.

    The exit code is 1 if the connection to the database was lost.
    """
    ended = threading.Event()
    server = int(os.environ.get(SERVER, "0"))

    def stop(*_: Any) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN if server else stop)  # Ctrl-C is for the server

    def should_continue() -> bool:
        return not ended.wait(POLL_SECONDS) and server in (0, os.getppid())

    _lock.limit_lock_waits()
    while (_lock_of_worker := _acquire_lock(LOCK, ONE_WORKER, {"process": os.getpid()})) is None:
        if not should_continue():
            return
    take_over_jobs()
    for kinds in LANES:
        threading.Thread(
            target=_run_jobs_forever, args=(kinds,), name=kinds[0], daemon=True
        ).start()
    for watch in thread_functions:
        threading.Thread(target=watch, name="watcher", daemon=True).start()
    try:
        while should_continue():
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
    except DatabaseError:  # on PostgreSQL, the lock ends with the connection
        logging.getLogger(__name__).exception(
            "the worker is stopping: it lost its database connection"
        )
        os._exit(1)  # the threads must not continue while the next worker runs
    with suppress(OperationalError), writing():  # no job caused the end of this worker
        Job.objects.filter(state__in=STARTED_STATES, tries__gt=0).update(tries=F("tries") - 1)
    os._exit(0)  # unfinished jobs run again


def _acquire_lock(name: str, key: int, note: object = None) -> ExitStack | None:
    """Acquire the lock file and the PostgreSQL lock; return None if either is already held."""
    file = FileLock.acquire(settings.SITE.folder / name)
    if file is None:
        return None
    held = ExitStack()
    held.callback(file.close)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
            if not cursor.fetchone()[0]:
                held.close()
                return None
        held.callback(_unlock, key)
    if note is not None:
        file.write_note(note)
    return held


def _unlock(key: int) -> None:
    if connection.connection is not None:
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def get_worker_process_id(folder: Path) -> int | None:
    """Return the process id of the worker on this machine, or None."""
    held, note = read_lock(folder / LOCK)
    return note["process"] if held and isinstance(note, dict) else None


def is_worker_missing() -> bool:
    return not _is_lock_held(LOCK, ONE_WORKER)


def are_rounds_idle() -> bool:
    return is_worker_missing() and not _is_lock_held(ROUND_LOCK, ROUND_KEY)


def _is_lock_held(name: str, key: int) -> bool:
    if connection.vendor != "postgresql":
        return read_lock(settings.SITE.folder / name)[0]
    held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %s"
    with connection.cursor() as cursor:
        cursor.execute(held, [key])
        return cursor.fetchone() is not None


def wait_for_job(job: Job) -> None:
    """Wait until a job has ended; run the job in this process if the site has no worker.

    A worker that starts in the meantime runs all jobs except rounds.
    """
    postponed: dict[int, float] = {}
    while Job.objects.get(pk=job.pk).is_busy:
        lock = _acquire_lock(ROUND_LOCK, ROUND_KEY) if is_worker_missing() else None
        if lock is None:
            time.sleep(1)
            continue
        with lock:
            take_over_jobs([job.kind])
            try:
                done = run_next_job([job.kind], postponed)
            except UnavailableError:
                done, postponed[job.pk] = False, time.monotonic() + POSTPONE_SECONDS
        if not done:
            time.sleep(1)


def take_over_jobs(kinds: Iterable[str] = Job.Kind.values) -> None:
    """Claim the unfinished jobs of a worker that has ended, and add missing periodic jobs.

    A job fails if `MAX_TRIES` workers have ended while running it; a periodic job is rescheduled.
    """
    left = Job.objects.filter(state__in=STARTED_STATES, kind__in=kinds, tries__gte=MAX_TRIES)
    for job in left:
        with suppress(JobStopped):
            _finish_job(job, State.FAILED, error=WORKER_ENDED)
            crash_hooks[job.kind](job) if job.kind in crash_hooks else None
    now = timezone.now()
    with writing():
        for kind, seconds in periods.items():  # a wrong clock may have scheduled it years ahead
            last = now + timedelta(seconds=seconds)
            Job.objects.filter(mark=kind, at__gt=last).update(at=last)
        new = [Job(mark=kind, kind=kind, state=State.WAITING) for kind in periods]
        Job.objects.bulk_create(new, ignore_conflicts=True)


def _run_jobs_forever(kinds: Iterable[str]) -> None:
    if ROUND in kinds:  # a round takes hours: pages and models have priority
        with suppress(OSError):  # the process has a lower priority already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    postponed: dict[int, float] = {}
    while True:
        wait = POLL_SECONDS
        try:
            reload_rules()
            if ROUND not in kinds:
                more = run_next_job(kinds, postponed)
            elif lock := _acquire_lock(ROUND_LOCK, ROUND_KEY):
                with lock:
                    more = run_next_job(kinds, postponed)
            else:
                more = False  # a command is running a round: see `wait_for_job`
            if more:
                continue
        except UnavailableError as error:
            logging.getLogger(__name__).exception("a job was postponed")
            postponed[error.args[0]] = time.monotonic() + POSTPONE_SECONDS
            connection.close()
        except Exception:
            logging.getLogger(__name__).exception("jobs can't run now")
            connection.close()
            wait = ERROR_SECONDS
        time.sleep(wait)


class Child:
    """A Python process that is restarted when it ends, with growing delays if it keeps failing."""

    MAX_DELAY, HEALTHY_AFTER, GRACE = 60.0, 20.0, 10.0
    """Times in seconds: the maximum delay before a restart, the run time after which a process is
    considered healthy, and the maximum time for shutting down."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.arguments, self.environment = arguments, environment
        self.process: subprocess.Popen[bytes] | None = None
        self.started = self.due = 0.0
        self.failures = 0

    def restart_if_ended(self) -> None:
        """Start the process if it is not running.

        Must be called about once a second or more often.
        """
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            self.process = None
            self.failures = 0 if now - self.started > self.HEALTHY_AFTER else self.failures + 1
            self.due = self.started + min(self.MAX_DELAY, 2.0 ** (self.failures - 1))
            self.on_exit(code)
        if now >= self.due:
            self.started = now
            self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-P", *self.arguments],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.environment, SERVER: str(os.getpid())},
        )

    def on_exit(self, code: int) -> None:
        """Handle the end of the process; subclasses can override this method."""

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(self.GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()


def make_worker_process(site: Site) -> Child:
    return Child(["-m", "winosmith", "work", str(site.folder)], site.get_environment())
