"""Databases that are locked, unreachable or read-only: who waits, and what is reported."""

import contextlib
import dataclasses
import functools
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from tests.waiting import LONGEST
from tests.web.conftest import DATABASES, PASSWORD
from trials.crowd.postgres import postgres_server
from winosmith.web import wsgi

WAITED = LONGEST / 2
"""Seconds in which the slowest machine answers requests that don't wait for a lasting lock."""

TABLES = """
from django.apps import apps
result = sorted(model._meta.db_table for model in apps.get_models())
"""


@contextlib.contextmanager
def _locked(site: Any) -> Iterator[None]:
    """Lock the whole database against writers, as another program may."""
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
    """Return a function that logs a user in and returns the browser."""
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


def _start_draft(browser: Any) -> Any:
    """Start a draft; return its form."""
    form = browser.open("/write/").form("/write/")
    return browser.open(browser.send(form).location).form(having="sentence_1")


@pytest.fixture(scope="module")
def sites(served_long: Any) -> Callable[[str], Any]:
    """Return a function that serves a site with the judge ann, once per module and database."""

    @functools.cache
    def made(database: str) -> Any:
        site = served_long(database=database)
        site.people(ann="judge")
        return site

    return made


READ = ("/", "/problems/", "/judge/", "/write/", "/download/problems.jsonl")


@pytest.mark.parametrize("database", DATABASES)
def test_pages_can_be_read_while_the_database_is_locked(sites, browser, database):
    site = sites(database)
    ann = browser(site, "ann")
    forms = [_start_draft(ann) for _ in range(12)]
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
def test_write_to_a_locked_database_returns_503_with_its_text(sites, browser, database):
    site = sites(database)
    ann = browser(site, "ann")
    form = _start_draft(ann)
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
"""A write with one second left waits behind another process, which waits for a minute."""


def test_write_gives_up_in_time_behind_a_longer_wait(sites):
    site = sites("sqlite")
    with _locked(site):
        assert site.do(PATIENT) == ["gave up", "the other waits"]


@pytest.mark.parametrize("database", DATABASES)
def test_healthz_reports_a_locked_database(sites, database):
    site = sites(database)
    with _locked(site):
        time.sleep(1.1)  # an answer is cached for a second
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


def test_failed_form_with_a_password_is_not_shown_again(sites):
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
    """Return the module of `/healthz`, with its cache switched off."""
    monkeypatch.setattr(wsgi, "CACHE_SECONDS", -1.0)
    assert wsgi.find_fault() == ""
    return wsgi


def test_full_disk_is_reported_by_a_write(healthy, monkeypatch):
    """`/healthz` reports that the disk is full."""
    monkeypatch.setattr(
        "winosmith.web.wsgi.tempfile.TemporaryFile",
        lambda **_: open("/dev/full", "wb", 0),  # noqa: PTH123, SIM115
    )
    assert healthy.find_fault() == healthy.DISK_FULL


def test_healthz_reports_an_unwritable_folder(healthy, monkeypatch):
    gone = dataclasses.replace(settings.SITE, folder=settings.SITE.folder / "nowhere")
    monkeypatch.setattr(settings, "SITE", gone)
    assert healthy.find_fault() == healthy.UNWRITABLE


def test_error_of_a_read_only_sqlite_file_is_explained(db, tmp_path):
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
def test_healthz_reports_a_read_only_postgresql_database(served, postgres):
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
def test_healthz_does_not_wait_for_a_hanging_database(served, postgres):
    with postgres_server() as own:  # other tests keep the shared server
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
