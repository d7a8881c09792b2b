"""People write, judge and moderate while their server is killed; no acknowledged write is lost."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .acts import (
    InvalidResponseError,
    UnavailableError,
    Visitor,
    judge_once,
    moderate_once,
    write_twin,
)
from .browser import Browser, UnansweredError
from .scenario import Place, open_site, run_in_process
from .server import Server

KILLS = ("worker", "server", "power")
"""Targets of the kills: one worker; the whole server; the database, with a power cut."""


@dataclass
class Plan:
    """Number and kind of the kills, and the crowd.

    Attributes:
        kills: total number; half are of workers, and a quarter each of the other targets.
        between: acknowledged writes before the next kill.
        fault: one of `careless.FAULTS`.
    """

    kills: int = 200
    between: int = 8
    writers: int = 8
    judges: int = 8
    moderators: int = 2
    fault: str = ""
    seed: int = 0
    rules: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """The result for a site; `destroyed` states why it became unusable.

    Attributes:
        kills: number of kills of each target in `KILLS`.
        killed: total number of server processes killed with kill -9.
    """

    kills: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    unsynced: int = 0
    lost_writes: int = 0
    missing: int = 0
    twice: int = 0
    otherwise: int = 0
    votes: int = 0
    vote_faults: int = 0
    errors: list[str] = field(default_factory=list)
    destroyed: str = ""

    @property
    def data_faults(self) -> int:
        """Number of acknowledged writes that are wrong in the data."""
        wrong = self.missing + self.twice + self.otherwise + self.vote_faults
        return wrong + bool(self.destroyed)

    @property
    def faults(self) -> int:
        """Number of all faults, including server errors."""
        return self.data_faults + len(self.errors)


def prepare(folder: Path, database: str | None, plan: Plan) -> dict[str, list[Any]]:
    """Create the site's people and some problems to judge; runs in a separate process."""
    open_site(folder, database)
    from . import inside

    inside.make_problems(20)
    return {
        "writer": inside.make_people("writer", plan.writers),
        "judge": inside.make_people("judge", plan.judges, is_judge=True),
        "moderator": inside.make_people("mod", plan.moderators, is_judge=True, is_moderator=True),
    }


def audit(folder: Path, database: str | None, acknowledged: list[Any]) -> tuple[Any, Any]:
    """Look up the acknowledged writes; runs in a separate process."""
    open_site(folder, database)
    from . import inside

    return inside.audit_writes(acknowledged), inside.audit_votes()


def torture_site(where: Place, plan: Plan) -> Outcome:
    """Kill a site under load, as planned, and return the fate of the acknowledged writes."""
    outcome, rng = Outcome(), random.Random(plan.seed)  # noqa: S311
    server = Server(where.folder, where.postgres, plan.fault, where.cuts, rules=plan.rules)
    people = run_in_process(prepare, where.folder, where.database, plan)
    server.start()
    crowd = Crowd(server.url, people, plan.seed)
    crowd.begin()
    try:
        for number in range(plan.kills):
            crowd.wait_for(plan.between)
            time.sleep(rng.random() * 0.2)
            kind = KILLS[(0, 1, 0, 2)[number % 4]]
            _kill(server, kind, rng, outcome)
            outcome.kills[kind] += 1
        crowd.wait_for(plan.between)
    except (RuntimeError, InvalidResponseError) as error:
        outcome.destroyed = " ".join(str(error).split())[-300:]
    crowd.end()
    server.stop()
    acknowledged = [write for visitor in crowd.visitors for write in visitor.acknowledged]
    outcome.acknowledged = len(acknowledged)
    outcome.unanswered = sum(visitor.unanswered for visitor in crowd.visitors)
    outcome.errors = sorted(set(crowd.errors))[:20]
    outcome.errors += sorted(set(crowd.refusals()))[:20]
    if outcome.errors:
        outcome.errors += sorted(
            set(re.findall(r"^[\w.]+(?:Error|Exception).*", server.log_text, re.M))
        )
    if not outcome.destroyed:
        try:
            kept, votes = run_in_process(audit, where.folder, where.database, acknowledged)
        except Exception as error:  # noqa: BLE001 - whatever it is, the data can't be read
            outcome.destroyed = " ".join(str(error).split())[:300]
        else:
            outcome.missing, outcome.twice = kept.missing, kept.twice
            outcome.otherwise = kept.otherwise
            outcome.votes, outcome.vote_faults = votes.votes, votes.faults
    return outcome


def _kill(server: Server, kind: str, rng: random.Random, outcome: Outcome) -> None:
    if kind == "worker":
        outcome.killed += server.kill_worker(rng.randrange(100))
    elif kind == "server":
        killed = server.kill()
        if killed < 2:
            raise RuntimeError(f"the server had {killed} processes; it is killed with its children")
        outcome.killed += killed
        server.start()
    else:
        lost = server.cut_power(rng)
        outcome.unsynced += lost.unsynced
        outcome.lost_writes += lost.writes


class Crowd:
    """People with browsers, each in a thread, until they are stopped."""

    def __init__(self, url: str, people: dict[str, list[Any]], seed: int, patience: float = 30):
        acts: dict[str, Callable[[Visitor], bool]] = {
            "writer": write_twin, "judge": judge_once, "moderator": moderate_once,
        }  # fmt: skip
        self.over, self.errors = threading.Event(), list[str]()
        self.visitors: list[Visitor] = []
        self.threads: list[threading.Thread] = []
        for role, everybody in people.items():
            for person in everybody:
                browser = Browser(url, timeout=20)
                browser.cookies = dict(person.cookies)
                visitor = Visitor(person.key, browser, seed, patience, clicks=2)
                self.visitors.append(visitor)
                self.threads.append(threading.Thread(target=self._live, args=(visitor, acts[role])))

    def begin(self) -> None:
        """Start all people."""
        for thread in self.threads:
            thread.start()

    def wait_for(self, writes: int, most: float = 300, faults: int = 100) -> None:
        """Wait until a number of additional writes have been acknowledged.

        Raises:
            InvalidResponseError: they were not acknowledged within `most` seconds, or there
                were too many faults.
        """
        goal, until = self.acknowledged + writes, time.monotonic() + most
        bound = len(self.errors) + len(self.refusals()) + faults
        while self.acknowledged < goal:
            if time.monotonic() > until or len(self.errors) + len(self.refusals()) > bound:
                raise InvalidResponseError(f"no {writes} writes in {most} s; {self.errors[-1:]}")
            time.sleep(0.01)

    @property
    def acknowledged(self) -> int:
        """Number of writes acknowledged so far."""
        return sum(len(visitor.acknowledged) for visitor in self.visitors)

    def end(self) -> None:
        """Let all people finish their current action, and end."""
        self.over.set()
        for visitor in self.visitors:
            visitor.patience = min(visitor.patience, 5.0)
        for thread in self.threads:
            thread.join()
        for visitor in self.visitors:
            visitor.browser.close()

    def refusals(self) -> list[str]:
        """Return the responses that report a server error."""
        return [error for visitor in self.visitors for error in visitor.errors]

    def _live(self, visitor: Visitor, act: Callable[[Visitor], bool]) -> None:
        while not self.over.is_set():
            try:
                if not act(visitor):
                    time.sleep(0.05)
            except (UnansweredError, UnavailableError):  # left to `wait_for`
                continue
            except InvalidResponseError as error:
                self.errors.append(str(error))
                time.sleep(0.05)
