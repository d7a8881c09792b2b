"""What `--by lineage` is given: its options, and what solvers were trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.metrics import Overlap

__all__ = ["LINEAGE", "depth_option", "overlaps", "trained_option"]

LINEAGE = "lineage"
"""What `--by` takes for all of this."""


def depth_option(function: Any) -> Any:
    """Add `--depth`."""
    return click.option(
        "--depth",
        type=click.Choice(["declared", "lineage", "edit"]),
        help="Of --by lineage: as the file states it, the token positions touched on the way from "
        "the root, or the token edit distance to it; by default the first that most have.",
    )(function)


def trained_option(function: Any) -> Any:
    """Add `--trained-on`."""
    return click.option(
        "--trained-on",
        multiple=True,
        metavar="[SOLVER=]DATA",
        help="What solvers, or one of them, were trained on: a file, the name of a published set, "
        "or other:NAME, a corpus that is not here. Where they may have seen a problem, no accuracy "
        "is told. May be given again.",
    )(function)


def overlaps(
    dataset: Dataset, solvers: Sequence[str], trained_on: Sequence[str]
) -> dict[str, Overlap]:
    """Return what each solver may have seen of the data set in training.

    Args:
        dataset: the problems.
        solvers: the names of all.
        trained_on: what solvers were trained on: files; public data sets whose contents are known
            (`published.known_contents`); or "other:NAME", with which nothing can be compared.
            `SOLVER=…` is for one of them.

    Raises:
        InputError: a file that is not there, a data set of unknown contents, or a solver that is
            none.
    """
    found: dict[str, Overlap] = {}
    for given in trained_on:
        name, what = _of_solver(given, solvers)
        seen = _seen(dataset, given, what)
        for solver in solvers if name is None else [name]:
            before = found.get(solver, Overlap({}, seen.n))
            rows, unknown = {**seen.rows, **before.rows}, (*before.unknown, *seen.unknown)
            found[solver] = Overlap(dict(sorted(rows.items())), seen.n, unknown)
    return found


def _seen(dataset: Dataset, given: str, what: str) -> Overlap:
    """Return what a solver may have seen that was trained on something."""
    from winosmith.study import TrainedOn

    try:
        return TrainedOn.named([what]).overlap(dataset)
    except InputError as error:
        raise InputError(f"--trained-on {given}: {error}") from None


def _of_solver(given: str, solvers: Sequence[str]) -> tuple[str | None, str]:
    """Return the solver, None for all, and the file or the name of what it was trained on."""
    name, equals, what = given.partition("=")
    if Path(given).is_file() or not equals or name.startswith("other:"):
        return None, given
    if name not in solvers:
        raise InputError(f"--trained-on {given}: {name!r} is none of {', '.join(solvers)}")
    return name, what
