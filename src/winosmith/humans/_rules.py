"""What a problem must have for the reliable subset, and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from winosmith.dataset import Dataset
from winosmith.errors import InputError
from winosmith.humans._tally import Tally

__all__ = ["BALANCED", "Rules", "unsound"]

BALANCED = ("answer", "domain", "options")
"""What can be balanced: the place of the answer, the domain, the number of options."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The constraints on a reliable subset.

    Attributes:
        size: how many problems to choose; None for as many as possible.
        floor: the least share of people who gave the intended answer, 0–1. The challenge of 2016
            went down to 16 of 19 (84 %) and 8 of 9 (89 %) (Davis et al. 2016, section 5).
        subjects: how many people must have answered a problem.
        per_text: the most problems on one text; the challenge took 3 (section 5).
        both_halves: take a half of a schema only when the other half is sound, too (section 4.4);
            never are both halves taken, and which one is drawn by lot.
        balance: how far a share among the chosen may be from its target, 0–1, for "answer" (each
            place of the options as often as guessing would have it), "domain" and "options" (as
            among the sound problems).

    Raises:
        InputError: a value out of range, or an unknown name in `balance`.
    """

    size: int | None = None
    floor: float = 0.8
    subjects: int = 3
    per_text: int = 3
    both_halves: bool = True
    balance: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 1:
            raise InputError(f"the size is {self.size}; choose 1 problem or more")
        if not 0 <= self.floor <= 1:
            raise InputError(f"the floor is {self.floor}; it is a share from 0 to 1")
        if self.subjects < 1 or self.per_text < 1:
            raise InputError("subjects and per_text are whole numbers of 1 or more")
        for name, tolerance in self.balance.items():
            if name not in BALANCED:
                raise InputError(f"{name!r} can't be balanced; one of {', '.join(BALANCED)} can")
            if not 0 <= tolerance <= 1:
                raise InputError(f"the tolerance of {name} is {tolerance}; it is from 0 to 1")


def unsound(dataset: Dataset, counts: Tally, rules: Rules) -> dict[int, str]:
    """Return the rows that can't be chosen whatever the others are, each with the reason."""
    reasons = {
        row: reason
        for row in range(len(dataset))
        if (reason := _alone(dataset, counts, rules, row)) is not None
    }
    if not rules.both_halves:
        return reasons
    pairs = {row: other for pair in dataset.twins for row, other in (pair, pair[::-1])}
    halves = {
        row: f"its other half, {dataset[other].id!r}, is left out: {reasons[other]}"
        for row, other in pairs.items()
        if row not in reasons and other in reasons
    }
    return reasons | halves | _lonely(dataset, reasons)


def _alone(dataset: Dataset, counts: Tally, rules: Rules, row: int) -> str | None:
    """Return why the people's answers rule a problem out, or None."""
    said, right = int(counts.subjects[row]), int(counts.intended[row])
    if dataset[row].answer is None:
        return "its answer is withheld"
    if said < rules.subjects:
        return f"{said} people answered it; {rules.subjects} are needed"
    if right / said >= rules.floor:
        return None
    most = counts.majority(row)
    other = most is not None and most != dataset[row].answer
    chose = f", and more chose {dataset[row].options[most]!r}" if most is not None and other else ""
    return (
        f"{right} of {said} gave the intended answer ({right / said:.0%}){chose}; "
        f"{rules.floor:.0%} are needed"
    )


def _lonely(dataset: Dataset, reasons: Mapping[int, str]) -> dict[int, str]:
    return {
        row: "its other half is not in the data, so nobody can tell whether it is sound"
        for row in dataset.singles
        if dataset[row].twin_id is not None and row not in reasons
    }
