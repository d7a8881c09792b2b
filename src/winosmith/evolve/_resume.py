"""Perturbing into a file, problem by problem, so that an interrupt costs little."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import IO

from winosmith.evolve._evolve import children
from winosmith.evolve._perturber import Perturber
from winosmith.outputs import write_aside
from winosmith.problem import Problem
from winosmith.records import canonical, problem_of, problem_record

__all__ = ["resumed_children"]


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
