"""Run each scenario of a trial in a separate process, because Django serves one site each."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .postgres import PostgresServer, find_postgres, postgres_server
from .powercut import PowerCut, can_simulate, watch_folder

UNWATCHED = {
    "hold_pace_seconds": 0,
    "hold_accounts": 0,
    "training_questions": 0,
    "training_right": 0,
}
"""Settings without limits on pace and address, and without training, for trials of other
properties, whose judges answer at once."""

DATABASES = ("sqlite", "postgresql")


@dataclass
class Place:
    """A scenario's site folder, database server, and power cut."""

    folder: Path
    postgres: PostgresServer | None = None
    cuts: PowerCut | None = None
    name: str = "winosmith"

    @property
    def database(self) -> str | None:
        """The address of the PostgreSQL database; None for SQLite."""
        return self.postgres.url(self.name) if self.postgres else None


ready: Path | None = None
"""Folder of a site with tables, which places copy; if it is not set, places are new."""

ready_database: Callable[[], tuple[PostgresServer, str]] | None = None
"""Creates a PostgreSQL database with these tables, for places whose server is never stopped."""


@contextmanager
def make_place(
    database: str, *, cut: bool = False, shared: bool = False, **settings: str
) -> Iterator[Place]:
    """Make a folder and, for "postgresql", a server, with a power cut; remove all at the end.

    With `shared`, a database on a shared server is used (`ready_database`).
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="winosmith-trial-")))
        made = Place(folder / "site")
        if ready:
            shutil.copytree(ready, made.folder)
        else:
            made.folder.mkdir(mode=0o700)
        if database == "postgresql" and shared and ready_database:
            made.postgres, made.name = ready_database()
        elif database == "postgresql":
            made.postgres = stack.enter_context(postgres_server(**settings))
            made.postgres.create("winosmith")
        if cut and can_simulate():
            watched = made.postgres.folder / "data" if made.postgres else made.folder
            made.cuts = stack.enter_context(watch_folder(watched))
            if made.postgres:
                made.postgres.stop()
                made.postgres.environment = made.cuts.environment()
                made.postgres.start()
        yield made


def list_databases(asked: str = "") -> tuple[str, ...]:
    """Return the databases to try; PostgreSQL only if it is installed."""
    if asked:
        return (asked,)
    return DATABASES if find_postgres() else DATABASES[:1]


def run_in_process(scenario: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Run a scenario in a process without Django, and return its result."""
    forked = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(1, mp_context=forked) as process:
        return process.submit(scenario, *arguments, **named).result()


def open_site(folder: Path, database: str | None, **rules: Any) -> None:
    """Set up Django in this process for a site, and create missing tables.

    The rules are settings in `site.toml`: whole numbers, true and false.
    """
    from winosmith.web import Site, hosting

    if rules:
        text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in rules.items())
        (folder / "site.toml").write_text(text)
    hosting.prepare(Site.open(folder, database=database))
    from winosmith.web import _lock

    _lock.MAX_WAIT = 600.0  # nothing waits here, and speed doesn't matter in a race
