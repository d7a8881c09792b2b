"""Fine-tune any encoder to choose between two options."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from winosmith.dataset import Dataset
from winosmith.errors import DataError, Interrupted
from winosmith.models._checkpoint import load_state, save_state
from winosmith.models._folder import model_folder, weights_digest
from winosmith.models._outcome import Epoch, FineTuned, TrainingSettings
from winosmith.models._run import Run
from winosmith.outputs import OutputFolder

__all__ = ["train_multiple_choice"]

MODEL, RECORD, STATE = "model", "training.json", "state.safetensors"

OnStep = Callable[[int, int, str], None]
"""Is told the steps done, the steps in all, and a note with the epoch and the loss."""


def train_multiple_choice(
    train: Dataset,
    dev: Dataset,
    *,
    model: str | Path,
    out: str | Path,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> FineTuned:
    """Fine-tune an encoder on problems with two options; keep the epoch that is best on dev.

    Each option is filled in, each of the two texts gets one score, and their softmax is trained
    on the answer. The same arguments give the same weights on the same kind of machine. The
    state is saved after every epoch: the same call on the same `out` goes on from there, and a
    finished run is not run again.

    Args:
        train: problems with answers to train on.
        dev: problems with answers that choose the epoch; no twin should straddle the two.
        model: a folder or hub id.
        out: the folder of the run; the best model goes to `model/`, its epochs to `training.json`.
        settings: the defaults of `TrainingSettings` when None.
        device: as torch names it; the GPU when there is one when None.
        on_step: called after every step.

    Raises:
        DataError: no problem, or one without answer or with more than two options, named.
        InputError: a model that can't be loaded.
        OutputError: `out` holds something else.
        Interrupted: Ctrl-C; says where the run goes on.
    """
    settings = settings or TrainingSettings()
    for problems, purpose in ((train, "train on"), (dev, "measure on")):
        _check(problems, purpose)
    base = model_folder(model)
    recipe = {
        "multiple_choice": asdict(settings),
        "train": train.digest,
        "dev": dev.digest,
        "model": weights_digest(base),
    }
    folder = OutputFolder.open(out, recipe)
    epochs = _finished(folder)
    if not epochs:
        run = Run(base, train, dev, settings, device)
        epochs = _trained(run, folder.path / STATE, on_step)
        _keep_best(folder, run, epochs)
    return FineTuned(folder.path / MODEL, settings, tuple(epochs), len(train), len(dev))


def _check(problems: Dataset, purpose: str) -> None:
    if not len(problems):
        raise DataError(f"there is no problem to {purpose}")
    for problem in problems:
        if len(problem.options) != 2:
            raise DataError(f"{problem.id!r} has {len(problem.options)} options; 2 are needed")
        if problem.answer is None:
            raise DataError(f"{problem.id!r} has no answer; it needs one to {purpose}")


def _finished(folder: OutputFolder) -> list[Epoch]:
    """Return the epochs of a run whose files are all there; none otherwise."""
    if RECORD not in folder.files or not all(map(folder.finished, folder.files)):
        return []
    return [Epoch(**record) for record in json.loads((folder.path / RECORD).read_text("utf-8"))]


def _trained(run: Run, state: Path, on_step: OnStep | None) -> list[Epoch]:
    """Train the epochs that the saved state does not hold yet."""
    epochs: list[Epoch] = []
    saved = load_state(state)
    if saved:
        epochs = saved[3]
        run.restore(*saved[:3])
    try:
        while len(epochs) < run.settings.epochs:
            epochs.append(run.epoch(len(epochs), on_step))
            right = [epoch.dev_correct for epoch in epochs]
            if right.index(max(right)) == len(right) - 1:
                run.keep()
            save_state(state, run.network.state_dict(), run.best, run.optimiser, epochs)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{len(epochs)} of {run.settings.epochs} epochs are saved in {state.parent}; run the "
            "same again to go on from there"
        ) from None
    return epochs


def _keep_best(folder: OutputFolder, run: Run, epochs: list[Epoch]) -> None:
    run.network.load_state_dict(run.best)
    run.choice.save(folder.path / MODEL)
    for saved in sorted((folder.path / MODEL).iterdir()):
        folder.add(f"{MODEL}/{saved.name}")
    with folder.write(RECORD) as file:
        json.dump([asdict(epoch) for epoch in epochs], file, indent=2)
        file.write("\n")
    (folder.path / STATE).unlink(missing_ok=True)
