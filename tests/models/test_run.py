"""Training runs: halved batches, early stopping, claims, and resuming after a kill."""

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
    """Memory is enough for 5 problems; halved batches train the same weights."""
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
    # a gradient near zero may have either sign, and Adam takes a full step for it: this affects
    # 1 in 800 weights on some processors; a part that counts twice would move 1 in 3
    apart = np.abs(_weights(short)[:-1] - _weights(whole)[:-1])
    assert np.mean(apart > 2e-3) < 1e-2
    assert apart.max() < 1e-2


def test_too_little_memory_for_one_problem_is_reported(
    tiny_encoder: Path, learnable: Split
) -> None:
    """Other errors are not caught."""

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


def test_run_stops_after_epochs_without_improvement(
    tiny_encoder: Path, learnable: Split, tmp_path: Path
) -> None:
    settings = replace(QUICK, epochs=8, patience=2)
    tuned = train_multiple_choice(*learnable, model=tiny_encoder, out=tmp_path, settings=settings)
    assert len(tuned.epochs) == tuned.kept_epoch + 1 + 2 < 8


def test_run_can_stop_before_its_planned_end(
    tiny_encoder: Path, learnable: Split, tmp_path: Path
) -> None:
    """The weights are those of the first of three epochs."""
    settings = replace(QUICK, epochs=3, last=1)
    tuned = train_multiple_choice(*learnable, model=tiny_encoder, out=tmp_path, settings=settings)
    assert (len(tuned.epochs), tuned.kept_epoch) == (1, 0)
    run = _run(tiny_encoder, learnable, replace(settings, last=None))
    run.train_epoch(0)
    network = load_choice_model(tuned.folder, device="cpu").network
    found = np.concatenate([w.detach().numpy().ravel() for w in network.parameters()])
    np.testing.assert_array_equal(found, _weights(run))


def test_majority_answer_on_claims_is_at_chance(
    tiny_encoder: Path, hopeless: Split, tmp_path: Path
) -> None:
    """Most claims are false, so its accuracy is above 50 %."""
    claims = [
        claim for at, claim in enumerate(to_claims(hopeless[0])) if not claim.holds or at % 4 == 0
    ]
    settings = replace(QUICK, learning_rate=1e-3)
    tuned = train_multiple_choice(
        claims[:140], claims[140:], model=tiny_encoder, out=tmp_path, settings=settings
    )
    assert tuned.dev_accuracy > 0.6
    assert tuned.at_chance


def test_unlabelled_claims_and_empty_dev_sets_are_refused(learnable: Split, tmp_path: Path) -> None:
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
def test_killed_grid_resumes_to_the_same_weights(
    tiny_encoder: Path, files: Path, tmp_path: Path
) -> None:
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
