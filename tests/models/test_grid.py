"""Training grids: the best run, runs at chance, and resuming after an interrupt."""

import json
from pathlib import Path

import pytest

from tests.models.conftest import Steps
from winosmith import Dataset
from winosmith.errors import InputError, Interrupted
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
)

Split = tuple[Dataset, Dataset]

# untrained, the heads of these two seeds prefer the wrong option
SMALL = Grid((2e-2, 1e-9), (2,), (16,), (4, 6))


def test_named_grids_match_the_papers() -> None:
    """WinoGrande: 3 rates x 4 epochs x 2 sizes x 3 seeds; EvoGrad: 4 epochs x 4 sizes."""
    assert len(list(GRIDS["winogrande"].iter_runs())) == 3 * 4 * 2 * 3
    assert {run.epochs for run in GRIDS["winogrande"].iter_runs()} == {3, 4, 5, 8}
    assert len(list(GRIDS["evograd"].iter_runs())) == 3 * 4 * 4
    assert {run.batch_size for run in GRIDS["evograd"].iter_runs()} == {8, 16, 32, 64}
    assert list(GRIDS["one"].iter_runs()) == [TrainingSettings()]
    regularised = {(run.weight_decay, run.dropout) for run in GRIDS["winogrande"].iter_runs()}
    assert regularised == {(0.0, None)}  # as in the released code


def test_runs_have_distinct_names() -> None:
    """Settings that the grid does not vary stay as they are."""
    runs = list(
        GRIDS["winogrande"].iter_runs(TrainingSettings(split_point="after_option", dropout=0.2))
    )
    assert len({run.name for run in runs}) == len(runs)
    assert {(run.split_point, run.dropout) for run in runs} == {("after_option", None)}
    assert runs[0].name == "lr1e-05-ep3-bs8-s0"


@pytest.mark.parametrize("grid", [Grid(seeds=()), Grid(epochs=(2, 2)), Grid(learning_rates=(0,))])
def test_invalid_grids_are_refused(grid: Grid) -> None:
    with pytest.raises(InputError):
        list(grid.iter_runs())


@pytest.mark.models
def test_best_run_is_kept_and_runs_at_chance_are_listed(
    tiny_encoder: Path, learnable: Split, tmp_path: Path
) -> None:
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
@pytest.mark.models
@pytest.mark.parametrize("stop_at", [3, 25, 47, 80])
def test_resumed_grid_ends_like_an_uninterrupted_one(
    tiny_encoder: Path, learnable: Split, tmp_path: Path, stop_at: int
) -> None:
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
@pytest.mark.models
def test_finished_grid_reruns_only_a_damaged_best_run(
    tiny_encoder: Path, learnable: Split, tmp_path: Path
) -> None:
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


def test_p_value_of_the_best_run_is_corrected_for_selection() -> None:
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
