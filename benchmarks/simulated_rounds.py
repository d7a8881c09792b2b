"""Simulate the effect of filtering over several rounds with known artifacts.

A simulated crowd with constant habits writes twins in rounds. A known fraction of the twins has an
artifact, and a known fraction has swapped answers. Three judges validate each problem. Solvers are
trained on all problems that earlier rounds published, including removed ones, because WinoGrande
publishes both (section 3). Each filter selects its own release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from winosmith import debias, embed, practice, solve, validate
from winosmith.build import METHOD_NAMES, FilterRecipe, run_filter
from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.problem import Problem
from winosmith.response import Response

Arm = Literal["aflite", "random", "none"]
"""How a release is made: by AFLite, by a random draw of equal size, or from all valid problems."""

ARMS: tuple[Arm, ...] = get_args(Arm)

SOLVERS = ("linear", "word pairs")
"""The solvers: a linear model of AFLite's vectors, and `solve.WordAssociation`, which doesn't see
these vectors."""

JUDGES = 3
"""Number of judges who validate a problem (section 2). The same number of other people, who have
seen no release, then measure how many people agree with the released answers."""

POOL = 60
"""Number of people in the crowd."""


@dataclass(frozen=True, slots=True)
class SimulatedRound:
    """The release of one round with one filter.

    Attributes:
        arm: how the release is made.
        number: number of the round, from 1.
        pool: number of valid problems of this and all earlier rounds, which are filtered together.
        released: number of these problems in this round's release.
        fresh: number of released problems that were written in this round and measure accuracy.
        accuracy: fraction of the fresh problems that each solver gets right; empty in the first
            round, in which the solvers have no training data.
        human: fraction of the fresh problems on which the majority of three new judges chooses
            the published answer; None without fresh problems.
        mislabelled: fraction of the release whose published answer is wrong.
        recall: fraction of the valid problems with an artifact that are not released.
        false_removals: fraction of the sound problems with a correct answer that are not released.
    """

    arm: Arm
    number: int
    pool: int
    released: int
    fresh: int
    accuracy: Mapping[str, float]
    human: float | None
    mislabelled: float
    recall: practice.Ratio
    false_removals: practice.Ratio


@dataclass(frozen=True, eq=False)
class _Crowd:
    """The crowd's problems of all rounds, and their known artifacts.

    Attributes:
        dataset: the problems as submitted.
        valid: the problems of each round that the judges found valid.
        planted: ids of the problems with an artifact.
        wrong: ids of the problems with a wrong answer.
        agreed: ids of the problems for which new judges choose the submitted answer.
    """

    dataset: Dataset
    valid: tuple[Dataset, ...]
    planted: frozenset[str]
    wrong: frozenset[str]
    agreed: frozenset[str]


def simulate(
    seed: int = 0,
    *,
    rounds: int = 5,
    twins: int = 400,
    strength: float = 0.5,
    mislabelled: float = 0.04,
    arms: Sequence[Arm] = ARMS,
) -> tuple[SimulatedRound, ...]:
    """Simulate rounds of writing, filtering and solving with a crowd.

    Args:
        seed: random seed of the crowd, its habits and every filter.
        rounds: number of rounds.
        twins: number of twins written per round.
        strength: fraction of twins with an artifact, 0–1; see `practice.generate_corpus`.
        mislabelled: fraction of twins that are submitted with both answers wrong, 0–1.
        arms: the ways of making a release.

    Returns:
        One result for each round and way, grouped by round.

    Raises:
        InputError: a number is out of range, or a way is unknown.
        DataError: the practice frames can't produce this number of distinct twins.
    """
    _check_arguments(rounds, twins, mislabelled, arms)
    crowd = _make_crowd(seed, rounds, twins, strength, mislabelled)
    everything = Dataset(problem for round_ in crowd.valid for problem in round_)
    X = embed.LightEmbedder().embed(everything)
    found: list[SimulatedRound] = []
    before = 0
    for number, newest in enumerate(crowd.valid, start=1):
        pool = everything.select(range(before + len(newest)))
        solved = _measure_solvers(pool, X, before)
        kept = _select_releases(pool, X[: len(pool)], arms, seed)
        found += [_measure(arm, number, pool, kept[arm], before, solved, crowd) for arm in arms]
        before = len(pool)
    return tuple(found)


def _check_arguments(rounds: int, twins: int, mislabelled: float, arms: Sequence[Arm]) -> None:
    if rounds < 1 or twins < 1:
        raise InputError(f"rounds and twins must be at least 1, not {rounds} and {twins}")
    if not 0 <= mislabelled <= 1:
        raise InputError(f"mislabelled must be a fraction from 0 to 1, not {mislabelled}")
    if unknown := [arm for arm in arms if arm not in ARMS]:
        raise InputError(f"unknown way {unknown[0]!r}; use {', '.join(ARMS)}")


def _make_crowd(seed: int, rounds: int, twins: int, strength: float, mislabelled: float) -> _Crowd:
    """Return a crowd whose corpus is divided into rounds, so that its habits persist."""
    corpus = practice.generate_corpus(rounds * twins, seed=seed, strength=strength)
    votes = practice.simulate_votes(corpus.dataset, judges=2 * JUDGES, pool=POOL, seed=seed)
    first, later = _split_votes(corpus.dataset, votes)
    rng = np.random.default_rng([seed, 3])
    swapped = rng.random(rounds * twins) < mislabelled
    groups = corpus.dataset.groups
    wrong = {row for rows, swap in zip(groups, swapped, strict=True) if swap for row in rows}
    sent = Dataset(_flip_answer(p) if row in wrong else p for row, p in enumerate(corpus.dataset))
    valid = set(validate.check(sent, first).all_stages.kept.ids)
    parts = [
        sent.select([row for rows in groups[twins * n : twins * (n + 1)] for row in rows])
        for n in range(rounds)
    ]
    return _Crowd(
        sent,
        tuple(part.select([row for row, p in enumerate(part) if p.id in valid]) for part in parts),
        frozenset(corpus.planted),
        frozenset(sent.ids[row] for row in wrong),
        frozenset(p.id for p in sent if _find_majority(later[p.id]) == p.answer),
    )


def _flip_answer(problem: Problem) -> Problem:
    """Return a two-option problem with the other answer."""
    assert problem.answer is not None
    return replace(problem, answer=1 - problem.answer)


def _split_votes(
    dataset: Dataset, votes: Sequence[Response]
) -> tuple[list[Response], dict[str, list[int | None]]]:
    """Return the votes of each problem's first judges, and the choices of the later judges."""
    panels: dict[str, dict[str, None]] = {name: {} for name in dataset.ids}
    for vote in votes:
        panels[vote.problem_id].setdefault(vote.participant)
    early = {name: set(list(people)[:JUDGES]) for name, people in panels.items()}
    later: dict[str, list[int | None]] = {name: [] for name in dataset.ids}
    for vote in votes:
        if vote.purpose == "validate" and vote.participant not in early[vote.problem_id]:
            later[vote.problem_id].append(vote.choice)
    return [vote for vote in votes if vote.participant in early[vote.problem_id]], later


def _find_majority(choices: Sequence[int | None]) -> int | None:
    """Return the option chosen by more than half; None if there is none."""
    return next((c for c in (0, 1) if 2 * choices.count(c) > len(choices)), None)


def _measure_solvers(pool: Dataset, X: NDArray[Any], before: int) -> dict[str, NDArray[np.float64]]:
    """Return the accuracy on the newest problems of solvers trained on the earlier ones."""
    if not before:
        return {}
    y = debias.get_problem_labels(pool)
    train, newest = pool.select(range(before)), pool.select(range(before, len(pool)))
    pairs = solve.WordAssociation.trained_on(train, features="pairs", smoothing=1.0)
    predictions = zip(newest, solve.predict(pairs, newest), strict=True)
    worth = {
        "linear": _score_linear(X[:before], y[:before], X[before : len(pool)]) == y[before:],
        "word pairs": [prediction.credit(problem.answer) for problem, prediction in predictions],
    }
    return {name: np.asarray(worth[name], np.float64) for name in SOLVERS}


def _score_linear(X: NDArray[Any], y: NDArray[Any], newest: NDArray[Any]) -> NDArray[Any]:
    from sklearn.linear_model import LogisticRegression

    guessed: NDArray[Any] = LogisticRegression(max_iter=1000).fit(X, y).predict(newest)
    return guessed


def _select_releases(
    pool: Dataset, X: NDArray[Any], arms: Sequence[Arm], seed: int
) -> dict[str, NDArray[np.bool_]]:
    """Map each filter to the released rows; the random filter releases as many as AFLite."""
    method: Arm = "none" if set(arms) == {"none"} else "aflite"
    run = run_filter(pool, X, FilterRecipe(method=method), seed=seed)
    return {arm: np.isin(np.arange(len(pool)), run.subsets[METHOD_NAMES[arm]]) for arm in arms}


def _measure(
    arm: Arm,
    number: int,
    pool: Dataset,
    kept: NDArray[np.bool_],
    before: int,
    solved: Mapping[str, NDArray[np.float64]],
    crowd: _Crowd,
) -> SimulatedRound:
    ids = np.array(pool.ids)
    planted, wrong, agreed = (
        np.isin(ids, list(some)) for some in (crowd.planted, crowd.wrong, crowd.agreed)
    )
    fresh = kept[before:]
    return SimulatedRound(
        arm,
        number,
        len(pool),
        int(kept.sum()),
        int(fresh.sum()),
        {name: float(worth[fresh].mean()) for name, worth in solved.items() if fresh.any()},
        float(agreed[before:][fresh].mean()) if fresh.any() else None,
        float(wrong[kept].mean()) if kept.any() else 0.0,
        _compute_fraction(~kept, planted),
        _compute_fraction(~kept, ~planted & ~wrong),
    )


def _compute_fraction(removed: NDArray[np.bool_], of: NDArray[np.bool_]) -> practice.Ratio:
    return practice.Ratio(int((removed & of).sum()), int(of.sum()))
