"""A real server with a tiny model, made on the spot, that has nothing sensible to say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chat.serving import serving, tiny_chat_model
from winosmith import Problem
from winosmith.chat import Client
from winosmith.evolve import ChatPerturber

pytestmark = pytest.mark.long

ROOT = Problem("r", "The cup hit the jug, and the _ broke.", ("cup", "jug"), 0)


def test_a_model_that_babbles_ends_cleanly(quiet_models: None, tmp_path: Path) -> None:
    """Three turns of babble end with a warning of what to do; the turns are kept to be read."""
    model = tiny_chat_model(tmp_path / "tiny")
    notes: list[str] = []
    with serving(model) as site:
        perturber = ChatPerturber(
            Client(str(model), site.url, max_tokens=40),
            wanted=5,
            folder=tmp_path / "kept",
            on_progress=lambda *state: notes.append(state[2]),
        )
        with pytest.warns(UserWarning, match="r: nothing acceptable came in 3 turns .*stronger"):
            assert list(perturber.perturb(ROOT, 0)) == []
    assert [note.split(":")[0] for note in notes[1:4]] == ["turn 1", "turn 2", "turn 3"]
    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept / "transcript.md").read_text("utf-8").count("The model says:") == 3
