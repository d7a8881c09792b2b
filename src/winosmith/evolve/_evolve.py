"""A data set and a perturber in, the children of every problem out.

Or into a file, problem by problem, so that an interrupt costs little.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from winosmith.dataset import Dataset, Dropped
from winosmith.outputs import write_aside
from winosmith.parallel import ordered_map
from winosmith.problem import Problem
from winosmith.records import canonical, problem_of, problem_record
from winosmith.seen import check_blanks
from winosmith.text import tokens


class Perturber(Protocol):
    """Makes children of a problem.

    Each child is a problem by itself with its lineage (`winosmith.lineage.perturbed`), marked as
    not yet judged by people. The same problem and seed give the same children, in the same order,
    whatever else was perturbed before; no two children are equal, and none is the parent.
    """

    def perturb(self, problem: Problem, seed: int) -> Iterable[Problem]:
        """Return or yield the children of a problem."""
        ...


STAGE = "evolve"

_CHUNK = 64
"""Problems that are perturbed at once; what an interrupt loses at most."""

_PER_WORKER = 4
"""Chunks in flight for each worker, so that none waits for the slowest."""


@dataclass(frozen=True)
class Evolved:
    """What perturbing a data set gave.

    Attributes:
        dataset: the problems that went in, then the children.
        children: the children alone, in the order of their parents.
        repeated: children that say what another problem of the set says, with the reason.
        barren: the ids of the problems that got no child.
    """

    dataset: Dataset
    children: Dataset
    repeated: tuple[Dropped, ...]
    barren: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"Evolved({self.dataset!r}, {len(self.children)} children, "
            f"{len(self.repeated)} repeated, {len(self.barren)} barren)"
        )


def evolve(
    dataset: Dataset,
    perturber: Perturber,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Evolved:
    """Perturb every problem of a data set once.

    The result does not depend on the executor: a child depends on its parent and the seed alone.

    Args:
        dataset: the problems to perturb.
        perturber: makes children; picklable where the workers are processes.
        seed: of the perturber.
        executor: who perturbs; without one it is done here.
        on_progress: called with the number of problems done.

    >>> from winosmith.testing import made_twins
    >>> class Shout:
    ...     def perturb(self, problem, seed):
    ...         from winosmith.lineage import perturbed
    ...         loud = problem.sentence.replace(".", "!")
    ...         yield perturbed(problem, loud, problem.options, problem.answer, source="shout")
    >>> evolve(made_twins(2), Shout())
    Evolved(<Dataset 'made': 8 problems, 2 twins>, 4 children, 0 repeated, 0 barren)
    """
    made: list[list[Problem]] = []
    for of_chunk in children(dataset.problems, perturber, seed, executor):
        made += of_chunk
        if on_progress is not None:
            on_progress(len(made))
    return without_repeats(dataset, made)


def children(
    problems: Sequence[Problem], perturber: Perturber, seed: int, executor: Executor | None = None
) -> Iterator[list[list[Problem]]]:
    """Yield the children of each problem, chunk by chunk, in order.

    Raises:
        DataError: a problem is a question, or holds another `_` than its blank.
    """
    check_blanks(problems, "a perturbation", plain=True)
    chunks = [problems[at : at + _CHUNK] for at in range(0, len(problems), _CHUNK)]
    yield from ordered_map(
        partial(_of_chunk, perturber, seed),
        chunks,
        executor,
        ahead=2 * _PER_WORKER,
        resume="run the same command again; what was finished is kept",
    )


def _of_chunk(perturber: Perturber, seed: int, problems: Sequence[Problem]) -> list[list[Problem]]:
    return [list(perturber.perturb(problem, seed)) for problem in problems]


def without_repeats(dataset: Dataset, made: Sequence[Sequence[Problem]]) -> Evolved:
    """Join problems and their children; whoever says the same as an earlier one is set aside.

    Two problems say the same when their tokens and options are equal, whatever their case.

    Args:
        dataset: the parents.
        made: for each of them, its children.
    """
    said = {_said(problem): problem.id for problem in dataset}
    ids = set(dataset.ids)
    kept: list[Problem] = []
    repeated: list[Dropped] = []
    row = len(dataset)
    for family in made:
        for child in family:
            earlier = said.get(_said(child), child.id if child.id in ids else None)
            if earlier is None:
                said[_said(child)] = child.id
                ids.add(child.id)
                kept.append(child)
            else:
                repeated.append(Dropped(child, STAGE, f"it says the same as {earlier!r}", row))
            row += 1
    barren = tuple(problem.id for problem, family in zip(dataset, made, strict=True) if not family)
    return Evolved(
        Dataset([*dataset, *kept], dataset.name),
        Dataset(kept, dataset.name),
        tuple(repeated),
        barren,
    )


def _said(problem: Problem) -> tuple[object, ...]:
    options = sorted(option.lower() for option in problem.options)
    return (*tokens(problem.sentence.lower()), None, *options)


def resumed_children(
    problems: Sequence[Problem],
    perturber: Perturber,
    seed: int,
    path: Path,
    *,
    executor: Executor | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[list[Problem]]:
    """Return the children of each problem; those that the file holds are not made again.

    The file has a line a parent; one that was cut off by a crash is passed over and made again.

    Args:
        problems: to be perturbed.
        perturber: makes children; picklable where the workers are processes.
        seed: of the perturber.
        path: of the work that is not finished; the caller removes it.
        executor: who perturbs; without one it is done here.
        on_progress: called with how many problems are done, and how many children there are.
    """
    done = dict(_lines(path)) if path.exists() else {}
    left = [problem for problem in problems if problem.id not in done]
    count = sum(map(len, done.values()))
    at = len(problems) - len(left)
    with write_aside(path) as file:  # without the line that was cut off
        for parent, family in done.items():
            _write(file, parent, family)
    with path.open("a", encoding="utf-8") as file:
        if on_progress is not None:
            on_progress(at, count)
        waiting = iter(left)
        for of_chunk in children(left, perturber, seed, executor):
            for family in of_chunk:
                parent = next(waiting).id
                done[parent] = family
                count += len(family)
                at += 1
                _write(file, parent, family)
            file.flush()
            if on_progress is not None:
                on_progress(at, count)
    return [done[problem.id] for problem in problems]


def _write(file: IO[str], parent: str, family: Sequence[Problem]) -> None:
    record = {"parent": parent, "children": [problem_record(child) for child in family]}
    file.write(canonical(record) + "\n")


def _lines(path: Path) -> Iterator[tuple[str, list[Problem]]]:
    text = path.read_text("utf-8", errors="replace")  # a line may be cut off inside a character
    for line in text.split("\n")[:-1]:
        if line:
            record = json.loads(line)
            yield record["parent"], [problem_of(child) for child in record["children"]]
