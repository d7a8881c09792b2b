"""How well new people will agree with a chosen set: chosen by some people, asked of the others.

Choosing the problems with the most right answers and then counting those same answers is
optimistic: part of what made a problem look good was luck, and luck does not repeat. So the people
are dealt into folds; the rules choose by all folds but one, and the people of that fold say how
well they agree with *that* choice (cross-fitting; Chernozhukov et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError, InputError
from winosmith.humans._select import Rules, select
from winosmith.humans._tally import crossed_share, tally
from winosmith.metrics import Proportion

FEWEST = 4
"""People below which folds would say nothing."""


@dataclass(frozen=True, slots=True)
class CrossFit:
    """The agreement of people who had no part in the choice.

    Attributes:
        agreement: the share of intended answers, with an interval for other people and other
            problems of the kind.
        folds: how many times the set was chosen anew.
        sizes: how many problems each of these sets has.
        kept: the mean share of the final set that a fold's set holds, too, 0–1: how much the
            choice hangs on who was asked.
    """

    agreement: Proportion
    folds: int
    sizes: tuple[int, ...]
    kept: float

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **self.agreement.record(),
            "folds": self.folds,
            "sizes": list(self.sizes),
            "kept": self.kept,
        }


def cross_fit(
    dataset: Dataset,
    responses: Iterable[Response],
    rules: Rules | None = None,
    *,
    folds: int = 10,
    seed: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> CrossFit:
    """Estimate the agreement of new people with the set that the rules choose.

    Each fold's set is chosen by fewer people than the final one, so it is a little worse: the
    estimate errs on the side of caution, and more folds lessen that. A fold's set is as large as
    the rules make it; when they ask for more problems than its people let through, it takes what
    there is.

    Args:
        dataset: the problems with the intended answers.
        responses: of people by name; those with the purpose "test" are counted.
        rules: as given to `select`; the number of subjects that a problem needs is lowered in
            proportion to the people of a fold.
        folds: how many; no more than there are people.
        seed: deals the people, and settles ties.
        on_fold: called after each fold with how many are done and how many there are.

    Raises:
        DataError: fewer than 4 people, or none of those held out was asked a chosen problem.
        InputError: fewer than 2 folds.
    """
    rules = rules or Rules()
    said = [response for response in responses if response.purpose == "test"]
    people = sorted({response.participant for response in said})
    if len(people) < FEWEST:
        raise DataError(
            f"{len(people)} people answered; to choose by some and ask others takes {FEWEST} "
            "or more"
        )
    if folds < 2:
        raise InputError(f"there are {folds} folds; 2 or more are needed")
    whole = set(select(dataset, tally(dataset, said), rules, seed).rows)
    held_out: list[Response] = []
    sizes, shared = [], []
    dealt = _deal(said, people, min(folds, len(people)), seed)
    for number, fold in enumerate(dealt):
        rest = [response for response in said if response.participant not in fold]
        rows = _chosen(dataset, rest, _fewer(rules, 1 - len(fold) / len(people)), seed)
        ids = {dataset[row].id for row in rows}
        held_out += [r for r in said if r.participant in fold and r.problem_id in ids]
        sizes.append(len(rows))
        shared.append(len(whole & set(rows)) / max(1, len(whole)))
        if on_fold is not None:
            on_fold(number + 1, len(dealt))
    if not held_out:
        raise DataError("nobody who was held out answered a chosen problem; use fewer folds")
    right = np.full((len(people), len(dataset)), np.nan)
    places = {who: place for place, who in enumerate(people)}
    for response in held_out:
        row = dataset.row(response.problem_id)
        right[places[response.participant], row] = response.choice == dataset[row].answer
    agreement = crossed_share(right)
    return CrossFit(agreement, len(dealt), tuple(sizes), float(np.mean(shared)))


def _deal(
    said: Sequence[Response], people: Sequence[str], folds: int, seed: int
) -> list[frozenset[str]]:
    """Deal the people into folds so that the takers of each test are spread evenly over them.

    People who were asked the same problems took the same tests.
    """
    asked: dict[str, set[str]] = {}
    for response in said:
        asked.setdefault(response.participant, set()).add(response.problem_id)
    luck = np.random.default_rng(seed).permutation(len(people))
    order = sorted(
        range(len(people)),
        key=lambda at: (min(asked[people[at]]), len(asked[people[at]]), luck[at]),
    )
    return [frozenset(people[at] for at in order[start::folds]) for start in range(folds)]


def _fewer(rules: Rules, share: float) -> Rules:
    return replace(rules, subjects=max(1, int(rules.subjects * share)))


def _chosen(dataset: Dataset, said: Sequence[Response], rules: Rules, seed: int) -> tuple[int, ...]:
    counts = tally(dataset, said)
    try:
        return select(dataset, counts, rules, seed).rows
    except InputError:
        return select(dataset, counts, replace(rules, size=None), seed).rows
