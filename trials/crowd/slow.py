"""Slow clients and their effect on others: directly, and behind the documented proxies."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .acts import InvalidResponseError, Visitor, judge_once, write_twin
from .browser import Browser, Page, UnansweredError
from .scenario import Place, open_site, run_in_process
from .server import Server

SERVE = Path(__file__).parents[2] / "docs/how-to/serve.md"

DOORS = ("direct", "caddy", "nginx")
KINDS = ("none", "headers", "bodies", "readers", "mixed")

PAGES = ("/", "/problems/", "/judge/", "/write/", "/healthz", "/guidelines/")


@dataclass
class Slowness:
    """The numbers and kinds of slow clients, and the other people and the duration.

    Attributes:
        kind: "headers" and "bodies" are sent at one byte per second; "readers" read responses at
            this speed; with "none", nobody is slow.
        clients: number of slow clients; with "mixed", a third of each kind.
        people: number of other people; a third write, a third judge and a third read pages.
        seconds: time for which others are timed, after `warm` seconds.
        public: number of problems in the file that slow readers request.
        patience: seconds after which other people give up a request.
    """

    kind: str = "mixed"
    clients: int = 500
    people: int = 12
    seconds: float = 20.0
    warm: float = 5.0
    public: int = 6000
    workers: int = 3
    patience: float = 20.0


@dataclass
class OtherClients:
    """The seconds of other people's requests, unanswered requests, and the slow clients.

    Attributes:
        held: number of slow clients with a connection at the end.
    """

    times: list[float] = field(default_factory=list)
    unanswered: int = 0
    held: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass
class SlowSite:
    """A site for slow clients.

    Attributes:
        public: the port at which people reach it through a proxy.
        people: the people whose sessions the other clients and the slow readers use.
    """

    server: Server
    public: int
    people: dict[str, list[Any]]


@contextmanager
def serve_site(where: Place, slowness: Slowness) -> Iterator[SlowSite]:
    """Serve a site with people and problems."""
    people = run_in_process(prepare, where.folder, where.database, slowness)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    options = ("--workers", str(slowness.workers), "--public-url", f"http://127.0.0.1:{port}")
    server = Server(where.folder, where.postgres, options=options).start()
    try:
        yield SlowSite(server, port, people)
    finally:
        server.kill()


def prepare(folder: Path, database: str | None, slowness: Slowness) -> dict[str, list[Any]]:
    """Create the site's people and problems; runs in a separate process."""
    open_site(folder, database)
    from . import inside

    inside.make_problems(slowness.public, state="valid")
    inside.make_problems(2000)
    return {
        "others": inside.make_people("other", slowness.people, is_judge=True),
        "slow": inside.make_people("slow", 40),
    }


@contextmanager
def open_door(name: str, site: SlowSite) -> Iterator[str]:
    """Yield the site's public address: its own, or that of a proxy in front of it.

    The proxy is configured as in the documentation, except for names, ports and the certificate.
    """
    server, port, folder = site.server, site.public, site.server.folder.parent
    if name == "direct":
        yield server.url
        return
    place = urlsplit(server.url).netloc
    text = SERVE.read_text("utf-8")
    file = folder / name
    if name == "caddy":
        lines = re.search(r"^twins\.example\.org \{\n.*?^\}", text, re.DOTALL | re.MULTILINE)
        assert lines, "docs/how-to/serve.md shows no lines for Caddy"
        config = lines[0].replace("twins.example.org", f"http://127.0.0.1:{port}")
        file.write_text("{\n\tadmin off\n}\n" + config.replace("127.0.0.1:8000", place) + "\n")
        command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
    else:
        lines = re.search(r"^server \{\n.*?^\}", text, re.DOTALL | re.MULTILINE)
        assert lines, "docs/how-to/serve.md shows no lines for nginx"
        config = re.sub(r" *ssl_certificate.*\n", "", lines[0])
        config = config.replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
        config = config.replace("127.0.0.1:8000", place)
        ways = "".join(
            f"{way}_temp_path {folder}/{way};\n"
            for way in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        file.write_text(
            f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n"
            "worker_rlimit_nofile 8192;\nevents {\nworker_connections 4096;\n}\n"
            f"http {{\naccess_log off;\n{ways}{config}\n}}\n"
        )
        command = ["nginx", "-c", str(file), "-p", str(folder)]
    log = (folder / f"{name}.out").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment(folder))
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, process, folder / f"{name}.out")
        yield url
    finally:
        process.terminate()
        process.wait()
        log.close()


def available(name: str) -> bool:
    """Return whether a door is available on this machine."""
    return name == "direct" or shutil.which(name) is not None


def time_others(url: str, people: dict[str, list[Any]], slowness: Slowness) -> OtherClients:
    """Connect slow clients at a door, and time the other people's requests."""
    found, over = OtherClients(), threading.Event()
    crowd = Crowd(url, slowness, [person.cookies for person in people["slow"]])
    crowd.start()
    time.sleep(slowness.warm)
    browsers = []
    threads = []
    for number, person in enumerate(people["others"]):
        browser = TimedBrowser(url, slowness.patience)
        browser.cookies = dict(person.cookies)
        browsers.append(browser)
        act = (_look, _write, judge_once)[number % 3]
        visitor = Visitor(person.key, browser, seed=time.monotonic_ns(), patience=0)
        threads.append(threading.Thread(target=_live, args=(visitor, act, over, found.errors)))
    for thread in threads:
        thread.start()
    time.sleep(slowness.seconds)
    over.set()
    for thread in threads:
        thread.join()
    found.held = crowd.held
    crowd.stop()
    for browser in browsers:
        browser.close()
        found.times += browser.seconds
        found.unanswered += browser.unanswered
    return found


class TimedBrowser(Browser):
    """A browser that records the duration of each request, answered or not."""

    def __init__(self, url: str, timeout: float) -> None:
        super().__init__(url, timeout)
        self.seconds: list[float] = []
        self.unanswered = 0

    def _ask(self, method: str, path: str, body: str | None, **more: str) -> Page:
        start = time.perf_counter()
        try:
            return super()._ask(method, path, body, **more)
        except UnansweredError:
            self.unanswered += 1
            raise
        finally:
            self.seconds.append(time.perf_counter() - start)


class Crowd:
    """Slow clients, each of which reconnects when its connection ends."""

    def __init__(self, url: str, slowness: Slowness, cookies: list[dict[str, str]]) -> None:
        parts = urlsplit(url)
        self.host, self.port = str(parts.hostname), int(parts.port or 80)
        self.slowness, self.cookies, self.held = slowness, cookies, 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the clients."""
        self.thread.start()

    def stop(self) -> None:
        """Stop the clients."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        kinds = KINDS[1:4] if self.slowness.kind == "mixed" else (self.slowness.kind,)
        tasks = [
            self.loop.create_task(self._one(kinds[number % len(kinds)], number))
            for number in range(0 if kinds == ("none",) else self.slowness.clients)
        ]
        self.loop.run_forever()
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    async def _one(self, kind: str, number: int) -> None:
        await asyncio.sleep(number / self.slowness.clients)
        while True:
            with socket.socket() as wire, suppress(OSError):
                wire.setblocking(False)
                if kind == "readers":
                    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                await self.loop.sock_connect(wire, (self.host, self.port))
                self.held += 1
                try:
                    await self._talk(kind, wire, number)
                finally:
                    self.held -= 1
            await asyncio.sleep(0.5)

    async def _talk(self, kind: str, wire: socket.socket, number: int) -> None:
        sent = self._request(kind, number).encode()
        await self.loop.sock_sendall(wire, sent)
        while True:
            await asyncio.sleep(1)
            if kind == "readers":
                if not await self.loop.sock_recv(wire, 1):
                    return
                continue
            await self.loop.sock_sendall(wire, b"x")
            with suppress(BlockingIOError):
                if wire.recv(1 << 16) == b"":
                    return

    def _request(self, kind: str, number: int) -> str:
        host = f"Host: {self.host}:{self.port}\r\n"
        if kind == "headers":
            return f"GET / HTTP/1.1\r\n{host}X-Slow: "
        if kind == "bodies":
            return (
                f"POST /people/login/ HTTP/1.1\r\n{host}Content-Length: 100000\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
            )
        known = self.cookies[number % len(self.cookies)]
        cookie = "; ".join(f"{name}={value}" for name, value in known.items())
        return f"GET /download/problems.jsonl HTTP/1.1\r\n{host}Cookie: {cookie}\r\n\r\n"


def _look(visitor: Visitor) -> bool:
    for path in PAGES:
        visitor.browser.get(path)
        time.sleep(0.2)
    visitor.browser.close()  # the next client reconnects
    return True


def _write(visitor: Visitor) -> bool:
    return write_twin(visitor, checks=2)


def _live(visitor: Visitor, act: Any, over: threading.Event, errors: list[str]) -> None:
    while not over.is_set():
        try:
            act(visitor)
        except UnansweredError:
            pass  # it is counted and timed
        except InvalidResponseError as error:
            errors.append(" ".join(str(error).split())[:300])
        time.sleep(0.3)


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        browser = Browser(url, 5)
        with suppress(UnansweredError):
            if browser.get("/healthz").status == 200:
                return
        browser.close()
        time.sleep(0.1)
    raise RuntimeError(f"the proxy did not start:\n{log.read_text()}")
