"""The statistics of a data set: table 5 of WinoGrande, and what is wrong with the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winosmith.dataset import Dataset
from winosmith.metrics._copies import Copies, copies
from winosmith.metrics._leaks import Leak, leaks
from winosmith.metrics._table5 import Table5, counted, counted_claims
from winosmith.problem import Claim
from winosmith.report import Signature, sign

__all__ = ["ClaimStatistics", "Statistics", "claim_statistics", "statistics"]

EXAMPLES = 5
"""How many examples `Statistics.record` gives of each fault."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a data set is made of.

    Attributes:
        problems: how many.
        average_length: Penn Treebank tokens a sentence, the blank included, or as table 5 counts
            the set; 0 for no problem, None where words can't be told apart.
        vocabulary: distinct lower-cased tokens of the same texts; None likewise.
        uncounted: problems without spaces between words, which have no part in these two.
        comparisons: of the right option with another one; as many as problems of two options.
        table5: what table 5 of WinoGrande prints of the set, and how it counts; None where the
            problems are not of one of its sets.
        twins: whole twins, two problems each.
        singles: problems that are not half of a twin.
        answers: how many problems have the option of that index as their answer.
        withheld: how many have none.
        options: how many problems have so many options.
        copies: identical problems, those that contradict each other, and twin ids that three
            problems or more share.
        missing_options: the ids of problems with an option that is not in the sentence, in any
            case of the letters.
        associative: how many problems are marked as answered by word association, and how many
            are labelled at all: have an extra key that ends in ".associative". Of WSC273, 37 of
            273 are (Trichelair et al. 2018; 13.55 %, printed as 13.5).
        leaks: fields that give the answer away, or None when too few answers are known to tell;
            see `leaks`.
        signature: of the data.
    """

    problems: int
    average_length: float | None
    vocabulary: int | None
    uncounted: int
    comparisons: int
    table5: Table5 | None
    twins: int
    singles: int
    answers: tuple[int, ...]
    withheld: int
    options: Mapping[int, int]
    copies: Copies
    missing_options: tuple[str, ...]
    associative: tuple[int, int]
    leaks: tuple[Leak, ...] | None
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return the statistics as JSON can hold them, with a few examples of each fault."""
        return {
            "problems": self.problems,
            "average_length": self.average_length,
            "vocabulary": self.vocabulary,
            "without_spaces": self.uncounted,
            "comparisons": self.comparisons,
            "table5": self.table5 and self.table5.record(),
            "twins": self.twins,
            "singles": self.singles,
            "answers": list(self.answers),
            "withheld": self.withheld,
            "options": {str(number): count for number, count in self.options.items()},
            **self.copies.record(),
            "missing_options": {
                **_listed(list(self.missing_options)),
                "share": len(self.missing_options) / self.problems if self.problems else 0.0,
            },
            "associative": {"marked": self.associative[0], "labelled": self.associative[1]},
            "leaks": None if self.leaks is None else [leak.record() for leak in self.leaks],
            "signature": str(self.signature),
        }


@dataclass(frozen=True, slots=True)
class ClaimStatistics:
    """What a file of true-or-false claims is made of.

    Attributes:
        claims: how many.
        holds: how many hold, do not hold, and are withheld.
        average_length, vocabulary, uncounted, table5: as in `Statistics`, a text counted once for
            each claim about it.
    """

    claims: int
    holds: tuple[int, int, int]
    average_length: float | None
    vocabulary: int | None
    uncounted: int
    table5: Table5 | None

    def record(self) -> dict[str, Any]:
        """Return them as JSON can hold them."""
        return {
            "claims": self.claims,
            "true": self.holds[0],
            "false": self.holds[1],
            "withheld": self.holds[2],
            "average_length": self.average_length,
            "vocabulary": self.vocabulary,
            "without_spaces": self.uncounted,
            "table5": self.table5 and self.table5.record(),
        }


def claim_statistics(claims: Sequence[Claim]) -> ClaimStatistics:
    """Count claims.

    >>> found = claim_statistics([Claim("1", "The cup hit the jug and _ broke.", "the jug", True)])
    >>> found.holds, found.average_length
    ((1, 0, 0), 9.0)
    """
    tokens, row = counted_claims(claims)
    said = Counter(claim.holds for claim in claims)
    return ClaimStatistics(
        len(claims),
        (said[True], said[False], said[None]),
        tokens.length,
        tokens.vocabulary,
        tokens.uncounted,
        row,
    )


def _listed(faults: list[Any]) -> dict[str, Any]:
    return {"count": len(faults), "examples": faults[:EXAMPLES]}


def statistics(dataset: Dataset, seed: int = 0) -> Statistics:
    """Count a data set, and look for faults.

    Args:
        dataset: the problems.
        seed: of the search for leaks.

    >>> from winosmith import Problem
    >>> cup = Problem("a", "The cup hit the jug and the _ broke.", ("cup", "jug"), 1)
    >>> found = statistics(Dataset([cup]))
    >>> found.average_length, found.vocabulary, found.answers
    (10.0, 8, (0, 1))
    """
    tokens, row = counted(dataset)
    answered = Counter(answer for answer in dataset.answers if answer is not None)
    most = max((len(problem.options) for problem in dataset), default=0)
    return Statistics(
        problems=len(dataset),
        average_length=tokens.length,
        vocabulary=tokens.vocabulary,
        uncounted=tokens.uncounted,
        comparisons=tokens.comparisons,
        table5=row,
        twins=len(dataset.twins),
        singles=len(dataset.singles),
        answers=tuple(answered[index] for index in range(most)),
        withheld=len(dataset) - answered.total(),
        options=dict(sorted(Counter(len(problem.options) for problem in dataset).items())),
        copies=copies(dataset),
        missing_options=tuple(p.id for p in dataset if not _holds_options(p.sentence, p.options)),
        associative=_associative(dataset),
        leaks=leaks(dataset, seed),
        signature=sign(dataset, seed),
    )


def _associative(dataset: Dataset) -> tuple[int, int]:
    labels = [
        bool(value)
        for problem in dataset
        for key, value in problem.extra.items()
        if key.endswith(".associative") and value is not None
    ]
    return sum(labels), len(labels)


def _holds_options(sentence: str, options: tuple[str, ...]) -> bool:
    lowered = sentence.casefold()
    return all(option.strip().casefold() in lowered for option in options)
