"""Training as the studies need it: chosen on dev, on all the data, and by size."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winosmith.models import FineTuned, Trained, TrainingRun, train_grid, train_multiple_choice
from winosmith.outputs import write_aside
from winosmith.study._sets import Trainable, joined

__all__ = ["CurveRun", "curve_runs", "train_on_all", "write_curve"]


def train_on_all(
    chosen: Trained,
    train: Trainable,
    dev: Trainable,
    *,
    model: str | Path,
    out: str | Path,
    device: str | None = None,
    on_step: Callable[[int, int, str], None] | None = None,
) -> FineTuned:
    """Train once more, on train and dev, with the settings and epochs that were chosen on dev.

    So WinoGrande's models for transfer were made ("fine-tuned on train and dev", table 6). The dev
    accuracy of the result is on problems that it was trained on: it says whether the run fell to
    chance, and nothing else.

    Args:
        chosen: what `train_grid` gave for `train` and `dev`.
        train: as there.
        dev: as there.
        model: as there: what to start from.
        out: the folder of the run.
        device: as torch names it.
        on_step: called after every step.
    """
    both = joined([train, dev])
    settings = replace(chosen.settings, last=chosen.best + 1)
    measured = both[len(train) :]  # with the ids that they have there
    return train_multiple_choice(
        both, measured, model=model, out=out, settings=settings, device=device, on_step=on_step
    )


@dataclass(frozen=True)
class CurveRun:
    """The best run of one seed on one training size.

    Attributes:
        size: training problems.
        run: what it gave on dev.
    """

    size: int
    run: TrainingRun


def curve_runs(
    parts: Sequence[Trainable],
    dev: Trainable,
    *,
    out: str | Path,
    on_size: Callable[[int, Trained], None] | None = None,
    **arguments: Any,
) -> list[CurveRun]:
    """Train on each part, and return the best run of each seed and size.

    Args:
        parts: nested, such as `nested` gives, or WinoGrande's xs to xl.
        dev: what measures all of them.
        out: a folder; each size gets one in it.
        on_size: is told each size and what it gave.
        arguments: `model`, `grid`, `settings`, `device`, `on_step`, `on_run` of `train_grid`.
    """
    points: list[CurveRun] = []
    for part in parts:
        trained = train_grid(part, dev, out=Path(out) / str(len(part)), **arguments)
        for seed in sorted({run.settings.seed for run in trained.runs}):
            own = [run for run in trained.runs if run.settings.seed == seed]
            points.append(CurveRun(len(part), max(own, key=lambda run: run.dev_accuracy)))
        if on_size:
            on_size(len(part), trained)
    return points


def write_curve(points: Sequence[CurveRun], path: str | Path) -> None:
    """Write the runs as `winosmith curve` reads them: size, accuracy (0–1), seed, at_chance."""
    with write_aside(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["size", "accuracy", "seed", "at_chance"])
        for point in points:
            run = point.run
            row = [point.size, f"{run.dev_accuracy:.6f}", run.settings.seed, int(run.at_chance)]
            table.writerow(row)
