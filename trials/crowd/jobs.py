"""Pages and live predictions while the worker imports a large file and runs a round."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from itertools import count, cycle
from pathlib import Path
from typing import Any

from .acts import InvalidResponseError
from .browser import Browser, UnansweredError
from .predicting import BUILT_IN, await_models, perturb_once
from .queue import ADMINS, PAGES
from .scenario import Place, open_site, run_in_process
from .server import Server

READERS, PERTURBERS = 4, 4
"""Numbers of people who open pages, and who perturb sentences, at the same time."""

PAUSE = 0.5
"""Seconds that each person waits between two actions."""

READ = {**PAGES, **ADMINS}

PATIENCE = 3600.0
"""Seconds after which a job counts as never finished."""


@dataclass
class Measured:
    """The seconds of each page, of predictions and of both jobs, and errors."""

    pages: dict[str, list[float]] = field(default_factory=dict)
    predictions: list[float] = field(default_factory=list)
    jobs: dict[str, float] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def measure(where: Place, *, imported: int, public: int, workers: int) -> Measured:
    """Measure pages and predictions until the import and the round have ended.

    Args:
        where: the folder and database of the site.
        imported: number of problems in the imported file.
        public: number of public problems at the start, which are the pool of the round.
        workers: number of server processes.
    """
    rules = {"perturbs_per_hour": 1_000_000, "models": list(BUILT_IN)}
    server = Server(where.folder, where.postgres, options=("--workers", str(workers)), rules=rules)
    refs, readers, perturbers = run_in_process(prepare, where.folder, where.database, public)
    server.start()
    found, is_over = Measured(), threading.Event()
    threads = [
        threading.Thread(target=_read_often, args=(Browser(server.url), one, is_over, found))
        for one in readers
    ] + [
        threading.Thread(
            target=_perturb_often, args=(Browser(server.url), one, refs[at], is_over, found)
        )
        for at, one in enumerate(perturbers)
    ]
    try:
        await_models(Browser(server.url), len(BUILT_IN), public)
        for thread in threads:
            thread.start()
        found.jobs = run_in_process(run_jobs, where.folder, where.database, imported)
    finally:
        is_over.set()
        for thread in threads:
            if thread.ident:
                thread.join()
        server.stop()
    return found


def prepare(folder: Path, database: str | None, public: int) -> tuple[list[str], Any, Any]:
    """Create public problems, admins who read pages, and people who perturb."""
    open_site(folder, database)
    from .inside import make_people, make_problems

    refs = make_problems(public, state="valid")
    readers = make_people("reader", READERS, is_superuser=True, is_moderator=True, is_judge=True)
    return refs[: 2 * PERTURBERS : 2], readers, make_people("perturber", PERTURBERS)


def run_jobs(folder: Path, database: str | None, imported: int) -> dict[str, float]:
    """Queue the import and the round; return the seconds until the end of each."""
    open_site(folder, database)
    from winosmith.records import dump_json
    from winosmith.web.jobs import BUSY_STATES, IMPORT, ROUND, Job, create_job
    from winosmith.web.people.models import Person
    from winosmith.web.rounds.running import create_round

    from .sentences import make_twin

    admin = Person.objects.get(name="reader-0")
    asked = {
        "file": "large.jsonl", "as": "judging", "format": "", "pair_by": "",
        "new_ids": True, "embargo": False, "source": "",
    }  # fmt: skip
    job = Job(kind=IMPORT)
    job.file.parent.mkdir(exist_ok=True)
    with job.file.open("w") as file:
        for number in range(imported // 2):
            for half, (sentence, answer) in enumerate(make_twin(f"job{number}").halves()):
                record = {
                    "id": f"{number}-{half}", "sentence": sentence, "answer": answer,
                    "options": ["lantern", "kettle"], "twin_id": str(number),
                }  # fmt: skip
                file.write(dump_json(record) + "\n")
    start = time.monotonic()
    create_job(admin, IMPORT, asked, state=Job.State.WAITING, mark=job.mark, total=imported)
    create_round("round-1", {}, actor=admin)
    seconds: dict[str, float] = {}
    while len(seconds) < 2 and time.monotonic() < start + PATIENCE:
        time.sleep(1)
        for one in Job.objects.filter(kind__in=(IMPORT, ROUND)).exclude(state__in=BUSY_STATES):
            if one.state != Job.State.DONE:
                raise RuntimeError(f"{one.kind}: {one.state}: {one.error}")
            seconds.setdefault(one.kind, time.monotonic() - start)
    return seconds


def _read_often(browser: Browser, person: Any, is_over: threading.Event, found: Measured) -> None:
    browser.cookies = dict(person.cookies)
    for name, path in cycle(READ.items()):
        if is_over.wait(PAUSE):
            break
        start = time.monotonic()
        try:
            page = browser.get(path)
        except UnansweredError as error:
            found.errors.append(str(error))
            continue
        found.pages.setdefault(name, []).append(time.monotonic() - start)
        if page.status != 200:
            found.errors.append(f"{path}: {page.status}")
    browser.close()


def _perturb_often(
    browser: Browser, person: Any, ref: str, is_over: threading.Event, found: Measured
) -> None:
    browser.cookies = dict(person.cookies)
    for number in count():
        if is_over.wait(PAUSE):
            break
        try:
            found.predictions.append(perturb_once(browser, person, ref, number)[1])
        except (UnansweredError, InvalidResponseError) as error:
            found.errors.append(" ".join(str(error).split())[:400])
    browser.close()
