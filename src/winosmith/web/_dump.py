"""The data of one moment, out of a database that is in use, and back into an empty one."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from winosmith.errors import InputError
from winosmith.extras import require


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy a database by SQLite's backup API: all pages of one moment; writers go on meanwhile.

    Raises:
        InputError: there is no database, or it is damaged.
    """
    if not source.exists():
        raise InputError(f"{source} does not exist; there is nothing to back up yet")
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True, timeout=60)) as live,
            closing(sqlite3.connect(target)) as copy,
        ):
            # All pages in one step: in WAL mode that is one snapshot, and it blocks nobody.
            live.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.DatabaseError as error:
        raise InputError(f"{source} can't be read: {error}; restore an earlier backup") from None
    check_sqlite(target)


def check_sqlite(path: Path) -> None:
    """Refuse a damaged database.

    Raises:
        InputError: it is damaged, or no site's.
    """
    try:
        with closing(sqlite3.connect(path)) as database:
            told = database.execute("PRAGMA quick_check(1)").fetchone()[0]
            database.execute("SELECT count(*) FROM django_migrations")
    except sqlite3.DatabaseError as error:
        told = str(error)
    if told != "ok":
        raise InputError(f"the database is damaged ({told}); restore an earlier backup")


def dump_postgresql(url: str, target: Path) -> None:
    """Dump a database by pg_dump, which reads one snapshot and blocks nobody.

    Raises:
        InputError: pg_dump is not installed, or can't read the database.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    _run(url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")


def restore_postgresql(url: str, dump: Path) -> None:
    """Fill an empty database from a dump: all of it, or nothing.

    Raises:
        InputError: the database is not empty, or pg_restore can't write it.
    """
    psycopg = require("psycopg", "postgres")
    try:
        with psycopg.connect(url) as connection:
            tables = connection.execute(
                "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            ).fetchone()[0]
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(f"{_shown(url)} can't be reached: {reason}; check the address") from None
    if tables:
        raise InputError(
            f"{_shown(url)} has {tables} tables already; restore into an empty database (createdb)"
        )
    options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
    _run(url, "pg_restore", *options, str(dump))
    with psycopg.connect(url) as connection:
        # A dump holds no statistics; until the server takes them, queries run by guesses.
        connection.execute("ANALYZE")


def _run(url: str, program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs; the password travels in its environment alone."""
    path = _find(program)
    parts = urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    if parts.username:
        bare = bare._replace(netloc=f"{parts.username}@{bare.netloc}")
    environment = {**os.environ}
    if parts.password:
        environment["PGPASSWORD"] = unquote(parts.password)
    command = [path, f"--dbname={bare.geturl()}", "--no-password", *arguments]
    done = subprocess.run(  # noqa: S603 - no shell; the address is the admin's
        command, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise InputError(
            f"{program} could not work on {_shown(url)}: {said[0] if said else done.returncode}"
        )


def _find(program: str) -> str:
    """Return a program's path: on the PATH, or the newest where Debian puts them."""
    if found := shutil.which(program):
        return found
    homes = Path("/usr/lib/postgresql").glob(f"*/bin/{program}")
    newest = sorted(homes, key=lambda path: float(path.parts[4]))[-1:]
    if not newest:
        raise InputError(f"{program} is not installed; install PostgreSQL's client programs")
    return str(newest[0])


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return (
        f"postgresql://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    )
