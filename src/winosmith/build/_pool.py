"""The pool of a recipe: problems and votes, from one file or several.

A pool grows by files: what is collected in a later round lies beside what was there before.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from winosmith import formats, validate
from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import FormatError
from winosmith.problem import Problem

if TYPE_CHECKING:
    from winosmith.build._recipe import Recipe

Files = str | tuple[str, ...]
"""What a recipe names: a file, or several."""


def paths_of(named: Files | None) -> tuple[str, ...]:
    """Return the files that a recipe names, none for None.

    >>> paths_of("twins.jsonl"), paths_of(None)
    (('twins.jsonl',), ())
    """
    if named is None:
        return ()
    return (named,) if isinstance(named, str) else tuple(named)


def names_of(named: Files | None) -> str | list[str] | None:
    """Return the files by their names alone, as a recipe is published.

    >>> names_of("pools/twins.jsonl"), names_of(("a/one.jsonl", "two.jsonl")), names_of(None)
    ('twins.jsonl', ['one.jsonl', 'two.jsonl'], None)
    """
    if named is None or isinstance(named, str):
        return named and Path(named).name
    return [Path(path).name for path in named]


def read_pool(recipe: Recipe) -> Dataset:
    """Read the problems of a recipe, file by file.

    A problem that is in two files, the same in both, is taken from the first: a file of perturbed
    problems often has their roots in it, too.

    Raises:
        FormatError: a file can't be read, or an id is another problem in an earlier file.
    """
    paths = paths_of(recipe.data)
    first = formats.read(paths[0], recipe.format)
    if len(paths) == 1:
        return first
    held: dict[str, tuple[Problem, str]] = {p.id: (p, paths[0]) for p in first}
    for path in paths[1:]:
        for problem in formats.read(path, recipe.format):
            _check_same(problem, held, path)
            held.setdefault(problem.id, (problem, path))
    return Dataset((problem for problem, _ in held.values()), first.name)


def _check_same(problem: Problem, held: Mapping[str, tuple[Problem, str]], path: str) -> None:
    if problem.id not in held:
        return
    earlier, where = held[problem.id]
    mine, its = ((p.sentence, p.options, p.answer) for p in (problem, earlier))
    if mine != its:
        raise FormatError(
            f"the id {problem.id!r} is another problem in {where}; give it a new one", path
        )


def read_pool_votes(recipe: Recipe) -> tuple[Response, ...]:
    """Read the votes of a recipe, file after file; none where it names no file.

    Raises:
        FormatError: a file can't be read.
    """
    return tuple(vote for path in paths_of(recipe.votes_file) for vote in validate.read_votes(path))
