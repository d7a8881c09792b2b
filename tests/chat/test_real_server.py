"""A real server with a tiny model, made on the spot, that is killed and started again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import installed
from winosmith.chat import ChatError, Client
from winosmith.solve._chat import ChatSolver
from winosmith.testing import made_twins, tiny_language_model

pytestmark = pytest.mark.long

SHOTS, DATA = made_twins(10, seed=9), made_twins(15)

TEMPLATE = """\
{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}
{% endfor %}assistant:"""


@pytest.fixture(scope="module")
def folder(quiet_models: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny chat model that says 1, 2 or, now and then, something else."""
    import torch
    import transformers

    texts = [text for problem in DATA for text in problem.filled()]
    path = tmp_path_factory.mktemp("chat") / "tiny"
    tiny_language_model(path, "llama", texts=texts, vocabulary=400)
    tokeniser = transformers.AutoTokenizer.from_pretrained(path)
    tokeniser.chat_template = TEMPLATE
    tokeniser.save_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path)
    numbers = tokeniser.convert_tokens_to_ids(["1", "2"])
    with torch.no_grad():
        said = model.lm_head.weight[numbers].clone()
        model.lm_head.weight.zero_()
        model.lm_head.weight[numbers] = said
    model.save_pretrained(path)
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
        """Start it, and wait until it is there."""
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
                return answer.status == 200
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it where it stands."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """Return the server, up."""
    installed("fastapi", "uvicorn", "pydantic")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    site = Served(folder, port)
    site.start()
    yield site
    site.kill()


def _solver(
    served: Served,
    cache: Path | None,
    on_progress: Callable[[int, int, str], None] | None = None,
    patience: float = 300.0,
) -> ChatSolver:
    client = Client(
        str(served.folder),
        served.url,
        max_tokens=1,
        cache=cache,
        concurrency=2,
        patience=patience,
        on_progress=on_progress,
    )
    return ChatSolver.with_shots(client, SHOTS, 3, swap=True)


def test_a_killed_server_costs_nothing(served: Served, tmp_path: Path) -> None:
    """Killed in the middle, the run waits for the new server, or ends and goes on; same answers."""
    undisturbed = _solver(served, None).ask(DATA)
    assert {one.choice for one in undisturbed.asked} >= {0, 1}, "the model says too little"
    assert undisturbed.summary()["tokens_in"] > 0

    again: list[threading.Thread] = []

    def kill_at(many: int, restart: bool) -> Callable[[int, int, str], None]:
        def told(done: int, of: int, note: str) -> None:
            if done == many and not note and served.process is not None:
                served.kill()
                if restart:
                    again.append(threading.Thread(target=served.start))
                    again[0].start()

        return told

    impatient = _solver(served, tmp_path / "b", kill_at(25, restart=False), patience=1.0)
    with pytest.raises(ChatError, match="of 60 replies are kept"):
        impatient.ask(DATA)
    served.start()
    seen: list[int] = []
    resumed = _solver(served, tmp_path / "b", lambda done, of, note: seen.append(done)).ask(DATA)
    assert resumed == undisturbed
    assert 25 <= seen[0] < 60

    disturbed = _solver(served, tmp_path / "a", kill_at(20, restart=True)).ask(DATA)
    again[0].join()
    assert disturbed == undisturbed
