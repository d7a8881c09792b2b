"""How stable a model is on one family: error depths beside their null, accuracy, first errors.

These are the figures of `winosmith.metrics.stability` for a family, without what only many
families can give (intervals, p values): fast enough to be counted at every look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winosmith.metrics import DepthKind, error_depth
from winosmith.web.families.answers import Answers
from winosmith.web.families.tree import DEPTHS, Bools, Floats, Ints

__all__ = ["AtDepth", "Depth", "Ends", "accuracy_by_depth", "depths_of_errors", "first_errors"]


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep a model's errors on one family are, by one way of counting depths.

    Attributes:
        kind: "declared", "lineage" or "edit".
        n: public versions that were answered and whose depth is known.
        errors: how many of them were answered wrongly.
        mean: the mean depth of the errors; None without any.
        coin: that of a coin flipper, expected: the mean depth of the set where all have as many
            options; None without versions.
        first: the least depth of an error; None without any.
        coin_first: that of a coin flipper who makes one, expected; None without versions.
    """

    kind: DepthKind
    n: int
    errors: int
    mean: float | None
    coin: float | None
    first: float | None
    coin_first: float | None


@dataclass(frozen=True, slots=True)
class AtDepth:
    """How many public versions of one depth there are, and how many were answered rightly."""

    depth: int
    n: int
    right: int

    @property
    def percent(self) -> float:
        """The accuracy."""
        return 100 * self.right / self.n


@dataclass(frozen=True, slots=True)
class Ends:
    """What becomes at one depth of the paths from the root.

    Attributes:
        depth: the depth.
        before: paths without an error before it that go as deep.
        errors: of them, those whose first error is here.
        ends: of them, those that end here without an error: how far they would get is not known.
    """

    depth: int
    before: int
    errors: int
    ends: int


def depths_of_errors(answers: Answers) -> list[Depth]:
    """Return the error depths by all three ways of counting depths."""
    return [_depth(answers, kind) for kind in DEPTHS]


def accuracy_by_depth(answers: Answers, kind: DepthKind) -> list[AtDepth]:
    """Return the accuracy at each depth, from the least on; the root is at 0."""
    here = _answered(answers, kind)
    here[0] = answers.wrong[0] or answers.right[0]
    of = answers.tree.depths[kind][here]
    of[: int(here[0])] = 0
    right = answers.right[here]
    return [
        AtDepth(int(depth), int((of == depth).sum()), int(right[of == depth].sum()))
        for depth in np.unique(of)
    ]


def first_errors(answers: Answers, kind: DepthKind) -> list[Ends]:
    """Return where the first error comes on the paths from the root to each public leaf.

    A path without an error is censored at its end. Versions that were not answered, and those
    whose depth is not known, say nothing; a path with no answer at all is left out.
    """
    tree = answers.tree
    depths = np.where(tree.depths[kind] >= 0, tree.depths[kind], -1)
    depths[0] = 0
    wrong = (answers.wrong & (depths >= 0)).tolist()
    known = (_answered(answers, kind) | (np.arange(len(tree)) == 0) & answers.right).tolist()
    first, last = _along(tree.parents.tolist(), wrong, known, depths.tolist())
    ended = [(first[at], last[at]) for at in tree.leaves if first[at] >= 0 or last[at] >= 0]
    return _table(
        np.array([depth for depth, _ in ended if depth >= 0], dtype=np.int64),
        np.array([depth for found, depth in ended if found < 0], dtype=np.int64),
    )


def _depth(answers: Answers, kind: DepthKind) -> Depth:
    here = _answered(answers, kind)
    depths, wrong = answers.tree.depths[kind][here], answers.wrong[here]
    if not len(depths):
        return Depth(kind, 0, 0, None, None, None, None)
    chance = answers.tree.chance[here]
    return Depth(
        kind,
        len(depths),
        int(wrong.sum()),
        error_depth(depths, wrong, "mean"),
        float(np.average(depths, weights=1 - chance)),
        error_depth(depths, wrong, "first"),
        _coin_first(depths, chance),
    )


def _answered(answers: Answers, kind: DepthKind) -> Bools:
    """Return which public versions, the root aside, were answered and have such a depth."""
    here: Bools = (answers.wrong | answers.right) & (answers.tree.depths[kind] >= 0)
    here[0] = False
    return here


def _coin_first(depths: Ints, chance: Floats) -> float:
    """Return the depth of a guesser's first error, expected, given that there is one."""
    levels, of = np.unique(depths, return_inverse=True)
    fine = np.exp(np.bincount(of, weights=np.log(chance)))
    so_far = np.concatenate([[1.0], np.cumprod(fine)])
    here = so_far[:-1] * (1 - fine)
    return float((levels * here).sum() / here.sum())


def _along(
    parents: Sequence[int], wrong: Sequence[bool], known: Sequence[bool], depths: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the depth of the first error and the greatest with an answer on the way to each.

    A depth is -1 where there is none.
    """
    first, last = [-1] * len(parents), [-1] * len(parents)
    for at, parent in enumerate(parents):
        above, before = (first[parent], last[parent]) if parent >= 0 else (-1, -1)
        first[at] = above if above >= 0 else depths[at] if wrong[at] else -1
        last[at] = depths[at] if known[at] and depths[at] > before else before
    return first, last


def _table(failed: Ints, censored: Ints) -> list[Ends]:
    found = []
    for depth in np.union1d(failed, censored):
        found.append(
            Ends(
                int(depth),
                int((failed >= depth).sum() + (censored >= depth).sum()),
                int((failed == depth).sum()),
                int((censored == depth).sum()),
            )
        )
    return found
