"""`Response`: a person's answer to a problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from winosmith.errors import ProblemError

Purpose = Literal["local", "validate", "test"]
"""Purposes of a response: a guess from the local context, a validation, or a human test."""


@dataclass(frozen=True, slots=True)
class Response:
    """A person's answer to a problem.

    Attributes:
        problem_id: the id of the problem.
        participant: the person's pseudonym.
        purpose: the purpose of the question; see `Purpose`.
        choice: the 0-based index of the chosen option; None if no option was chosen.
        ambiguous: whether the person finds both options plausible.
        associative: whether the person thinks that nearby words reveal the answer.
        shown: the order in which the options were shown; empty for their original order.
        seconds: number of seconds that the answer took; None if it was not measured.

    Raises:
        ProblemError: the purpose is unknown, the choice or time is negative, or the order is not a
            permutation.
    """

    problem_id: str
    participant: str
    purpose: Purpose
    choice: int | None = None
    ambiguous: bool = False
    associative: bool = False
    shown: tuple[int, ...] = ()
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.purpose not in ("local", "validate", "test"):
            raise ProblemError(f"unknown purpose {self.purpose!r}; use local, validate or test")
        if not self.problem_id or not self.participant:
            raise ProblemError("a response needs the ids of its problem and its participant")
        if self.choice is not None and self.choice < 0:
            raise ProblemError(f"the choice is {self.choice}; it must be an index or None")
        if sorted(self.shown) != list(range(len(self.shown))):
            raise ProblemError(f"the order {self.shown} is not a permutation of the options")
        if self.seconds is not None and not 0 <= self.seconds < math.inf:
            raise ProblemError(f"the response time is {self.seconds} s; it must be 0 or more")
