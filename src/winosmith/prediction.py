"""`Prediction`, a model's answer to a problem. `winosmith.answers` reads files of predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winosmith.dataset import Dataset
from winosmith.errors import DataError, PredictionMismatchError, ProblemError, join_ids
from winosmith.text import format_count

TIE = 1e-6
"""Relative difference up to which a score ties with the best score.

Single precision has seven digits, one of which is lost in the sum over a text's words. Smaller
differences are rounding errors, which change with the batch, the machine or the order of options.
The limit is relative because scores may be counts, logarithms or probabilities of any size. It is
relative to the larger of the two scores, so that a third score can't cause a tie.
"""


def find_best_options(scores: Sequence[float]) -> tuple[int, ...]:
    """Return the indices of the best-scoring options: several if they tie (see `TIE`).

    >>> find_best_options((-7.25, -3.5)), find_best_options((-3.5, -3.5000001, -4))
    ((1,), (0, 1))
    """
    best = max(scores)
    return tuple(
        option
        for option, score in enumerate(scores)
        if best - score <= TIE * max(abs(best), abs(score))
    )


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer to a problem.

    The order of options has no meaning. If a model can't decide between options, they are *tied*,
    and `choice` is only the first of them. An answer that matches no option is *invalid* and
    incorrect. (An item without a prediction is *missing*.)

    Attributes:
        problem_id: the id of the problem.
        choice: the 0-based index of the chosen option, or the first of several tied ones; None if
            the answer is invalid.
        scores: one finite score per option (higher is better); empty if there are none.
        tied: the indices of two or more tied options, in ascending order; empty if the model
            decided, or if only the scores show the tie.

    Raises:
        ProblemError: the choice is out of range, scores are not finite, or an invalid answer has
            scores or tied options. Tied options are also refused if there are fewer than two, or if
            they are unsorted, out of range or don't include the choice.

    >>> Prediction("a", 0, (0.5, 0.5)).credit(1), Prediction("a", 0, tied=(0, 1, 2)).chosen
    (0.5, (0, 1, 2))
    >>> Prediction("a", None).credit(1), Prediction("a", None).chosen
    (0.0, ())
    """

    problem_id: str
    choice: int | None
    scores: tuple[float, ...] = ()
    tied: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.choice is None:
            if self.scores or self.tied:
                raise ProblemError(
                    f"the invalid answer to {self.problem_id!r} can't have scores or tied options"
                )
            return
        if self.choice < 0 or (self.scores and self.choice >= len(self.scores)):
            raise ProblemError(f"the choice {self.choice} is not one of {len(self.scores)} options")
        if not all(map(math.isfinite, self.scores)):
            raise ProblemError(f"the scores of {self.problem_id!r} must be finite: {self.scores}")
        if self.tied and (
            len(self.tied) < 2
            or list(self.tied) != sorted(set(self.tied))
            or not 0 <= self.tied[0] <= self.tied[-1] < (len(self.scores) or math.inf)
            or self.choice not in self.tied
        ):
            raise ProblemError(
                f"the tied options of {self.problem_id!r} must be two or more, in ascending "
                f"order, and include the choice {self.choice}; they are {list(self.tied)}"
            )

    @property
    def chosen(self) -> tuple[int, ...]:
        """The indices of the chosen options, in ascending order.

        An invalid answer has none; a tie has several. A tie is stated in `tied`, or follows from
        the scores. Scores that contradict the choice are ignored; see `contradicts_scores`.
        """
        if self.choice is None or self.tied:
            return self.tied
        best = find_best_options(self.scores) if self.scores else ()
        return best if self.choice in best else (self.choice,)

    @property
    def contradicts_scores(self) -> bool:
        """Whether the scores contradict the choice, which takes precedence."""
        return bool(self.scores) and self.chosen != find_best_options(self.scores)

    def credit(self, answer: int | None) -> float:
        """Return the credit of the prediction, from 0 to 1.

        If the correct option is one of n chosen options, the credit is 1 / n, otherwise 0. This is
        the expected credit of a random choice among tied options. If only the first option got
        credit, the result would depend on the order of options.
        """
        chosen = self.chosen
        return 1 / len(chosen) if answer in chosen else 0.0


def align(
    predictions: Sequence[Prediction], dataset: Dataset, source: str = ""
) -> tuple[Prediction, ...]:
    """Return the predictions in the order of a data set's problems, one per problem.

    `source` is the prefix of messages, such as "majority: ".

    Raises:
        PredictionMismatchError: a problem has no prediction or several, or a prediction matches no
            problem; the message gives the number of such cases and the first three ids.
        DataError: a prediction does not match the problem's options.
    """
    by_id = {prediction.problem_id: prediction for prediction in predictions}
    known = {*dataset.ids}
    missing = [name for name in dataset.ids if name not in by_id]
    extra = [name for name in by_id if name not in known]
    common, n = len(dataset) - len(missing), len(dataset)
    parts = []
    if extra:
        counted = format_count(len(extra), "prediction")
        parts.append(f"{counted} with an unknown id ({join_ids(extra)})")
    if missing:
        parts.append(f"{len(missing):,} of {n:,} problems have no prediction ({join_ids(missing)})")
    if len(by_id) < len(predictions):
        parts.append(f"{len(predictions) - len(by_id):,} problems have several predictions")
    if parts:
        few = 2 * common < min(n, len(by_id))
        asked = "another data set" if few else "a misspelled id" if extra and missing else ""
        what = f"{source}{'; '.join(parts)}" + (f"; is this {asked}?" if asked else "")
        raise PredictionMismatchError(what, common)
    for problem in dataset:
        check_fit(by_id[problem.id], len(problem.options), source)
    return tuple(by_id[name] for name in dataset.ids)


def check_fit(prediction: Prediction, n_options: int, source: str = "") -> None:
    scores, last = len(prediction.scores), max(prediction.chosen, default=0)
    if scores not in (0, n_options):
        raise DataError(
            f"{source}the {scores} scores of {prediction.problem_id!r} don't match {n_options} "
            "options"
        )
    if last >= n_options:
        raise DataError(
            f"{source}the choice {last} of {prediction.problem_id!r} is not one of {n_options} "
            "options, which are numbered from 0"
        )
