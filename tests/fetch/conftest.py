"""A local HTTPS server with a certificate made for the tests."""

import http.server
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class Site:
    """The server: its files, its faults and its requests.

    Attributes:
        url: Its address.
        certificate: Path of its certificate.
        files: Bytes of each path, or media type and bytes.
        redirects: Target of each redirected path.
        cut: Number of bytes after which the connection breaks; None for never.
        pace: Seconds to wait after each piece.
        piece: Number of bytes sent at once.
        says_length: Whether answers state their length.
        paths: Requested paths so far.
    """

    url: str
    certificate: Path
    files: dict[str, bytes | tuple[str, bytes]] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    pace: float = 0.0
    piece: int = 16_384
    says_length: bool = True
    paths: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """Number of requests so far."""
        return len(self.paths)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        site = self.site
        site.paths.append(self.path)
        self.close_connection = True
        if self.path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[self.path])
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")  # the client must not reuse this connection
            self.end_headers()
        elif self.path in site.files:
            said = site.files[self.path]
            self._send(*(said if isinstance(said, tuple) else ("application/octet-stream", said)))
        else:
            self.send_error(404)

    def _send(self, kind: str, body: bytes) -> None:
        site = self.site
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if site.says_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        left = len(body) if site.cut is None else site.cut
        for at in range(0, min(len(body), left), site.piece):
            self.wfile.write(body[at : min(at + site.piece, left)])
            self.wfile.flush()
            if site.pace:
                threading.Event().wait(site.pace)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        ...


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a key and a self-signed certificate for localhost."""
    if shutil.which("openssl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("missing in CI: the command openssl")
        pytest.skip("the command openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        [
            *"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(),
            *"-days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost".split(),
            *["-keyout", key, "-out", made],
        ],
        check=True,
        capture_output=True,
    )
    return key, made


@pytest.fixture
def site(certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Return a running HTTPS server without files; this process trusts it."""
    key, made = certificate
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made, key)
    server = http.server.ThreadingHTTPServer(("localhost", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] - clients go away here
    server.socket = serving.wrap_socket(server.socket, server_side=True)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(made))
    found = Site(f"https://localhost:{server.server_address[1]}", made)
    handler = type("Handler", (_Handler,), {"site": found})
    server.RequestHandlerClass = handler
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()
