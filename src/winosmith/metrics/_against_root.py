"""What a perturbation costs: each perturbed problem beside its root, in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from winosmith.errors import DataError, SameInputError
from winosmith.metrics._compare import compare_pair, crossed, difference_interval
from winosmith.metrics._graded import Graded
from winosmith.metrics._groups import columns, seen_by
from winosmith.metrics._intervals import Proportion, proportion
from winosmith.problem import Scalar
from winosmith.seen import inputs

__all__ = ["AgainstRoot", "against_root"]

Pairs = list[tuple[int, int]]
"""The rows of a perturbed problem and of its root."""


@dataclass(frozen=True, slots=True)
class AgainstRoot:
    """A solver on perturbed problems of one kind, and on their roots.

    Attributes:
        value: what the problems have in common ("tense").
        accuracy: on the perturbed problems.
        roots: on their roots, each counted once for each perturbed problem.
        difference: the accuracy minus that on the roots, −1 to 1.
        interval: its 95 % interval, by the cluster bootstrap.
        lost: right on the root, wrong on the perturbed problem.
        won: the other way round.
        mcnemar: the p-value of McNemar's exact test, which takes pairs for independent.
        p_value: of the exact test that keeps families and twins together (`compare_pair`).
        adjusted: `p_value` after Holm's correction for all the values.
        consistent: the share of pairs that are both right or both wrong; ties count as if a fair
            draw of its own settled each.
        kept: of those whose root is right, the share that is right too; None where no root is.
        unchanged: how many are the same input as their roots to this solver, since what was
            changed is a pronoun and it saw the blank, or lies before the local context that it
            saw. Where its file does not tell, those that are the same with their pronouns.
    """

    value: str
    accuracy: Proportion
    roots: Proportion
    difference: float
    interval: tuple[float, float]
    lost: float
    won: float
    mcnemar: float
    p_value: float
    adjusted: float
    consistent: Proportion
    kept: Proportion | None
    unchanged: int = 0

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **asdict(self),
            "interval": [*self.interval],
            "accuracy": self.accuracy.record(),
            "roots": self.roots.record(),
            "consistent": self.consistent.record(),
            "kept": self.kept and self.kept.record(),
        }


def against_root(graded: Graded, field: str, seed: int = 0) -> tuple[AgainstRoot, ...]:
    """Compare a solver on perturbed problems with itself on their roots, for each value of a field.

    The eight kinds of perturbation of Abdou et al. (2020) are the values of `perturbed_wsc.kind`;
    those of `origin.source` tell what was written by people from what was generated. Problems
    whose root is not in the data are left out.

    Args:
        graded: from `grade`.
        field: as `score` knows them.
        seed: of the bootstrap.

    Raises:
        DataError: no such field, or no perturbed problem whose root is in the data.
        SameInputError: every perturbed problem is the same input as its root.
    """
    known = dict(columns(graded.dataset))
    if field not in known:
        raise DataError(
            f"there is no field {field!r} that differs between problems; the data set has "
            f"{', '.join(known)}"
        )
    pairs = _pairs(graded, known[field])
    if not pairs:
        raise DataError("no perturbed problem has its root in the data set, to stand beside it")
    sees, local = seen_by(graded)
    seen = inputs(graded.dataset, sees or "pronoun", local)
    same = {
        value: sum(seen[row] == seen[root] for row, root in rows) for value, rows in pairs.items()
    }
    if all(same[value] == len(rows) for value, rows in pairs.items()):
        raise SameInputError(
            f"perturbed problems can't be set beside their roots by {field}: for this solver all "
            f"{sum(same.values()):,} are the same input as their roots; show it what was changed"
        )
    found = [_against(value, graded, rows, seed) for value, rows in pairs.items()]
    return _holm([replace(one, unchanged=same[one.value]) for one in found])


def _pairs(graded: Graded, column: Sequence[Scalar]) -> dict[str, Pairs]:
    row_of = {problem.id: row for row, problem in enumerate(graded.dataset)}
    found: dict[str, Pairs] = {}
    for row, problem in enumerate(graded.dataset):
        root = row_of.get(problem.lineage.root) if problem.lineage else None
        if root is not None and root != row:
            value = "—" if column[row] is None else str(column[row])
            found.setdefault(value, []).append((row, root))
    return found


def _against(value: str, graded: Graded, pairs: Pairs, seed: int) -> AgainstRoot:
    rows, roots = (np.array(side) for side in zip(*pairs, strict=True))
    clusters = graded.clusters[rows]
    now, before = graded.credit[rows], graded.credit[roots]
    tied, either = graded.tied[roots], int((graded.tied[rows] | graded.tied[roots]).sum())
    _, won, lost, _ = crossed(now, before)
    p_value = compare_pair(now, before, clusters)
    return AgainstRoot(
        value,
        graded.share(rows),
        proportion(before, clusters, ties=int(tied.sum())),
        float((now - before).sum()) / len(rows),
        difference_interval(now, before, clusters, seed),
        lost,
        won,
        compare_pair(now, before, np.arange(len(rows))),
        p_value,
        p_value,
        proportion(now * before + (1 - now) * (1 - before), clusters, ties=either),
        _kept(now, before, clusters, graded.tied[rows]),
    )


def _kept(
    now: npt.NDArray[np.float64],
    before: npt.NDArray[np.float64],
    clusters: npt.NDArray[np.int64],
    tied: npt.NDArray[np.bool_],
) -> Proportion | None:
    """Return the share that is right of those whose root is; a tied root counts as wrong here."""
    right = before == 1
    if not right.any():
        return None
    return proportion(now[right], clusters[right], ties=int(tied[right].sum()))


def _holm(found: list[AgainstRoot]) -> tuple[AgainstRoot, ...]:
    from statsmodels.stats.multitest import multipletests

    adjusted = multipletests([one.p_value for one in found], method="holm")[1]
    return tuple(replace(one, adjusted=float(p)) for one, p in zip(found, adjusted, strict=True))
