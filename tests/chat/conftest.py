"""A local HTTP server that speaks the chat protocol and can misbehave."""

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conftest import installed
from winosmith.chat import Client, Message


@pytest.fixture(scope="session", autouse=True)
def chat_packages() -> None:
    """Skip without the packages of the extra `chat`; with CI=true, fail instead."""
    installed("openai", "tenacity")


@dataclass
class Said:
    """An answer of the server.

    Attributes:
        body: JSON, or bytes to send unchanged.
        status: HTTP status.
        headers: Headers in addition to those of every answer.
        wait: Seconds before anything is sent.
        drip: Seconds after each byte.
        cut: Number of bytes after which the connection is closed.
    """

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drip: float = 0.0
    cut: int | None = None


@dataclass
class Asked:
    """A received request."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float


def completion(text: str, *, tokens: tuple[int, int] | None = (20, 3), **choice: Any) -> Any:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": text}
    body: dict[str, Any] = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}]
    }
    if tokens:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return body


def echo(asked: Asked) -> Said:
    """Answer with the last message, reversed."""
    return Said(completion(asked.body["messages"][-1]["content"][::-1]))


@dataclass
class Server:
    """The server, its received requests, and its answers.

    Attributes:
        url: Base URL.
        answer: Function from a chat request to its answer.
        script: Answers that are sent first, one per request.
        asked: Chat requests in the order of their arrival.
        finished: Number of complete answers. It is increased before the last byte is sent, so a
            client that has its answer finds it counted.
        at_once, most_at_once: Current and highest number of concurrent requests.
        models: Listed models; None if there is no such page.
    """

    url: str = ""
    answer: Callable[[Asked], Said] = echo
    script: list[Said] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    finished: int = 0
    at_once: int = 0
    most_at_once: int = 0
    models: list[str] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def then(self, body: Any, status: int = 200, *, times: int = 1, **how: Any) -> None:
        """Send this answer to the next requests; see `Said`."""
        self.script += [Said(body, status, **how)] * times

    def always(self, body: Any, status: int = 200, **how: Any) -> None:
        """Send this answer to every request."""
        self.answer = lambda _: Said(body, status, **how)

    def slowly(self, seconds: Callable[[Asked], float]) -> None:
        """Delay each echo by the number of seconds that a function returns."""

        def answer(asked: Asked) -> Said:
            time.sleep(seconds(asked))
            return echo(asked)

        self.answer = answer

    def said(self, body: Any, status: int = 200, **how: Any) -> Said:
        """Return an answer, for tests that set `answer`."""
        return Said(body, status, **how)

    def completion(self, text: str, **parts: Any) -> Any:
        """Return the body of a chat completion."""
        return completion(text, **parts)

    def respond(self, asked: Asked) -> Said:
        """Return the answer to a chat request."""
        with self.lock:
            self.asked.append(asked)
            said = self.script.pop(0) if self.script else None
        return said or self.answer(asked)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "Scripted"
    site: Server

    def do_GET(self) -> None:
        if self.path.endswith("/models") and self.site.models is not None:
            listed = [{"id": name, "object": "model"} for name in self.site.models]
            self._send(Said({"object": "list", "data": listed}))
        else:
            self._send(Said({"error": "not found"}, 404))

    def do_POST(self) -> None:
        site = self.site
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with site.lock:
            site.at_once += 1
            site.most_at_once = max(site.most_at_once, site.at_once)
        try:
            said = site.respond(Asked(self.path, body, headers, time.time()))
        finally:
            with site.lock:
                site.at_once -= 1  # before the client can have the answer and send another request
        self._send(said)

    def _send(self, said: Said) -> None:
        time.sleep(said.wait)
        raw = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        whole = said.status == 200 and said.cut is None
        with self.site.lock:
            self.site.finished += whole
        try:
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(raw)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for byte in raw[: said.cut] if said.drip else ():
                self.wfile.write(bytes([byte]))
                time.sleep(said.drip)
            if not said.drip:
                self.wfile.write(raw[: said.cut])
        except OSError:  # the client hung up
            self.close_connection = True
            with self.site.lock:
                self.site.finished -= whole
            return
        if said.cut is not None:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    """Start a server and return it."""
    site = Server()
    handler = type("Handler", (_Handler,), {"site": site})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as http_server:
        http_server.daemon_threads = True
        thread = threading.Thread(target=http_server.serve_forever, args=(0.02,))
        thread.start()
        site.url = f"http://127.0.0.1:{http_server.server_address[1]}/v1"
        yield site
        http_server.shutdown()
        thread.join()


@pytest.fixture
def client(server: Server) -> Callable[..., Client]:
    """Return a function that makes clients of the server."""
    return lambda **settings: Client(**{"model": "m", "base_url": server.url, **settings})


@pytest.fixture
def questions() -> list[list[Message]]:
    """Return forty conversations."""
    return [[Message("user", f"question {number}")] for number in range(40)]
