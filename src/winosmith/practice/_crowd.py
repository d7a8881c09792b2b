"""A simulated crowd that votes on problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from winosmith.answers import Response
from winosmith.dataset import Dataset
from winosmith.errors import DataError
from winosmith.problem import Problem

NOTICES = 0.75
"""How likely a judge marks a problem that is ambiguous, or answerable by association."""

IMAGINES = 0.05
"""How likely a judge marks one that is not."""

GUESSES = 0.4
"""How likely a judge who can't tell the answer from the local context chooses an option."""

EVENNESS = 12.0
"""a + b of the beta distribution of the judges' error rates: the higher, the more alike."""

MEDIAN_SECONDS, SPREAD_SECONDS = 18.3, 0.4
"""Time taken: log-normal; 18.3 s is the mean of a human test (Davis et al. 2016)."""


def participants(pool: int) -> tuple[str, ...]:
    """Return the pseudonyms of a pool of people.

    >>> participants(3)
    ('p01', 'p02', 'p03')
    """
    digits = max(2, len(str(pool)))
    return tuple(f"p{number:0{digits}}" for number in range(1, pool + 1))


@dataclass(frozen=True, slots=True)
class _Rates:
    """What the judges of a crowd do, and to how many problems."""

    error: dict[str, float]
    ambiguous: float
    associative: float


def crowd(
    dataset: Dataset,
    *,
    judges: int = 3,
    pool: int = 40,
    seed: int = 0,
    error_rate: float = 0.08,
    ambiguous_rate: float = 0.17,
    associative_rate: float = 0.17,
) -> tuple[Response, ...]:
    """Return the votes of a simulated crowd, each judge's local vote before the one on the whole.

    A share of the problems is ambiguous: judges mark most of them so and choose at random. Another
    share is answerable by association: judges find its answer from the local context, and mark
    most of them so. Who judges is drawn from the pool: never the author of the problem or of its
    other half, and nobody judges both halves. Judges err at rates of their own, drawn from a beta
    distribution. The crowd knows nothing of what is planted in a practice corpus. With the default
    rates about 68 % of the problems are valid, the paper's share (WinoGrande, section 2).

    Args:
        dataset: problems with answers.
        judges: how many distinct people judge a problem.
        pool: how many people there are; see `participants`.
        seed: the same arguments and seed give the same votes.
        error_rate: the mean share of clear problems that a judge gets wrong, 0–1.
        ambiguous_rate: the share of ambiguous problems, 0–1.
        associative_rate: the share of problems answerable by association, 0–1.

    Raises:
        DataError: a withheld answer, a rate out of range, or too few people.
    """
    _check(dataset, judges, error_rate, ambiguous_rate, associative_rate)
    rng = np.random.default_rng([seed, 2])
    people = participants(pool)
    errors = dict(zip(people, _error_rates(error_rate, pool, rng), strict=True))
    rates = _Rates(errors, ambiguous_rate, associative_rate)
    votes: list[list[Response]] = [[] for _ in dataset]
    for rows in dataset.groups:
        chosen = _judges([dataset[row] for row in rows], judges, people, rng)
        for place, row in enumerate(rows):
            mine = chosen[place * judges : (place + 1) * judges]
            votes[row] = list(_votes(dataset[row], mine, rates, rng))
    return tuple(vote for of_one in votes for vote in of_one)


def _check(dataset: Dataset, judges: int, *rates: float) -> None:
    if judges < 1:
        raise DataError(f"judges must be 1 or more, not {judges}")
    for rate in rates:
        if not 0 <= rate <= 1:
            raise DataError(f"a rate is a share from 0 to 1, not {rate}")
    if None in dataset.answers:
        withheld = dataset.ids[dataset.answers.index(None)]
        raise DataError(f"the answer of {withheld!r} is withheld; a simulated crowd needs it")


def _error_rates(mean: float, pool: int, rng: np.random.Generator) -> list[float]:
    if mean in (0, 1):
        return [float(mean)] * pool
    drawn: list[float] = rng.beta(mean * EVENNESS, (1 - mean) * EVENNESS, size=pool).tolist()
    return drawn


def _judges(
    halves: list[Problem], judges: int, people: tuple[str, ...], rng: np.random.Generator
) -> list[str]:
    """Return distinct people for the halves of a twin together, none of them an author."""
    authors = {half.origin.author for half in halves if half.origin}
    order = rng.permutation(len(people)).tolist()
    able = [people[place] for place in order if people[place] not in authors]
    needed = judges * len(halves)
    if len(able) < needed:
        raise DataError(
            f"{needed} judges who did not write it are needed for the twin of {halves[0].id!r}; "
            f"the pool of {len(people)} has {len(able)}: enlarge it or ask for fewer judges"
        )
    return able[:needed]


def _votes(
    problem: Problem, judges: list[str], rates: _Rates, rng: np.random.Generator
) -> Iterator[Response]:
    """Yield the local vote and the vote on the whole of each judge."""
    ambiguous = rng.random() < rates.ambiguous
    associative = rng.random() < rates.associative
    for judge in judges:
        error = rates.error[judge]
        if associative:
            local: int | None = _choice(problem, 1 - error, rng)
        else:
            local = _guess(problem, rng) if rng.random() < GUESSES else None
        yield Response(problem.id, judge, "local", local, seconds=_seconds(rng))
        yield Response(
            problem.id,
            judge,
            "validate",
            _guess(problem, rng) if ambiguous else _choice(problem, 1 - error, rng),
            ambiguous=rng.random() < (NOTICES if ambiguous else IMAGINES),
            associative=rng.random() < (NOTICES if associative else IMAGINES),
            shown=tuple(rng.permutation(len(problem.options)).tolist()),
            seconds=_seconds(rng),
        )


def _choice(problem: Problem, right: float, rng: np.random.Generator) -> int:
    """Return the right option with this probability, else one of the others."""
    answer = problem.answer or 0
    if rng.random() < right:
        return answer
    others = [option for option in range(len(problem.options)) if option != answer]
    return others[int(rng.random() * len(others))]


def _guess(problem: Problem, rng: np.random.Generator) -> int:
    return int(rng.random() * len(problem.options))


def _seconds(rng: np.random.Generator) -> float:
    return round(MEDIAN_SECONDS * float(np.exp(SPREAD_SECONDS * rng.standard_normal())), 1)
