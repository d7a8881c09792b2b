"""Leaks: fields that give the answer away although they are not part of the problem.

Nothing is known beforehand of how a field might do it: every tell of `_tells` is tried, and
`_evidence` measures what it predicts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from winosmith.dataset import Dataset
from winosmith.metrics._evidence import FOLDS, evidence
from winosmith.metrics._graded import clusters
from winosmith.metrics._groups import columns
from winosmith.metrics._tells import tells, tells_of_options

__all__ = ["Leak", "leaks"]

ALPHA = 0.001
"""The chance to report any leak at all in a clean data set, by Bonferroni over all tells."""

FLOOR = 0.05
"""A leak must be right this much more often than the most frequent answer; ours."""

LEAST_GROUPS = 30
"""With fewer, even a tell that is always right passes no corrected test."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A field that gives the answer away.

    Attributes:
        field: its name ("id", "row number", "options", "wsc.source").
        tell: what of it does ("last character").
        accuracy: the share of problems whose answer it predicts from other problems, 0–1.
        problems: the number of problems that have it and an answer.
        chance: the share that always saying the most frequent answer gets right, 0–1.
        p_value: of that being chance, before the correction for all that was tried.
        says: the most frequent values of the tell, each with the option (from 1) it stands for.
    """

    field: str
    tell: str
    accuracy: float
    problems: int
    chance: float
    p_value: float
    says: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Return the leak in words."""
        share = "100 %" if self.accuracy == 1 else f"{min(self.accuracy * 100, 99.9):.1f} %"
        says = ", ".join(f"{value!r} says option {option}" for value, option in self.says)
        return (
            f"the {self.field}'{'' if self.field.endswith('s') else 's'} {self.tell} gives the "
            f"answer away in {share} of "
            f"{self.problems:,} problems (chance {self.chance * 100:.1f} %); {says}"
        )

    def record(self) -> dict[str, Any]:
        """Return the leak as JSON can hold it."""
        return asdict(self)


def leaks(dataset: Dataset, seed: int = 0) -> tuple[Leak, ...] | None:
    """Return, for each field that gives the answer away, the tell that predicts most answers.

    A field is reported when what it predicts is not chance, at 0.001 after the correction for all
    tells of all fields, and it is right at least 5 points more often than the most frequent
    answer. Problems whose answer is withheld are left out.

    Args:
        dataset: problems with answers.
        seed: of the random folds.

    Returns:
        The leaks, or None when it can't be told: fewer than 30 blocks (twins, families, copies,
        and problems alone) have an answer, too few for any result to be significant.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(f"{n}-{'xy'[answer]}", f"Cup {n} hit _.", (f"jug {n}", "it"), answer)
    ...     for n, answer in enumerate(np.random.default_rng(0).integers(0, 2, 60).tolist())
    ... )
    >>> print(leaks(data)[0])
    the id's last character gives the answer away in 100 % of 60 problems (chance 56.7 %); 'y' says option 2, 'x' says option 1
    """  # noqa: E501
    rows = np.array([row for row, a in enumerate(dataset.answers) if a is not None], dtype=np.intp)
    groups = clusters(dataset)[rows]
    if len(np.unique(groups)) < LEAST_GROUPS:
        return None
    answers = np.array([cast(int, dataset.answers[row]) for row in rows])
    folds = np.random.default_rng([seed, FOLDS]).integers(0, FOLDS, len(dataset))[groups]
    tried = 1
    found: dict[str, list[Leak]] = {"options": list(_skew(dataset))}
    for field, tell, of in _all_tells(dataset):
        tried += 1
        seen = evidence([of[row] for row in rows], answers, groups, folds)
        if seen is not None and seen.accuracy >= seen.chance + FLOOR:
            leak = Leak(
                field, tell, seen.accuracy, seen.problems, seen.chance, seen.p_value, seen.says
            )
            found.setdefault(field, []).append(leak)
    telling = ([leak for leak in of if leak.p_value * tried < ALPHA] for of in found.values())
    return tuple(max(of, key=_gain) for of in telling if of)


def _gain(leak: Leak) -> float:
    return (leak.accuracy - leak.chance) * leak.problems


def _all_tells(dataset: Dataset) -> Iterator[tuple[str, str, Sequence[Hashable]]]:
    for tell, of in tells_of_options(dataset):
        yield "options", tell, of
    for field, values in columns(dataset):
        for tell, of in tells(values, dataset):
            yield field, tell, of


def _skew(dataset: Dataset) -> Iterator[Leak]:
    """Yield the leak that the order of the options is when the right one has a usual place."""
    from scipy.special import bdtrc

    answered = [problem for problem in dataset if problem.answer is not None]
    places = np.bincount([cast(int, problem.answer) for problem in answered])
    place = int(places.argmax())
    share = float(places[place] / len(answered))
    chance = sum(1 / len(p.options) for p in answered if len(p.options) > place) / len(answered)
    p_value = min(1.0, len(places) * float(bdtrc(places[place] - 1, len(answered), chance)))
    if share >= chance + FLOOR:
        yield Leak("options", "order", share, len(answered), chance, p_value, (("any", place + 1),))
