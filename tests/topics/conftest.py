"""A real HTTPS server that answers with topics."""

from __future__ import annotations

import http.server
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.fetch.conftest import certificate  # type: ignore[import-not-found]  # noqa: F401
from tests.waiting import LONGEST
from winosmith.topics import Fetch, fetch_https


@dataclass
class Endpoint:
    """What the server answers, by path: a media type and bytes, or where a path leads to.

    Attributes:
        url: its address.
        context: a client that trusts it.
        asked: the paths that were asked for so far.
        pause: seconds between two pieces of an answer.
    """

    url: str
    context: ssl.SSLContext
    answers: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    pause: float = 0.0

    @property
    def fetch(self) -> Fetch:
        """Return what asks the server as `HttpTopics` does, trusting its certificate."""
        return partial(fetch_https, context=self.context, most_seconds=LONGEST)


class _Handler(http.server.BaseHTTPRequestHandler):
    endpoint: Endpoint

    def do_GET(self) -> None:
        here = self.endpoint
        here.asked.append(self.path)
        if self.path in here.leads:
            self.send_response(302)
            self.send_header("Location", here.leads[self.path])
            self.end_headers()
            return
        if self.path not in here.answers:
            self.send_error(404)
            return
        kind, body = here.answers[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        for at in range(0, len(body), 1000):
            self.wfile.write(body[at : at + 1000])
            time.sleep(here.pause)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def endpoint(certificate: tuple[Path, Path]) -> Iterator[Endpoint]:  # noqa: F811
    """Run an HTTPS server that answers nothing yet."""
    key, made = certificate
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made, key)
    server = http.server.ThreadingHTTPServer(("localhost", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] - clients go away here
    server.socket = serving.wrap_socket(server.socket, server_side=True)
    found = Endpoint(
        f"https://localhost:{server.server_address[1]}", ssl.create_default_context(cafile=made)
    )
    server.RequestHandlerClass = type("Handler", (_Handler,), {"endpoint": found})
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()
