"""A run halves its batches, stops when told, learns claims, and resumes after a kill."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.waiting import until
from winosmith import Claim, Dataset, formats
from winosmith.errors import DataError, InputError
from winosmith.models import (
    Grid,
    GridResult,
    TrainingSettings,
    digest_weights,
    load_choice_model,
    train_grid,
    train_multiple_choice,
)
from winosmith.models._texts import read_questions
from winosmith.models._training import Run
from winosmith.recast import to_claims

Split = tuple[Dataset, Dataset]

QUICK = TrainingSettings(learning_rate=2e-2, epochs=2, batch_size=16)

pytestmark = pytest.mark.models


def _run(folder: Path, split: Split, settings: TrainingSettings = QUICK) -> Run:
    asked = [read_questions(part, "use") for part in split]
    return Run(folder, asked[0], asked[1], settings, "cpu")


def _weights(run: Run) -> np.ndarray:
    return np.concatenate([w.detach().numpy().ravel() for w in run.network.parameters()])


def test_a_batch_that_does_not_fit_is_halved(tiny_encoder: Path, learnable: Split) -> None:
    """Where memory runs out over 5 problems, batches of 16 are worked through in parts alike."""
    import torch

    whole, short = _run(tiny_encoder, learnable), _run(tiny_encoder, learnable)

    def fail(module: object, args: object, inputs: dict[str, torch.Tensor]) -> None:
        if module.training and len(inputs["input_ids"]) > 2 * 5:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    short.network.register_forward_pre_hook(fail, with_kwargs=True)
    with pytest.warns(UserWarning, match="out of memory") as told:
        found = short.train_epoch(0)
    assert [str(warning.message) for warning in told] == [
        "out of memory with 16 problems at a time; continuing with 8 at a time, and 16 per step",
        "out of memory with 8 problems at a time; continuing with 4 at a time, and 16 per step",
    ]
    expected = whole.train_epoch(0)
    assert found.loss == pytest.approx(expected.loss, abs=1e-4)
    assert found.dev_correct == expected.dev_correct
    # the last weight is the head's bias: it is the same for both options, so nothing trains it
    # a gradient next to nothing may have either sign, and Adam makes as much of it as of others: of
    # 1 in 800 weights on some processors, where a part that counts twice would move 1 in 3
    apart = np.abs(_weights(short)[:-1] - _weights(whole)[:-1])
    assert np.mean(apart > 2e-3) < 1e-2
    assert apart.max() < 1e-2


def test_too_little_memory_for_one_problem_is_an_error(
    tiny_encoder: Path, learnable: Split
) -> None:
    """When not even one problem fits, the error says what to do; other errors are let through."""

    def fail(module: object, args: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    run = _run(tiny_encoder, learnable)
    run.network.register_forward_pre_hook(fail)
    with (
        pytest.warns(UserWarning, match="out of memory"),
        pytest.raises(InputError, match="not enough memory to train this model, even on one"),
    ):
        run.train_epoch(0)
    run = _run(tiny_encoder, learnable)
    run.train = replace(run.train, answers=np.array([7] * len(run.train)))
    with pytest.raises(IndexError):
        run.train_epoch(0)


def test_patience_ends_a_run(tiny_encoder: Path, learnable: Split, tmp_path: Path) -> None:
    """A run that is perfect after its first epochs stops when as many brought nothing better."""
    settings = replace(QUICK, epochs=8, patience=2)
    tuned = train_multiple_choice(*learnable, model=tiny_encoder, out=tmp_path, settings=settings)
    assert len(tuned.epochs) == tuned.kept_epoch + 1 + 2 < 8


def test_the_last_epoch_can_be_kept(tiny_encoder: Path, learnable: Split, tmp_path: Path) -> None:
    """Told to stop after the first of three epochs, a run has the weights of a first epoch."""
    settings = replace(QUICK, epochs=3, last=1)
    tuned = train_multiple_choice(*learnable, model=tiny_encoder, out=tmp_path, settings=settings)
    assert (len(tuned.epochs), tuned.kept_epoch) == (1, 0)
    run = _run(tiny_encoder, learnable, replace(settings, last=None))
    run.train_epoch(0)
    network = load_choice_model(tuned.folder, device="cpu").network
    found = np.concatenate([w.detach().numpy().ravel() for w in network.parameters()])
    np.testing.assert_array_equal(found, _weights(run))


def test_always_saying_false_is_chance(tiny_encoder: Path, hopeless: Split, tmp_path: Path) -> None:
    """On claims of which most are false, a run that learns no more than that is at chance."""
    claims = [
        claim for at, claim in enumerate(to_claims(hopeless[0])) if not claim.holds or at % 4 == 0
    ]
    settings = replace(QUICK, learning_rate=1e-3)
    tuned = train_multiple_choice(
        claims[:140], claims[140:], model=tiny_encoder, out=tmp_path, settings=settings
    )
    assert tuned.dev_accuracy > 0.6
    assert tuned.at_chance


def test_a_claim_without_a_label_is_named(learnable: Split, tmp_path: Path) -> None:
    """Claims to train on need labels, and there must be some."""
    claim = Claim("c1", "the _ stood.", "amber")
    with pytest.raises(
        DataError, match="a claim about 'c1' has no label; it needs one to train on"
    ):
        train_multiple_choice([claim], to_claims(learnable[1]), model="none", out=tmp_path / "a")
    with pytest.raises(DataError, match="there are no problems to measure on"):
        train_multiple_choice(learnable[0], [], model="none", out=tmp_path / "a")


SCRIPT = """
import sys
from winosmith import formats
from winosmith.models import Grid, TrainingSettings, train_grid
folder = sys.argv[1]
train_grid(
    formats.read(folder + "/train.jsonl"), formats.read(folder + "/dev.jsonl"),
    model=sys.argv[2], out=sys.argv[3], device="cpu",
    grid=Grid((2e-2,), (int(sys.argv[4]),), (16,), (0, 1)),
)
"""


@pytest.fixture(scope="module")
def files(learnable: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the learnable problems and a script that trains on them."""
    folder = tmp_path_factory.mktemp("files")
    formats.write(learnable[0].problems, folder / "train.jsonl")
    formats.write(learnable[1].problems, folder / "dev.jsonl")
    (folder / "script.py").write_text(SCRIPT)
    return folder


def _in_another_process(files: Path, model: Path, out: Path, epochs: int) -> list[str]:
    return [str(files / "script.py"), str(files), str(model), str(out), str(epochs)]


def _here(files: Path, model: Path, out: Path, epochs: int) -> GridResult:
    return train_grid(
        formats.read(files / "train.jsonl"),
        formats.read(files / "dev.jsonl"),
        model=model,
        out=out,
        device="cpu",
        grid=Grid((2e-2,), (epochs,), (16,), (0, 1)),
    )


@pytest.mark.long
def test_a_killed_grid_goes_on(tiny_encoder: Path, files: Path, tmp_path: Path) -> None:
    """Killed without warning while it trains, a grid ends with the weights of one left alone."""
    process = subprocess.Popen(
        [sys.executable, *_in_another_process(files, tiny_encoder, tmp_path / "a", 6)],
    )
    state = tmp_path / "a" / "runs" / "lr0.02-ep6-bs16-s0" / "state.safetensors"
    until(state.exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "a" / "runs.json").exists()
    found, expected = (_here(files, tiny_encoder, tmp_path / name, 6) for name in "ab")
    assert found.runs == expected.runs
    assert digest_weights(found.folder) == digest_weights(expected.folder)
