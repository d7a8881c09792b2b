"""A database that somebody else holds, is away or takes nothing: who waits, and what is told."""

import contextlib
import dataclasses
import functools
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from tests.waiting import LONGEST
from tests.web.serving import PASSWORD
from trials.crowd.postgres import postgres_server
from winosmith.web import wsgi

WAITED = LONGEST / 2
"""Seconds in which the slowest machine has answered who waits for no lock that is held for ever."""

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))

TABLES = """
from django.apps import apps
result = sorted(model._meta.db_table for model in apps.get_models())
"""


@contextlib.contextmanager
def _locked(site: Any) -> Iterator[None]:
    """Hold the whole database against writers, as another program may."""
    if site.database is None:
        with contextlib.closing(sqlite3.connect(site.folder / "site.sqlite3")) as other:
            other.isolation_level = None
            other.execute("BEGIN EXCLUSIVE")
            yield
        return
    import psycopg

    tables = ", ".join(f'"{table}"' for table in site.do(TABLES))
    with psycopg.connect(site.database) as other:
        other.execute(f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
        yield
        other.rollback()


@pytest.fixture
def browser(trials: None) -> Iterator[Any]:
    """Return what makes browsers of people who log in."""
    from crowd.browser import Browser

    made: list[Any] = []

    def log_in(site: Any, name: str) -> Any:
        browser = Browser(site.url, 120)
        made.append(browser)
        form = browser.open("/people/login/").form("/people/login/")

        field = next(field for field in form.fields if "name" in field)
        assert browser.send(form, {}, **{field: name, "password": PASSWORD}).acknowledged
        return browser

    yield log_in
    for each in made:
        each.close()


def _draft(browser: Any) -> Any:
    """Begin a draft; return its form."""
    form = browser.open("/write/").form("/write/")
    return browser.open(browser.send(form).location).form(having="sentence_1")


@pytest.fixture(scope="module")
def sites(served_long: Any) -> Callable[[str], Any]:
    """Return what serves a site on a database, with ann on it, who judges; it stays served."""

    @functools.cache
    def made(database: str) -> Any:
        site = served_long(database=database)
        site.people(ann="judge")
        return site

    return made


READ = ("/", "/problems/", "/judge/", "/write/", "/download/problems.jsonl")


@pytest.mark.parametrize("database", DATABASES)
def test_reading_waits_for_no_writer(sites: Any, browser: Any, database: str) -> None:
    """While another program holds the database and writers wait, every page is read."""
    site = sites(database)
    ann = browser(site, "ann")
    forms = [_draft(ann) for _ in range(12)]
    over = threading.Event()

    def write(form: Any) -> None:
        own = ann.twin()
        while not over.is_set():
            own.send(form, {}, do="save", sentence_1="The cup hit the jug since the _ fell.")
        own.close()

    writers = [threading.Thread(target=write, args=(form,)) for form in forms]
    with _locked(site):
        for each in writers:
            each.start()
        time.sleep(1)
        try:
            for path in READ:
                start = time.monotonic()
                assert ann.open(path).status == 200, path
                assert time.monotonic() < start + WAITED, path
        finally:
            over.set()
    for each in writers:
        each.join()


@pytest.mark.parametrize("database", DATABASES)
def test_a_write_that_can_not_be_is_told_soon_and_keeps_its_text(
    sites: Any, browser: Any, database: str
) -> None:
    """Status 503 says when to come again; the page holds what was sent, to be sent again."""
    site = sites(database)
    ann = browser(site, "ann")
    form = _draft(ann)
    typed = "The <cup> hit the jug since the _ fell."
    with _locked(site):
        start = time.monotonic()
        page = ann.send(form, {}, do="save", sentence_1=typed)
        assert time.monotonic() < start + WAITED
        assert page.status == 503, page.text
        assert "The &lt;cup&gt; hit the jug" in page.text
        again = page.form(having="sentence_1")
        assert (again.fields["sentence_1"], again.fields["do"]) == (typed, "save")
    assert ann.send(again).acknowledged
    kept = ann.open(again.action).form(having="sentence_1")
    assert kept.fields["sentence_1"] == typed


PATIENT = """
import os, time
from django.db import OperationalError, connection
from winosmith.web import _lock

def told():
    try:
        with _lock.writing():
            return "wrote"
    except OperationalError:
        return "gave up"

_lock.MAX_WAIT = 60
connection.close()
patient = os.fork()
if not patient:
    _lock.set_lock_timeout(connection, 60)
    told()
    os._exit(0)
time.sleep(2)
with _lock.limit_write_waits(59):
    result = [told()]
waits = os.waitpid(patient, os.WNOHANG) == (0, 0)
if waits:
    os.kill(patient, 9)
result.append("the other waits" if waits else "the other is through")
"""
"""A write that has a second left asks behind one of another process that waits for a minute."""


def test_nobody_waits_for_the_patience_of_others(sites: Any) -> None:
    """A write gives up in its own time, whoever waits before it for a database that is locked."""
    site = sites("sqlite")
    with _locked(site):
        assert site.do(PATIENT) == ["gave up", "the other waits"]


@pytest.mark.parametrize("database", DATABASES)
def test_health_tells_of_a_locked_database(sites: Any, database: str) -> None:
    """While another program holds the database /healthz says so, in a sentence."""
    site = sites(database)
    with _locked(site):
        time.sleep(1.1)  # an answer holds for a second
        start = time.monotonic()
        answer = site.get("/healthz")
        assert time.monotonic() < start + WAITED
    assert (answer.status, answer.text) == (
        503,
        "the database is locked by another program or a long write by the site; pages can be "
        "read, but nothing can be written\n",
    )
    time.sleep(1.1)
    assert site.get("/healthz").status == 200


def test_a_password_is_on_no_page(sites: Any) -> None:
    """A form with a password that could not be handled is not shown again."""
    site = sites("sqlite")
    cookie = site.get("/people/login/").headers["Set-Cookie"].partition(";")[0]
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": cookie,
        "X-CSRFToken": cookie.partition("=")[2],
    }
    with _locked(site):
        page = site.ask("POST", "/people/login/", "name=ann&password=hush-hush", headers)
    assert page.status == 503
    assert "hush" not in page.text
    assert "<form" not in page.text.partition("<main")[2]


@pytest.fixture
def healthy(database: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what `/healthz` asks, which forgets what it found last."""
    monkeypatch.setattr(wsgi, "CACHE_SECONDS", -1.0)
    assert wsgi.find_fault() == ""
    return wsgi


def test_a_full_disk_is_told(healthy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing more can be written /healthz says that the disk is full."""
    monkeypatch.setattr(
        "winosmith.web.wsgi.tempfile.TemporaryFile",
        lambda **_: open("/dev/full", "wb", 0),  # noqa: PTH123, SIM115
    )
    assert healthy.find_fault() == healthy.DISK_FULL


def test_a_folder_that_is_gone_is_told(healthy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the site's folder can't be written to /healthz says so."""
    gone = dataclasses.replace(settings.SITE, folder=settings.SITE.folder / "nowhere")
    monkeypatch.setattr(settings, "SITE", gone)
    assert healthy.find_fault() == healthy.UNWRITABLE


def test_what_a_database_refuses_is_told_in_words(db: Any, tmp_path: Path) -> None:
    """SQLite's own error of a file that can only be read is told as that."""
    from winosmith.web import wsgi as healthy

    path = tmp_path / "read-only.sqlite3"
    path.touch()
    with (
        contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database,
        pytest.raises(OperationalError) as refused,
        connection.wrap_database_errors,
    ):
        database.execute("CREATE TABLE cups (x)")
    assert healthy._get_error_message(refused.value) == healthy.READ_ONLY


@pytest.mark.postgres
def test_health_tells_of_a_database_that_takes_nothing(served: Any, postgres: Any) -> None:
    """A PostgreSQL that can only be read is told as that."""
    site = served(database="postgresql")
    name = site.database.rpartition("/")[2]
    postgres._run(
        "psql", "-qd", postgres.url(), "-c",
        f'ALTER DATABASE "{name}" SET default_transaction_read_only = on',
    )  # fmt: skip
    time.sleep(1.1)
    answer = site.get("/healthz")
    assert (answer.status, answer.text) == (
        503,
        "the database is read-only\n",
    )


@pytest.mark.long
@pytest.mark.postgres
def test_health_waits_for_no_database_that_hangs(served: Any, postgres: Any) -> None:
    """While PostgreSQL takes connections and says nothing /healthz says that it is away."""
    with postgres_server() as own:  # others go on with theirs
        site = served(database=own.create("hangs"))
        time.sleep(1.1)
        os.kill(own.process.pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            answer = site.get("/healthz")
            assert time.monotonic() < start + WAITED
        finally:
            os.kill(own.process.pid, signal.SIGCONT)
            site.kill()
    assert (answer.status, answer.text) == (503, "the database does not answer\n")
