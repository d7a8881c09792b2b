"""Leaks: fields that give the answer away although they are not part of the problem.

Nothing is known beforehand of how a field might do it. Each tell of `_tells` is tried: on a random
half of the groups, each of its values is put down for the answer that goes with it most often,
and the other half of the groups is predicted from that; then the other way round. A group in
which that is right more often than always saying the most frequent answer is a win, the reverse a
loss, and a sign test (McNemar 1947) on either half says whether the wins may be chance.

A group is a twin, a family, or a problem alone: what it holds is not independent. The two halves
are tested apart because their results depend on each other (with five folds tested together,
clean data failed a test at 10 % in 15 % of the draws; so they fail it in fewer than 2 %).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from winosmith.dataset import Dataset
from winosmith.metrics._columns import columns
from winosmith.metrics._tells import tells, tells_of_options

__all__ = ["Leak", "leaks"]

FOLDS = 2
ALPHA = 0.001
"""The chance to report any leak at all in a clean data set, by Bonferroni over all tells."""

FLOOR = 0.05
"""A leak must be right this much more often than the most frequent answer; ours."""

LEAST_GROUPS = 40
"""With fewer, even a tell that is always right passes no corrected test."""

SHOWN = 3
"""How many values of a tell are spelt out."""

Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Leak:
    """A field that gives the answer away.

    Attributes:
        field: its name ("id", "row number", "options", "wsc.source").
        tell: what of it does ("last character").
        accuracy: the share of held-out problems whose answer it predicts, 0–1.
        problems: the number of problems that have it and an answer.
        chance: the share that always saying the most frequent answer gets right, 0–1.
        p_value: of the sign tests, before the correction for all that was tried.
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

    A field is reported when the sign test, corrected for all tells of all fields, is below 0.001
    and the tell is right at least 5 points more often than the most frequent answer. Problems
    whose answer is withheld are left out.

    Args:
        dataset: problems with answers.
        seed: of the random halves.

    Returns:
        The leaks, or None when it can't be told: fewer than 40 twins and singles have an answer,
        too few for any result to be significant.

    >>> from winosmith import Problem
    >>> data = Dataset(
    ...     Problem(f"{number}-{'xy'[answer]}", "The _ fell.", ("cup", "jug"), answer)
    ...     for number, answer in enumerate(np.random.default_rng(0).integers(0, 2, 60).tolist())
    ... )
    >>> print(leaks(data)[0])
    the id's last character gives the answer away in 100 % of 60 problems (chance 56.7 %); 'y' says option 2, 'x' says option 1
    """  # noqa: E501
    rows = np.array([row for row, answer in enumerate(dataset.answers) if answer is not None])
    groups = _groups(dataset)[rows] if rows.size else rows
    if len(np.unique(groups)) < LEAST_GROUPS:
        return None
    answers = np.array([cast(int, dataset.answers[row]) for row in rows])
    folds = np.random.default_rng([seed, FOLDS]).integers(0, FOLDS, len(dataset))[groups]
    tried = 0
    found: dict[str, list[Leak]] = {}
    for field, tell, of in _all_tells(dataset):
        tried += 1
        leak = _measured(field, tell, [of[row] for row in rows], answers, groups, folds)
        if leak is not None:
            found.setdefault(field, []).append(leak)
    skew = _skew(dataset)
    if skew is not None:
        found["options"] = [skew]
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


def _groups(dataset: Dataset) -> Ints:
    """Return the number of each row's group: what a twin or a family ties together."""
    above = list(range(len(dataset)))

    def first(row: int) -> int:
        while above[row] != row:
            above[row] = row = above[above[row]]
        return row

    for rows in (*dataset.groups, *dataset.families.values()):
        for row in rows[1:]:
            above[first(row)] = first(rows[0])
    return np.array([first(row) for row in range(len(dataset))], dtype=np.intp)


def _skew(dataset: Dataset) -> Leak | None:
    """Return the leak that the order of the options is when the right one has a usual place."""
    from scipy.special import bdtrc

    answered = [problem for problem in dataset if problem.answer is not None]
    places = np.bincount([problem.answer or 0 for problem in answered])
    place = int(places.argmax())
    chance = sum(1 / len(p.options) for p in answered if len(p.options) > place) / len(answered)
    share = places[place] / len(answered)
    if share < chance + FLOOR:
        return None
    p_value = len(places) * float(bdtrc(places[place] - 1, len(answered), chance))
    return Leak(
        "options", "order", share, len(answered), chance, min(1.0, p_value), (("any", place + 1),)
    )


def _measured(
    field: str, tell: str, of: Sequence[Hashable], answers: Ints, groups: Ints, folds: Ints
) -> Leak | None:
    """Return the leak that a tell would be, or None when it gains less than the floor."""
    values = dict.fromkeys(value for value in of if value is not None)
    if len(values) < 2:
        return None
    codes = {value: code for code, value in enumerate(values)}
    has = np.array([value is not None for value in of])
    coded = np.array([codes[value] for value in of if value is not None])
    answers, groups, folds = answers[has], groups[has], folds[has]
    table = _counted(coded, folds, answers, len(codes))
    right, usual = _held_out(table, coded, folds, answers)
    chance = float(np.bincount(answers).max() / len(answers))
    accuracy = float(right.mean())
    if accuracy < chance + FLOOR:
        return None
    gains = right.astype(int) - usual
    p_values = [_sign_test(gains[folds == fold], groups[folds == fold]) for fold in range(FOLDS)]
    says = _said(list(values), table.sum(axis=1))
    return Leak(field, tell, accuracy, len(answers), chance, min(1.0, FOLDS * min(p_values)), says)


def _counted(coded: Ints, folds: Ints, answers: Ints, values: int) -> Ints:
    """Return how often each value goes with each answer in each fold: (values, folds, answers)."""
    shape = (values, FOLDS, int(answers.max()) + 1)
    flat = np.ravel_multi_index((coded, folds, answers), shape)
    return cast(Ints, np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape))


def _held_out(
    table: Ints, coded: Ints, folds: Ints, answers: Ints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are right when predicted from the other fold: by the tell, and without.

    Without means by the most frequent answer, which is also said for a value not seen before.
    """
    others = table.sum(axis=1, keepdims=True) - table
    most = others.sum(axis=0).argmax(axis=1)
    tie_breaker = np.eye(table.shape[2], dtype=table.dtype)[most]
    said = (2 * others + tie_breaker).argmax(axis=2)
    return said[coded, folds] == answers, most[folds] == answers


def _sign_test(gains: Ints, groups: Ints) -> float:
    """Return the chance of so many groups that gain, or more, when each is a fair coin."""
    from scipy.special import bdtrc

    by_group = np.bincount(groups, gains)
    wins, losses = int((by_group > 0).sum()), int((by_group < 0).sum())
    return float(bdtrc(wins - 1, wins + losses, 0.5)) if wins else 1.0


def _said(values: Sequence[Hashable], counts: Ints) -> tuple[tuple[str, int], ...]:
    frequent = np.argsort(-counts.sum(axis=1), kind="stable")[:SHOWN]
    return tuple((str(values[code]), int(counts[code].argmax()) + 1) for code in frequent)
