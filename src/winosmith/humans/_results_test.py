"""The results of one test: the tables of Davis et al. (2016, section 4), and what goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.humans._answers_subjects import Subject
from winosmith.humans._counts import Chance, chance
from winosmith.humans._results_groups import Groups, Without, compare_groups, without_weakest
from winosmith.humans._results_order import Course, course
from winosmith.humans._results_rows import ItemRow, SubjectRow
from winosmith.humans._results_share import crossed_share
from winosmith.metrics import (
    Proportion,
    Reliability,
    fleiss_kappa,
    krippendorff_alpha,
)
from winosmith.problem import MAX_OPTIONS

__all__ = ["TestResult", "result_of_test"]

Sheets = Mapping[str, tuple[str, ...]]
"""Subject → the problems in the order in which they were asked."""


@dataclass(frozen=True)
class TestResult:
    """One test and everybody who took it.

    Attributes:
        name: of the test.
        people: a row each, in the order of the codes.
        items: a row each, in the order of the data set.
        share: of intended answers, with an interval that knows that both people and items vary.
        deviation: of the subjects' scores (n − 1 in the denominator); None for one subject.
        histogram: (subjects who were right, subjects asked) → items, the best first.
        chance: what guessing gives.
        groups: native speakers and others; None where it is not declared.
        without: the same without the weakest; None for too few subjects.
        kappa: Fleiss' kappa of the answers, X as one of them.
        alpha: Krippendorff's alpha, the same; answers may be missing.
        course: from the first question to the last; None for a single question.
    """

    __test__ = False  # pytest: a result, not a test

    name: str
    people: tuple[SubjectRow, ...]
    items: tuple[ItemRow, ...]
    share: Proportion
    deviation: float | None
    histogram: Mapping[tuple[int, int], int]
    chance: Chance
    groups: Groups | None
    without: Without | None
    kappa: Reliability
    alpha: Reliability
    course: Course | None

    @property
    def above_chance(self) -> float:
        """How far the share is above guessing, of the way from guessing to 1."""
        return (self.share.value - self.chance.share) / (1 - self.chance.share)

    @property
    def same(self) -> float:
        """The share of answers that were the most frequent one of their item, 0–1."""
        return sum(item.same for item in self.items) / sum(item.asked for item in self.items)

    @property
    def ambiguous(self) -> int:
        """How many answers are X."""
        return sum(item.ambiguous for item in self.items)

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "name": self.name,
            "share": self.share.record(),
            "deviation": self.deviation,
            "chance": {"right": self.chance.right, "share": self.chance.share},
            "above_chance": self.above_chance,
            "same": self.same,
            "ambiguous": self.ambiguous,
            "histogram": [
                {"right": right, "of": of, "items": n} for (right, of), n in self.histogram.items()
            ],
            "groups": self.groups and self.groups.record(),
            "without_weakest": self.without and self.without.record(),
            "fleiss_kappa": self.kappa.record(),
            "krippendorff_alpha": self.alpha.record(),
            "course": self.course and self.course.record(),
            "subjects": [row.record() for row in self.people],
            "items": [row.record() for row in self.items],
        }


def result_of_test(
    dataset: Dataset,
    name: str,
    sheets: Sheets,
    given: Mapping[str, Mapping[str, Response]],
    people: Mapping[str, Subject],
    weakest: int,
    seed: int,
) -> TestResult:
    """Return the results of one test.

    Args:
        dataset: the problems.
        name: of the test.
        sheets: who took it, and the problems of each in order.
        given: subject → problem → response.
        people: what is known of them.
        weakest: how many to leave out.
        seed: of bootstraps and permutations.
    """
    names = sorted(sheets, key=_natural)
    rows = sorted({dataset.row(problem) for problems in sheets.values() for problem in problems})
    column = {dataset[row].id: at for at, row in enumerate(rows)}
    right = np.full((len(names), len(rows)), np.nan)
    seconds, places = right.copy(), np.zeros(right.shape, dtype=np.int64)
    for at, who in enumerate(names):
        for place, problem in enumerate(sheets[who], 1):
            said = given[who].get(problem)
            where = at, column[problem]
            places[where] = place
            right[where] = said is not None and said.choice == dataset[rows[where[1]]].answer
            if said is not None and said.seconds is not None:
                seconds[where] = said.seconds
    natives = [people[who].native if who in people else None for who in names]
    items = tuple(_item(dataset, row, sheets, given) for row in rows)
    table = np.array(
        [
            [*item.choices, *[0] * (MAX_OPTIONS - len(item.choices)), item.ambiguous]
            for item in items
        ]
    )
    scores = np.nanmean(right, axis=1)
    levels = Counter((item.right, item.asked) for item in items)
    return TestResult(
        name,
        tuple(_person(who, sheets[who], given[who], dataset, native)
              for who, native in zip(names, natives, strict=True)),
        items,
        crossed_share(right),
        float(scores.std(ddof=1)) if len(scores) > 1 else None,
        dict(sorted(levels.items(), key=lambda level: (-level[0][0] / level[0][1], -level[0][1]))),
        chance([len(dataset[row].options) for row in rows]),
        compare_groups(
            [float(s) for s, native in zip(scores, natives, strict=True) if native is True],
            [float(s) for s, native in zip(scores, natives, strict=True) if native is False],
            seed,
        ),
        without_weakest(right, names, natives, weakest, seed),
        fleiss_kappa(table, seed=seed),
        krippendorff_alpha(table, seed=seed),
        course(right, places, seconds, max(map(len, sheets.values()))),
    )  # fmt: skip


def _natural(name: str) -> tuple[str, int, str]:
    """Sort S2 before S10."""
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if digits else -1, name


def _person(
    who: str,
    problems: tuple[str, ...],
    given: Mapping[str, Response],
    dataset: Dataset,
    native: bool | None,
) -> SubjectRow:
    said = [(given.get(problem), dataset[dataset.row(problem)].answer) for problem in problems]
    return SubjectRow(
        who,
        sum(response is not None and response.choice == answer for response, answer in said),
        len(problems),
        sum(response is not None and response.ambiguous for response, _ in said),
        sum(response is None for response, _ in said),
        native,
    )


def _item(
    dataset: Dataset, row: int, sheets: Sheets, given: Mapping[str, Mapping[str, Response]]
) -> ItemRow:
    problem = dataset[row]
    asked = [who for who, problems in sheets.items() if problem.id in problems]
    said = [response for who in asked if (response := given[who].get(problem.id)) is not None]
    chosen = Counter(response.choice for response in said)
    return ItemRow(
        row,
        problem.id,
        problem.options,
        problem.answer or 0,
        tuple(chosen[option] for option in range(len(problem.options))),
        sum(response.choice is None and response.ambiguous for response in said),
        len(asked),
    )
