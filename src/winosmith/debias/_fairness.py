"""Whether a filter is fair: what it kept, beside everything and beside random subsets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.debias._alike import alike
from winosmith.debias._dynamics import Dynamics
from winosmith.debias._fair_domain import domain_measures
from winosmith.debias._fair_people import label_measures, people_measures
from winosmith.debias._fair_words import word_measures
from winosmith.debias._figure import Figure, Mask, compared
from winosmith.debias._ranking import Ranking, ranking
from winosmith.debias._settings import check_draws
from winosmith.errors import DataError
from winosmith.metrics import clusters, human_accuracy
from winosmith.report import Signature, sign


@dataclass(frozen=True)
class KeptSet:
    """What one filter kept.

    Attributes:
        size: problems kept.
        twins: of them whole twins.
        singles: of them problems whose other half is not there.
        figures: beside those of all problems, and of random subsets.
    """

    size: int
    twins: int
    singles: int
    figures: tuple[Figure, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "size": self.size,
            "twins": self.twins,
            "singles": self.singles,
            "figures": [figure.record() for figure in self.figures],
        }


@dataclass(frozen=True)
class Fairness:
    """Filtered sets beside the pool that they were drawn from.

    Attributes:
        pool: how many problems there were.
        sets: by name, what was kept.
        ranking: the order of models on them; None without models.
        draws: random subsets for each kept set.
        signature: what the figures depend on.
    """

    pool: int
    sets: Mapping[str, KeptSet]
    ranking: Ranking | None
    draws: int
    signature: Signature

    def record(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "signature": str(self.signature),
            "pool": self.pool,
            "draws": self.draws,
            "sets": {name: kept.record() for name, kept in self.sets.items()},
            "ranking": self.ranking and self.ranking.record(),
        }


def fairness(
    pool: Dataset,
    kept: Mapping[str, Sequence[int] | NDArray[Any]],
    *,
    votes: Sequence[Response] = (),
    dynamics: Dynamics | None = None,
    marks: Mapping[str, NDArray[Any]] | None = None,
    right: Mapping[str, NDArray[np.float64]] | None = None,
    draws: int = 999,
    seed: int = 0,
) -> Fairness:
    """Compare what filters kept of a pool with the pool, and with random subsets.

    A filter by what machines can guess chooses by more than artifacts: it may keep what people
    disagree on, or what is labelled wrongly, narrow what the problems are about, or favour some
    models over others (Phang et al. 2021). Each figure of a kept set stands beside that of all
    problems, and beside those of random subsets of the same size with as many whole twins, halves
    of twins and singles: a figure within their central 95 % is what blind choice gives. p-values
    are corrected for the number of figures of a set (Holm).

    Measured are, each where there is something to measure it by: the judges' agreement and its
    Krippendorff's alpha, fresh people's majority (`votes`); the regions of a data map (`dynamics`);
    any marks; domains and topics; length, rarefied distinct-1 and distinct-2, and the distance of
    sentences; and the order of models (`right`).

    Args:
        pool: what the filters were given.
        kept: by name of the filter, the rows of the pool that it kept.
        votes: of people, for any purpose.
        dynamics: see `read_dynamics`.
        marks: by name, (n,) 1 or 0 for each problem, NaN where it is not known: a wrong answer, a
            planted artifact.
        right: by name of a model, (n,) what its answers are worth, 1, 0 or a tie's share
            (`metrics.Graded.credit`); two models or more for an order. Models that were trained on
            the pool know its answers: leave them out, or cross-validate.
        draws: random subsets for each kept set, 20 or more.
        seed: of all draws.

    Raises:
        InputError: too few draws, or one model alone.
        DataError: rows that the pool does not have, a set of nothing, columns of another length, or
            subjects of a human test who are not fresh.

    >>> from winosmith import practice
    >>> made = practice.corpus(60, seed=1)
    >>> found = fairness(made.dataset, {"half": range(60)}, votes=made.votes, draws=20)
    >>> found.sets["half"].size, found.sets["half"].figures[0].name
    (60, 'votes for the answer')
    """
    check_draws(draws)
    masks = {name: _mask(name, rows, len(pool)) for name, rows in kept.items()}
    if not masks:
        raise DataError("there is no kept set to compare with the pool")
    for name, column in {**(marks or {}), **(right or {})}.items():
        if len(column) != len(pool):
            raise DataError(f"{name} has {len(column)} entries for {len(pool)} problems")
    ids = set(pool.ids)
    if any(vote.purpose == "test" and vote.problem_id in ids for vote in votes):
        human_accuracy(pool, votes, subjects=1)  # refuses subjects who are not fresh
    smallest = min(masks.values(), key=lambda mask: int(mask.sum()))
    measures = [
        *people_measures(pool, votes),
        *label_measures(dynamics, marks or {}),
        *domain_measures(pool, seed),
        *word_measures(pool, smallest),
    ]
    subsets = {name: list(alike(pool.groups, mask, draws, seed)) for name, mask in masks.items()}
    sets = {
        name: _kept_set(pool, mask, compared(measures, mask, subsets[name]))
        for name, mask in masks.items()
    }
    order = None
    if right:
        order = ranking(right, masks, clusters(pool), subsets, seed=seed)
    known = {
        "kept": [(name, mask.tobytes()) for name, mask in masks.items()],
        "votes": [asdict(vote) for vote in votes],
        "dynamics": dynamics and asdict(dynamics),
        "marks": [
            (name, np.asarray(mark, float).tobytes()) for name, mark in (marks or {}).items()
        ],
        "models": [(name, np.asarray(own, float).tobytes()) for name, own in (right or {}).items()],
    }
    told = {name: _digest(value) for name, value in known.items() if value}
    return Fairness(len(pool), sets, order, draws, sign(pool, seed, **told, draws=draws))


def _digest(value: Any) -> str:
    """Return twelve digits for what a figure depends on."""
    if isinstance(value, dict):
        value = {n: a if a is None else np.asarray(a, float).tobytes() for n, a in value.items()}
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _mask(name: str, rows: Sequence[int] | NDArray[Any], count: int) -> Mask:
    chosen = np.asarray(rows, np.intp)
    if not chosen.size:
        raise DataError(f"{name} holds no problem")
    if chosen.min() < 0 or chosen.max() >= count or len(np.unique(chosen)) < len(chosen):
        raise DataError(f"{name} must name rows from 0 to {count - 1}, each once")
    mask = np.zeros(count, np.bool_)
    mask[chosen] = True
    return mask


def _kept_set(pool: Dataset, mask: Mask, figures: tuple[Figure, ...]) -> KeptSet:
    part = pool.select(np.flatnonzero(mask).tolist())
    return KeptSet(len(part), len(part.twins), len(part.singles), figures)
