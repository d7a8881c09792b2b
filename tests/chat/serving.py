"""`transformers serve` with a tiny chat model that is made here; it can be killed."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import installed
from winosmith.testing import make_twins, tiny_language_model

TEMPLATE = """\
{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}
{% endfor %}assistant:"""


def tiny_chat_model(path: Path) -> Path:
    """Write a tiny untrained chat model that knows the words of `make_twins`."""
    import transformers

    texts = [text for problem in make_twins(15) for text in problem.fill_all()]
    tiny_language_model(path, "llama", texts=texts, vocabulary=400)
    tokeniser = transformers.AutoTokenizer.from_pretrained(path)
    tokeniser.chat_template = TEMPLATE
    tokeniser.save_pretrained(path)
    return path


@dataclass
class Served:
    """`transformers serve` with one model; it can be killed and started again."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "transformers.cli.transformers", "serve", str(self.folder),
             "--host", "127.0.0.1", "--port", str(self.port), "--device", "cpu"],
            env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + 120
        while not self._is_there():
            assert self.process.poll() is None, "transformers serve ended"
            assert time.monotonic() < until, "transformers serve does not answer"
            time.sleep(0.1)

    def _is_there(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/health", timeout=5
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve the model of a folder; skip without the needed packages, with CI=true fail."""
    installed("fastapi", "openai", "pydantic", "tenacity", "uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    site = Served(folder, port)
    try:
        site.start()
        yield site
    finally:
        site.kill()
