"""Runs that differ in learning rate, epochs, batch size and seed; the best on dev is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from winosmith.dataset import Dataset
from winosmith.errors import InputError, OutputError
from winosmith.models._network import model_folder, weights_digest
from winosmith.models._texts import questions
from winosmith.models._training import (
    MODEL,
    Epoch,
    FineTuned,
    OnStep,
    Processes,
    TrainingRun,
    TrainingSettings,
    train_multiple_choice,
)
from winosmith.outputs import OutputFolder
from winosmith.problem import Claim
from winosmith.records import parse_json
from winosmith.report import joined

RUNS, TABLE = "runs", "runs.json"

OnRun = Callable[[int, int, TrainingRun], None]
"""Is told the number of a finished run, the runs in all, and what it gave."""


@dataclass(frozen=True)
class Grid:
    """The values that are tried, each with each; those of one seed come before the next seed.

    Attributes:
        learning_rates, epochs, batch_sizes, seeds: one or more of each.
        fixed: further settings of every run, by the name of the `TrainingSettings` field.

    >>> len(list(GRIDS["winogrande"].runs()))
    72
    """

    learning_rates: tuple[float, ...] = (TrainingSettings.learning_rate,)
    epochs: tuple[int, ...] = (TrainingSettings.epochs,)
    batch_sizes: tuple[int, ...] = (TrainingSettings.batch_size,)
    seeds: tuple[int, ...] = (0,)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def runs(self, settings: TrainingSettings | None = None) -> Iterator[TrainingSettings]:
        """Yield the settings of each run; those that the grid leaves open are as in `settings`.

        Raises:
            InputError: nothing to try, the same value twice, or a value out of range.
        """
        settings = replace(settings or TrainingSettings(), **self.fixed)
        tried = (self.seeds, self.learning_rates, self.epochs, self.batch_sizes)
        if any(not values or len(set(values)) < len(values) for values in tried):
            raise InputError("a grid needs one value or more of each kind, and none twice")
        for seed, rate, epochs, size in product(*tried):
            yield replace(settings, seed=seed, learning_rate=rate, epochs=epochs, batch_size=size)


GRIDS: Mapping[str, Grid] = {
    "one": Grid(),
    "winogrande": Grid(
        (1e-5, 3e-5, 5e-5), (3, 4, 5, 8), (8, 16), (0, 1, 2), {"weight_decay": 0.0, "dropout": None}
    ),
    "evograd": Grid((1e-5, 3e-5, 5e-5), (1, 2, 4, 8), (8, 16, 32, 64), (0,)),
}
"""Grids by name. `winogrande` is that of WinoGrande's section 4.1, with its three seeds, and with
the weight decay (0) and dropout (the model's own) of its released code
(github.com/allenai/winogrande, scripts/run_experiment.py). `evograd` is that of EvoGrad's appendix
for evolved data, whose learning rates are lost in print: they are WinoGrande's here, as its other
grid repeats WinoGrande's. `one` has only the defaults."""


@dataclass(frozen=True, kw_only=True)
class Trained(FineTuned):
    """The best run of a grid, its model, and all the runs.

    Attributes:
        runs: every run in order.
    """

    runs: tuple[TrainingRun, ...]

    @property
    def p_value(self) -> float:
        """That of the best run, times the runs it is chosen from (Bonferroni), ≤ 1."""
        return min(1.0, super().p_value * len(self.runs))

    @property
    def collapsed(self) -> tuple[TrainingRun, ...]:
        """The runs at chance, in order."""
        return tuple(run for run in self.runs if run.at_chance)

    @property
    def message(self) -> str:
        """What the best run gave, and which runs are at chance."""
        if len(self.runs) == 1:
            return super().message
        said = f"best of {len(self.runs)} runs: {self.settings.name}, {super().message}"
        names = [run.settings.name for run in self.collapsed]
        if not names:
            return f"{said}; no run is at chance"
        of = f"{len(names)} of {len(self.runs)} ({joined(names, 6)})"
        return f"{said}; at chance, and in no mean: {of}"


def train_grid(
    train: Dataset | Sequence[Claim],
    dev: Dataset | Sequence[Claim],
    *,
    model: str | Path,
    out: str | Path,
    grid: Grid | None = None,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    force: bool = False,
    on_step: OnStep | None = None,
    on_run: OnRun | None = None,
) -> Trained:
    """Train a model for each point of a grid, one after the other, and keep the best on dev.

    Of equals the first is kept. Of the others only the record stays. Stopped anywhere, even
    killed, the same call continues from the last epoch that was finished, and ends with the same.

    Args:
        train: as for `train_multiple_choice`, also for what is raised.
        dev: likewise.
        model: likewise.
        out: the folder: the best model in `model/`, all runs in `runs.json`.
        grid: what is tried; one run with the defaults when None.
        settings: what the grid leaves open.
        device: as torch names it; the GPU when there is one when None.
        force: replace the results of another recipe.
        on_step: called after every step of every run.
        on_run: called after every run, those of an earlier call included.
    """
    runs = list((grid or Grid()).runs(settings))
    sees = runs[0].sees
    asked, measured = questions(train, "train on", sees), questions(dev, "measure on", sees)
    recipe = {
        "grid": [asdict(run) for run in runs],
        "train": asked.digest,
        "dev": measured.digest,
        "model": weights_digest(model_folder(model)),
    }
    processes = Processes()
    processes.first(_take, Path(out), recipe, force)
    folder = OutputFolder.open(out, recipe)
    tuned = partial(train_multiple_choice, train, dev, model=model, device=device, on_step=on_step)
    done: list[TrainingRun] = []
    for number, chosen in enumerate(runs, start=1):
        name = f"{RUNS}/{chosen.name}.json"
        if not folder.finished(name):
            found = tuned(out=folder.path / RUNS / chosen.name, settings=chosen)
            processes.first(_write, folder, name, found)
        done.append(_read(folder.path / name, chosen, len(train), len(dev)))
        processes.first(_keep, folder.path / RUNS, done)
        if on_run:
            on_run(number, len(runs), done[-1])
    best = _best(done)
    kept = folder.path / RUNS / best.settings.name
    if TABLE not in folder.files or not all(map(folder.finished, folder.files)):
        tuned(out=kept, settings=best.settings)  # is there already, unless something was lost
        processes.first(_finish, folder, kept / MODEL, done)
    processes.first(shutil.rmtree, kept, ignore_errors=True)
    return Trained(
        best.settings,
        best.epochs,
        best.n_train,
        best.n_dev,
        folder=folder.path / MODEL,
        runs=tuple(done),
    )


def _take(out: Path, recipe: Mapping[str, Any], force: bool) -> None:
    """Take the folder; with `force`, drop what another recipe left in it."""
    try:
        OutputFolder.open(out, recipe)
    except OutputError:
        if not force:
            raise
        OutputFolder.open(out, recipe, force=True)
        shutil.rmtree(out / RUNS, ignore_errors=True)


def _best(runs: Sequence[TrainingRun]) -> TrainingRun:
    return max(runs, key=lambda run: run.dev_accuracy)


def _write(folder: OutputFolder, name: str, run: TrainingRun) -> None:
    with folder.write(name) as file:
        json.dump([asdict(epoch) for epoch in run.epochs], file)
        file.write("\n")


def _read(path: Path, settings: TrainingSettings, n_train: int, n_dev: int) -> TrainingRun:
    epochs = [Epoch(**record) for record in parse_json(path.read_text("utf-8"))]
    return TrainingRun(settings, tuple(epochs), n_train, n_dev)


def _keep(folder: Path, runs: Sequence[TrainingRun]) -> None:
    """Remove the models of the runs that are done and not the best: a model is large."""
    best = _best(runs).settings.name
    for run in runs:
        if run.settings.name != best:
            shutil.rmtree(folder / run.settings.name, ignore_errors=True)


def _finish(folder: OutputFolder, model: Path, runs: Sequence[TrainingRun]) -> None:
    """Put a copy of the best model in its place, then write the table of all runs."""
    target = folder.path / MODEL
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(model, target)
    for copied in sorted(target.iterdir()):
        folder.add(f"{MODEL}/{copied.name}")
    with folder.write(TABLE) as file:
        json.dump([_record(run) for run in runs], file, indent=2)
        file.write("\n")


def _record(run: TrainingRun) -> dict[str, Any]:
    return {
        "name": run.settings.name,
        **asdict(run.settings),
        "dev_accuracy": run.dev_accuracy,
        "epoch_kept": run.best + 1,
        "p_value": run.p_value,
        "at_chance": run.at_chance,
        "epochs_trained": [asdict(epoch) for epoch in run.epochs],
    }
