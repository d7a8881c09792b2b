"""Jobs: work that no request waits for, one row each, done by one process, `winosmith work`.

The row is written in the transaction that asks for the work, so that neither exists without the
other, in backups too. One worker at a time has the site's lock, and it takes up every job that is
not finished, also one during which the last worker was killed: each job can run twice without
harm. A job during which the worker ended three times has failed: it may have filled the memory.

Each lane does its jobs one after the other, in a thread: a mail never waits for an import.
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
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from winosmith.errors import InputError, WinosmithError
from winosmith.locks import FileLock, read_lock
from winosmith.web import _lock
from winosmith.web._lock import writing
from winosmith.web.pages import renew_rules

if TYPE_CHECKING:
    from winosmith.web._site import Site


def new_mark() -> str:
    """Return the address of a new job, 32 hexadecimal digits."""
    return secrets.token_hex(16)


class Job(models.Model):
    """One thing that an admin or a moderator asked for, or that the site does by itself.

    The rows of people are never deleted: they are the log of the admins' pages.

    Attributes:
        mark: its address; the kind, if the site does it again and again.
        actor: the person who asked for it; None for the site itself.
        decided: the person who confirmed, discarded, stopped or retried it.
        kind: what is done.
        asked: what was asked for, by the form's names; never a secret.
        state: how far it is.
        tries: how often a worker began it since its last end.
        done, total: number of problems; 0 if none are counted.
        came: the result.
        error: why it failed, for admins; of a duty, why its last run failed.
        at: when it was asked for; of a duty, when it is due.
        ended: when it, or its last run, ended.
    """

    class Kind(models.TextChoices):
        """What is done."""

        SETTINGS = "settings", gettext_lazy("settings")
        IMPORT = "import", gettext_lazy("import")
        TEST = "test", gettext_lazy("opening of a human test")
        TEST_CLOSE = "test-close", gettext_lazy("results of a closed human test")
        TEST_PUBLISH = "test-publish", gettext_lazy("publishing of a human test")
        STUDY = "study", gettext_lazy("study made")
        STUDY_LINK = "study-link", gettext_lazy("new link of a study")
        STUDY_CLOSE = "study-close", gettext_lazy("study closed")
        STUDY_PLACES = "study-places", gettext_lazy("places of a study")
        STUDY_LIST = "study-list", gettext_lazy("list of people for a study")
        STUDY_PAID = "study-paid", gettext_lazy("market’s decisions on a study")
        BACKUP = "backup", gettext_lazy("backup")
        MAIL = "mail", gettext_lazy("mail")
        NEWS = "news", gettext_lazy("mails of news")
        PUBLISH = "publish", gettext_lazy("publishing of problems that waited long enough")
        ORIGINS = "origins", gettext_lazy("deletion of judges’ network digests")
        TIDY = "tidy", gettext_lazy("deletion of what is too old")
        LEARN = "learn", gettext_lazy("learning of word associations")
        MEASURE = "measure", gettext_lazy("measurement of families")
        ROUND = "round", gettext_lazy("round")
        BATCH = "batch", gettext_lazy("action on many problems")
        VOTES = "votes", gettext_lazy("change of a judge’s votes")

    class State(models.TextChoices):
        """How far it is."""

        READING = "reading", gettext_lazy("is being read")
        SHOWN = "shown", gettext_lazy("to be confirmed")
        WAITING = "waiting", gettext_lazy("waiting to start")
        RUNNING = "running", gettext_lazy("runs")
        DONE = "done", gettext_lazy("done")
        FAILED = "failed", gettext_lazy("failed")
        DROPPED = "dropped", gettext_lazy("dropped")
        STOPPED = "stopped", gettext_lazy("stopped")

    mark = models.CharField(max_length=32, unique=True, default=new_mark)
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
    def busy(self) -> bool:
        """Whether the worker is at it, or is to come."""
        return self.state in BUSY

    @property
    def stoppable(self) -> bool:
        """Whether it can be stopped now."""
        by_a_person = self.state in BEFORE and self.actor_id is not None
        return by_a_person or (self.busy and self.kind in IN_PARTS)

    @property
    def retryable(self) -> bool:
        """Whether it can run again: it has failed or was stopped, and what it needs still exists.

        The address of a mail is deleted, as is the file of a stopped import.
        """
        is_stopped = self.state == State.STOPPED and self.kind in CONTINUABLE
        return is_stopped or (self.state == State.FAILED and self.kind != MAIL)

    @property
    def file(self) -> Path:
        """Where its file is, or was."""
        return Path(settings.SITE.folder, UPLOADS, self.mark)

    def confirm(self, person: Any) -> None:
        """Let a job that was shown be carried out, as an admin decided.

        Raises:
            InputError: it was confirmed or discarded already.
        """
        self._decide(Q(state=State.SHOWN), ALREADY, State.WAITING, decided=person)

    def drop(self, person: Any = None) -> None:
        """Give up a job that waits to be confirmed, as an admin or the time decided.

        Raises:
            InputError: it was confirmed or discarded already.
        """
        self._decide(Q(state=State.SHOWN), ALREADY, State.DROPPED, decided=person)

    def stop(self, person: Any) -> None:
        """Stop what is read, waits to begin, or is done in parts; the parts that are done stay.

        Raises:
            InputError: it can't be stopped, or ended already.
        """
        by_a_person = Q(state__in=BEFORE, actor__isnull=False)
        now = by_a_person | Q(state__in=BUSY, kind__in=IN_PARTS)
        late = gettext_noop("This can’t be stopped any more.")
        with writing():
            self._decide(now, late, State.STOPPED, decided=person)
            if self.kind in stops:
                stops[self.kind](self)

    def retry(self, person: Any) -> None:
        """Let a job that failed or was stopped run again; what is finished is not done twice.

        Raises:
            InputError: it is not `retryable`.
        """
        unread = self.kind in looks and self.decided_id is None
        state = State.WAITING
        if unread:
            state = State.READING
        elif self.kind in IN_PARTS or self.error == ENDED:  # it may have done a part
            state = State.RUNNING
        columns = {} if unread else {"decided": person}
        ended = Q(state=State.FAILED) & ~Q(kind=MAIL) | Q(state=State.STOPPED, kind__in=CONTINUABLE)
        why = gettext_noop("This has not failed, or it can’t run again.")
        self._decide(ended, why, state, tries=0, error="", **columns)

    def _decide(self, now: Q, otherwise: str, state: Any, **columns: Any) -> None:
        """Change the row if it is still as it must be, in one transaction."""
        is_over = state in (State.DROPPED, State.STOPPED)
        ended = timezone.now() if is_over else None
        with writing():
            rows = Job.objects.filter(now, pk=self.pk)
            if not rows.update(state=state, ended=ended, **columns):
                raise InputError(_(otherwise))
            if is_over:
                transaction.on_commit(partial(_forget_file, self))


State = Job.State

(
    SETTINGS, IMPORT, TEST, TEST_CLOSE, TEST_PUBLISH, STUDY, STUDY_LINK, STUDY_CLOSE, STUDY_PLACES,
    STUDY_LIST, STUDY_PAID, BACKUP, MAIL, NEWS, PUBLISH, ORIGINS, TIDY, LEARN, MEASURE, ROUND,
    BATCH, VOTES,
) = Job.Kind.values  # fmt: skip

OF_MODERATORS = (BATCH, VOTES)
"""Kinds that a moderator asks for, stops and lets continue."""

CONTINUABLE = (ROUND, *OF_MODERATORS)
"""Kinds that can continue after a stop; the file of an import is deleted."""

IN_PARTS = (IMPORT, *CONTINUABLE)
"""Kinds that can be stopped while they run."""

BEFORE = (State.READING, State.WAITING)
"""States in which nothing was changed yet, and the worker is to come."""

BUSY = (*BEFORE, State.RUNNING)

BEGUN = (State.READING, State.RUNNING)
"""States in which the worker may be at it."""

UPLOADS = "uploads"
"""In the site's folder: files that are to be confirmed, or carried out; no backup has them."""

ALREADY = gettext_noop("This was confirmed or dropped already; open the page again.")
FAULT = gettext_noop("It failed by a fault of the program; the site’s log says more.")
ENDED = gettext_noop(
    "The worker ended during this, three times; perhaps it takes more memory than there is."
)

Progress = Callable[[int], object]
"""Called with the number of problems or votes that are done, perhaps in the transaction that does
them; raises Stopped if somebody has stopped the job."""

works: dict[str, Callable[[Job, Progress], dict[str, Any] | None]] = {}
"""By the kind: each carries a job out and returns its result; called again, it continues."""

Reading = Callable[[float], object]
"""Called with the fraction of a file that is read, 0–1."""

looks: dict[str, Callable[[Job, Reading], None]] = {}
"""By the kind: each reads the file of a job, and writes into the row what would come of it."""

HOUR, DAY = 3600.0, 24 * 3600.0

lost: dict[str, Callable[[Job], object]] = {}
"""By the kind: each is called if a job failed because the worker ended during it."""

stops: dict[str, Callable[[Job], object]] = {}
"""By the kind: each is called in the transaction that stops a job."""

duties: dict[str, float] = {}
"""By the kind: seconds between two runs of what the site does again and again by itself."""

_APART = (
    (MAIL,),
    (NEWS, PUBLISH, ORIGINS, TIDY),
    (ROUND,),
    (*OF_MODERATORS, TEST_CLOSE),
)

LANES = (*_APART, tuple(sorted(set(Job.Kind.values).difference(*_APART))))
"""Kinds of jobs that wait for each other; a moderator's action never waits for an import."""

watchers: list[Callable[[], object]] = []
"""What the worker does in threads of their own, next to the jobs, as long as it lives."""


class NotNowError(Exception):
    """A job, by its key, can't be done now: the database or the mail server is not available."""


class Stopped(Exception):  # noqa: N818 - it tells of a wish, not of a fault
    """Somebody stopped a job while the worker was at it."""


def note(actor: Any, kind: str, asked: dict[str, Any], **columns: Any) -> Job:
    """Write down what a person does or asks for, in the transaction that does it."""
    state = columns.pop("state", State.DONE)
    ended = timezone.now() if state == State.DONE else None
    return Job.objects.create(
        actor=actor, kind=kind, asked=asked, state=state, ended=ended, **columns
    )


def later(kind: str, **asked: Any) -> None:
    """Ask for something that the site does once by itself; it forgets it afterwards."""
    with writing():
        Job.objects.create(kind=kind, asked=asked, state=State.WAITING)


def add_duty(kind: str, seconds: float, work: Callable[[], object]) -> None:
    """Let the worker do something when it starts, and again and again, as an area is set up."""

    def carry_out(_job: Job, _progress: Progress) -> None:
        work()

    duties[kind], works[kind] = seconds, carry_out


def run_next(kinds: Iterable[str], put_off: Mapping[int, float] = MappingProxyType({})) -> bool:
    """Read or carry out the oldest job of some kinds that is due; return whether there was one.

    Args:
        kinds: the kinds.
        put_off: until when jobs wait, by their keys and the clock `time.monotonic`. If one of them
            is begun again, this is not another try.

    Raises:
        NotNowError: the database or the mail server didn't answer, or was busy; another job may be
            possible.
    """
    waits = [key for key, until in put_off.items() if until > time.monotonic()]
    due = Job.objects.filter(state__in=BUSY, kind__in=kinds, at__lte=timezone.now())
    job = due.exclude(pk__in=waits).order_by("pk").first()
    if job is None:
        return False
    try:
        with suppress(Stopped):
            _run(job, job.tries + (job.pk not in put_off))
    except OperationalError as error:
        raise NotNowError(job.pk) from error
    return True


def _run(job: Job, tries: int) -> None:
    try:
        if job.state == State.READING:
            _write(job, tries=tries)
            looks[job.kind](job, _reading(job))
            return _write(job, state=State.SHOWN, tries=0, total=job.total, came=job.came)
        _write(job, state=State.RUNNING, tries=tries)
        came = works[job.kind](job, lambda done: _tell(job, done))
    except (Stopped, OperationalError, NotNowError):
        raise  # the worker tries again
    except WinosmithError as error:
        _end(job, State.FAILED, error=str(error))
        if job.state == State.READING:  # otherwise the file stays for a day, for a retry
            _forget_file(job)
    except Exception:
        logging.getLogger(__name__).exception("%s of %s failed", job.kind, job.at)
        _end(job, State.FAILED, error=FAULT)
    else:
        _end(job, State.DONE, came=came or {}, error="")
        _forget_file(job)


def _end(job: Job, state: Any, **columns: Any) -> None:
    """Write how a job ended; a duty is due again. Of a mail, no address stays."""
    if job.kind == MAIL:
        if state == State.DONE:
            with writing():
                job.delete()
            return
        columns["asked"] = {}
    now = timezone.now()
    if job.mark in duties:
        state, columns["at"] = State.WAITING, now + timedelta(seconds=duties[job.mark])
    _write(job, state=state, tries=0, ended=now, **columns)


def _forget_file(job: Job) -> None:
    with suppress(OSError):
        job.file.unlink(missing_ok=True)


NOTED = 1.0
"""Seconds between two notes of how far a file is read."""


def _reading(job: Job) -> Reading:
    """Return what writes down how much of a file is read; it raises Stopped as `_write` does."""
    told = time.monotonic()

    def tell(share: float) -> None:
        nonlocal told
        if time.monotonic() >= told + NOTED:
            told = time.monotonic()
            with suppress(OperationalError):  # a note that can't be written now is omitted
                _write(job, came={"read": int(100 * share)})

    return tell


def _tell(job: Job, done: int) -> None:
    """Write down how far a job is, also if it is to go no further.

    Raises:
        Stopped: somebody has stopped it.
    """
    row = Job.objects.filter(pk=job.pk)
    with writing():
        row.update(done=done)
        continues = row.filter(state__in=BUSY).exists()
    if not continues:
        raise Stopped


def _write(job: Job, **columns: Any) -> None:
    """Change the row of a job that the worker is at.

    Raises:
        Stopped: somebody has stopped it.
    """
    with writing():
        if not Job.objects.filter(pk=job.pk, state__in=BUSY).update(**columns):
            raise Stopped


LOCK = "worker.lock"
"""In the site's folder: held by the worker, with its process id."""

ONE_WORKER = 0x776F726B
"""The PostgreSQL advisory lock of the worker ("work"): servers may have folders of their own."""

EVERY, AWAY, PUT_OFF = 0.5, 5.0, 30.0
"""Seconds between two looks for a job, after a failed look, and after a job that can't be done."""

ROUND_LOCK, ROUND_KEY = "rounds.lock", ONE_WORKER + 1
"""The same two for the process that runs a round: the worker, or a command without one."""

MOST_TRIES = 3

SERVER = "WINOSMITH_SERVER"
"""In the environment: the process id of the server with which the worker ends."""


def work() -> None:
    """Do the site's jobs until a signal comes, or until the server that started this is gone.

    The process ends with code 1 if it has lost the database.
    """
    ended = threading.Event()
    server = int(os.environ.get(SERVER, "0"))

    def end(*_: Any) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN if server else end)  # Ctrl-C is for the server

    def goes_on() -> bool:
        return not ended.wait(EVERY) and server in (0, os.getppid())

    _lock.bounded()
    while (_lock_of_worker := _locked(LOCK, ONE_WORKER, {"process": os.getpid()})) is None:
        if not goes_on():
            return
    take_over()
    for kinds in LANES:
        threading.Thread(target=_lane, args=(kinds,), name=kinds[0], daemon=True).start()
    for watch in watchers:
        threading.Thread(target=watch, name="watcher", daemon=True).start()
    try:
        while goes_on():
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
    except DatabaseError:  # on PostgreSQL, the lock is gone with the connection
        logging.getLogger(__name__).exception("the worker ends: it has lost the database")
        os._exit(1)  # threads must not go on beside the next worker
    with suppress(OperationalError), writing():  # it was no job's fault that this worker ended
        Job.objects.filter(state__in=BEGUN, tries__gt=0).update(tries=F("tries") - 1)
    os._exit(0)  # what the lanes are at is done again


def _locked(name: str, key: int, note: object = None) -> ExitStack | None:
    """Take the lock of the folder and that of the database; None while another process has one.

    Args:
        name: name of the file in the site's folder.
        key: key of the PostgreSQL advisory lock.
        note: what the file says while it is held.
    """
    file = FileLock.take(settings.SITE.folder / name)
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
        file.write(note)
    return held


def _unlock(key: int) -> None:
    if connection.connection is not None:
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def worker_process(folder: Path) -> int | None:
    """Return the process id of the worker on this machine; None if there is none."""
    held, note = read_lock(folder / LOCK)
    return note["process"] if held and isinstance(note, dict) else None


def worker_is_gone() -> bool:
    """Return whether no worker is at work."""
    return not _is_held(LOCK, ONE_WORKER)


def rounds_are_idle() -> bool:
    """Return whether neither a worker nor a command can be at a round."""
    return worker_is_gone() and not _is_held(ROUND_LOCK, ROUND_KEY)


def _is_held(name: str, key: int) -> bool:
    if connection.vendor != "postgresql":
        return read_lock(settings.SITE.folder / name)[0]
    held = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = %s"
    with connection.cursor() as cursor:
        cursor.execute(held, [key])
        return cursor.fetchone() is not None


def wait_for(job: Job) -> None:
    """Wait until a job has ended; run it in this process if the site has no worker.

    A worker that starts in the meantime runs no round, but all other jobs.
    """
    put_off: dict[int, float] = {}
    while Job.objects.get(pk=job.pk).busy:
        lock = _locked(ROUND_LOCK, ROUND_KEY) if worker_is_gone() else None
        if lock is None:
            time.sleep(1)
            continue
        with lock:
            take_over([job.kind])
            try:
                done = run_next([job.kind], put_off)
            except NotNowError:
                done, put_off[job.pk] = False, time.monotonic() + PUT_OFF
        if not done:
            time.sleep(1)


def take_over(kinds: Iterable[str] = Job.Kind.values) -> None:
    """Take up the jobs of some kinds that another worker left, and add the duties that are new.

    Those during which a worker ended `MOST_TRIES` times have failed; a duty is due later.
    """
    left = Job.objects.filter(state__in=BEGUN, kind__in=kinds, tries__gte=MOST_TRIES)
    for job in left:
        with suppress(Stopped):
            _end(job, State.FAILED, error=ENDED)
            lost[job.kind](job) if job.kind in lost else None
    now = timezone.now()
    with writing():
        for kind, seconds in duties.items():  # a clock that was wrong delays no duty
            last = now + timedelta(seconds=seconds)
            Job.objects.filter(mark=kind, at__gt=last).update(at=last)
        new = [Job(mark=kind, kind=kind, state=State.WAITING) for kind in duties]
        Job.objects.bulk_create(new, ignore_conflicts=True)


def _lane(kinds: Iterable[str]) -> None:
    """Do the jobs of some kinds, one after the other, until the process ends."""
    if ROUND in kinds:  # which takes hours: this thread gives way to pages and models
        with suppress(OSError):  # the process has a lower priority already
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    put_off: dict[int, float] = {}
    while True:
        wait = EVERY
        try:
            renew_rules()
            if ROUND not in kinds:
                more = run_next(kinds, put_off)
            elif lock := _locked(ROUND_LOCK, ROUND_KEY):
                with lock:
                    more = run_next(kinds, put_off)
            else:
                more = False  # `wait_for` is at one
            if more:
                continue
        except NotNowError as error:
            logging.getLogger(__name__).exception("a job is put off")
            put_off[error.args[0]] = time.monotonic() + PUT_OFF
            connection.close()
        except Exception:
            logging.getLogger(__name__).exception("jobs can't be done now")
            connection.close()
            wait = AWAY
        time.sleep(wait)


class Child:
    """A Python process that is started, and again when it ends: seldom if it ends at once.

    Args:
        arguments: arguments of Python.
        environment: next to that of this process, which the child finds there by its id.
    """

    LONGEST, SOUND, GRACE = 60.0, 20.0, 10.0
    """Seconds: the longest wait before a restart; after which a process counts as sound; that it
    has to end."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        self.arguments, self.environment = arguments, environment
        self.process: subprocess.Popen[bytes] | None = None
        self.started = self.due = 0.0
        self.failures = 0

    def look_after(self) -> None:
        """Start the process if there is none; called about once a second, or more often."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            self.process = None
            self.failures = 0 if now - self.started > self.SOUND else self.failures + 1
            self.due = self.started + min(self.LONGEST, 2.0 ** (self.failures - 1))
            self.ended(code)
        if now >= self.due:
            self.started = now
            self.start()

    def start(self) -> None:
        """Start the process."""
        self.process = subprocess.Popen(  # noqa: S603 - our own modules
            [sys.executable, "-P", *self.arguments],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.environment, SERVER: str(os.getpid())},
        )

    def ended(self, code: int) -> None:
        """Do what is to be done after the process has ended; there is nothing."""

    def stop(self) -> None:
        """End the process; what it was at is done again by the next one."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(self.GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()


def worker(site: Site) -> Child:
    """Return the worker of a site as a process, for the server to look after."""
    return Child(["-m", "winosmith", "work", str(site.folder)], site.environment())
