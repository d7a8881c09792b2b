"""Check by system calls whether a commit is synced before its response is sent.

strace watches the server's processes and the database's: every write to a file of the database,
every fsync and fdatasync, and the first bytes of each response, in order. A response to a write was
sent too early if a log file contains unsynced bytes at that time, or if nothing was written before.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .acts import Visitor, judge_once, write_twin
from .browser import Browser
from .killing import Plan, prepare
from .postgres import PostgresServer
from .scenario import Place, run_in_process
from .server import Server

WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
SYNCS = ("fsync", "fdatasync")
TALK = ("recvfrom", "sendto", "sendmsg")

KINDS = {"/judge/answer/": "vote", r"/write/\w+/": "twin"}
"""The observed forms, by URL."""

_LINE = re.compile(r"(\d+) +(?:(\w+)\(\d+<(.*?)>|<\.\.\. (\w+) resumed>)")
_REQUEST = re.compile(r'"POST (\S+) HTTP')
_ANSWER = re.compile(r'"HTTP/1\.1 (\d+)')
_DONE = re.compile(r" = 0$")


@dataclass(frozen=True)
class Answer:
    """An answer to a form, and the state of the disk when its first bytes were sent.

    Attributes:
        kind: one of KINDS' values.
        status: HTTP status of the answer.
        written: number of writes to the database's files since the form was received.
        synced: number of completed syncs of these files.
        unsynced: files with relevant data that were not on disk (`Ledger.asked_only`).
    """

    kind: str
    status: int
    written: int
    synced: int
    unsynced: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether the answer confirms the form, by a redirect or by the next page."""
        return self.status in (200, 302)

    @property
    def safe(self) -> bool:
        """Whether the request wrote data, and all of it was on disk."""
        return self.written > 0 and self.synced > 0 and not self.unsynced


@dataclass
class Ledger:
    """The output of strace so far.

    Attributes:
        files: pattern of the paths of the database's files.
        asked_only: whether only bytes written by threads that serve a client must be on disk.
            PostgreSQL's log writer may start at any time, even between a commit's sync and its
            response; a backend writes only requested data.
    """

    files: re.Pattern[str]
    asked_only: bool = False
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._moment = self._writes = self._syncs = 0
        self._written: dict[str, int] = {}
        self._syncing: dict[str, tuple[str, int]] = {}
        self._asked: dict[str, tuple[str, int, int]] = {}
        self._wires: dict[str, str] = {}

    def read(self, lines: Iterable[str]) -> Ledger:
        """Process lines of strace in order."""
        for line in lines:
            if found := _LINE.match(line):
                thread, call, path, resumed = found.groups()
                self._moment += 1
                self._take(line.rstrip(), thread, call or resumed, path)
        return self

    def _take(self, line: str, thread: str, call: str, path: str | None) -> None:
        if call in SYNCS:
            if path is not None:
                self._syncing[thread] = (path, self._moment)
            if _DONE.search(line):
                self._sync(*self._syncing.pop(thread, ("", 0)))
        elif call in WRITES and path and self.files.search(path):
            self._writes += 1
            if not self.asked_only or thread in self._wires:
                self._written[path] = self._moment
        elif call in TALK:
            # One thread reads for all that respond; request and response have the same socket.
            wire = self._wires[thread] = path or self._wires.get(thread, "")
            if call == "recvfrom" and (asked := _REQUEST.search(line)):
                self._asked[wire] = (asked[1], self._writes, self._syncs)
            elif (status := _ANSWER.search(line)) and wire in self._asked:
                self._answer(int(status[1]), *self._asked.pop(wire))

    def _sync(self, path: str, begun: int) -> None:
        """Record that writes before the start of a sync are on disk when it returns."""
        if self.files.search(path):
            self._syncs += 1
            if self._written.get(path, 0) < begun:
                self._written.pop(path, None)

    def _answer(self, status: int, path: str, writes: int, syncs: int) -> None:
        for address, kind in KINDS.items():
            if re.fullmatch(address, path):
                self.answers.append(
                    Answer(
                        kind,
                        status,
                        self._writes - writes,
                        self._syncs - syncs,
                        tuple(sorted(Path(one).name for one in self._written)),
                    )
                )


def can_watch() -> bool:
    """Whether strace is installed and may trace other processes."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    done = subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, check=False)
    return done.returncode == 0


@contextmanager
def trace_processes(processes: list[int], trace: Path) -> Iterator[None]:
    """Trace processes, their threads and their children with strace, to a file."""
    calls = ",".join((*WRITES, *SYNCS, *TALK))
    command = ["strace", "-f", "-y", "-s", "80", "-e", f"trace={calls}", "-o", str(trace)]
    for process in processes:
        command += ["-p", str(process)]
    strace = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not all(_is_traced(process) for process in processes):
            if strace.poll() is not None or time.monotonic() > until:
                raise RuntimeError("strace could not look at the server's processes")
            time.sleep(0.02)
        yield
    finally:
        strace.terminate()
        strace.wait(30)


def _is_traced(process: int) -> bool:
    """Whether every thread of a process is traced, or the process has ended."""
    for task in Path(f"/proc/{process}/task").glob("*/status"):
        try:
            text = task.read_text()
        except OSError:
            continue
        if re.search(r"^TracerPid:\t0$", text, re.MULTILINE):
            return False
    return True


def observe_answers(where: Place, *, count: int, fault: str = "") -> list[Answer]:
    """Return the state of the disk at each answer, for a number of twins and votes."""
    server = Server(where.folder, where.postgres, fault, options=("--workers", "1"))
    people = run_in_process(
        prepare, where.folder, where.database, Plan(writers=1, judges=1, moderators=0)
    )
    server.start()
    try:
        writer, judge = (_visitor(server.url, people[role][0]) for role in ("writer", "judge"))
        write_twin(writer)
        judge_once(judge)
        trace = where.folder.with_name("strace")
        with trace_processes([*server.processes(), *_database(where.postgres)], trace):
            for _ in range(count):
                write_twin(writer)
                judge_once(judge)
        for visitor in (writer, judge):
            visitor.browser.close()
    finally:
        server.stop()
    files = (
        r"/pg_wal/"
        if where.postgres
        else re.escape(str(where.folder.resolve())) + r"/site\.sqlite3(-wal|-journal)?$"
    )
    with trace.open(errors="replace") as lines:
        return Ledger(re.compile(files), where.postgres is not None).read(lines).answers


def _visitor(url: str, person: object) -> Visitor:
    browser = Browser(url, timeout=60)
    browser.cookies = dict(person.cookies)  # type: ignore[attr-defined]
    return Visitor(person.key, browser)  # type: ignore[attr-defined]


def _database(server: PostgresServer | None) -> list[int]:
    """Return the ids of the processes of a database server."""
    if server is None or server.process is None:
        return []
    done = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True)
    pairs = [[int(part) for part in line.split()] for line in done.stdout.splitlines()]
    own = server.process.pid
    return [own, *(pid for pid, parent in pairs if parent == own)]
