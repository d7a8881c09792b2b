"""What a run is trained or measured on: problems to choose an option of, or claims to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.answers import TIE
from winosmith.blocks import joined, plain
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Claim, Problem
from winosmith.records import canonical, claim_record
from winosmith.seen import Sees, check_pronouns

RIVAL = "something else"
"""Stands for what a claim denies; a claim has no second option, and this one is never read."""


@dataclass(frozen=True)
class Questions:
    """Problems or claims, as a run sees them.

    Attributes:
        problems: what is read; of a claim the first option alone.
        texts_each: 2 for problems, 1 for claims.
        answers: the index of the right option; of a claim 1 where it holds, (n,).
        groups: the rows that belong together: twins, or the claims on one blank.
        digest: a SHA-256 of the problems or claims.
    """

    problems: tuple[Problem, ...]
    texts_each: int
    answers: npt.NDArray[np.int64]
    groups: tuple[tuple[int, ...], ...]
    digest: str

    @cached_property
    def blocks(self) -> list[list[int]]:
        """The rows that count as one observation: twins, with copies of either half."""
        texts = [[plain(problem.sentence)] for problem in self.problems]
        return joined(self.groups, texts)

    def __len__(self) -> int:
        return len(self.problems)

    def loss(self, scores: Any, answers: Any) -> Any:
        """Return the summed cross-entropy in nats of scores (n · texts_each,)."""
        from torch.nn import functional

        if self.texts_each == 2:
            return functional.cross_entropy(scores.view(-1, 2), answers, reduction="sum")
        return functional.binary_cross_entropy_with_logits(
            scores, answers.to(scores.dtype), reduction="sum"
        )

    def measured(self, scores: npt.NDArray[np.float32]) -> tuple[float, float]:
        """Return how many are answered rightly by scores (n · texts_each,), and the p-value.

        A problem counts as right when its right option has the higher score, and as half of one
        when both have the same (`winosmith.answers.TIE`); a claim when its score is above 0 and it
        holds, or not and it does not. The p-value is the probability that
        guessing does as well: `chance_p_value` for problems; for claims Fisher's exact test, in
        which an answer that is always the same counts for nothing, as more claims are false.
        """
        rows, right = np.arange(len(self)), self.answers
        if self.texts_each == 2:
            pairs = scores.reshape(-1, 2).astype(np.float64)
            lead = pairs[rows, right] - pairs[rows, 1 - right]
            tied = np.abs(lead) <= TIE * np.abs(pairs).max(axis=1, initial=0)
            worth = np.where(tied, 0.5, lead > 0)
            return float(worth.sum()), chance_p_value(worth, self.blocks)
        from scipy.stats import fisher_exact

        said = scores > 0
        table = [[int((said == a)[right == b].sum()) for b in (1, 0)] for a in (True, False)]
        p_value = fisher_exact(table, alternative="greater").pvalue
        return float((said == right.astype(bool)).sum()), float(p_value)


def questions(asked: Dataset | Sequence[Claim], purpose: str, sees: Sees = "blank") -> Questions:
    """Return problems or claims as questions.

    Raises:
        DataError: there is none, one has no answer, a problem has more than two options, or its
            pronoun is to be seen and is not known; named.
    """
    if not len(asked):
        raise DataError(f"there is no problem to {purpose}")
    if sees == "pronoun":
        named = asked if isinstance(asked, Dataset) else [claimed(c, c.problem_id) for c in asked]
        check_pronouns(named)
    if isinstance(asked, Dataset):
        return _of_problems(asked, purpose)
    for claim in asked:
        if claim.holds is None:
            raise DataError(f"a claim of {claim.problem_id!r} has no label to {purpose}")
    together: dict[str, list[int]] = {}
    for row, claim in enumerate(asked):
        together.setdefault(claim.problem_id, []).append(row)
    lines = "\n".join(canonical(claim_record(claim)) for claim in asked)
    return Questions(
        tuple(map(claimed, asked, map(str, range(len(asked))))),
        1,
        np.array([claim.holds for claim in asked], np.int64),
        tuple(map(tuple, together.values())),
        hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _of_problems(asked: Dataset, purpose: str) -> Questions:
    for problem in asked:
        if len(problem.options) != 2:
            raise DataError(f"{problem.id!r} has {len(problem.options)} options; 2 are needed")
        if problem.answer is None:
            raise DataError(f"{problem.id!r} has no answer; it needs one to {purpose}")
    answers = np.array(asked.answers, np.int64)
    return Questions(asked.problems, 2, answers, asked.groups, asked.digest)


def claimed(claim: Claim, key: str = "claim") -> Problem:
    """Return the problem whose first option is what is claimed; the second is never read."""
    rival = RIVAL if claim.candidate.strip() != RIVAL else f"{RIVAL}!"
    return Problem(key, claim.sentence, (claim.candidate, rival), pronoun=claim.pronoun)


def chance_p_value(
    correct: Sequence[float] | npt.NDArray[Any], groups: Sequence[Sequence[int]]
) -> float:
    """Return the probability that guessing does as well, for problems with two options.

    The null flips the labels of all halves of a group together, each way with probability 1/2:
    a group with r of n right counts r − n/2, and the null gives each such excess a random sign.
    The distribution of the sum is exact (by convolution). Without twins this is the one-sided
    binomial test; with them it does not count what both halves must share as evidence. A solver
    that ignores the trigger has one half of every twin right, and p = 1.

    Args:
        correct: what each answer is worth, (n,): 1 or True, 0 or False, 1/2 for a tie.
        groups: the rows that count as one observation, such as twins with their copies.

    >>> chance_p_value([True] * 5, [(0,), (1,), (2,), (3,), (4,)])  # 1/2 to the 5th
    0.03125
    >>> chance_p_value([True, True, True, False], [(0, 1), (2, 3)])
    0.5
    """
    right = np.asarray(correct, dtype=np.float64)
    excess = [round(2 * float(right[list(rows)].sum())) - len(rows) for rows in groups]
    distribution = np.ones(1)  # of (sum + all) / 2, in halves of a problem
    for size in filter(None, map(abs, excess)):
        longer = np.zeros(len(distribution) + size)
        longer[: len(distribution)] += distribution / 2
        longer[size:] += distribution / 2
        distribution = longer
    at = (sum(excess) + sum(map(abs, excess))) // 2
    return float(min(1.0, distribution[at:].sum()))
