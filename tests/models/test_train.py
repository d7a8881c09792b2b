"""Fine-tuning: learning, results at chance, and resuming after an interrupt."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.conftest import Steps
from winosmith import Dataset, Problem
from winosmith.errors import DataError, InputError, Interrupted, OutputError
from winosmith.metrics import find_overlap
from winosmith.models import (
    Epoch,
    TrainingRun,
    TrainingSettings,
    digest_weights,
    load_choice_model,
    train_multiple_choice,
)
from winosmith.published import read_digests

Split = tuple[Dataset, Dataset]
Train = Callable[..., TrainingRun]

QUICK = TrainingSettings(learning_rate=2e-2, epochs=3, batch_size=16)


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


@pytest.mark.models
def test_tiny_encoder_learns_a_simple_rule(train: Train, learnable: Split) -> None:
    tuned = train()
    assert tuned.dev_accuracy == 1.0
    assert not tuned.at_chance
    assert "above chance" in tuned.message
    assert tuned.epochs[-1].loss < 0.2 < tuned.epochs[0].loss
    scores = load_choice_model(tuned.folder).score_problems(learnable[1])
    assert [int(np.argmax(row)) for row in scores] == list(learnable[1].answers)


@pytest.mark.models
def test_seed_determines_the_weights(train: Train) -> None:
    first, again, other = (
        digest_weights(train(name, epochs=1, dropout=0.1, seed=seed).folder)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first == again != other


@pytest.mark.models
def test_resumed_run_ends_like_an_uninterrupted_one(train: Train, tmp_path: Path) -> None:
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


@pytest.mark.models
def test_finished_run_is_repeated_only_if_damaged(train: Train) -> None:
    steps = Steps()
    first = train(steps=steps, epochs=1)
    assert len(steps.told) == 10
    assert train(steps=steps, epochs=1) == first
    assert len(steps.told) == 10
    (first.folder / "model.safetensors").write_bytes(b"damaged")
    assert train(steps=steps, epochs=1) == first
    assert len(steps.told) == 20


@pytest.mark.models
def test_run_with_a_damaged_state_starts_over(train: Train, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        train(steps=Steps(stop=15), epochs=2)
    state = tmp_path / "a" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1000])
    again, whole = (digest_weights(train(name, epochs=2).folder) for name in "ab")
    assert again == whole


@pytest.mark.models
def test_folder_of_another_run_is_refused(train: Train) -> None:
    train(epochs=1)
    with pytest.raises(OutputError, match=r"learning_rate is 0\.02 there, 0\.01 here"):
        train(epochs=1, learning_rate=0.01)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem("p1", "A _ b.", ("x", "y")), "'p1' has no answer; it needs one to measure on"),
        (Problem("p2", "A _ b.", ("x", "y", "z"), 0), "'p2' has 3 options; 2 are needed"),
    ],
)
def test_unusable_problems_are_refused_before_any_work(
    problem: Problem, message: str, learnable: Split, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        train_multiple_choice(learnable[0], Dataset([problem]), model="none", out=tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_empty_training_set_is_refused(learnable: Split, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no problems to train on"):
        train_multiple_choice(Dataset(), learnable[1], model="none", out=tmp_path / "a")


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
def test_settings_out_of_range_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(InputError):
        TrainingSettings(**change)


def test_p_value_of_the_best_epoch_is_corrected_for_selection() -> None:
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


@pytest.mark.models
def test_losses_and_data_digests_are_saved(train: Train, learnable: Split, tmp_path: Path) -> None:
    tuned = train(epochs=2)
    record = json.loads((tmp_path / "a" / "training.json").read_text("utf-8"))
    assert [Epoch(**epoch) for epoch in record] == list(tuned.epochs)
    assert 0 < record[0]["loss"] < 1
    (held,) = read_digests(tmp_path / "a")
    assert set(find_overlap(learnable[0], public=[held]).rows) == set(range(len(learnable[0])))
