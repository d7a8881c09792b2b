"""The constraints of a selection as rows of an integer programme, each with the words for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from winosmith.dataset import Dataset
from winosmith.humans._rules import Rules
from winosmith.humans._sheet_text import text_key
from winosmith.problem import Problem

__all__ = ["Limit", "limits"]

Floats = npt.NDArray[np.float64]

_SLACK = 1e-9
"""What a sum of shares may be off by rounding."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One linear constraint: `weights` · x ≤ `most`, over the sound problems.

    Attributes:
        weights: one number a sound problem, (n,).
        most: the bound.
        words: what it says of a problem that would break it.
    """

    weights: Floats
    most: float
    words: str

    def holds(self, chosen: npt.NDArray[np.bool_]) -> bool:
        """Tell whether a choice, (n,), keeps within the limit."""
        return float(self.weights @ chosen) <= self.most + _SLACK


def limits(dataset: Dataset, sound: Sequence[int], rules: Rules) -> list[Limit]:
    """Return every constraint on the choice among the sound rows, but for its size."""
    problems = [dataset[row] for row in sound]
    return [
        *_at_most_one_half(problems),
        *_per_text(problems, rules.per_text),
        *_balance(problems, rules),
    ]


def _at_most_one_half(problems: Sequence[Problem]) -> Iterator[Limit]:
    for twin, members in _groups(problems, lambda problem: problem.twin_id):
        yield Limit(members, 1, f"the other half of {twin!r} is chosen")


def _per_text(problems: Sequence[Problem], most: int) -> Iterator[Limit]:
    for _, members in _groups(problems, text_key):
        if members.sum() > most:
            yield Limit(members, most, f"{most} questions on its text are chosen")


def _groups(
    problems: Sequence[Problem], key: Callable[[Problem], str | None]
) -> Iterator[tuple[str, Floats]]:
    """Yield each value that several problems share, and which they are, (n,) of 0 and 1."""
    together: dict[str, list[int]] = {}
    for at, problem in enumerate(problems):
        value = key(problem)
        if value is not None:
            together.setdefault(value, []).append(at)
    for value, places in together.items():
        if len(places) > 1:
            members = np.zeros(len(problems))
            members[places] = 1
            yield value, members


def _balance(problems: Sequence[Problem], rules: Rules) -> Iterator[Limit]:
    """Yield two limits for each value: its share is within the tolerance of the target.

    A share's bound, Σ_v x ≤ (target + tolerance) Σ x, is linear in x when it is multiplied out.
    """
    for name, tolerance in rules.balance.items():
        for value, excess in _excesses(problems, name):
            words = f"it would unbalance the {name} {value}"
            yield Limit(excess - tolerance, 0, words)
            yield Limit(-excess - tolerance, 0, words)


def _excesses(problems: Sequence[Problem], name: str) -> Iterator[tuple[str, Floats]]:
    """Yield for each value how much each problem adds to its share beyond the target, (n,)."""
    if name == "answer":
        options = np.array([len(problem.options) for problem in problems], np.int64)
        answers = np.array([problem.answer for problem in problems])
        for place in range(int(options.max(initial=0))):
            guessed = np.where(place < options, 1 / options, 0.0)
            yield f"{'ABCDE'[place]}", (answers == place) - guessed
        return
    values = [_value(problem, name) for problem in problems]
    for value in sorted(set(values)):
        members = np.array([mine == value for mine in values], np.float64)
        yield value, members - members.mean()


def _value(problem: Problem, name: str) -> str:
    if name == "options":
        return str(len(problem.options))
    return (problem.origin and problem.origin.domain) or "unknown"
