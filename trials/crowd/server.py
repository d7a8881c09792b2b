"""A site under trial: the process of `winosmith serve`, its workers, and functions to kill it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith.locks import read_lock

from .browser import Browser, UnansweredError
from .postgres import PostgresServer
from .powercut import Losses, PowerCut
from .scenario import UNWATCHED
from .sentences import TOPIC

RULES: dict[str, Any] = {
    "review": "none",
    "gold_every": 0,
    **UNWATCHED,
    "writes_per_hour": 1_000_000,
    "answers_per_hour": 1_000_000,
}
"""Default settings of a site under trial, which don't slow the crowd down."""


@dataclass
class Server:
    """A site and the process that serves it.

    Attributes:
        folder: the site's folder.
        postgres: the database server; None for SQLite.
        fault: one of `careless.FAULTS`; "" for none.
        cuts: simulates power cuts in `folder`, or in the database server's folder.
        options: additional options of `winosmith serve`.
    """

    folder: Path
    postgres: PostgresServer | None = None
    fault: str = ""
    cuts: PowerCut | None = None
    options: tuple[str, ...] = ("--workers", "2")
    rules: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        topics = self.folder / "topics.jsonl"
        lines = [{"title": f"Topic {number}", "text": TOPIC} for number in range(20)]
        topics.write_text("".join(json.dumps(line) + "\n" for line in lines))
        rules = {**RULES, "topics": "topics.jsonl", **self.rules}
        settings = "".join(f"{name} = {_format_toml(value)}\n" for name, value in rules.items())
        (self.folder / "site.toml").write_text(settings)

    @property
    def database(self) -> str | None:
        """The address of the PostgreSQL database; None for SQLite."""
        return self.postgres.url("winosmith") if self.postgres else None

    @property
    def log(self) -> Path:
        """Path of the server's log."""
        return self.folder.with_name(f"{self.folder.name}.log")

    @property
    def log_text(self) -> str:
        """Text of the server's log."""
        return self.log.read_text()

    def start(self) -> Server:
        """Start the server on its previous port, and wait until it responds."""
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "crowd.careless", self.fault or "none", "serve"]
        watched = self.cuts.environment() if self.cuts and not self.postgres else {}
        here = str(Path(__file__).parents[1])
        paths = os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))
        with self.log.open("a") as out:
            begin = out.tell()
            self.process = subprocess.Popen(
                [*command, str(self.folder), "--port", port, *self.options],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    **watched,
                    "WINOSMITH_DATABASE": self.database or "",
                    "PYTHONUNBUFFERED": "1",
                    "PYTHONPATH": paths,
                },
                start_new_session=True,
            )
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            printed = self.log.read_text()[begin:]
            if found := re.findall(r"^(?:Address|Listens at) +(\S+?)/?$", printed, re.MULTILINE):
                self.url = found[-1]
                browser = Browser(self.url, 20)
                with contextlib.suppress(UnansweredError), contextlib.closing(browser):
                    if browser.get("/healthz").status == 200:
                        return self
            time.sleep(0.02)
        raise RuntimeError(f"the server did not start:\n{self.log.read_text()[begin:]}")

    def processes(self) -> list[int]:
        """Return the ids of the parent process (first) and its children."""
        assert self.process is not None
        done = subprocess.run(
            ["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True
        )
        rows = [line.split() for line in done.stdout.splitlines()]
        parent = self.process.pid
        children = [int(row[0]) for row in rows if int(row[1]) == parent and row[2][0] != "Z"]
        return [parent, *children]

    def kill_worker(self, number: int) -> int:
        """Kill a child process (kill -9), which its parent replaces; return how many were killed.

        Raises:
            RuntimeError: there was no child for half a minute.
        """
        until = time.monotonic() + 30
        while time.monotonic() < until:
            _, of_jobs = read_lock(self.folder / "worker.lock")  # it does not respond
            if workers := [one for one in self.processes()[1:] if {"process": one} != of_jobs]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(workers[number % len(workers)], signal.SIGKILL)
                    return 1
            time.sleep(0.05)
        raise RuntimeError("the server has no child process to kill")

    def kill(self) -> int:
        """Kill all processes of the server simultaneously (kill -9), and wait for their end.

        Returns:
            Number of processes that were killed.
        """
        assert self.process is not None
        group = self.process.pid
        count = _count_running(group)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        self.process.wait()
        while _count_running(group):
            time.sleep(0.005)
        return count

    def stop(self) -> None:
        """Ask the server to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def cut_power(self, rng: Any) -> Losses:
        """Kill all writing processes, and undo the writes that are not on disk yet.

        A random part of these writes reaches the disk, or nothing. Then everything is restarted.
        """
        keep = rng.choice((0.0, 0.0, 0.5, 0.9))
        lost = Losses(0, 0, 0)
        if self.postgres:
            self.postgres.kill()
            if self.cuts:
                lost = self.cuts.cut(rng, keep=keep)
            self.postgres.start()
        else:
            self.kill()
            if self.cuts:
                lost = self.cuts.cut(rng, keep=keep)
            self.start()
        return lost


def _format_toml(value: Any) -> str:
    """Format a value as TOML on one line, including tables in a list."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_format_toml(own)}' for key, own in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_format_toml, value))}]"
    return json.dumps(value)


def _count_running(group: int) -> int:
    """Return the number of running processes of a group."""
    done = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True)
    rows = (line.split() for line in done.stdout.splitlines())
    return sum(int(row[0]) == group and row[1][0] != "Z" for row in rows)
