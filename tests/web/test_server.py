"""The server in real processes: how it starts, answers, refuses and ends."""

import contextlib
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from click.testing import CliRunner

from tests.waiting import LONGEST, until
from tests.web.conftest import PREPARED
from tests.web.serving import PASSWORD
from winosmith.cli.serve import command
from winosmith.parallel import count_processors
from winosmith.web import hosting


@pytest.fixture
def typed(served: Any) -> Any:
    """Start each site with `winosmith serve`, as users do, instead of a fork."""
    return functools.partial(served, afresh=True)


def _serve(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a server that is expected to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "winosmith", "serve", str(folder), *options],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
        env={**os.environ, "COLUMNS": "200", **environment},
    )


def _port(site: Any) -> int:
    return int(urlsplit(site.url).port)


@contextlib.contextmanager
def _half_a_request(site: Any) -> Iterator[socket.socket]:
    """Send the first half of a form."""
    with socket.create_connection(("127.0.0.1", _port(site)), timeout=LONGEST) as wire:
        wire.sendall(
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n"
            b"Content-Type: application/x-www-form-urlencoded\r\n\r\na=b&"
        )
        until(lambda: _is_read(wire))
        yield wire


def _is_read(wire: socket.socket) -> bool:
    """Return whether the server has read all that was sent to it (Linux; proc_pid_net(5))."""
    here, there = (f":{port:04X}" for port in (wire.getsockname()[1], wire.getpeername()[1]))
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if local.endswith(there) and remote.endswith(here):
            return int(queues.partition(":")[2], 16) == 0
    return False


@pytest.fixture(scope="module")
def still(served_long: Any) -> Any:
    """Return a server that tests only read."""
    return served_long()


def test_served_site_prints_its_addresses_and_answers(typed):
    site = typed(title="Cups & jugs")
    assert f"Database    {site.folder / 'site.sqlite3'}" in site.printed
    assert site.admin_link.startswith(site.url)
    answer = site.get("/")
    assert answer.status == 200
    assert "Cups &amp; jugs" in answer.text
    health = site.get("/healthz", Host="10.1.2.3")
    assert (health.status, health.body) == (200, b"ok\n")
    assert health.headers["Cache-Control"] == "no-store"


def test_start_reads_settings_and_prints_a_new_admin_link(served):
    """Each start without an admin ends earlier links; with an admin, it prints none.

    Invalid settings in site.toml stop the start.
    """
    site = served(title="One")
    first = site.admin_link
    assert site.stop() == 0
    (site.folder / "site.toml").write_text('title = "Two"\n')
    assert "Two" in site.start().get("/").text
    assert site.admin_link != first
    usable = "from winosmith.web.people.models import Invitation; "
    usable += "result = Invitation.objects.filter(used=None).count()"
    assert site.do(usable) == 1
    site.people(adam="admin")
    site.stop()
    site.start()
    assert "First admin" not in site.printed
    site.stop()
    (site.folder / "site.toml").write_text("judges = 2\n")
    refused = _serve(site.folder, "--port", "0")
    assert refused.returncode == 2
    assert "must be odd" in refused.stderr


def test_second_server_of_a_folder_is_refused(still):
    refused = _serve(still.folder, "--port", "0")
    assert refused.returncode == 2
    assert f"is already served by process {still.process.pid};" in refused.stderr
    assert still.get("/").status == 200


@pytest.mark.long
def test_server_can_start_after_a_kill(typed):
    """The workers of the killed server end by themselves."""
    site = typed()
    site.process.kill()
    site.process.wait()
    assert site.start().get("/").status == 200


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_open_request_is_answered_before_the_server_ends(typed, sign, code):
    """Ctrl-C reaches the workers too; SIGTERM only the server. Then the database is one file."""
    site = typed()
    with _half_a_request(site) as wire:
        os.killpg(site.process.pid, sign) if sign == signal.SIGINT else site.process.send_signal(
            sign
        )
        time.sleep(0.5)
        assert site.process.poll() is None
        wire.sendall(b"c=d&")
        assert wire.recv(1000).startswith(b"HTTP/1.1 403 ")
    assert site.process.wait(LONGEST) == code
    told = f"start again with: winosmith serve {site.folder}"
    assert (told in site.log()) == (code == 130)
    assert not list(site.folder.glob("site.sqlite3-*"))


def test_default_is_one_worker_per_core(db, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert hosting.choose_worker_count(None) == count_processors() == 3
    told = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "by default one per core" in told


def test_port_in_use_is_reported(still, tmp_path):
    refused = _serve(tmp_path / "other", "--port", str(_port(still)))
    assert refused.returncode == 2
    assert "the port is in use; stop the other program, or choose another --port" in refused.stderr


def test_listening_beyond_loopback_needs_a_public_url(tmp_path):
    refused = _serve(tmp_path / "site", "--host", "0.0.0.0", "--port", "0")  # noqa: S104
    assert refused.returncode == 2
    assert "--public-url" in refused.stderr


def test_oversized_forms_and_headers_are_refused(still):
    with socket.create_connection(("127.0.0.1", _port(still)), timeout=LONGEST) as wire:
        wire.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000001\r\n\r\n")
        assert wire.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert still.get("/" + "x" * 40_000).status == 431
    assert still.get("/", **{"X-Long": "y" * 40_000}).status == 431


def test_log_contains_no_personal_data(served):
    """It contains no addresses or requests of people, only an unknown host."""
    site = served()
    site.get("/people/secret-of-ann/")
    site.ask("GET", "/", headers={"Host": "ann.example.org"})
    site.ask("POST", "/", "a=b", {"Content-Type": "application/x-www-form-urlencoded"})
    site.ask("HEAD", "/")
    with socket.create_connection(("127.0.0.1", _port(site)), timeout=LONGEST) as wire:
        wire.sendall(b"\x16\x03\x01 nonsense of ann\r\n\r\n")
        wire.recv(1000)
    site.stop()
    assert site.log().startswith(site.printed)
    (line,) = site.log().removeprefix(site.printed).splitlines()
    assert "WARNING winosmith.web.api.views: refused the Host header 'ann.example.org'" in line
    assert "secret-of-ann" not in line


def test_static_files_can_be_cached_forever(still):
    """The address of the style sheet changes with its content."""
    sheet = re.search(r'href="(/static/[^"]+\.css)"', still.get("/").text)
    answer = still.get(sheet[1])
    assert answer.status == 200
    assert re.search(r"\.[0-9a-f]{12}\.css$", sheet[1])
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.postgres
def test_database_password_is_neither_printed_nor_listed(typed, postgres):
    """Everybody on the machine can list the arguments of a process."""
    address = postgres.create("with_password", PREPARED)
    site = typed(database=address.replace("postgres@", "postgres:hush-hush@"))
    assert "Database    postgresql://127.0.0.1" in site.printed
    assert site.admin_link.startswith(site.url)
    assert site.get("/healthz").status == 200
    arguments = Path(f"/proc/{site.process.pid}/cmdline").read_text()
    assert "hush" not in site.log() + arguments


@pytest.mark.postgres
def test_options_of_a_database_address_are_used(tmp_path, postgres):
    address = postgres.create("encrypted") + "?sslmode=require"
    refused = _serve(tmp_path / "site", "--port", "0", "--database", address)
    assert refused.returncode == 2
    assert "does not support SSL" in refused.stderr


@pytest.mark.postgres
def test_lost_database_returns_503_until_it_is_back(served, postgres):
    site = served(database="postgresql")
    name = site.database.rpartition("/")[2]

    def allow(connections: bool) -> None:
        allowed = f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {connections}'
        for statement in (allowed, _END.format(name)):
            postgres._run("psql", "-qd", postgres.url(), "-c", statement)
        time.sleep(1.1)  # an answer of /healthz is cached for a second

    allow(False)
    answer = site.get("/healthz")
    assert (answer.status, answer.body) == (503, b"the database does not answer\n")
    page = site.get("/")
    assert (page.status, page.headers["Retry-After"]) == (503, "5")
    allow(True)
    assert site.get("/").status == 200
    assert site.get("/healthz").status == 200


_END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'"


@pytest.mark.postgres
def test_too_few_database_connections_are_reported(tmp_path, postgres):
    address = postgres.create("room", PREPARED)
    refused = _serve(
        tmp_path / "site", "--port", "0", "--workers", "500", WINOSMITH_DATABASE=address
    )
    assert refused.returncode == 2
    assert re.search(r"allows \d+ more connections, but 500 workers may need \d+;", refused.stderr)


@pytest.mark.postgres
def test_missing_database_is_reported_without_its_password(tmp_path, postgres):
    address = postgres.url("nothing-here").replace("postgres@", "postgres:hush-hush@")
    refused = _serve(tmp_path / "site", "--port", "0", "--database", address)
    assert refused.returncode == 2
    assert 'database "nothing-here" does not exist; check the address' in refused.stderr
    assert "hush" not in refused.stderr + refused.stdout


def test_two_sites_on_one_host_have_separate_sessions(served):
    one, other = served(), served()
    other.do("from winosmith.web.people.models import SiteKey; SiteKey.objects.all().delete()")
    other.stop()
    (other.folder / "secret").write_text("s" * 64)  # each site that is not a copy has its own
    other.start()
    browser = build_opener(HTTPCookieProcessor())
    for site in (one, other):
        site.people("ann")
        door = f"{site.url}/people/login/"
        token = re.search(r'middlewaretoken" value="(\w+)"', browser.open(door).read().decode())
        form = {"name": "ann", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        browser.open(door, urlencode(form).encode())
    one.kill()
    one.start()
    for site in (one, other):
        assert browser.open(f"{site.url}/people/").url == f"{site.url}/people/"
