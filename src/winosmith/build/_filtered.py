"""A filter that shows how far it is, is taken up where it was, and is run again beside itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from winosmith.build._filter import OTHERS, FilterRun, run_again, run_filter
from winosmith.build._panel import Panel, lent
from winosmith.build._progress import Step, watched
from winosmith.build._recipe import FilterRecipe
from winosmith.dataset import Dataset
from winosmith.outputs import OutputFolder

__all__ = ["filtered"]


def filtered(
    pool: Dataset,
    X: NDArray[Any],
    chosen: FilterRecipe,
    *,
    seed: int,
    panel: Panel | None,
    folder: OutputFolder,
    name: str,
    step: Step,
    how: Mapping[str, Any] | None = None,
) -> FilterRun:
    """Run the chosen filter and, unless the recipe says no, its other runs.

    Each has a checkpoint of its own. All stay until the last run is complete, so that after an
    interrupt none is done twice.

    Args:
        pool: the problems.
        X: (n, d) their vectors.
        chosen: the recipe's table.
        seed: of every draw.
        panel: the embedders that vote, or None.
        folder: where the checkpoints go meanwhile.
        name: of the filter's own checkpoint.
        step: shows progress.
        how: the executor and the scratch folder of `debias.aflite`.
    """
    count = 1 if panel is None else len(panel.Xs)
    shared: dict[str, Any] = {"seed": seed, "panel": panel, **(how or {})}
    with lent(folder, name, count) as first:
        with step("filtering", len(pool)) as advance:
            more = {**shared, **watched(advance, len(pool))}
            run = run_filter(pool, X, chosen, checkpoint=first, **more)
        if not chosen.again:
            return run
        stem, dot, suffix = name.rpartition(".")
        with (
            lent(folder, f"{stem}-seed{dot}{suffix}", count) as second,
            lent(folder, f"{stem}-shaken{dot}{suffix}", count) as third,
        ):
            for other, checkpoint in zip(OTHERS, (second, third), strict=True):
                with step(f"again, {other}", len(pool)) as advance:
                    more = {**shared, **watched(advance, len(pool))}
                    run = run_again(run, chosen, other, checkpoint=checkpoint, **more)
    return run
