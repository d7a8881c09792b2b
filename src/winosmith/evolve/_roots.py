"""Roots of families: problems that every solver gets right (EvoGrad 2024, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from winosmith.answers import Prediction
from winosmith.blocks import shuffled_blocks
from winosmith.dataset import Dataset, Filtered
from winosmith.errors import DataError, InputError
from winosmith.problem import Origin, Problem

STAGE = "roots"


@dataclass(frozen=True)
class Roots:
    """The roots of a set, and where they come from.

    Attributes:
        dataset: the roots, with ids that are distinct over all data sets, no twins, and the name of
            their data set as `origin.source`.
        sources: the name of each data set → the ids that its roots have there.
        left_out: for each data set, its problems that were not drawn, each with the reason.
    """

    dataset: Dataset
    sources: Mapping[str, tuple[str, ...]]
    left_out: tuple[Filtered, ...]


def not_solved(dataset: Dataset, solvers: Sequence[Sequence[Prediction]]) -> frozenset[str]:
    """Return the ids of the problems that a solver gets wrong, or none gets right.

    A solver that can't decide between options is neither right nor wrong, wherever the answer
    stands: it says nothing of the problem. Were the option that is written first called its choice,
    roots would be drawn by where it stands.

    Args:
        dataset: with answers.
        solvers: for each solver its predictions, in the order of the data set.

    >>> data = Dataset([Problem(str(n), "The _ fell.", ("cup", "jug"), 0) for n in range(4)])
    >>> one = [Prediction("0", 0, (2, 1)), Prediction("1", 0, (1, 1)), Prediction("2", 1),
    ...        Prediction("3", 0, (1, 1))]
    >>> two = [Prediction(str(n), 0, (1, n)) for n in range(3)] + [Prediction("3", 0, (2, 1))]
    >>> sorted(not_solved(data, [one])), sorted(not_solved(data, [one, two]))
    (['1', '2', '3'], ['1', '2'])
    """
    said = zip(*solvers, strict=True) if solvers else [()] * len(dataset)
    return frozenset(
        problem.id
        for problem, given in zip(dataset, said, strict=True)
        if not (decided := [one for one in given if len(one.chosen) == 1])
        or any(one.credit(problem.answer) < 1 for one in decided)
    )


def draw_roots(
    datasets: Sequence[Dataset],
    wanted: Sequence[int],
    wrong: Sequence[frozenset[str]] = (),
    seed: int = 0,
    *,
    fewer: bool = False,
    options: int | None = None,
) -> Roots:
    """Draw roots at random among the problems that every solver gets right.

    The paper drew 7 of WSC273 and 7 of WinoGrande's dev set. Drawn from a block (a twin, a
    family, look-alikes) is one problem at most, and nothing under embargo, without an answer, or
    itself perturbed.

    What is trained on the children of a root has seen the root's data set: roots from a set make
    measuring on that set afterwards unsafe. `Roots.sources` keeps which.

    Args:
        datasets: with distinct names.
        wanted: how many roots from each.
        wrong: for each data set, the ids of what is no root (`not_solved`); none when left out.
        seed: of the draw.
        fewer: where a data set has too few problems to draw from, draw those.
        options: draw only problems with so many options; with any number when None.

    Raises:
        InputError: not one number for each data set, or a number below 0.
        DataError: a data set has too few problems to draw from, or two have one name.
    """
    wrong = wrong or [frozenset()] * len(datasets)
    if not len(datasets) == len(wanted) == len(wrong) or min(wanted, default=0) < 0:
        raise InputError(
            f"there are {len(datasets)} data sets and {len(wanted)} numbers of roots; give each "
            "data set its own, 0 or more"
        )
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise DataError("two data sets have the same name; their roots could not be told apart")
    clashing = _clashing(datasets)
    roots: list[Problem] = []
    sources: dict[str, tuple[str, ...]] = {}
    left_out: list[Filtered] = []
    for number, dataset in enumerate(datasets):
        rows, reasons = _drawn(
            dataset, wanted[number], wrong[number], seed + number, fewer=fewer, options=options
        )
        roots += [_root(dataset[row], dataset.name, clashing) for row in rows]
        sources[dataset.name] = tuple(dataset[row].id for row in rows)
        left_out.append(dataset.drop(reasons, STAGE))
    return Roots(Dataset(roots, "roots"), sources, tuple(left_out))


def _clashing(datasets: Sequence[Dataset]) -> frozenset[str]:
    seen: set[str] = set()
    twice: set[str] = set()
    for dataset in datasets:
        twice |= seen & set(dataset.ids)
        seen |= set(dataset.ids)
    return frozenset(twice)


def _root(problem: Problem, name: str, clashing: frozenset[str]) -> Problem:
    problem_id = f"{name}:{problem.id}" if problem.id in clashing else problem.id
    origin = replace(problem.origin or Origin(), source=name)
    return replace(problem, id=problem_id, twin_id=None, origin=origin)


def _drawn(
    dataset: Dataset,
    wanted: int,
    wrong: frozenset[str],
    seed: int,
    *,
    fewer: bool,
    options: int | None,
) -> tuple[list[int], dict[int, str]]:
    """Return the rows drawn, and the reason of every other row."""
    reasons = {
        row: reason
        for row, problem in enumerate(dataset)
        if (reason := _unfit(problem, wrong, options)) is not None
    }
    luck = np.random.default_rng(seed)
    chosen: list[int] = []
    free = 0
    for block in shuffled_blocks(dataset, seed):
        fit = [row for row in block if row not in reasons]
        free += bool(fit)
        if fit and len(chosen) < wanted:
            row = fit[int(luck.integers(len(fit)))]
            chosen.append(row)
            others = f"it goes together with the root {dataset[row].id!r}"
            reasons |= {other: others for other in fit if other != row}
        else:
            reasons |= dict.fromkeys(fit, "there are roots enough")
    if len(chosen) < wanted and not fewer:
        raise DataError(
            f"{wanted} roots are to be drawn from {dataset.name!r}; {free} of its "
            f"{len(dataset)} problems, one of those that go together, are fit: right by every "
            f"solver, with an answer, {f'{options} options, ' * (options is not None)}no embargo "
            "and no parent"
        )
    return sorted(chosen), reasons


def _unfit(problem: Problem, wrong: frozenset[str], options: int | None) -> str | None:
    if problem.embargo:
        return "it is under embargo"
    if not problem.blank_is_plain:
        return "it is a question" if problem.blank is None else "it holds '_' beside its blank"
    if problem.answer is None:
        return "its answer is withheld"
    if options is not None and len(problem.options) != options:
        return f"it has {len(problem.options)} options"
    if problem.lineage is not None:
        return "it is perturbed itself"
    return "not every solver gets it right" if problem.id in wrong else None
