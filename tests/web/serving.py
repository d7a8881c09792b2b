"""A real server: `winosmith serve` in processes of its own, on a free port, with its own folder.

def test_something(served):
    site = served(judges=1)                     # settings of site.toml
    site.people("ann", bob="judge", eva="moderator", adam="admin")
    site.get("/").status                        # or a browser at site.url
    site.do("from winosmith.web.problems.models import Problem; result = Problem.objects.count()")
    site.kill(); site.start()                   # the same folder and port again
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field, is_dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from tests import forking
from tests.forking import Forked
from tests.waiting import LONGEST

PASSWORD = "twins-and-cups"
"""Password of each user that `Served.people` creates."""

BUILT_IN = [
    {"name": "association", "solver": "association"},
    {"name": "hunting", "solver": "hunting"},
]
"""Value of `models`: the two models that every site has by default."""

UNWATCHED = {
    "hold_pace_seconds": 0,
    "hold_accounts": 0,
    "training_questions": 0,
    "training_right": 0,
}
"""Settings for tests, which vote faster than people.

No votes are held for a judge's pace or address, and no judge is trained. Tests of these checks
set other values.
"""

ROLES: dict[str, dict[str, bool]] = {
    "contributor": {},
    "judge": {"is_judge": True},
    "moderator": {"is_judge": True, "is_moderator": True},
    "admin": {"is_judge": True, "is_moderator": True, "is_superuser": True},
}

READY = """
from winosmith.web.predict.models import Model
result = not Model.objects.exclude(process="ready").exists()
"""
"""Code whose result is whether all models of a site are loaded."""

_PEOPLE = """
from winosmith.web._lock import writing
from winosmith.web.people.privacy import save_agreement
from winosmith.web.people.models import Person
with writing():
    for name, fields in {people!r}.items():
        person = Person.objects.create_user(name, {password!r}, **fields)
        save_agreement(person)
"""


_SESSION = """
from django.conf import settings
from tests.web.world import session_of
from winosmith.web._lock import writing
from winosmith.web.people.models import Person
with writing():
    result = [settings.SESSION_COOKIE_NAME, session_of(Person.objects.get(name={name!r}))]
"""


@dataclass
class Answer:
    """A response of the server."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


@dataclass
class Served:
    """A site and the process that serves it.

    Attributes:
        folder: Folder of the site.
        database: A postgresql:// address, or None for SQLite.
        url: "http://127.0.0.1:PORT", without a slash at the end.
        printed: Output of the server so far.
        options: Further options of `winosmith serve`.
        afresh: Start `python -m winosmith serve` instead of a fork that has loaded its libraries.
    """

    folder: Path
    database: str | None = None
    options: tuple[str, ...] = ("--workers", "2", "--no-work")
    url: str = ""
    printed: str = ""
    afresh: bool = False
    process: subprocess.Popen[str] | Forked | None = field(default=None, repr=False)
    _beside: tuple[float, Connection] | None = field(default=None, repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of a process that uses the same site."""
        return {
            **os.environ,
            "WINOSMITH_SITE": str(self.folder),
            "WINOSMITH_DATABASE": self.database or "",
            "WINOSMITH_PUBLIC_URL": "",
            "DJANGO_SETTINGS_MODULE": "winosmith.web.settings",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def admin_link(self) -> str:
        """The first admin's one-time link, as it was printed."""
        found = re.search(r"First admin +(\S+)", self.printed)
        assert found, self.printed
        return found[1]

    def start(self) -> Self:
        """Start the server, on its previous port if it had one, and wait until it answers."""
        port = str(urlsplit(self.url).port) if self.url else "0"
        # A file, because a full pipe would block the server.
        log = self.folder.with_name(f"{self.folder.name}.log")
        log.touch()
        begin = log.stat().st_size
        words = ("serve", str(self.folder), "--port", port, *self.options)
        self.process = (_afresh if self.afresh else forking.winosmith)(words, self.environment, log)
        longest = time.monotonic() + LONGEST
        while time.monotonic() < longest:
            self.printed = log.read_text()[begin:]
            told = self.printed if "Stop with" in self.printed else ""
            found = re.findall(r"^(?:Address|Listens at) +(\S+?)/?$", told, re.MULTILINE)
            if found:
                self.url = found[-1]
                with contextlib.suppress(OSError):
                    if self.get("/healthz").status == 200:
                        return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"the server did not start:\n{log.read_text()[begin:]}")

    def log(self) -> str:
        """Return all output of the server, of its earlier starts too."""
        return self.folder.with_name(f"{self.folder.name}.log").read_text()

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Ask the server to end; return its exit code."""
        assert self.process is not None
        self.process.send_signal(sign)
        return self.process.wait(LONGEST)

    def kill(self) -> None:
        """Kill the server and its workers at once (kill -9)."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LONGEST)

    def keep(self) -> None:
        """Copy the current SQLite database, for `put_back`."""
        kept = str(self.folder.with_name("kept.sqlite3"))
        with contextlib.closing(sqlite3.connect(self.folder / "site.sqlite3")) as database:
            database.execute("VACUUM INTO ?", (kept,))

    def put_back(self) -> None:
        """Restore the copy of `keep`, while the server runs."""
        copy_database(self.folder.with_name("kept.sqlite3"), self.folder / "site.sqlite3")

    def do(self, code: str) -> Any:
        """Run Python on the same site in another process; return its `result`, through JSON."""
        told = (self.folder / "site.toml").stat().st_mtime
        if self._beside is None or self._beside[0] != told:  # its settings are read once
            self._beside = told, forking.talking(_do_each, self.environment)
        self._beside[1].send(code)
        answer = json.loads(self._beside[1].recv())
        assert "fault" not in answer, answer["fault"]
        return answer["result"]

    def people(self, *contributors: str, **roles: str) -> None:
        """Create users who agreed to the texts: names, and names with roles; all have PASSWORD."""
        named = {**dict.fromkeys(contributors, "contributor"), **roles}
        fields = {name: ROLES[role] for name, role in named.items()}
        self.do(_PEOPLE.format(people=fields, password=PASSWORD))

    def session(self, name: str) -> tuple[str, str, str]:
        """Log a user in without the form; return the cookie's name and value, and the URL."""
        return (*self.do(_SESSION.format(name=name)), self.url)

    def admin(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `winosmith admin …` with the site's database in the environment."""
        done = forking.run(("admin", *map(str, arguments)), {**self.environment, "COLUMNS": "200"})
        assert not ok or done.returncode == 0, done.stdout + done.stderr
        return done

    def get(self, path: str, **headers: str) -> Answer:
        """Fetch a page without cookies."""
        return self.ask("GET", path, headers=headers)

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a request on a new connection."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=LONGEST)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


def copy_database(source: Path, target: Path) -> None:
    """Overwrite a SQLite database with another one, even while it is read.

    Nothing may write to the source meanwhile.
    """
    with (
        # SQLite creates no file next to the source, which others may be copying.
        contextlib.closing(sqlite3.connect(f"{source.as_uri()}?immutable=1", uri=True)) as read,
        contextlib.closing(sqlite3.connect(target, timeout=LONGEST)) as written,
    ):
        read.backup(written)


def _afresh(words: tuple[str, ...], environment: dict[str, str], log: Path) -> Any:
    with log.open("a") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "winosmith", *words],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def _do_each(asked: Connection) -> None:
    """Run each piece of Python received on the environment's site, in its own child process."""
    from winosmith.web import Site

    Site.from_environment().activate()
    with contextlib.suppress(EOFError):  # nobody will ask again
        while True:
            code = asked.recv()
            child = os.fork()
            if not child:
                asked.send(json.dumps(_done(code)))
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                asked.send('{"fault": "it was killed"}')


def _done(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        exec(compile(code, "<do>", "exec"), found)  # noqa: S102
        return {"result": found.get("result")}
    except BaseException:  # noqa: BLE001 - any fault is sent to the test that asked
        return {"fault": traceback.format_exc()}


def prepared(folder: Path, database: str | None = None) -> Path:
    """Create a ready site, of which others are copies; return its folder."""
    done = forking.Forked(_prepare, str(folder), database).wait(LONGEST)
    assert done == 0, f"the site in {folder} could not be made: exit code {done}"
    return folder


def _prepare(folder: str, database: str | None) -> None:
    os.umask(0o077)
    from winosmith.web import Site, hosting

    hosting.prepare(Site.open(folder, database=database))
    from winosmith.web.people.models import SiteKey

    SiteKey.objects.all().delete()  # copies use the keys of their own folders


def settings_text(rules: dict[str, Any]) -> str:
    """Return a site.toml; `models` may be a list of tables."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in rules.items())


def _toml(value: Any) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(own)}' for key, own in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def made(base: Path, folder: Path, rules: dict[str, Any], database: str | None) -> Served:
    """Return a copy of a prepared site with its own settings, not yet started.

    It has no models unless `rules` names them, because each model is a process. With models, or
    with the option `--work`, it has a worker.
    """
    shutil.copytree(base, folder)
    rules = {"models": [], **UNWATCHED, **rules}
    (folder / "site.toml").write_text(settings_text(rules))
    if database:
        (folder / "site.sqlite3").unlink()
    return Served(folder, database)
