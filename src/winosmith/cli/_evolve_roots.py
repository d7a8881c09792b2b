"""The roots of `winosmith evolve`: all problems, or those that every solver gets right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winosmith import formats
from winosmith.answers import Prediction
from winosmith.cli._options import read_data
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.evolve import Roots, draw_roots, not_solved

__all__ = ["all_roots"]

TWO = 2
"""Options that a problem must have for a dialogue with a chat model: EvoGrad's table has two."""


def all_roots(options: Mapping[str, Any]) -> Roots:
    """Return the problems that families grow from.

    Raises:
        InputError: options that do not go together.
        DataError: problems clash, or predictions fit no data set.
    """
    datasets = [read_data(path, options["format_name"]) for path in options["data"]]
    wanted = options["roots"]
    if not wanted:
        return _everything(datasets, options)
    if len(wanted) not in (1, len(datasets)):
        raise InputError(
            f"--roots is given {len(wanted)} times for {len(datasets)} data sets; give it once, "
            "or once for each"
        )
    numbers = wanted * len(datasets) if len(wanted) == 1 else wanted
    return draw_roots(
        datasets,
        numbers,
        _wrong(datasets, options["right"]),
        options["seed"],
        options=TWO if "chat" in options["kinds"] else None,
    )


def _everything(datasets: Sequence[Dataset], options: Mapping[str, Any]) -> Roots:
    if options["right"]:
        raise InputError("--right tells which roots may be drawn; add --roots N")
    if options["sets"]:
        raise InputError("--sets needs roots; add --roots N")
    if len(datasets) > 1:
        raise InputError("several data sets need --roots N, which makes their ids distinct")
    others = [problem.id for problem in datasets[0] if len(problem.options) != TWO]
    if "chat" in options["kinds"] and others:
        raise InputError(
            f"{len(others):,} of {len(datasets[0]):,} problems have more than two options (first: "
            f"{others[0]!r}), for which a chat model can't be asked; draw from the others with "
            "--roots N, or take --with wordnet or masked"
        )
    return Roots(datasets[0], {}, ())


def _wrong(datasets: Sequence[Dataset], paths: Sequence[str]) -> list[frozenset[str]]:
    """Return for each data set what its solvers do not get right; each has some files, or none."""
    solvers: list[list[Sequence[Prediction]]] = [[] for _ in datasets]
    for path in paths:
        at = _of_which(datasets, path)
        solvers[at].append(formats.read_predictions(path, datasets[at]).predictions)
    return [
        not_solved(dataset, own) if own else frozenset()
        for dataset, own in zip(datasets, solvers, strict=True)
    ]


def _of_which(datasets: Sequence[Dataset], path: str) -> int:
    """Return which data set a file of predictions is for: by its digest, or else by its ids."""
    found = formats.read_predictions(path)
    ids = {prediction.problem_id for prediction in found.predictions}
    for at, dataset in enumerate(datasets):
        if found.data == dataset.blind().digest:
            return at
    for at, dataset in enumerate(datasets):
        if ids == set(dataset.ids):
            return at
    raise DataError(f"{path} has predictions for none of the data sets: their ids differ")
