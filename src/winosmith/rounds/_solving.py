"""Ask the reference solvers, or read what they answered before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from winosmith import formats, solve
from winosmith.answers import Prediction
from winosmith.dataset import Dataset
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.solver_rule import SolverRule
from winosmith.study import made_solver

__all__ = ["Answers", "answers_of"]


@dataclass(frozen=True)
class Answers:
    """What one solver answered.

    Attributes:
        about: its kind, revision, digest, and what it says determines its scores.
        dev, test: of this round.
        last: on the last round's dev; None in the first round.
    """

    about: Mapping[str, Any]
    dev: tuple[Prediction, ...]
    test: tuple[Prediction, ...]
    last: tuple[Prediction, ...] | None


def answers_of(
    rule: SolverRule,
    folder: OutputFolder,
    *,
    dev: Dataset,
    test: Dataset,
    last: Dataset | None,
    train: Dataset,
    where: Path,
    stored: Path | None,
    tell: Callable[[int], None],
) -> Answers:
    """Return what a solver answers; each set is a file of the folder, solved once.

    The solver is made, and taught, only when an answer is missing. Answers on test stay in the
    private files: a strong solver's are nearly the answers.

    Args:
        rule: the solver.
        folder: the round's.
        dev: what is asked; this round's.
        test: the same.
        last: the last round's dev; None in the first round.
        train: what a solver that learns is taught.
        where: from where the rule's relative paths are seen.
        stored: a folder of the same round, whose answers are taken where they fit.
        tell: is told how many problems are done.
    """
    sets = {f"predictions/{rule.name}.jsonl": dev, f"{PRIVATE}/test/{rule.name}.jsonl": test}
    if last is not None:
        sets[f"predictions/{rule.name}.last.jsonl"] = last
    sets = {name: dataset for name, dataset in sets.items() if len(dataset)}
    about = f"predictions/{rule.name}.json"
    if stored is not None:
        for name in (*sets, about):
            _copied(stored / name, folder, name)
    if not all(folder.finished(name) for name in (*sets, about)):
        _ask(rule, folder, sets, about, train, where, tell)
    found = {
        name: tuple(formats.read_predictions(folder.path / name, dataset).predictions)
        for name, dataset in sets.items()
    }
    return Answers(
        json.loads((folder.path / about).read_text("utf-8")),
        found[f"predictions/{rule.name}.jsonl"],
        found.get(f"{PRIVATE}/test/{rule.name}.jsonl", ()),
        found.get(f"predictions/{rule.name}.last.jsonl"),
    )


def _copied(source: Path, folder: OutputFolder, name: str) -> None:
    if source.is_file() and not folder.finished(name):
        with folder.write(name, "wb") as file:
            file.write(source.read_bytes())


def _ask(
    rule: SolverRule,
    folder: OutputFolder,
    sets: Mapping[str, Dataset],
    about: str,
    train: Dataset,
    where: Path,
    tell: Callable[[int], None],
) -> None:
    made = made_solver(rule, where, train if rule.learn else None)
    done = 0
    for name, dataset in sets.items():
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        solve.predict_to_file(made.solver, dataset, path, on_progress=partial(_further, tell, done))
        folder.add(name)
        done += len(dataset)
    with folder.write(about) as file:
        told = {
            "solver": rule.solver,
            "learnt": rule.learn,
            "revision": made.revision,
            "digest": made.digest,
            "about": made.about,
        }
        json.dump(told, file, indent=1, ensure_ascii=False, sort_keys=True)
        file.write("\n")


def _further(tell: Callable[[int], None], before: int, done: int) -> None:
    tell(before + done)
