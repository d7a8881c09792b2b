"""What a finished build published, read again from its folder, and what people said of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from winosmith import formats, metrics
from winosmith.build import Recipe, read_pool, read_pool_votes
from winosmith.dataset import Dataset
from winosmith.outputs import PRIVATE
from winosmith.problem import Problem

__all__ = ["People", "ReleaseSets", "people_on", "release_sets", "standing_in_pool"]


@dataclass(frozen=True)
class ReleaseSets:
    """The sets of a build.

    Attributes:
        train: train_xl.
        dev: with answers.
        test: with answers, from the private files; empty where there is none.
    """

    train: Dataset
    dev: Dataset
    test: Dataset

    @property
    def measured(self) -> Dataset:
        """What solvers are measured on: dev, then test."""
        return Dataset((*self.dev, *self.test), "dev and test")


def release_sets(recipe: Recipe, folder: Path) -> ReleaseSets:
    """Read the sets of a finished build.

    Raises:
        FormatError: a file can't be read.
    """
    known = formats.format_named(recipe.files.format)

    def read(name: str) -> Dataset:
        path = folder / f"{name}{known.suffix}"
        if not path.stat().st_size:
            return Dataset([], name)
        return formats.read(path, known.name, as_written=True)

    return ReleaseSets(read("train_xl"), read("dev"), read(f"{PRIVATE}/test"))


@dataclass(frozen=True)
class People:
    """What people said of the problems that solvers are measured on.

    Attributes:
        judged: how many of the problems have votes of judges.
        agree: the mean share of a judged problem's votes that are for its answer, 0–1; None
            without any. The problems were kept because most judges chose that answer, so this is
            no accuracy; a round is compared with another one by it.
        unanimous: the share of the judged problems on which all judges chose the answer.
        accuracy: of the majority of people whom no judge's vote counts for; None where the votes
            hold no responses to a test.
    """

    judged: int
    agree: float | None
    unanimous: float | None
    accuracy: metrics.HumanAccuracy | None


def people_on(recipe: Recipe, folder: Path, dataset: Dataset) -> People | None:
    """Return what people said of problems of a build; None where it has no votes.

    Raises:
        FormatError: the votes can't be read.
        DataError: a subject of a test had judged the problem.
    """
    if recipe.votes_file is None:
        return None
    old_of = _old_ids(folder)
    new_of = {old_of[problem.id]: problem.id for problem in dataset if problem.id in old_of}
    said = [
        replace(vote, problem_id=new_of[vote.problem_id])
        for vote in read_pool_votes(recipe)
        if vote.problem_id in new_of
    ]
    answers = dict(zip(dataset.ids, dataset.answers, strict=True))
    right: dict[str, list[bool]] = {}
    for vote in said:
        if vote.purpose == "validate":
            right.setdefault(vote.problem_id, []).append(vote.choice == answers[vote.problem_id])
    shares = [sum(votes) / len(votes) for votes in right.values()]
    tested = any(vote.purpose == "test" for vote in said)
    return People(
        len(shares),
        sum(shares) / len(shares) if shares else None,
        sum(share == 1 for share in shares) / len(shares) if shares else None,
        metrics.human_accuracy(dataset, said) if tested else None,
    )


def standing_in_pool(recipe: Recipe, folder: Path, dataset: Dataset) -> dict[str, Problem]:
    """Return problems of a build as they stand in its pool, by the ids that the build gave them.

    Raises:
        FormatError: the pool can't be read.
    """
    pool, old_of = read_pool(recipe), _old_ids(folder)
    return {id_: pool[pool.row(old_of[id_])] for id_ in dataset.ids}


def _old_ids(folder: Path) -> dict[str, str]:
    lines = (folder / PRIVATE / "ids.jsonl").read_text("utf-8").splitlines()
    records = map(json.loads, lines)
    return {record["id"]: record["old_id"] for record in records}
