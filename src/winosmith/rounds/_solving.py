"""The reference solvers of a round: their answers and accuracy, and the next round's problems."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from winosmith.study import TrainedOn, make_solver


@dataclass(frozen=True)
class Answers:
    """What one solver answered.

    Attributes:
        about: its kind, revision, digest, and what it says determines its scores.
        dev, test: dev and test of this round.
        last: on the last round's dev; None in the first round.
    """

    about: Mapping[str, Any]
    dev: tuple[Prediction, ...]
    test: tuple[Prediction, ...]
    last: tuple[Prediction, ...] | None


def collect_answers(
    rule: SolverRule,
    folder: OutputFolder,
    *,
    dev: Dataset,
    test: Dataset,
    last: Dataset | None,
    train: Dataset,
    where: Path,
    stored: Path | None,
    on_progress: Advance,
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
        where: the folder that the rule's relative paths start from.
        stored: a folder of the same round, whose answers are taken.
        on_progress: called with the number of solved problems.
    """
    sets = {f"predictions/{rule.name}.jsonl": dev, f"{PRIVATE}/test/{rule.name}.jsonl": test}
    if last is not None:
        sets[f"predictions/{rule.name}.last.jsonl"] = last
    sets = {name: dataset for name, dataset in sets.items() if len(dataset)}
    about = f"predictions/{rule.name}.json"
    if stored is not None:
        for name in (*sets, about):
            if (stored / name).is_file() and not folder.finished(name):
                with folder.write(name, "wb") as file:
                    file.write((stored / name).read_bytes())
    if not all(folder.finished(name) for name in (*sets, about)):
        _ask(rule, folder, sets, about, train, where, on_progress)
    found = {
        name: tuple(answers.read_predictions(folder.path / name, dataset).predictions)
        for name, dataset in sets.items()
    }
    return Answers(
        parse_json((folder.path / about).read_text("utf-8")),
        found[f"predictions/{rule.name}.jsonl"],
        found.get(f"{PRIVATE}/test/{rule.name}.jsonl", ()),
        found.get(f"predictions/{rule.name}.last.jsonl"),
    )


def _ask(
    rule: SolverRule,
    folder: OutputFolder,
    sets: Mapping[str, Dataset],
    about: str,
    train: Dataset,
    where: Path,
    on_progress: Advance,
) -> None:
    asked = make_solver(rule, where, train if rule.learn else None)
    done = 0
    for name, dataset in sets.items():
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)

        def advance(more: int, before: int = done) -> None:
            on_progress(before + more, "")

        solve.predict_to_file(asked.solver, dataset, path, on_progress=advance)
        folder.add(name)
        done += len(dataset)
    with folder.write(about) as file:
        record = {
            "solver": rule.solver,
            "learnt": rule.learn,
            "revision": asked.revision,
            "digest": asked.digest,
            "about": asked.about,
        }
        json.dump(record, file, indent=1, ensure_ascii=False, sort_keys=True)
        file.write("\n")


Predictions = tuple[Prediction, ...]


@dataclass(frozen=True, eq=False)
class Measured(Result):
    """What one solver makes of one round.

    Attributes:
        accuracy: on dev and test together; None if it is withheld, as all of this round is.
        twins: the fraction of whole twins that it gets right; None without any.
        last: on the last round's dev, those problems omitted that it may have been taught; None
            if there is no last round, or nothing is left of it.
        taught: how many of the last round's dev were omitted.
        seen: what it may have been taught of dev and test, and so why figures are withheld.
        stability: on the perturbed problems of dev and test; None without any whose depth is
            known, or without the extra `stability`.
    """

    accuracy: metrics.Proportion | None
    twins: metrics.Proportion | None
    last: metrics.Proportion | None
    taught: int
    seen: metrics.Overlap
    stability: metrics.Stability | None


def measure_solver(
    dataset: Dataset,
    predictions: Predictions,
    *,
    last: tuple[Dataset, Predictions] | None = None,
    train: Dataset | None = None,
    before: TrainedOn | None = None,
    seed: int = 0,
) -> Measured:
    """Measure a solver on a round, and on what the last one published.

    What it is taught of a round shares no block with dev and test, so that they measure it. Where
    it may have seen any of them before, its results of this round are withheld, as in `score`.

    Args:
        dataset: dev and test of this round, with answers.
        predictions: in its order.
        last: the last round's dev with this solver's predictions.
        train: what the solver was taught; None if it was taught nothing of these data.
        before: what it was trained on before; None if nothing is known of that.
        seed: random seed of draws.
    """
    before = before or TrainedOn()
    seen = before.overlap(dataset)
    known = TrainedOn((*before.datasets, *([] if train is None else [train])), before.contents)
    old, taught = _measure_on_last_dev(last, known, seed)
    if seen.withheld:
        return Measured(None, None, old, taught, seen, None)
    graded = metrics.grade(dataset, predictions)
    score = metrics.score(graded, seed=seed)
    return Measured(
        score.accuracy, score.twins, old, taught, seen, _measure_stability(graded, seed)
    )


def _measure_on_last_dev(
    last: tuple[Dataset, Predictions] | None, trained: TrainedOn, seed: int
) -> tuple[metrics.Proportion | None, int]:
    if last is None:
        return None, 0
    dataset, predictions = last
    known = set(trained.overlap(dataset).rows)
    rows = [row for row in range(len(dataset)) if row not in known]
    if not rows:
        return None, len(known)
    part = metrics.grade(dataset.select(rows), [predictions[row] for row in rows])
    return metrics.score(part, seed=seed).accuracy, len(known)


def _measure_stability(graded: metrics.Graded, seed: int) -> metrics.Stability | None:
    found = zip(graded.dataset, depths(graded.dataset), strict=True)
    if not any(p.lineage and any(kind is not None for kind in of) for p, of in found):
        return None
    try:
        return metrics.stability(graded, seed=seed)
    except MissingExtraError:
        return None


@dataclass(frozen=True)
class NextRound:
    """Problems of this round's dev that people should continue with, as they are in the pool.

    What is made of them names them as root and parent, so it can be put next to them there.

    Attributes:
        roots: what every solver gets right that can decide; drawn at random, one of a block
            at most, as EvoGrad draws its roots (section 3.1).
        asked: how many roots were asked for.
        fooling: what was perturbed, found valid, and a solver gets wrong; what fools the most
            solvers first. A tie is not fooled, whichever options it is between.
        fooled: by id of those, the names of the solvers.
    """

    roots: Dataset
    asked: int
    fooling: Dataset
    fooled: Mapping[str, tuple[str, ...]]


def plan_next_round(
    dev: Dataset,
    predictions: Mapping[str, Sequence[Prediction]],
    wanted: int,
    seed: int,
    pool: Mapping[str, Problem],
) -> NextRound:
    """Draw the problems that the next round starts with.

    They are only from dev, because perturbed problems become known. If fewer than `wanted` are
    suitable, all of these are taken. `pool` has the problems of dev as in the pool, by their ids in
    dev.
    """
    unsolved = find_unsolved_ids(dev, list(predictions.values()))
    drawn = draw_roots([dev], [wanted], [unsolved], seed, fewer=True)
    wrong = {name: _find_wrong_ids(dev, own) for name, own in predictions.items()}
    fooled = {
        problem.id: tuple(name for name, ids in wrong.items() if problem.id in ids)
        for problem in dev
        if problem.lineage is not None and not problem.embargo
    }
    fooled = {id_: names for id_, names in fooled.items() if names}
    order = sorted(fooled, key=lambda id_: (-len(fooled[id_]), dev.row(id_)))
    return NextRound(
        Dataset((pool[id_] for id_ in drawn.sources[dev.name]), "roots"),
        wanted,
        Dataset((pool[id_] for id_ in order), "fooling"),
        {pool[id_].id: fooled[id_] for id_ in order},
    )


def _find_wrong_ids(dev: Dataset, predictions: Sequence[Prediction]) -> set[str]:
    pairs = zip(dev, predictions, strict=True)
    return {
        problem.id
        for problem, prediction in pairs
        if len(prediction.chosen) == 1 and not prediction.credit(problem.answer)
    }
