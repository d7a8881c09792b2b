"""What is published after a round, and what stays under embargo (Davis et al. 2016, section 6)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace

from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Extra, Problem

CANARY = "winosmith.canary"
"""The key of `extra` that holds the canary string of a problem."""

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "winosmith canary")


@dataclass(frozen=True, slots=True)
class Published:
    """What becomes of each problem when a round is over.

    Attributes:
        released: the problems that were used and their alternates, without embargo, in order.
        withheld: all others, under embargo, in order.
        alternates: how many of the released were not used themselves.
        canary: the string that every problem carries.
    """

    released: Dataset
    withheld: Dataset
    alternates: int
    canary: str


def publish(dataset: Dataset, used: Iterable[str], *, mark: str | None = None) -> Published:
    """Release what a round used, with the other halves, and put the rest under embargo.

    The problems of a round are published with their alternates; the others may be used in a later
    round, even those that people got wrong, because they may be mended. Every problem carries a
    canary, so that whoever trains a model can leave these texts out, and whoever doubts it can ask
    the model for the string.

    Args:
        dataset: all materials, used and not.
        used: the ids of the problems that the round asked.
        mark: the canary; by default one that belongs to this data set.

    Raises:
        DataError: no problem, or an unknown one, was used.

    >>> data = Dataset(
    ...     Problem(f"{i}{h}", f"The cup hit jug {i} and _ {verb}.", ("cup", "jug"), a, str(i))
    ...     for i in (1, 2) for a, (h, verb) in enumerate((("a", "bounced"), ("b", "broke")))
    ... )
    >>> after = publish(data, ["1a"])
    >>> after.released.ids, after.withheld.ids, after.withheld[0].embargo
    (('1a', '1b'), ('2a', '2b'), True)
    """
    rows = {dataset.row(problem_id) for problem_id in used}
    if not rows:
        raise DataError("no problem was used; name at least one")
    public = {row for group in dataset.groups if rows & set(group) for row in group}
    mark = mark or canary(dataset)
    return Published(
        _marked(dataset, sorted(public), mark, embargo=False),
        _marked(dataset, sorted(set(range(len(dataset))) - public), mark, embargo=True),
        len(public - rows),
        mark,
    )


def canary(dataset: Dataset) -> str:
    """Return the canary string of a data set: the same for the same problems."""
    return f"winosmith canary {uuid.uuid5(_NAMESPACE, dataset.digest)}"


def _marked(dataset: Dataset, rows: Iterable[int], mark: str, *, embargo: bool) -> Dataset:
    def changed(problem: Problem) -> Problem:
        extra = Extra({**problem.extra, CANARY: mark})
        return replace(problem, embargo=embargo, extra=extra)

    return Dataset((changed(dataset[row]) for row in rows), dataset.name)
