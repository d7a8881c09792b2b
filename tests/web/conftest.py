"""Fixtures for a site in a temporary folder, on SQLite and PostgreSQL, and for its users.

Django is set up once per process, before the test modules are imported. `database` points its
only connection at the database that a test requests, so that the same test runs on both.
"""

import contextlib
import fcntl
import importlib.util
import itertools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import absent, locked, of_the_run, once_a_run, open_site
from tests.waiting import until
from tests.web import serving

PASSWORD = serving.PASSWORD
"""Password of each user that `person` creates."""


def pytest_pycollect_makemodule(parent: pytest.Collector) -> None:
    """Set Django up before a module of these folders is imported, as it imports models."""
    open_site(parent.config)


@pytest.fixture(scope="session", autouse=True)
def _django(site: Any) -> None:
    """Let writes wait up to ten minutes for the lock.

    On a slow machine, sixteen simultaneous threads wait for each other longer than a request
    may.
    """
    from winosmith.web import _lock

    _lock.MAX_WAIT = 600.0


@pytest.fixture(scope="session")
def prepared_site(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the folder of a ready site, of which tests serve copies."""
    if importlib.util.find_spec("django") is None:
        absent("Django is not installed (the extra `web`)")
    return once_a_run(tmp_path_factory, "prepared-site", serving.prepared)


@pytest.fixture(scope="session")
def ready_site(site: Any, prepared_site: Any) -> Any:
    """Return the site with its SQLite tables created and its static files collected."""
    shutil.copy(prepared_site / site.database.path.name, site.database.path)
    shutil.copytree(prepared_site / "static", site.folder / "static", dirs_exist_ok=True)
    return site


@pytest.fixture
def db(ready_site: Any) -> Iterator[Any]:
    """Use the SQLite database, and roll back what the test writes. For most tests."""
    from django.db import transaction

    with transaction.atomic():
        yield ready_site
        transaction.set_rollback(True)
    shutil.rmtree(ready_site.folder / "rounds", ignore_errors=True)  # nothing rolls files back


PREPARED = "prepared"
"""Name of the PostgreSQL database with a site's tables, which tests copy."""


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the run's PostgreSQL server with a database PREPARED; no test may stop it.

    The first process that needs it starts it, and stops it when no other process uses it. Its
    data need not survive a power cut, so it does not sync.
    """
    if importlib.util.find_spec("psycopg") is None:
        absent("psycopg is not installed (the extra `postgres`)")
    from trials.crowd.postgres import PostgresServer, find_postgres, postgres_server

    programs = find_postgres()
    if programs is None:
        absent("PostgreSQL is not installed")
    base = of_the_run(tmp_path_factory)
    told, own = base / "postgres.port", contextlib.ExitStack()
    with (base / "postgres.users").open("w") as users:
        with locked(base / "postgres.lock"):
            fcntl.flock(users, fcntl.LOCK_SH)
            if not told.exists():
                off = dict.fromkeys(("fsync", "synchronous_commit", "full_page_writes"), "off")
                started = own.enter_context(postgres_server(**off, max_connections="400"))
                own.callback(told.unlink)
                own.callback(fcntl.flock, users, fcntl.LOCK_EX)  # runs first: waits for all others
                serving.prepared(tmp_path_factory.mktemp(PREPARED), started.create(PREPARED))
                told.write_text(str(started.port))
        server = PostgresServer(programs, base)
        server.port = int(told.read_text())
        with own:
            yield server


def _point_to(settings: dict[str, Any]) -> None:
    """Point Django's connection, in every thread, at another database."""
    from django.db import connections

    connections["default"].close()
    connections.settings["default"] = connections.configure_settings({"default": settings})[
        "default"
    ]
    del connections["default"]


@pytest.fixture(scope="session")
def _postgres_settings(ready_site: Any, postgres: Any) -> dict[str, Any]:
    """Return Django's settings of a migrated database that only this process uses."""
    from winosmith.web import settings

    made: dict[str, Any] = settings._make_postgresql_settings(
        postgres.create(f"tests_{os.getpid()}", PREPARED)
    )
    return made


DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.postgres))
"""Parameters of tests that make a site of their own on each database."""

LONG_DATABASES = (
    "sqlite",
    pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long]),
)
"""The same; `make test` runs these tests only on SQLite."""

BOTH = pytest.mark.parametrize("database", DATABASES, indirect=True)
"""Marks tests that depend on locks or on the SQL dialect; `make test` runs them on both."""


@pytest.fixture(params=LONG_DATABASES)
def database(request: pytest.FixtureRequest, ready_site: Any, prepared_site: Path) -> Iterator[Any]:
    """Use SQLite, then PostgreSQL, with real commits that threads see; empty it after the test."""
    from django.core.management import call_command
    from django.db import connections

    before = connections.settings["default"]
    if request.param == "postgresql":
        _point_to(request.getfixturevalue("_postgres_settings"))
    yield ready_site
    if request.param == "postgresql":
        call_command("flush", interactive=False, verbosity=0)
    connections["default"].close()
    if request.param == "postgresql":
        _point_to(before)
    else:
        serving.copy_database(
            prepared_site / ready_site.database.path.name, ready_site.database.path
        )


@pytest.fixture
def trials(
    request: pytest.FixtureRequest, prepared_site: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Make the trials' harness importable, here and in the processes that it starts."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "trials"))
    for module in ("django", "psycopg"):
        if importlib.util.find_spec(module) is None:
            absent(f"{module} is not installed")
    from crowd import scenario

    def ready() -> tuple[Any, str]:
        server, name = request.getfixturevalue("postgres"), f"trial_{os.getpid()}_{next(_numbers)}"
        server.create(name, PREPARED)
        return server, name

    scenario.ready, scenario.ready_database = prepared_site, ready
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "crowd"]:
        del sys.modules[name]


@pytest.fixture(scope="session")
def right_to_left(site: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the settings that make a site offer the language of `translated`."""
    from tests.web import translated

    return dict(translated.offered(tmp_path_factory.mktemp("locale")))


@pytest.fixture
def arabic(right_to_left: dict[str, Any]) -> Iterator[None]:
    """Offer the made-up language, which runs from right to left, during a test."""
    from django.test import override_settings

    with override_settings(**right_to_left):
        yield


@pytest.fixture
def forgotten(site: Any) -> Iterator[None]:
    """Start with an empty cache, and leave an empty one."""
    from django.core.cache import cache

    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def usual() -> dict[str, Any]:
    """Return the rules with which each test of a folder starts, if they are not the defaults."""
    return {}


@pytest.fixture
def rules(usual: dict[str, Any]) -> Iterator[Callable[..., None]]:
    """Return a setter of the site's rules: `rules(judges=1)`. Other rules are those of `usual`."""
    from django.conf import settings
    from django.test import override_settings

    with contextlib.ExitStack() as stack:

        def change(**changes: Any) -> None:
            changed = replace(settings.RULES, **{**usual, **changes})
            stack.enter_context(override_settings(RULES=changed))

        change()
        yield change


@pytest.fixture(scope="module")
def refs(ready_site: Any) -> Iterator[dict[str, str]]:
    """Create the small site of `visits` once per module, and roll it back at the end."""
    from django.conf import settings
    from django.db import transaction
    from django.test import override_settings

    from tests.web import visits

    usual = replace(settings.RULES, gold_every=0, open_judging=False)
    with override_settings(RULES=usual), transaction.atomic():
        yield visits.staged()
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def stood(ready_site: Any) -> Iterator[Any]:
    """Create the small site of `world` once per module; only users with the role can judge."""
    from tests.web import world

    with world.standing(open_judging=False) as made:
        yield made


@pytest.fixture
def world(stood: Any) -> Iterator[Any]:
    """Return the small site, and roll back what the test writes."""
    from tests.web import world

    with world.taken_back():
        yield stood


@pytest.fixture
def person() -> Callable[..., Any]:
    """Return a function that creates users with PASSWORD: `person("ann", is_judge=True)`."""
    from django.contrib.auth import get_user_model

    def make(name: str, **fields: Any) -> Any:
        return get_user_model().objects.create_user(name, PASSWORD, **fields)

    return make


@pytest.fixture
def ann(person: Callable[..., Any]) -> Any:
    """Return a user without a role."""
    return person("ann")


@pytest.fixture
def bob(person: Callable[..., Any]) -> Any:
    """Return another user without a role."""
    return person("bob")


@pytest.fixture
def eva(person: Callable[..., Any]) -> Any:
    """Return a moderator."""
    return person("eva", is_moderator=True)


@pytest.fixture
def adam(person: Callable[..., Any]) -> Any:
    """Return an admin."""
    return person("adam", is_superuser=True)


@pytest.fixture
def contributor(person: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that creates users who agreed to the current texts."""
    from winosmith.web.people.privacy import save_agreement

    def make(name: str = "ann", **fields: Any) -> Any:
        somebody = person(name, **fields)
        save_agreement(somebody)
        return somebody

    return make


@pytest.fixture
def twin() -> Callable[..., list[Any]]:
    """Return a function that creates a twin and returns both halves.

    Example: `twin(ann, state=("valid", "held"), embargo=True)`. Both sentences contain `word`.
    With `entered`, the twin is like one submitted by the form: its texts are indexed for
    look-alikes, and its halves in judging have slots for judges.
    """
    from winosmith.web.judge.votes import open_slots
    from winosmith.web.problems.lookalikes import index_problems
    from winosmith.web.problems.models import Problem, State, Twin

    def make(
        by: Any = None,
        *,
        state: str | tuple[str, str] = "valid",
        word: str = "trophy",
        entered: bool = False,
        **fields: Any,
    ) -> list[Any]:
        n = next(_numbers)
        of = {name: fields.pop(name) for name in ("domain", "topic", "anchor") if name in fields}
        row = Twin.objects.create(ref=f"t{n}", contributor=by, licence="CC-BY-4.0", **of)
        halves = []
        for at, end in enumerate(("large", "small")):
            half = Problem.objects.create(
                ref=f"p{n}{'ab'[at]}",
                twin=row,
                sentence=f"On day {n} the {word} did not fit on the shelf as the _ was too {end}.",
                options=[word, "shelf"],
                answer=at,
                state=State(state if isinstance(state, str) else state[at]),
                **fields,
            )
            halves.append(half)
            if entered:
                index_problems(half)
            if entered and half.state == "judging":
                open_slots(half)
        return halves

    return make


@pytest.fixture
def visit() -> Callable[..., Any]:
    """Return a function that opens a test client: `visit(ann).get("/")`; `.person` is ann."""
    from django.test import Client

    def make(somebody: Any = None) -> Any:
        client = Client()
        client.person = somebody
        if somebody is not None:
            client.force_login(somebody)
        return client

    return make


@contextlib.contextmanager
def _starting(request: pytest.FixtureRequest) -> Iterator[Callable[..., serving.Served]]:
    ready = request.getfixturevalue("prepared_site")
    factory = request.getfixturevalue("tmp_path_factory")
    started: list[serving.Served] = []

    def start(
        *,
        database: str = "sqlite",
        options: tuple[str, ...] = (),
        afresh: bool = False,
        **rules: Any,
    ) -> serving.Served:
        url = None if database == "sqlite" else database
        if database == "postgresql":
            server = request.getfixturevalue("postgres")
            url = server.create(f"served_{os.getpid()}_{next(_numbers)}", PREPARED)
        site = serving.made(ready, factory.mktemp("served") / "site", rules, url)
        site.options += (*(["--work"] if rules.get("models") else []), *options)
        site.afresh = afresh
        started.append(site)
        return site.start()

    yield start
    for site in started:
        with contextlib.suppress(Exception):
            site.kill()


_numbers = itertools.count()


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Callable[..., serving.Served]]:
    """Return a function that starts servers: `served(judges=1)`, `served(database="postgresql")`.

    Each server has its own folder, port and database, and is stopped after the test; see
    `serving.Served`. The database "postgresql" is created on the tests' own server; an address
    is used as it is. With `afresh`, the site is served by `python -m winosmith serve`, as typed
    by a user, instead of a fork.
    """
    with _starting(request) as start:
        yield start


@pytest.fixture(scope="module")
def served_long(request: pytest.FixtureRequest) -> Iterator[Callable[..., serving.Served]]:
    """Return the same for sites that live as long as the module, whose tests only read them."""
    with _starting(request) as start:
        yield start


@pytest.fixture(scope="module")
def served_anew(served_long: Callable[..., serving.Served]) -> Callable[..., serving.Served]:
    """Return a function that serves a site for a test that writes; its arguments are settings.

    Tests with the same settings share a server, whose SQLite database is restored before each of
    them. A test that stops the server, or looks at files that other tests may leave, uses
    `served`.
    """
    known: dict[str, serving.Served] = {}

    def start(**rules: Any) -> serving.Served:
        name = serving.settings_text(rules)
        if name in known:
            known[name].put_back()
        else:
            known[name] = served_long(**rules)
            until(lambda: known[name].do(serving.READY))
            known[name].keep()
        return known[name]

    return start
