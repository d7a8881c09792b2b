"""Grids of training runs with different learning rates, epochs, batch sizes and seeds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from winosmith.errors import InputError, OutputError
from winosmith.models._network import digest_weights, find_model_folder
from winosmith.models._texts import read_questions
from winosmith.models._training import (
    MODEL,
    FinishedRun,
    OnStep,
    TrainingRun,
    TrainingSettings,
    parse_epochs,
    train_multiple_choice,
    write_epochs,
)
from winosmith.outputs import OutputFolder
from winosmith.problem import Claim, Problem
from winosmith.report import join_names

RUNS, TABLE = "runs", "runs.json"

OnRun = Callable[[int, int, TrainingRun], None]
"""A callback that receives the number of a finished run, the total number of runs, and the run."""


@dataclass(frozen=True)
class Grid:
    """Training settings to try in all combinations, one seed after another.

    Attributes:
        learning_rates, epochs, batch_sizes, seeds: The values of each setting to try, one or more.
        fixed: Additional settings for all runs. Maps fields of `TrainingSettings` to values.

    >>> len(list(GRIDS["winogrande"].iter_runs()))
    72
    """

    learning_rates: tuple[float, ...] = (TrainingSettings.learning_rate,)
    epochs: tuple[int, ...] = (TrainingSettings.epochs,)
    batch_sizes: tuple[int, ...] = (TrainingSettings.batch_size,)
    seeds: tuple[int, ...] = (0,)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def iter_runs(self, settings: TrainingSettings | None = None) -> Iterator[TrainingSettings]:
        """Yield the settings of each run.

        Settings that the grid does not vary are those of `settings`.

        Raises:
            InputError: A setting has no values, a repeated value, or a value out of range.
        """
        settings = replace(settings or TrainingSettings(), **self.fixed)
        tried = (self.seeds, self.learning_rates, self.epochs, self.batch_sizes)
        if any(not values or len(set(values)) < len(values) for values in tried):
            raise InputError("a grid needs one or more distinct values for each setting")
        for seed, rate, epochs, size in product(*tried):
            yield replace(settings, seed=seed, learning_rate=rate, epochs=epochs, batch_size=size)


GRIDS: Mapping[str, Grid] = {
    "one": Grid(),
    "winogrande": Grid(
        (1e-5, 3e-5, 5e-5), (3, 4, 5, 8), (8, 16), (0, 1, 2), {"weight_decay": 0.0, "dropout": None}
    ),
    "evograd": Grid((1e-5, 3e-5, 5e-5), (1, 2, 4, 8), (8, 16, 32, 64), (0,)),
}
"""Grids by name. `winogrande` is the grid of WinoGrande's section 4.1, with three seeds. Its weight
decay (0) and dropout (the model's own) are those of the released code
(github.com/allenai/winogrande, scripts/run_experiment.py). `evograd` is the grid of EvoGrad's
appendix for evolved data. The paper does not print the learning rates of this grid. WinoGrande's
are used, because the paper's other grid is WinoGrande's. `one` has only the default settings."""


@dataclass(frozen=True, kw_only=True)
class GridResult(FinishedRun):
    """The best run of a grid with its model, and all runs.

    Attributes:
        runs: All runs, in order.
    """

    runs: tuple[TrainingRun, ...]

    @property
    def p_value(self) -> float:
        """The best run's p-value, multiplied by the number of runs (Bonferroni), ≤ 1."""
        return min(1.0, super().p_value * len(self.runs))

    @property
    def runs_at_chance(self) -> tuple[TrainingRun, ...]:
        """The runs with a dev accuracy at chance, in order."""
        return tuple(run for run in self.runs if run.at_chance)

    @property
    def message(self) -> str:
        """A sentence about the best run and the runs at chance."""
        if len(self.runs) == 1:
            return super().message
        summary = f"best of {len(self.runs)} runs: {self.settings.name}, {super().message}"
        names = [run.settings.name for run in self.runs_at_chance]
        if not names:
            return f"{summary}; no run is at chance"
        of = f"{len(names)} of {len(self.runs)} ({join_names(names, 6)})"
        return f"{summary}; at chance and excluded from means: {of}"


def train_grid(
    train: Sequence[Problem] | Sequence[Claim],
    dev: Sequence[Problem] | Sequence[Claim],
    *,
    model: str | Path,
    out: str | Path,
    grid: Grid | None = None,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    force: bool = False,
    on_step: OnStep | None = None,
    on_run: OnRun | None = None,
) -> GridResult:
    """Train a model for each combination of settings, and keep the one that is best on dev.

    If several models are equally good, the first is kept. Only the results of all other runs are
    kept. After an interruption, the same call resumes from the last finished epoch, with the same
    result. For other arguments and errors, see `train_multiple_choice`.

    The best model is saved in the folder's `model/`, and the results of all runs in `runs.json`.
    `grid` is by default one run with default settings. `settings` contains the settings that the
    grid does not vary. `force` overwrites the results of a different grid, data set or base model.
    `on_run` is called after every run, including runs that an earlier call finished.
    """
    runs = list((grid or Grid()).iter_runs(settings))
    questions = read_questions(train, "train on", runs[0].sees)
    dev_questions = read_questions(dev, "measure on", runs[0].sees)
    recipe = {
        "grid": [asdict(run) for run in runs],
        "train": questions.digest,
        "dev": dev_questions.digest,
        "model": digest_weights(find_model_folder(model)),
    }
    try:
        folder = OutputFolder.open(out, recipe)
    except OutputError:
        if not force:
            raise
        folder = OutputFolder.open(out, recipe, force=True)
        shutil.rmtree(folder.path / RUNS, ignore_errors=True)
    tuned = partial(train_multiple_choice, train, dev, model=model, device=device, on_step=on_step)
    done: list[TrainingRun] = []
    for number, chosen in enumerate(runs, start=1):
        name = f"{RUNS}/{chosen.name}.json"
        if not folder.is_finished(name):
            found = tuned(out=folder.path / RUNS / chosen.name, settings=chosen)
            write_epochs(folder, name, found.epochs)
        epochs = parse_epochs((folder.path / name).read_text("utf-8"))
        done.append(TrainingRun(chosen, epochs, len(train), len(dev)))
        best = max(done, key=lambda run: run.dev_accuracy)
        for run in done:
            if run is not best:
                shutil.rmtree(folder.path / RUNS / run.settings.name, ignore_errors=True)
        if on_run:
            on_run(number, len(runs), done[-1])
    kept = folder.path / RUNS / best.settings.name
    if not folder.is_complete(TABLE):
        tuned(out=kept, settings=best.settings)  # retrains only if files are missing
        _save_results(folder, kept / MODEL, done)
    shutil.rmtree(kept, ignore_errors=True)
    return GridResult(**vars(best), folder=folder.path / MODEL, runs=tuple(done))


def _save_results(folder: OutputFolder, model: Path, runs: Sequence[TrainingRun]) -> None:
    target = folder.path / MODEL
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(model, target)
    for copied in sorted(target.iterdir()):
        folder.add(f"{MODEL}/{copied.name}")
    with folder.write(TABLE) as file:
        records = [
            {
                "name": run.settings.name,
                **asdict(run.settings),
                "dev_accuracy": run.dev_accuracy,
                "epoch_kept": run.kept_epoch + 1,
                "p_value": run.p_value,
                "at_chance": run.at_chance,
                "epochs_trained": [asdict(epoch) for epoch in run.epochs],
            }
            for run in runs
        ]
        json.dump(records, file, indent=2)
        file.write("\n")
