"""Fine-tune any encoder to choose between two options, or to judge claims."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from winosmith.dataset import Dataset
from winosmith.errors import Interrupted
from winosmith.models._checkpoint import load_state, save_state
from winosmith.models._folder import model_folder, weights_digest
from winosmith.models._outcome import Epoch, FineTuned, TrainingSettings
from winosmith.models._processes import Processes
from winosmith.models._questions import questions
from winosmith.models._run import Run
from winosmith.outputs import OutputFolder
from winosmith.problem import Claim
from winosmith.published import Contents, contents_beside, keep_contents

__all__ = ["train_multiple_choice"]

MODEL, RECORD, STATE = "model", "training.json", "state.safetensors"

OnStep = Callable[[int, int, str], None]
"""Is told the steps done, the steps in all, and a note with the epoch and the loss."""


def train_multiple_choice(
    train: Dataset | Sequence[Claim],
    dev: Dataset | Sequence[Claim],
    *,
    model: str | Path,
    out: str | Path,
    settings: TrainingSettings | None = None,
    device: str | None = None,
    on_step: OnStep | None = None,
) -> FineTuned:
    """Fine-tune an encoder on problems with two options; keep the epoch that is best on dev.

    Each option is filled in, each of the two texts gets one score, and their softmax is trained
    on the answer. A claim is one text, whose score's logistic is trained on whether it holds. The
    same arguments give the same weights on the same kind of machine. The state is saved after
    every epoch: the same call on the same `out` goes on from there, and a finished run is not run
    again. A batch that does not fit into memory is worked through in halves, and that is said.

    Args:
        train: problems with answers, or claims with labels, to train on.
        dev: problems or claims that choose the epoch; no twin should straddle the two.
        model: a folder or hub id, of an encoder or of what was trained before.
        out: the folder of the run; the best model goes to `model/`, with digests of what it was
            trained on beside it, its epochs to `training.json`.
        settings: the defaults of `TrainingSettings` when None.
        device: as torch names it; the GPU when there is one when None.
        on_step: called after every step.

    Raises:
        DataError: no problem, or one without answer, with more than two options, or whose pronoun
            is to be seen and is not known; named.
        InputError: a model that can't be loaded, or for which the memory is too small.
        OutputError: `out` holds something else.
        Interrupted: Ctrl-C; says where the run goes on.
    """
    settings = settings or TrainingSettings()
    asked = questions(train, "train on", settings.sees)
    measured = questions(dev, "measure on", settings.sees)
    base = model_folder(model)
    recipe = {
        "multiple_choice": asdict(settings),
        "train": asked.digest,
        "dev": measured.digest,
        "model": weights_digest(base),
    }
    processes = Processes()
    processes.first(OutputFolder.open, out, recipe)
    folder = OutputFolder.open(out, recipe)
    epochs = _finished(folder)
    if not epochs:
        run = Run(base, asked, measured, settings, device, processes)
        epochs = _trained(run, folder.path / STATE, on_step)
        processes.first(_keep_best, folder, run, epochs, train, contents_beside(base))
    return FineTuned(settings, tuple(epochs), len(train), len(dev), folder=folder.path / MODEL)


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
        while not _over(epochs, run.settings):
            epochs.append(run.epoch(len(epochs), on_step))
            if run.settings.last is not None or _best(epochs) == len(epochs) - 1:
                run.keep()
            if run.processes.rank == 0:
                save_state(state, run.network.state_dict(), run.best, run.optimiser, epochs)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{len(epochs)} of {run.settings.epochs} epochs are saved in {state.parent}; run the "
            "same again to go on from there"
        ) from None
    return epochs


def _over(epochs: list[Epoch], settings: TrainingSettings) -> bool:
    """Tell whether a run has had its epochs, or went too long without a better one."""
    if len(epochs) >= (settings.last or settings.epochs):
        return True
    return (
        bool(epochs)
        and settings.patience is not None
        and len(epochs) - 1 - _best(epochs) >= settings.patience
    )


def _best(epochs: list[Epoch]) -> int:
    """Return the first of the epochs with the most dev problems right."""
    return max(range(len(epochs)), key=lambda at: epochs[at].dev_correct)


def _keep_best(
    folder: OutputFolder,
    run: Run,
    epochs: list[Epoch],
    train: Dataset | Sequence[Claim],
    before: tuple[Contents, ...],
) -> None:
    run.network.load_state_dict(run.best)
    run.choice.save(folder.path / MODEL)
    keep_contents(folder.path / MODEL, train, *before)
    for saved in sorted((folder.path / MODEL).iterdir()):
        folder.add(f"{MODEL}/{saved.name}")
    with folder.write(RECORD) as file:
        json.dump([asdict(epoch) for epoch in epochs], file, indent=2)
        file.write("\n")
    (folder.path / STATE).unlink(missing_ok=True)
