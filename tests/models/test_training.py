"""Fine-tuning: learning, results at chance, grids, little memory, and resuming."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.conftest import Steps
from winosmith import Claim, Dataset, Problem, formats
from winosmith.errors import DataError, InputError, Interrupted, OutputError
from winosmith.metrics import find_overlap
from winosmith.models import (
    GRIDS,
    Epoch,
    Grid,
    GridResult,
    TrainingRun,
    TrainingSettings,
    digest_weights,
    load_choice_model,
    train_grid,
    train_multiple_choice,
)
from winosmith.models._texts import read_questions
from winosmith.models._training import Run
from winosmith.published import read_digests
from winosmith.recast import to_claims
from winosmith.testing import make_twins

Split = tuple[Dataset, Dataset]
Train = Callable[..., TrainingRun]
pytestmark = pytest.mark.models
QUICK = TrainingSettings(learning_rate=2e-2, epochs=3, batch_size=16)
TWO_EPOCHS = replace(QUICK, epochs=2)


@pytest.fixture
def train(tiny_encoder: Path, learnable: Split, tmp_path: Path) -> Train:
    """Return a function that trains on the learnable problems in a named folder."""

    def run(
        out: str = "a", split: Split = learnable, steps: Steps | None = None, **changes: Any
    ) -> TrainingRun:
        settings = replace(QUICK, **changes)
        folder = tmp_path / out
        return train_multiple_choice(
            *split, model=tiny_encoder, out=folder, settings=settings, on_step=steps
        )

    return run


def test_tiny_encoder_learns_a_simple_rule(train, learnable):
    tuned = train()
    assert tuned.dev_accuracy == 1.0
    assert not tuned.at_chance
    assert "above chance" in tuned.message
    assert tuned.epochs[-1].loss < 0.2 < tuned.epochs[0].loss
    scores = load_choice_model(tuned.folder).score_problems(learnable[1])
    assert [int(np.argmax(row)) for row in scores] == list(learnable[1].answers)


def test_seed_determines_the_weights(train):
    first, again, other = (
        digest_weights(train(name, epochs=1, dropout=0.1, seed=seed).folder)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other


def test_resumed_run_ends_like_an_uninterrupted_one(train, tmp_path):
    settings = {"epochs": 4, "learning_rate": 1e-3, "dropout": 0.1}
    steps = Steps(stop=25)
    with pytest.raises(Interrupted, match="2 of 4 epochs are saved"):
        train(steps=steps, **settings)
    later, whole = train(steps=steps, **settings), train("b", **settings)
    assert steps.told[25:] == list(range(21, 41))
    assert later.epochs == whole.epochs
    assert digest_weights(later.folder) == digest_weights(whole.folder)
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "model",
        "training.json",
        "winosmith.json",
    }


def test_finished_run_is_repeated_only_if_damaged(train):
    steps = Steps()
    first = train(steps=steps, epochs=1)
    assert len(steps.told) == 10
    assert train(steps=steps, epochs=1) == first
    assert len(steps.told) == 10
    (first.folder / "model.safetensors").write_bytes(b"damaged")
    assert train(steps=steps, epochs=1) == first
    assert len(steps.told) == 20


def test_run_with_a_damaged_state_starts_over(train, tmp_path):
    with pytest.raises(Interrupted):
        train(steps=Steps(stop=15), epochs=2)
    state = tmp_path / "a" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1000])
    again, whole = (digest_weights(train(name, epochs=2).folder) for name in "ab")
    assert again == whole


def test_folder_of_another_run_is_refused(train):
    train(epochs=1)
    with pytest.raises(OutputError, match=r"learning_rate is 0\.02 there, 0\.01 here"):
        train(epochs=1, learning_rate=0.01)


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 0},
        {"batch_size": 0},
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"dropout": 1.0},
        {"warmup": 1.5},
        {"seed": -1},
        {"split_point": "middle"},
    ],
)
def test_settings_out_of_range_are_refused(change):
    with pytest.raises(InputError):
        TrainingSettings(**change)


def test_p_value_of_the_best_epoch_is_corrected_for_selection():
    """It is multiplied by the number of epochs."""
    epochs = (Epoch(0.7, 50, 0.5), Epoch(0.6, 60, 0.03), Epoch(0.5, 60, 0.03))
    tuned = TrainingRun(TrainingSettings(epochs=3), epochs, 1000, 100)
    assert (tuned.kept_epoch, tuned.dev_accuracy) == (1, 0.6)
    assert tuned.p_value == pytest.approx(0.09)
    assert tuned.at_chance
    assert tuned.message == (
        "dev accuracy 60.0 % (60 of 100) after epoch 2 of 3, p = 0.09: AT CHANCE, not "
        "distinguishable from guessing; try another learning rate, more epochs, more problems or a "
        "stronger encoder"
    )


def test_losses_and_data_digests_are_saved(train, learnable, tmp_path):
    tuned = train(epochs=2)
    record = json.loads((tmp_path / "a" / "training.json").read_text("utf-8"))
    assert [Epoch(**epoch) for epoch in record] == list(tuned.epochs)
    assert 0 < record[0]["loss"] < 1
    (held,) = read_digests(tmp_path / "a")
    assert set(find_overlap(learnable[0], public=[held]).rows) == set(range(len(learnable[0])))


def _run(folder: Path, split: Split, settings: TrainingSettings = TWO_EPOCHS) -> Run:
    asked = [read_questions(part, "use") for part in split]
    return Run(folder, asked[0], asked[1], settings, "cpu")


def test_lists_of_problems_are_read_like_data_sets(learnable):
    """Problems and claims in one list are refused."""
    problems = learnable[0].problems
    assert read_questions([*problems], "use").digest == learnable[0].digest
    claims = [Claim("c", "The _ fell.", "It", True)]
    with pytest.raises(DataError, match="there are both problems and claims to use"):
        read_questions([*problems, *claims], "use")


def _weights(network: Any) -> np.ndarray:
    return np.concatenate([w.detach().numpy().ravel() for w in network.parameters()])


def test_a_batch_that_does_not_fit_is_halved(tiny_encoder, learnable):
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
    apart = np.abs(_weights(short.network)[:-1] - _weights(whole.network)[:-1])
    assert np.mean(apart > 2e-3) < 1e-2
    assert apart.max() < 1e-2


def test_too_little_memory_for_one_problem_is_reported(tiny_encoder, learnable):
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


CLAIM = Claim("c1", "the _ stood.", "amber")
TWINS = make_twins(2)
THREE = Problem("p2", "A _ b.", ("x", "y", "z"), 0)


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        (TWINS, TWINS.blind(), "'0-0' has no answer; it needs one to measure on"),
        (TWINS, Dataset([THREE]), "'p2' has 3 options; 2 are needed"),
        (TWINS, [], "there are no problems to measure on"),
        ([], TWINS, "there are no problems to train on"),
        ([CLAIM], to_claims(TWINS), "a claim about 'c1' has no label; it needs one to train on"),
    ],
)
def test_unusable_data_are_refused_before_any_work(train, dev, message, tmp_path):
    with pytest.raises(DataError, match=message):
        train_multiple_choice(train, dev, model="none", out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_run_can_stop_before_its_planned_end(train, tiny_encoder, learnable):
    """The weights are those of the first of three epochs."""
    tuned = train(epochs=3, last=1)
    assert (len(tuned.epochs), tuned.kept_epoch) == (1, 0)
    run = _run(tiny_encoder, learnable, QUICK)
    run.train_epoch(0)
    network = load_choice_model(tuned.folder, device="cpu").network
    np.testing.assert_array_equal(_weights(network), _weights(run.network))


def test_majority_answer_on_claims_is_at_chance(train, hopeless):
    """Most claims are false, so its accuracy is above 50 %."""
    claims = [
        claim for at, claim in enumerate(to_claims(hopeless[0])) if not claim.holds or at % 4 == 0
    ]
    tuned = train(split=(claims[:140], claims[140:]), epochs=2, learning_rate=1e-3)
    assert tuned.dev_accuracy > 0.6
    assert tuned.at_chance


KILLED = """
import os, signal, sys
from winosmith import formats
from winosmith.models import Grid, train_grid

def kill(done, of, note):
    if done == 15:
        os.kill(os.getpid(), signal.SIGKILL)

train, dev = (formats.read(f"{name}.jsonl") for name in ("train", "dev"))
grid = Grid((2e-2,), (3,), (16,), (0, 1))
train_grid(train, dev, model=sys.argv[1], out="a", device="cpu", grid=grid, on_step=kill)
"""


@pytest.mark.long
def test_killed_grid_resumes_to_the_same_weights(tiny_encoder, learnable, tmp_path):
    files = [tmp_path / "train.jsonl", tmp_path / "dev.jsonl"]
    for part, file in zip(learnable, files, strict=True):
        formats.write(part.problems, file)
    command = [sys.executable, "-c", KILLED, str(tiny_encoder)]
    assert subprocess.run(command, cwd=tmp_path).returncode == -signal.SIGKILL
    assert (tmp_path / "a/runs/lr0.02-ep3-bs16-s0/state.safetensors").exists()
    assert not (tmp_path / "a/runs.json").exists()
    grid = Grid((2e-2,), (3,), (16,), (0, 1))
    found, expected = (
        train_grid(*map(formats.read, files), model=tiny_encoder, out=tmp_path / name,
                   device="cpu", grid=grid)
        for name in "ab"
    )  # fmt: skip
    assert found.runs == expected.runs
    assert digest_weights(found.folder) == digest_weights(expected.folder)


# untrained, the heads of these two seeds prefer the wrong option
SMALL = Grid((2e-2, 1e-9), (2,), (16,), (4, 6))


def test_named_grids_match_the_papers():
    """WinoGrande: 3 rates x 4 epochs x 2 sizes x 3 seeds; EvoGrad: 4 epochs x 4 sizes."""
    assert len(list(GRIDS["winogrande"].iter_runs())) == 3 * 4 * 2 * 3
    assert {run.epochs for run in GRIDS["winogrande"].iter_runs()} == {3, 4, 5, 8}
    assert len(list(GRIDS["evograd"].iter_runs())) == 3 * 4 * 4
    assert {run.batch_size for run in GRIDS["evograd"].iter_runs()} == {8, 16, 32, 64}
    assert list(GRIDS["one"].iter_runs()) == [TrainingSettings()]
    regularised = {(run.weight_decay, run.dropout) for run in GRIDS["winogrande"].iter_runs()}
    assert regularised == {(0.0, None)}  # as in the released code


def test_runs_have_distinct_names():
    """Settings that the grid does not vary stay as they are."""
    runs = list(
        GRIDS["winogrande"].iter_runs(TrainingSettings(split_point="after_option", dropout=0.2))
    )
    assert len({run.name for run in runs}) == len(runs)
    assert {(run.split_point, run.dropout) for run in runs} == {("after_option", None)}
    assert runs[0].name == "lr1e-05-ep3-bs8-s0"


@pytest.mark.parametrize("grid", [Grid(seeds=()), Grid(epochs=(2, 2)), Grid(learning_rates=(0,))])
def test_invalid_grids_are_refused(grid):
    with pytest.raises(InputError):
        list(grid.iter_runs())


def test_best_run_is_kept_and_runs_at_chance_are_listed(tiny_encoder, learnable, tmp_path):
    """A learning rate of 1e-9 is too small to learn."""
    told: list[tuple[int, int, str]] = []
    trained = train_grid(
        *learnable,
        model=tiny_encoder,
        out=tmp_path / "grid",
        grid=SMALL,
        on_run=lambda at, of, run: told.append((at, of, run.settings.name)),
    )
    assert [(at, of) for at, of, _ in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert trained.settings.learning_rate == 2e-2
    assert trained.dev_accuracy == max(run.dev_accuracy for run in trained.runs) == 1.0
    assert {run.settings.learning_rate for run in trained.runs_at_chance} == {1e-9}
    assert (
        "at chance and excluded from means: 2 of 4 (lr1e-09-ep2-bs16-s4 and lr1e-09"
        in trained.message
    )
    scores = load_choice_model(tmp_path / "grid").score_problems(learnable[1])
    assert [int(row.argmax()) for row in scores] == list(learnable[1].answers)
    runs = {path.name for path in (tmp_path / "grid" / "runs").iterdir()}
    assert runs == {f"{run.settings.name}.json" for run in trained.runs}
    table = json.loads((tmp_path / "grid" / "runs.json").read_text("utf-8"))
    assert [row["at_chance"] for row in table] == [run.at_chance for run in trained.runs]


@pytest.mark.long
@pytest.mark.parametrize("stop_at", [3, 25, 47, 80])
def test_resumed_grid_ends_like_an_uninterrupted_one(tiny_encoder, learnable, tmp_path, stop_at):
    steps = Steps(stop=stop_at)
    arguments = {"model": tiny_encoder, "grid": SMALL}
    with pytest.raises(Interrupted, match="run the same command again"):
        train_grid(*learnable, out=tmp_path / "a", on_step=steps, **arguments)
    later = train_grid(*learnable, out=tmp_path / "a", on_step=steps, **arguments)
    assert len(steps.told) <= 4 * 20 + 10  # only the interrupted epoch is repeated
    whole = train_grid(*learnable, out=tmp_path / "b", **arguments)
    assert later.runs == whole.runs
    assert digest_weights(later.folder) == digest_weights(whole.folder)


@pytest.mark.long
def test_finished_grid_reruns_only_a_damaged_best_run(tiny_encoder, learnable, tmp_path):
    steps = Steps()
    run = {"model": tiny_encoder, "out": tmp_path, "grid": SMALL, "on_step": steps}
    first = train_grid(*learnable, **run)
    digest = digest_weights(first.folder)
    assert len(steps.told) == 80
    assert train_grid(*learnable, **run) == first
    assert len(steps.told) == 80
    (first.folder / "model.safetensors").write_bytes(b"damaged")
    assert train_grid(*learnable, **run) == first
    assert len(steps.told) == 100
    assert digest_weights(first.folder) == digest


def test_p_value_of_the_best_run_is_corrected_for_selection():
    """It is multiplied by the number of runs."""
    runs = tuple(
        TrainingRun(TrainingSettings(epochs=1, seed=seed), (Epoch(0.7, right, p),), 100, 100)
        for seed, (right, p) in enumerate([(60, 0.03), (55, 0.2), (52, 0.4)])
    )
    best = GridResult(runs[0].settings, runs[0].epochs, 100, 100, folder=Path("m"), runs=runs)
    assert best.p_value == pytest.approx(0.09)
    assert best.at_chance
    assert "AT CHANCE" in best.message
    assert [run.settings.seed for run in best.runs_at_chance] == [1, 2]
