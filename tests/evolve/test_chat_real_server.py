"""A real server with a tiny model, made on the spot, that has nothing sensible to say."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import installed
from winosmith import Problem
from winosmith.chat import Client
from winosmith.evolve import ChatPerturber
from winosmith.testing import made_twins, tiny_language_model

pytestmark = pytest.mark.long

TEMPLATE = """\
{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}
{% endfor %}assistant:"""

ROOT = Problem("r", "The cup hit the jug, and the _ broke.", ("cup", "jug"), 0)


@pytest.fixture(scope="module")
def folder(quiet_models: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny chat model that was never trained."""
    import transformers

    texts = [text for problem in made_twins(15) for text in problem.filled()]
    path = tmp_path_factory.mktemp("chat") / "tiny"
    tiny_language_model(path, "llama", texts=texts, vocabulary=400)
    tokeniser = transformers.AutoTokenizer.from_pretrained(path)
    tokeniser.chat_template = TEMPLATE
    tokeniser.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """Return the base URL of `transformers serve` with that model."""
    installed("fastapi", "openai", "pydantic", "tenacity", "uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder),
         "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 120
        while not _is_there(port):
            assert process.poll() is None, "transformers serve ended"
            assert time.monotonic() < until, "transformers serve does not answer"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _is_there(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_model_that_babbles_ends_cleanly(folder: Path, url: str, tmp_path: Path) -> None:
    """Three turns of babble end with a warning of what to do; the turns are kept to be read."""
    client = Client(str(folder), url, max_tokens=40)
    notes: list[str] = []
    perturber = ChatPerturber(
        client, wanted=5, folder=tmp_path, on_progress=lambda *state: notes.append(state[2])
    )
    with pytest.warns(UserWarning, match=r"r: nothing acceptable came in 3 turns .*stronger model"):
        assert list(perturber.perturb(ROOT, 0)) == []
    assert [note.split(":")[0] for note in notes[1:4]] == ["turn 1", "turn 2", "turn 3"]
    (kept,) = tmp_path.iterdir()
    assert (kept / "transcript.md").read_text("utf-8").count("The model says:") == 3
