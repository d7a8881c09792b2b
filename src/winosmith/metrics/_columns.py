"""The fields of a data set's problems that are not the problem itself, one column each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from winosmith.dataset import Dataset
from winosmith.problem import Origin, Problem, Scalar

__all__ = ["columns"]


def columns(dataset: Dataset) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield the name and the values of each field, None where a problem lacks it.

    Yielded are the row number, the ids, the pronoun, what is known of origin and lineage, and
    every key of `extra`; left out are fields that are the same everywhere.
    """
    yield "row number", list(range(1, len(dataset) + 1))
    for name, get in _FIELDS.items():
        column = [get(problem) for problem in dataset]
        if len(set(column)) > 1:
            yield name, column
    for key in sorted({key for problem in dataset for key in problem.extra}):
        column = [problem.extra.get(key) for problem in dataset]
        if len(set(column)) > 1:
            yield key, column


def _of_origin(name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(problem.origin, name) if problem.origin else None


def _of_lineage(name: str) -> Callable[[Problem], Scalar]:
    return lambda problem: getattr(problem.lineage, name) if problem.lineage else None


_FIELDS: dict[str, Callable[[Problem], Scalar]] = {
    "id": lambda problem: problem.id,
    "twin_id": lambda problem: problem.twin_id,
    "pronoun": lambda problem: problem.pronoun,
    **{f"origin.{field.name}": _of_origin(field.name) for field in fields(Origin)},
    **{f"lineage.{name}": _of_lineage(name) for name in ("root", "parent", "declared")},
    "embargo": lambda problem: problem.embargo,
}
