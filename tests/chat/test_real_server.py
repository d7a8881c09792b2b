"""A real server with a tiny model that is made here."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chat.serving import Served, serving, tiny_chat_model
from winosmith import Problem
from winosmith.chat import ChatError, Client
from winosmith.evolve import ChatPerturber
from winosmith.solve._chat import ChatSolver
from winosmith.testing import make_twins

pytestmark = pytest.mark.long

SHOTS, DATA = make_twins(10, seed=9), make_twins(15)


@pytest.fixture(scope="module")
def folder(quiet_models: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny chat model that says 1, 2 or, sometimes, something else."""
    import torch
    import transformers

    path = tiny_chat_model(tmp_path_factory.mktemp("chat") / "tiny")
    tokeniser = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path)
    numbers = tokeniser.convert_tokens_to_ids(["1", "2"])
    with torch.no_grad():
        said = model.lm_head.weight[numbers].clone()
        model.lm_head.weight.zero_()
        model.lm_head.weight[numbers] = said
    model.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """Start the server and return it."""
    with serving(folder) as site:
        yield site


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


def test_answers_stay_the_same_if_the_server_is_killed(served, tmp_path):
    """The run waits for the restarted server, or it fails and is resumed."""
    undisturbed = _solver(served, None).ask(DATA)
    assert {one.choice for one in undisturbed.replies} >= {0, 1}, "the model says too little"
    assert undisturbed.tokens_in

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
    with pytest.raises(ChatError, match="of 60 replies are saved"):
        impatient.ask(DATA)
    served.start()
    seen: list[int] = []
    resumed = _solver(served, tmp_path / "b", lambda done, of, note: seen.append(done)).ask(DATA)
    assert resumed == undisturbed
    assert 25 <= seen[0] < 60

    disturbed = _solver(served, tmp_path / "a", kill_at(20, restart=True)).ask(DATA)
    again[0].join()
    assert disturbed == undisturbed


def test_unusable_replies_end_the_run_with_a_warning(served, tmp_path):
    """After three turns; their transcript is saved."""
    root = Problem("r", "The cup hit the jug, and the _ broke.", ("cup", "jug"), 0)
    notes: list[str] = []
    perturber = ChatPerturber(
        Client(str(served.folder), served.url, max_tokens=40),
        wanted=5,
        folder=tmp_path / "kept",
        on_progress=lambda *state: notes.append(state[2]),
    )
    with pytest.warns(
        UserWarning, match="r: the last 3 turns had no acceptable row .* a stronger model"
    ):
        assert list(perturber.perturb(root, 0)) == []
    assert [note.split(":")[0] for note in notes[1:4]] == ["turn 1", "turn 2", "turn 3"]
    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept / "transcript.md").read_text("utf-8").count("The model's reply:") == 3
