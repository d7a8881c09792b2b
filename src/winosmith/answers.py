"""What was answered: `Prediction` by a model, `Response` by a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from winosmith.errors import ProblemError

__all__ = ["TIE", "Prediction", "Purpose", "Response", "best_of"]

TIE = 1e-6
"""Scores that differ from the best by no more than this share of the larger of both are equal.

Single precision holds seven digits, of which the sum over a text's words takes one: what is left
between two scores is rounding, and would change with the batch, the machine or the order in which
the options are written. It is a share, since scores may be counts, logarithms or probabilities of
any size; and of these two alone, so that a third option that is far off makes no tie. Scores that
tie by their making, as two counts do, are exactly equal.
"""

Purpose = Literal["local", "validate", "test"]
"""Why a person was asked: from the local context alone, to validate, or on a human test."""


def best_of(scores: Sequence[float]) -> tuple[int, ...]:
    """Return the options with the best score, ascending; several when they tie (see `TIE`).

    >>> best_of((-7.25, -3.5)), best_of((-3.5, -3.5000001)), best_of((0, 0, -1))
    ((1,), (0, 1), (0, 1))
    """
    best = max(scores)
    return tuple(
        option
        for option, score in enumerate(scores)
        if best - score <= TIE * max(abs(best), abs(score))
    )


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model answered.

    Which option is written first means nothing. So a model that can't decide has chosen none of
    the options that it holds equal, and `choice` only names the first of them.

    Attributes:
        problem_id: the problem that was asked.
        choice: the 0-based index of the chosen option; of equal ones the first by custom.
        scores: one finite score an option, higher is better; empty when the model gives none.
        tied: the ascending indices of the two or more options that it could not decide between;
            empty when it decided, or when only its scores tell.

    Raises:
        ProblemError: a choice out of range, scores that are not finite, or tied options that are
            fewer than two, out of order or range, or without the choice.

    >>> Prediction("a", 0, (0.5, 0.5)).credit(1), Prediction("a", 0, tied=(0, 1, 2)).chosen
    (0.5, (0, 1, 2))
    """

    problem_id: str
    choice: int
    scores: tuple[float, ...] = ()
    tied: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.choice < 0 or (self.scores and self.choice >= len(self.scores)):
            raise ProblemError(f"the choice {self.choice} is not one of {len(self.scores)} options")
        if not all(map(math.isfinite, self.scores)):
            raise ProblemError(f"the scores of {self.problem_id!r} must be finite: {self.scores}")
        if self.tied:
            self._check_tied()

    @property
    def chosen(self) -> tuple[int, ...]:
        """The chosen options, ascending: one, or those of a tie, stated or by the scores.

        Scores that contradict the choice don't count; see `against_scores`.
        """
        if self.tied:
            return self.tied
        best = best_of(self.scores) if self.scores else ()
        return best if self.choice in best else (self.choice,)

    @property
    def against_scores(self) -> bool:
        """Whether what was chosen is not what has the best score; the choice counts."""
        return bool(self.scores) and self.chosen != best_of(self.scores)

    def credit(self, answer: int | None) -> float:
        """Return what the prediction is worth, 0–1: 1 / (options tied) with the answer among them.

        That is what choosing one of them by chance is worth on average; to count the one that is
        written first would make the order of the options a part of the answer.
        """
        chosen = self.chosen
        return 1 / len(chosen) if answer in chosen else 0.0

    def _check_tied(self) -> None:
        options = len(self.scores) or math.inf
        if (
            len(self.tied) < 2
            or list(self.tied) != sorted(set(self.tied))
            or not 0 <= self.tied[0] <= self.tied[-1] < options
            or self.choice not in self.tied
        ):
            raise ProblemError(
                f"the tied options of {self.problem_id!r} must be two or more, ascending, and hold "
                f"the choice {self.choice}, not {list(self.tied)}"
            )


@dataclass(frozen=True, slots=True)
class Response:
    """What a person answered.

    Attributes:
        problem_id: the problem that was asked.
        participant: the person's pseudonym.
        purpose: why the person was asked; see `Purpose`.
        choice: the 0-based index of the chosen option; None when no option was chosen.
        ambiguous: the person finds both options plausible.
        associative: the person finds the answer given away by nearby words.
        shown: the order in which the options were shown; empty for the order of the problem.
        seconds: how long it took; None when it was not timed.

    Raises:
        ProblemError: an unknown purpose, a negative choice or time, or an order that is none.
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
            raise ProblemError(f"the purpose {self.purpose!r} is not local, validate or test")
        if not self.problem_id or not self.participant:
            raise ProblemError("a response needs the ids of its problem and its participant")
        if self.choice is not None and self.choice < 0:
            raise ProblemError(f"the choice is an index of 0 or more, or None, not {self.choice}")
        if sorted(self.shown) != list(range(len(self.shown))):
            raise ProblemError(f"the shown order {self.shown} is not an order of the options")
        if self.seconds is not None and not 0 <= self.seconds < math.inf:
            raise ProblemError(f"the time taken is 0 seconds or more, not {self.seconds}")
