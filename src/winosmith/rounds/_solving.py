"""Run and measure the reference solvers of a round, and draw the next round's problems."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winosmith import answers, metrics, solve
from winosmith.dataset import Dataset
from winosmith.errors import MissingExtraError
from winosmith.evolve import draw_roots, find_unsolved_ids
from winosmith.lineage import depths
from winosmith.outputs import PRIVATE, OutputFolder
from winosmith.parallel import Advance
from winosmith.prediction import Prediction
from winosmith.problem import Problem
from winosmith.records import parse_json
from winosmith.results import Result
from winosmith.solver_rule import SolverRule
from winosmith.study import TrainingData, make_solver

Predictions = tuple[Prediction, ...]

_FILES = {
    "dev": "predictions/{}.jsonl",
    "test": f"{PRIVATE}/test/{{}}.jsonl",
    "last": "predictions/{}.last.jsonl",
}
"""The file of a solver's predictions on this round's dev and test, and on the last round's dev.

Predictions on test are private, because those of a strong solver nearly reveal the answers."""


def collect_predictions(
    rule: SolverRule,
    folder: OutputFolder,
    sets: Mapping[str, Dataset],
    train: Dataset,
    *,
    base_folder: Path,
    stored: Path | None,
    on_progress: Advance,
) -> tuple[dict[str, Any], dict[str, Predictions]]:
    """Return a solver's description and its predictions on each data set, and save both.

    The solver is created and trained only if predictions are missing. Predictions in `stored`, a
    folder of the same round, are reused. `sets` maps keys of `_FILES` to data sets; no predictions
    are returned for empty data sets. The rule's paths are relative to `base_folder`.
    """
    names = {part: _FILES[part].format(rule.name) for part, dataset in sets.items() if dataset}
    about = f"predictions/{rule.name}.json"
    every = (*names.values(), about)
    for name in every:
        if stored and (stored / name).is_file() and not folder.is_finished(name):
            with folder.write(name, "wb") as file:
                file.write((stored / name).read_bytes())
    if not all(map(folder.is_finished, every)):
        made = make_solver(rule, base_folder, train if rule.learn else None)
        done = 0
        for part, name in names.items():

            def advance(count: int, offset: int = done) -> None:
                on_progress(offset + count, "")

            path = folder.path / name
            solve.predict_to_file(made.solver, sets[part], path, on_progress=advance)
            folder.add(name)
            done += len(sets[part])
        record = {
            "solver": rule.solver,
            "learnt": rule.learn,
            "revision": made.revision,
            "digest": made.digest,
            "about": made.about,
        }
        with folder.write(about) as file:
            json.dump(record, file, indent=1, ensure_ascii=False, sort_keys=True)
            file.write("\n")
    return parse_json((folder.path / about).read_text("utf-8")), {
        part: tuple(answers.read_predictions(folder.path / name, sets[part]).predictions)
        for part, name in names.items()
    }


@dataclass(frozen=True, eq=False)
class SolverResult(Result):
    """The results of one solver in one round.

    Attributes:
        accuracy: accuracy on dev and test together; None if this round's results are withheld.
        twins: fraction of twins with both halves correct; None if there are no twins.
        last: accuracy on the previous round's dev, without problems that the solver may have been
            trained on; None if no problem is left.
        removed_count: number of problems removed from the previous round's dev because of such
            training.
        seen: problems of dev and test that the solver may have been trained on; if there are any,
            this round's results are withheld.
        stability: stability on the perturbed problems of dev and test; None if no depth is known,
            or if the `stability` extra is not installed.
    """

    accuracy: metrics.Proportion | None
    twins: metrics.Proportion | None
    last: metrics.Proportion | None
    removed_count: int = field(metadata={"key": "taught"})
    seen: metrics.Overlap
    stability: metrics.Stability | None


def measure_solver(
    dataset: Dataset,
    predictions: Predictions,
    *,
    last: tuple[Dataset, Predictions] | None = None,
    train: Dataset | None = None,
    earlier: TrainingData | None = None,
    seed: int = 0,
) -> SolverResult:
    """Measure a solver on this round, and on the previous round's dev set.

    The training set of a round shares no block with dev and test. If earlier training may have
    included problems of dev or test, this round's results are withheld, as in `score`.

    `dataset` is this round's dev and test. `last` is the previous round's dev with this solver's
    predictions. `train` is the solver's training data in this round, and `earlier` is its earlier
    training data.
    """
    earlier = earlier or TrainingData()
    seen = earlier.find_overlap(dataset)
    old, removed_count = None, 0
    if last is not None:
        known = TrainingData(
            (*earlier.datasets, *([] if train is None else [train])), earlier.contents
        )
        given, said = last
        known_rows = known.find_overlap(given).rows
        rows = [row for row in range(len(given)) if row not in known_rows]
        removed_count = len(known_rows)
        if rows:
            part = metrics.grade(given.select(rows), [said[row] for row in rows])
            old = metrics.score(part, seed=seed).accuracy
    if seen.withheld:
        return SolverResult(None, None, old, removed_count, seen, None)
    graded = metrics.grade(dataset, predictions)
    score = metrics.score(graded, seed=seed)
    stability = None
    found = zip(dataset, depths(dataset), strict=True)
    if any(p.lineage and any(kind is not None for kind in depth) for p, depth in found):
        with contextlib.suppress(MissingExtraError):
            stability = metrics.measure_stability(graded, seed=seed)
    return SolverResult(score.accuracy, score.twins, old, removed_count, seen, stability)


@dataclass(frozen=True)
class NextRound:
    """Problems from this round's dev set for people to perturb, with the pool's ids and texts.

    Their children refer to them as root and parent, so that they can be added to the pool.

    Attributes:
        roots: problems that every solver answers correctly, ignoring ties, drawn at random, at most
            one per block, as in EvoGrad (section 3.1).
        requested_root_count: requested number of roots.
        fooling: valid perturbed problems that at least one solver answers incorrectly, sorted by
            the number of such solvers in descending order. A tie does not count as incorrect.
        fooled_solvers: names of these solvers by the id of the problem.
    """

    roots: Dataset
    requested_root_count: int
    fooling: Dataset
    fooled_solvers: Mapping[str, tuple[str, ...]]


def plan_next_round(
    dev: Dataset,
    predictions: Mapping[str, Sequence[Prediction]],
    root_count: int,
    seed: int,
    pool: Mapping[str, Problem],
) -> NextRound:
    """Draw the problems that people perturb for the next round.

    The problems come from dev instead of test, because people will see them. If fewer than
    `root_count` are suitable, all suitable problems are drawn. `pool` maps ids in dev to the
    original problems.
    """
    unsolved = find_unsolved_ids(dev, list(predictions.values()))
    drawn = draw_roots([dev], [root_count], [unsolved], seed, allow_fewer=True)
    fooled = {}
    for problem, *said in zip(dev, *predictions.values(), strict=True):
        names = tuple(
            name
            for name, one in zip(predictions, said, strict=True)
            if len(one.chosen) == 1 and not one.credit(problem.answer)
        )
        if names and problem.lineage is not None and not problem.embargo:
            fooled[problem.id] = names
    order = sorted(fooled, key=lambda id_: (-len(fooled[id_]), dev.row(id_)))
    return NextRound(
        Dataset((pool[id_] for id_ in drawn.sources[dev.name]), "roots"),
        root_count,
        Dataset((pool[id_] for id_ in order), "fooling"),
        {pool[id_].id: fooled[id_] for id_ in order},
    )
